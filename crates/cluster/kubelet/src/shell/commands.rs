//! Builtins and programs: what a script calls by name.

mod client;
mod filter;
mod folder;
mod shell_words;
mod test;

pub(crate) use shell_words::options;

use super::machine::{Flow, Manner, Outcome, Shell, Streams};
use crate::spec::seconds;
use model::Timestamp;

/// How long a program takes of which nothing is known, in seconds.
const UNKNOWN_TIME: i64 = 1;

/// Runs a command by its words.
pub(crate) async fn run(
    shell: &mut Shell,
    words: &[String],
    streams: &Streams,
    manner: Manner,
) -> Outcome {
    let name = words[0].as_str();
    let arguments = &words[1..];
    if let Some(outcome) = shell_words::run(shell, name, arguments, streams, manner).await {
        return outcome;
    }
    // A script of the container's own.
    if name.contains('/') {
        let path = shell.path(name);
        if let Ok(text) = shell.files.read(&path) {
            return script(shell, &path, &text, arguments, streams).await;
        }
        if shell.files.is_folder(&path) {
            shell.complain(streams, &format!("{name}: Permission denied"))?;
            return Ok(126);
        }
        if shell.files.is_folder(super::files::parent(&path)) && !in_image(&path) {
            shell.complain(streams, &format!("{name}: not found"))?;
            return Ok(127);
        }
    }
    let base = name.rsplit('/').next().unwrap_or(name);
    if base != name
        && let Some(outcome) = shell_words::run(shell, base, arguments, streams, manner).await
    {
        return outcome;
    }
    if let Some(outcome) = tool(shell, base, arguments, streams).await {
        return outcome;
    }
    unknown(shell, words, streams, manner).await
}

// Folders of an image whose content is not known.
fn in_image(path: &str) -> bool {
    ["/bin", "/usr", "/sbin", "/opt", "/app", "/home", "/root"]
        .iter()
        .any(|folder| path.starts_with(folder))
        || super::files::parent(path) == "/"
}

async fn tool(
    shell: &mut Shell,
    name: &str,
    arguments: &[String],
    streams: &Streams,
) -> Option<Outcome> {
    if let Some(outcome) = plain(shell, name, arguments, streams).await {
        return Some(outcome);
    }
    if let Some(outcome) = filter::run(shell, name, arguments, streams) {
        return Some(outcome);
    }
    if let Some(outcome) = folder::run(shell, name, arguments, streams) {
        return Some(outcome);
    }
    client::run(shell, name, arguments, streams).await
}

/// Whether a name stands for something that can be run.
pub(crate) fn is_known(shell: &Shell, name: &str) -> bool {
    shell.functions.contains_key(name)
        || shell_words::NAMES.contains(&name)
        || PLAIN.contains(&name)
        || filter::NAMES.contains(&name)
        || folder::NAMES.contains(&name)
        || client::NAMES.contains(&name)
}

const PLAIN: [&str; 14] = [
    "sleep", "date", "seq", "hostname", "whoami", "id", "uname", "nproc", "env", "printenv",
    "expr", "timeout", "sh", "bash",
];

async fn plain(
    shell: &mut Shell,
    name: &str,
    arguments: &[String],
    streams: &Streams,
) -> Option<Outcome> {
    let text = |text: String| Some(shell.write(&streams.out, &text).map(|()| 0));
    match name {
        "sleep" => Some(sleep(shell, arguments, streams).await),
        "timeout" => Some(timeout(shell, arguments, streams).await),
        "date" => text(format!("{}\n", date(shell.task.now(), arguments))),
        "seq" => text(seq(arguments)),
        "hostname" => text(format!("{}\n", shell.site.host)),
        "whoami" => text("root\n".into()),
        "id" if arguments.first().is_some_and(|a| a.contains('n')) => text("root\n".into()),
        "id" if !arguments.is_empty() => text("0\n".into()),
        "id" => text("uid=0(root) gid=0(root) groups=0(root)\n".into()),
        "uname" if arguments.first().is_some_and(|a| a == "-m") => text("x86_64\n".into()),
        "uname" if arguments.first().is_some_and(|a| a == "-n") => {
            text(format!("{}\n", shell.site.host))
        }
        "uname" => text("Linux\n".into()),
        "nproc" => text("2\n".into()),
        "printenv" if !arguments.is_empty() => match shell.variables.get(&arguments[0]) {
            Some(value) => text(format!("{value}\n")),
            None => Some(Ok(1)),
        },
        "env" | "printenv" => Some(environment(shell, arguments, streams).await),
        "expr" => Some(test::expr(shell, arguments, streams)),
        "sh" | "bash" | "ash" | "dash" => Some(inner_shell(shell, arguments, streams).await),
        _ => None,
    }
}

