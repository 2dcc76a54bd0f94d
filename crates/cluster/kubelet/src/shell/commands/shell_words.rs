//! What a shell does itself: `cd`, `export`, `set`, `trap`, `echo` and the like.

use super::test;
use crate::shell::machine::{Flow, Manner, Outcome, Shell, Streams};
use crate::shell::{parse, text};

/// Their names.
pub(crate) const NAMES: [&str; 44] = [
    ":", "true", "false", "echo", "printf", "exit", "return", "break", "continue", "set", "shift",
    "export", "unset", "local", "readonly", "declare", "typeset", "cd", "pwd", "eval", ".",
    "source", "exec", "trap", "wait", "kill", "read", "test", "[", "[[", "command", "type",
    "which", "let", "umask", "ulimit", "shopt", "hash", "alias", "sync", "jobs", "disown",
    "builtin", "nohup",
];

/// Runs a builtin; nothing when it is none.
pub(crate) async fn run(
    shell: &mut Shell,
    name: &str,
    arguments: &[String],
    streams: &Streams,
    manner: Manner,
) -> Option<Outcome> {
    let number = |default: i32| -> i32 {
        let given = arguments.first().and_then(|a| a.parse::<i32>().ok());
        given.unwrap_or(default)
    };
    let levels = || u32::try_from(number(1)).unwrap_or(1);
    Some(match name {
        ":" | "true" | "umask" | "ulimit" | "shopt" | "hash" | "alias" | "sync" | "jobs"
        | "disown" => Ok(0),
        "false" => Ok(1),
        "echo" => echo(shell, arguments, streams),
        "printf" => printf(shell, arguments, streams),
        "exit" => Err(Flow::Exit(number(shell.status) & 0xff)),
        "return" => Err(Flow::Return(number(shell.status) & 0xff)),
        "break" => Err(Flow::Break(levels())),
        "continue" => Err(Flow::Continue(levels())),
        "set" => set(shell, arguments),
        "shift" => {
            let count = usize::try_from(number(1)).unwrap_or(0);
            let count = count.min(shell.arguments.len());
            shell.arguments.drain(..count);
            Ok(0)
        }
        "export" | "readonly" | "local" | "declare" | "typeset" => declare(shell, name, arguments),
        "unset" => {
            for argument in arguments {
                shell.variables.remove(argument);
                shell.functions.remove(argument);
            }
            Ok(0)
        }
        "cd" => change_directory(shell, arguments, streams),
        "pwd" => shell
            .write(&streams.out, &format!("{}\n", shell.directory))
            .map(|()| 0),
        "eval" => evaluate(shell, &arguments.join(" "), streams, manner).await,
        "." | "source" => source(shell, arguments, streams).await,
        "exec" if arguments.is_empty() => Ok(0),
        "exec" => {
            let manner = Manner {
                last: true,
                ..manner
            };
            let outcome = shell.call(arguments, streams, manner).await;
            match outcome {
                Ok(code) => Err(Flow::Exit(code)),
                other => other,
            }
        }
        "command" | "type" | "which" => look_up(shell, name, arguments, streams, manner).await,
        "builtin" | "nohup" if !arguments.is_empty() => {
            shell.call(arguments, streams, manner).await
        }
        "trap" => trap(shell, arguments),
        "wait" => wait(shell, arguments, streams).await,
        "kill" => Ok(0),
        "read" => read(shell, arguments, streams),
        "test" | "[" | "[[" => test::run(shell, name, arguments, streams),
        "let" => {
            let mut value = 0;
            for argument in arguments {
                match shell.calculate(argument, streams).await {
                    Ok(result) => value = result,
                    Err(flow) => return Some(Err(flow)),
                }
            }
            Ok(i32::from(value == 0))
        }
        _ => return None,
    })
}

fn echo(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let mut rest = arguments;
    let (mut newline, mut escapes) = (true, false);
    while let [flag, tail @ ..] = rest {
        let letters = flag.strip_prefix('-').unwrap_or("");
        if letters.is_empty() || !letters.chars().all(|c| "neE".contains(c)) {
            break;
        }
        newline &= !letters.contains('n');
        escapes |= letters.contains('e');
        rest = tail;
    }
    let mut out = rest.join(" ");
    if escapes {
        out = text::unescape(&out);
    }
    if newline {
        out.push('\n');
    }
    shell.write(&streams.out, &out)?;
    Ok(0)
}

fn printf(shell: &mut Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let mut rest = arguments;
    let mut variable = None;
    if let [flag, name, tail @ ..] = rest
        && flag == "-v"
    {
        variable = Some(name.clone());
        rest = tail;
    }
    if rest.first().is_some_and(|word| word == "--") {
        rest = &rest[1..];
    }
    let [format, values @ ..] = rest else {
        shell.complain(streams, "printf: usage: printf format [arg ...]")?;
        return Ok(2);
    };
    let out = text::printf(format, values);
    match variable {
        Some(name) => shell.set(&name, out),
        None => shell.write(&streams.out, &out)?,
    }
    Ok(0)
}

/// Reads the flags of `set` or of a shell's command line; the rest are arguments.
pub(crate) fn options(shell: &mut Shell, words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let on = match word.chars().next() {
            Some('-') => true,
            Some('+') => false,
            _ => break,
        };
        at += 1;
        if word == "--" || word.starts_with("--") {
            break;
        }
        for letter in word.chars().skip(1) {
            if letter == 'o' {
                let name = words.get(at).map_or("", String::as_str);
                at += 1;
                let letter = match name {
                    "errexit" => 'e',
                    "nounset" => 'u',
                    "xtrace" => 'x',
                    "noglob" => 'f',
                    "allexport" => 'a',
                    "pipefail" => {
                        shell.pipefail = on;
                        continue;
                    }
                    _ => continue,
                };
                switch(shell, letter, on);
            } else {
                switch(shell, letter, on);
            }
        }
    }
    at
}

fn switch(shell: &mut Shell, letter: char, on: bool) {
    if on {
        shell.options.insert(letter);
    } else {
        shell.options.remove(&letter);
    }
}

fn set(shell: &mut Shell, arguments: &[String]) -> Outcome {
    let used = options(shell, arguments);
    let ended = used > 0 && arguments.get(used - 1).is_some_and(|word| word == "--");
    if used < arguments.len() || ended {
        shell.arguments = arguments.get(used..).unwrap_or(&[]).to_vec();
    }
    Ok(0)
}

fn declare(shell: &mut Shell, kind: &str, arguments: &[String]) -> Outcome {
    for argument in arguments.iter().filter(|a| !a.starts_with('-')) {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (argument.as_str(), None),
        };
        if kind != "export" && kind != "readonly" {
            let old = shell.variables.get(name).cloned();
            if let Some(locals) = shell.locals.last_mut() {
                locals.push((name.to_owned(), old));
            }
        }
        if kind == "export" {
            shell.exported.insert(name.to_owned());
        }
        if let Some(value) = value {
            shell.set(name, value);
        } else if kind == "local" {
            shell.variables.remove(name);
        }
    }
    Ok(0)
}

fn change_directory(shell: &mut Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let home = shell
        .variables
        .get("HOME")
        .cloned()
        .unwrap_or_else(|| "/".into());
    let target = arguments.first().cloned().unwrap_or(home);
    let path = if target == "-" {
        shell
            .variables
            .get("OLDPWD")
            .cloned()
            .unwrap_or_else(|| "/".into())
    } else {
        shell.path(&target)
    };
    // Folders of the image are not known: they are taken to be there.
    let known = shell.files.is_folder(&path) || !shell.files.exists(&path);
    if !known {
        shell.complain(
            streams,
            &format!("cd: can't cd to {target}: No such file or directory"),
        )?;
        return Ok(2);
    }
    let old = std::mem::replace(&mut shell.directory, path);
    shell.set("OLDPWD", old);
    Ok(0)
}