async fn sleep(shell: &mut Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let mut micros = 0_i64;
    for argument in arguments {
        match duration(argument) {
            Some(time) => micros = micros.saturating_add(time),
            None => {
                let text = format!("sleep: invalid time interval '{argument}'\n");
                shell.write(&streams.err, &text)?;
                return Ok(1);
            }
        }
    }
    if arguments.is_empty() {
        shell.write(&streams.err, "sleep: missing operand\n")?;
        return Ok(1);
    }
    shell.sleep(micros).await?;
    Ok(0)
}

/// `2`, `0.5`, `1m`, `infinity` in microseconds.
fn duration(text: &str) -> Option<i64> {
    if matches!(text, "infinity" | "inf") {
        return Some(seconds(100 * 365 * 86_400));
    }
    let digits = text.trim_end_matches(['s', 'm', 'h', 'd']);
    let unit = match &text[digits.len()..] {
        "" | "s" => 1e6,
        "m" => 60e6,
        "h" => 3_600e6,
        "d" => 86_400e6,
        _ => return None,
    };
    let count: f64 = digits.parse().ok()?;
    (count.is_finite() && count >= 0.0).then_some((count * unit) as i64)
}

async fn timeout(shell: &mut Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let mut rest = arguments;
    while let [first, tail @ ..] = rest {
        match first.as_str() {
            "-t" | "--foreground" | "--preserve-status" => rest = tail,
            "-s" | "-k" => rest = tail.get(1..).unwrap_or(&[]),
            flag if flag.starts_with('-') => rest = tail,
            _ => break,
        }
    }
    let [time, command @ ..] = rest else {
        shell.write(&streams.err, "timeout: missing operand\n")?;
        return Ok(125);
    };
    let Some(time) = duration(time).filter(|_| !command.is_empty()) else {
        shell.write(&streams.err, "timeout: invalid time interval\n")?;
        return Ok(125);
    };
    let outer = shell.deadline;
    let own = crate::spec::later(shell.task.now(), time);
    shell.deadline = Some(outer.map_or(own, |outer| outer.min(own)));
    let outcome = shell.call(command, streams, Manner::default()).await;
    shell.deadline = outer;
    match outcome {
        Err(Flow::Expired) if outer.is_none_or(|outer| own <= outer) => Ok(124),
        other => other,
    }
}

async fn environment(shell: &mut Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let mut inner = shell.clone();
    let mut rest = arguments;
    while let [first, tail @ ..] = rest {
        if let Some((name, value)) = first.split_once('=') {
            inner.set(name, value);
            inner.exported.insert(name.to_owned());
        } else if !first.starts_with('-') {
            return inner.call(rest, streams, Manner::default()).await;
        }
        rest = tail;
    }
    let mut out = String::new();
    for name in &inner.exported {
        if let Some(value) = inner.variables.get(name) {
            out += &format!("{name}={value}\n");
        }
    }
    shell.write(&streams.out, &out)?;
    Ok(0)
}

async fn inner_shell(shell: &mut Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let mut inner = shell.clone();
    inner.functions.clear();
    inner.traps.clear();
    inner.options.clear();
    inner
        .variables
        .retain(|name, _| shell.exported.contains(name));
    let Some((text, name, rest)) = super::script_of(
        arguments,
        |path| shell.files.read(&shell.path(path)).ok(),
        &mut inner,
    ) else {
        if arguments.iter().all(|a| a.starts_with('-')) {
            let text = streams.input.rest();
            return Ok(inner.script(&text, streams).await);
        }
        let what = format!(
            "can't open '{}'",
            arguments.first().map_or("", String::as_str)
        );
        shell.complain(streams, &what)?;
        return Ok(2);
    };
    inner.name = name;
    inner.arguments = rest;
    Box::pin(async move { Ok(inner.script(&text, streams).await) }).await
}