async fn evaluate(shell: &mut Shell, text: &str, streams: &Streams, manner: Manner) -> Outcome {
    match parse::parse(text) {
        Ok(command) => shell.run(&command, streams, manner).await,
        Err(why) => {
            shell.complain(streams, &why)?;
            Err(Flow::Exit(2))
        }
    }
}

async fn source(shell: &mut Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let path = shell.path(arguments.first().map_or("", String::as_str));
    let Ok(text) = shell.files.read(&path) else {
        let what = arguments.first().map_or("", String::as_str);
        shell.complain(streams, &format!(".: can't open '{what}'"))?;
        return Err(Flow::Exit(2));
    };
    match evaluate(shell, &text, streams, Manner::default()).await {
        Err(Flow::Return(code)) => Ok(code),
        other => other,
    }
}

async fn look_up(
    shell: &mut Shell,
    name: &str,
    arguments: &[String],
    streams: &Streams,
    manner: Manner,
) -> Outcome {
    let asks = name != "command" || arguments.first().is_some_and(|a| a == "-v" || a == "-V");
    if !asks {
        if arguments.is_empty() {
            return Ok(0);
        }
        return shell.call(arguments, streams, manner).await;
    }
    let mut code = 0;
    for argument in arguments.iter().filter(|a| !a.starts_with('-')) {
        if super::is_known(shell, argument) {
            let path = if NAMES.contains(&argument.as_str()) {
                argument.clone()
            } else {
                format!("/usr/bin/{argument}")
            };
            shell.write(&streams.out, &format!("{path}\n"))?;
        } else {
            code = 1;
        }
    }
    Ok(code)
}

fn trap(shell: &mut Shell, arguments: &[String]) -> Outcome {
    let [action, signals @ ..] = arguments else {
        return Ok(0);
    };
    for signal in signals {
        let signal = match signal.trim_start_matches("SIG") {
            "0" | "EXIT" => "EXIT",
            "15" | "TERM" => "TERM",
            "2" | "INT" => "INT",
            _ => continue,
        };
        if action == "-" {
            shell.traps.remove(signal);
        } else {
            shell.traps.insert(signal.to_owned(), action.clone());
        }
    }
    Ok(0)
}

async fn wait(shell: &mut Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let wanted: Vec<u32> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let site = shell.site.clone();
    let done = || {
        let board = site.board();
        board
            .jobs
            .iter()
            .filter(|(job, _)| wanted.is_empty() || wanted.contains(job))
            .all(|(_, code)| code.is_some())
    };
    shell.task.until(done).await;
    shell.check_signal(streams).await?;
    let board = site.board();
    let code = wanted
        .last()
        .and_then(|job| board.jobs.get(job).copied().flatten());
    Ok(code.unwrap_or(0))
}

fn read(shell: &mut Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let Some(line) = streams.input.line() else {
        for name in names {
            shell.set(name, "");
        }
        return Ok(1);
    };
    let separators = shell
        .variables
        .get("IFS")
        .cloned()
        .unwrap_or_else(|| " \t\n".into());
    let blank = |c: char| separators.contains(c);
    let mut rest = line
        .trim_end_matches('\n')
        .trim_matches(|c: char| blank(c) && c.is_whitespace())
        .to_owned();
    if names.is_empty() {
        shell.set("REPLY", rest);
        return Ok(0);
    }
    for (at, name) in names.iter().enumerate() {
        if at + 1 == names.len() {
            shell.set(name, rest.clone());
            break;
        }
        let (word, tail) = match rest.find(blank) {
            Some(end) => {
                let tail = rest[end..].chars().skip(1).collect::<String>();
                (
                    rest[..end].to_owned(),
                    tail.trim_start_matches(|c: char| blank(c) && c.is_whitespace())
                        .to_owned(),
                )
            }
            None => (rest.clone(), String::new()),
        };
        shell.set(name, word);
        rest = tail;
    }
    Ok(0)
}