async fn script(
    shell: &mut Shell,
    path: &str,
    text: &str,
    arguments: &[String],
    streams: &Streams,
) -> Outcome {
    let first = text.lines().next().unwrap_or("");
    let shells = first.is_empty() || !first.starts_with("#!") || first.contains("sh");
    if !shells {
        // A program of another language.
        return unknown(shell, &[path.to_owned()], streams, Manner::default()).await;
    }
    let mut inner = shell.clone();
    inner.functions.clear();
    inner.options.clear();
    inner.arguments = arguments.to_vec();
    path.clone_into(&mut inner.name);
    if inner.depth > 20 {
        return Ok(126);
    }
    inner.depth += 4;
    let text = text.to_owned();
    Box::pin(async move { Ok(inner.script(&text, streams).await) }).await
}

// A program of which nothing is known does its work and succeeds; where the container is meant to
// stay and nothing comes after it, it stays.
async fn unknown(
    shell: &mut Shell,
    words: &[String],
    streams: &Streams,
    manner: Manner,
) -> Outcome {
    let name = &words[0];
    let plausible = |c: char| c.is_ascii_alphanumeric() || "._+/-@:".contains(c);
    if !name.chars().all(plausible) || name.is_empty() {
        shell.complain(streams, &format!("{name}: not found"))?;
        return Ok(127);
    }
    let shown: Vec<&str> = words.iter().take(6).map(String::as_str).collect();
    shell.write(&streams.err, &format!("simulated: {}\n", shown.join(" ")))?;
    if shell.site.serves && manner.last && shell.deadline.is_none() {
        shell.task.serve().await;
        return Err(Flow::Exit(0));
    }
    shell.sleep(seconds(UNKNOWN_TIME)).await?;
    Ok(0)
}

fn seq(arguments: &[String]) -> String {
    let mut separator = "\n".to_owned();
    let mut numbers = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "-s" {
            separator = rest.next().cloned().unwrap_or_default();
        } else if let Ok(number) = argument.parse::<i64>() {
            numbers.push(number);
        }
    }
    let (first, step, last) = match numbers.as_slice() {
        [last] => (1, 1, *last),
        [first, last] => (*first, 1, *last),
        [first, step, last] if *step != 0 => (*first, *step, *last),
        _ => return String::new(),
    };
    let mut out = Vec::new();
    let mut at = first;
    while (step > 0 && at <= last || step < 0 && at >= last) && out.len() < 10_000 {
        out.push(at.to_string());
        at = at.saturating_add(step);
    }
    if out.is_empty() {
        return String::new();
    }
    format!("{}\n", out.join(&separator))
}

fn date(now: Timestamp, arguments: &[String]) -> String {
    let format = arguments.iter().find_map(|a| a.strip_prefix('+'));
    let iso = arguments
        .iter()
        .any(|a| a.starts_with("-I") || a.starts_with("--iso"));
    let text = now.rfc3339();
    let (year, month, day) = (&text[..4], &text[5..7], &text[8..10]);
    let (hour, minute, second) = (&text[11..13], &text[14..16], &text[17..19]);
    let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let month_name = months[month.parse::<usize>().unwrap_or(1).clamp(1, 12) - 1];
    let day_name = days[now.seconds().div_euclid(86_400).rem_euclid(7) as usize];
    let Some(format) = format else {
        if iso {
            return format!("{year}-{month}-{day}");
        }
        let plain = day.trim_start_matches('0');
        return format!("{day_name} {month_name} {plain:>2} {hour}:{minute}:{second} UTC {year}");
    };
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('Y') => out.push_str(year),
            Some('y') => out.push_str(&year[2..]),
            Some('m') => out.push_str(month),
            Some('d') => out.push_str(day),
            Some('H') => out.push_str(hour),
            Some('M') => out.push_str(minute),
            Some('S') => out.push_str(second),
            Some('s') => out.push_str(&now.seconds().to_string()),
            Some('N') => out.push_str(&format!(
                "{:09}",
                now.micros().rem_euclid(1_000_000) * 1_000
            )),
            Some('F') => out.push_str(&format!("{year}-{month}-{day}")),
            Some('T') => out.push_str(&format!("{hour}:{minute}:{second}")),
            Some('R') => out.push_str(&format!("{hour}:{minute}")),
            Some('Z') => out.push_str("UTC"),
            Some('z') => out.push_str("+0000"),
            Some('b' | 'h') => out.push_str(month_name),
            Some('a') => out.push_str(day_name),
            Some(other) => {
                out.push('%');
                out.push(other);
            }
            None => out.push('%'),
        }
    }
    out
}
