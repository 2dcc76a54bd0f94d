//! Programs that read text and write text.

use crate::shell::machine::{Outcome, Shell, Streams};
use crate::shell::text::expression;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use std::collections::BTreeMap;

/// Their names.
pub(crate) const NAMES: [&str; 16] = [
    "cat", "grep", "egrep", "fgrep", "head", "tail", "wc", "sort", "uniq", "cut", "tr", "tee",
    "sed", "awk", "base64", "rev",
];

/// Flags, with the values of those that have one, and what is left.
struct Parsed {
    flags: BTreeMap<char, String>,
    rest: Vec<String>,
}

fn parse(arguments: &[String], with_value: &str) -> Parsed {
    let mut flags = BTreeMap::new();
    let mut rest = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.extend(words.cloned());
            break;
        }
        let Some(letters) = word.strip_prefix('-').filter(|l| !l.is_empty()) else {
            rest.push(word.clone());
            continue;
        };
        if let Some(long) = letters.strip_prefix('-') {
            let (name, value) = long.split_once('=').unwrap_or((long, ""));
            let letter = match name {
                "quiet" | "silent" => 'q',
                "ignore-case" => 'i',
                "invert-match" => 'v',
                "lines" => 'n',
                "follow" => 'f',
                "decode" => 'd',
                "count" => 'c',
                _ => continue,
            };
            flags.insert(letter, value.to_owned());
            continue;
        }
        let mut chars = letters.char_indices();
        while let Some((at, letter)) = chars.next() {
            if with_value.contains(letter) {
                let value = &letters[at + letter.len_utf8()..];
                let value = if value.is_empty() {
                    words.next().cloned().unwrap_or_default()
                } else {
                    value.to_owned()
                };
                flags.insert(letter, value);
                break;
            }
            flags.insert(letter, String::new());
        }
    }
    Parsed { flags, rest }
}

/// Runs one of them; nothing when it is another program.
pub(crate) fn run(
    shell: &Shell,
    name: &str,
    arguments: &[String],
    streams: &Streams,
) -> Option<Outcome> {
    Some(match name {
        "cat" => cat(shell, arguments, streams),
        "grep" | "egrep" | "fgrep" => grep(shell, name, arguments, streams),
        "head" | "tail" => ends(shell, name, arguments, streams),
        "wc" => count(shell, arguments, streams),
        "sort" => sort(shell, arguments, streams),
        "uniq" => lines(shell, arguments, streams, |text| {
            let mut out: Vec<&str> = text.lines().collect();
            out.dedup();
            out.iter().map(|l| format!("{l}\n")).collect()
        }),
        "rev" => lines(shell, arguments, streams, |text| {
            let reversed = text.lines().map(|l| l.chars().rev().collect::<String>());
            reversed.map(|l| format!("{l}\n")).collect()
        }),
        "cut" => cut(shell, arguments, streams),
        "tr" => translate(shell, arguments, streams),
        "tee" => tee(shell, arguments, streams),
        "sed" => sed(shell, arguments, streams),
        "awk" => awk(shell, arguments, streams),
        "base64" => base64(shell, arguments, streams),
        _ => return None,
    })
}

// The text of the named files, or what is piped in.
fn input(
    shell: &Shell,
    program: &str,
    names: &[String],
    streams: &Streams,
) -> Result<Input, crate::shell::machine::Flow> {
    if names.is_empty() {
        return Ok(Input {
            text: streams.input.rest(),
            missing: false,
        });
    }
    let mut text = String::new();
    let mut missing = false;
    for name in names {
        if name == "-" {
            text.push_str(&streams.input.rest());
            continue;
        }
        match shell.files.read(&shell.path(name)) {
            Ok(content) => text.push_str(&content),
            Err(why) => {
                missing = true;
                let line = format!("{program}: {name}: {}\n", why.text());
                shell.write(&streams.err, &line)?;
            }
        }
    }
    Ok(Input { text, missing })
}

struct Input {
    text: String,
    missing: bool,
}

fn cat(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let parsed = parse(arguments, "");
    let found = input(shell, "cat", &parsed.rest, streams)?;
    let out = if parsed.flags.contains_key(&'n') {
        let numbered = found.text.lines().enumerate();
        numbered
            .map(|(n, l)| format!("{:6}\t{l}\n", n + 1))
            .collect()
    } else {
        found.text
    };
    shell.write(&streams.out, &out)?;
    Ok(i32::from(found.missing))
}

fn lines(
    shell: &Shell,
    arguments: &[String],
    streams: &Streams,
    change: impl FnOnce(&str) -> String,
) -> Outcome {
    let parsed = parse(arguments, "");
    let found = input(shell, "", &parsed.rest, streams)?;
    shell.write(&streams.out, &change(&found.text))?;
    Ok(i32::from(found.missing))
}

fn grep(shell: &Shell, name: &str, arguments: &[String], streams: &Streams) -> Outcome {
    let mut parsed = parse(arguments, "emABC");
    let has = |flag: char| parsed.flags.contains_key(&flag);
    let (quiet, invert, only, numbered, whole) = (has('q'), has('v'), has('o'), has('n'), has('x'));
    let (fold, counted, words) = (has('i'), has('c'), has('w'));
    let extended = has('E') || has('P') || name == "egrep";
    let fixed = has('F') || name == "fgrep";
    let pattern = match parsed.flags.remove(&'e') {
        Some(pattern) => pattern,
        None if parsed.rest.is_empty() => {
            shell.write(&streams.err, "grep: no pattern\n")?;
            return Ok(2);
        }
        None => parsed.rest.remove(0),
    };
    let mut pattern = if fixed {
        regex::escape(&pattern)
    } else {
        pattern
    };
    if whole {
        pattern = format!("^{pattern}$");
    }
    let regex = expression(&pattern, extended || fixed, fold);
    let regex = if words {
        regex.and_then(|r| Regex::new(&format!(r"\b(?:{})\b", r.as_str())).ok())
    } else {
        regex
    };
    let Some(regex) = regex else {
        shell.write(&streams.err, "grep: bad regex\n")?;
        return Ok(2);
    };
    let found = input(shell, "grep", &parsed.rest, streams)?;
    let mut out = String::new();
    let mut matched = 0;
    for (at, line) in found.text.lines().enumerate() {
        if regex.is_match(line) == invert {
            continue;
        }
        matched += 1;
        let prefix = if numbered {
            format!("{}:", at + 1)
        } else {
            String::new()
        };
        if only {
            for part in regex.find_iter(line) {
                out += &format!("{prefix}{}\n", part.as_str());
            }
        } else {
            out += &format!("{prefix}{line}\n");
        }
    }
    if counted {
        out = format!("{matched}\n");
    }
    if !quiet {
        shell.write(&streams.out, &out)?;
    }
    Ok(match (matched, found.missing) {
        (0, true) => 2,
        (0, false) => 1,
        _ => 0,
    })
}

fn ends(shell: &Shell, name: &str, arguments: &[String], streams: &Streams) -> Outcome {
    let digits = |word: &String| word.len() > 1 && word[1..].chars().all(|c| c.is_ascii_digit());
    let arguments: Vec<String> = arguments
        .iter()
        .map(|word| {
            if word.starts_with('-') && digits(word) {
                format!("-n{}", &word[1..])
            } else {
                word.clone()
            }
        })
        .collect();
    let parsed = parse(&arguments, "nc");
    let found = input(shell, name, &parsed.rest, streams)?;
    let number = |flag: char| {
        parsed
            .flags
            .get(&flag)
            .map(|v| v.trim_start_matches('+').parse::<usize>().unwrap_or(10))
    };
    let out = if let Some(count) = number('c') {
        let chars: Vec<char> = found.text.chars().collect();
        let kept = if name == "head" {
            &chars[..count.min(chars.len())]
        } else {
            &chars[chars.len().saturating_sub(count)..]
        };
        kept.iter().collect()
    } else {
        let count = number('n').unwrap_or(10);
        let from_start = parsed.flags.get(&'n').is_some_and(|v| v.starts_with('+'));
        let all: Vec<&str> = found.text.split_inclusive('\n').collect();
        let kept = match name {
            "head" => &all[..count.min(all.len())],
            _ if from_start => &all[count.saturating_sub(1).min(all.len())..],
            _ => &all[all.len().saturating_sub(count)..],
        };
        kept.concat()
    };
    shell.write(&streams.out, &out)?;
    Ok(i32::from(found.missing))
}

fn count(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let parsed = parse(arguments, "");
    let found = input(shell, "wc", &parsed.rest, streams)?;
    let counts = [
        ('l', found.text.matches('\n').count()),
        ('w', found.text.split_whitespace().count()),
        ('c', found.text.len()),
    ];
    let asked = |flag: char| {
        parsed.flags.is_empty()
            || parsed.flags.contains_key(&flag)
            || (flag == 'c' && parsed.flags.contains_key(&'m'))
    };
    let numbers: Vec<String> = counts
        .iter()
        .filter(|(flag, _)| asked(*flag))
        .map(|(_, n)| n.to_string())
        .collect();
    let names = parsed.rest.join(" ");
    let out = format!("{} {names}", numbers.join(" "));
    shell.write(&streams.out, &format!("{}\n", out.trim_end()))?;
    Ok(i32::from(found.missing))
}

fn sort(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let parsed = parse(arguments, "kt");
    let found = input(shell, "sort", &parsed.rest, streams)?;
    let mut all: Vec<&str> = found.text.lines().collect();
    if parsed.flags.contains_key(&'n') {
        let leading = |line: &str| {
            let digits: String = line
                .trim()
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            digits.parse::<i64>().unwrap_or(0)
        };
        all.sort_by_key(|line| leading(line));
    } else {
        all.sort_unstable();
    }
    if parsed.flags.contains_key(&'r') {
        all.reverse();
    }
    if parsed.flags.contains_key(&'u') {
        all.dedup();
    }
    let out: String = all.iter().map(|l| format!("{l}\n")).collect();
    shell.write(&streams.out, &out)?;
    Ok(i32::from(found.missing))
}

fn cut(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let parsed = parse(arguments, "dfc");
    let found = input(shell, "cut", &parsed.rest, streams)?;
    let range = parsed.flags.get(&'f').or_else(|| parsed.flags.get(&'c'));
    let wanted = |at: usize| {
        range.is_none_or(|range| {
            range.split(',').any(|part| match part.split_once('-') {
                Some((from, to)) => {
                    at >= from.parse().unwrap_or(1) && at <= to.parse().unwrap_or(usize::MAX)
                }
                None => part.parse() == Ok(at),
            })
        })
    };
    let by_field = parsed.flags.contains_key(&'f');
    let delimiter = parsed.flags.get(&'d').map_or("\t", String::as_str);
    let mut out = String::new();
    for line in found.text.lines() {
        if by_field && line.contains(delimiter) {
            let fields = line.split(delimiter).enumerate();
            let kept: Vec<&str> = fields
                .filter(|(at, _)| wanted(at + 1))
                .map(|(_, f)| f)
                .collect();
            out += &kept.join(delimiter);
        } else if by_field {
            out += line;
        } else {
            out.extend(
                line.chars()
                    .enumerate()
                    .filter(|(at, _)| wanted(at + 1))
                    .map(|(_, c)| c),
            );
        }
        out.push('\n');
    }
    shell.write(&streams.out, &out)?;
    Ok(i32::from(found.missing))
}

fn characters(set: &str) -> Vec<char> {
    let set = set
        .replace("[:upper:]", "A-Z")
        .replace("[:lower:]", "a-z")
        .replace("[:digit:]", "0-9")
        .replace("[:alnum:]", "a-zA-Z0-9")
        .replace("[:space:]", " \t\n\r");
    let set = crate::shell::text::unescape(&set);
    let chars: Vec<char> = set.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if at + 2 < chars.len() && chars[at + 1] == '-' && chars[at] <= chars[at + 2] {
            out.extend(chars[at]..=chars[at + 2]);
            at += 3;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

fn translate(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let parsed = parse(arguments, "");
    let text = streams.input.rest();
    let has = |flag: char| parsed.flags.contains_key(&flag);
    let from = characters(parsed.rest.first().map_or("", String::as_str));
    let to = characters(parsed.rest.get(1).map_or("", String::as_str));
    let among = |c: char| from.contains(&c) != has('c');
    let mut out = String::new();
    for c in text.chars() {
        let changed = match (among(c), has('d')) {
            (true, true) => continue,
            (true, false) if !to.is_empty() => {
                let at = from.iter().position(|f| *f == c).unwrap_or(usize::MAX);
                to.get(at).or(to.last()).copied().unwrap_or(c)
            }
            _ => c,
        };
        if has('s') && out.ends_with(changed) && (among(c) || to.contains(&changed)) {
            continue;
        }
        out.push(changed);
    }
    shell.write(&streams.out, &out)?;
    Ok(0)
}

fn tee(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let parsed = parse(arguments, "");
    let text = streams.input.rest();
    let append = parsed.flags.contains_key(&'a');
    let mut code = 0;
    for name in &parsed.rest {
        if name.starts_with("/dev/std") {
            shell.write(&streams.err, &text)?;
        } else if let Err(why) = shell.files.write(&shell.path(name), &text, append) {
            shell.write(&streams.err, &format!("tee: {name}: {}\n", why.text()))?;
            code = 1;
        }
    }
    shell.write(&streams.out, &text)?;
    Ok(code)
}

// `s/a/b/g`, `/a/d` and `Np`; other scripts let the text through.
fn sed(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let mut parsed = parse(arguments, "e");
    let extended = parsed.flags.contains_key(&'E') || parsed.flags.contains_key(&'r');
    let in_place = parsed.flags.contains_key(&'i');
    let script = match parsed.flags.remove(&'e') {
        Some(script) => script,
        None if parsed.rest.is_empty() => return Ok(1),
        None => parsed.rest.remove(0),
    };
    let found = input(shell, "sed", &parsed.rest, streams)?;
    let mut text = found.text;
    for part in script.split([';', '\n']).map(str::trim) {
        text = edit(&text, part, extended, parsed.flags.contains_key(&'n'));
    }
    if in_place {
        for name in &parsed.rest {
            // A file that could be read can be written, or is read-only and stays.
            let _ = shell.files.write(&shell.path(name), &text, false);
        }
    } else {
        shell.write(&streams.out, &text)?;
    }
    Ok(i32::from(found.missing))
}

fn edit(text: &str, part: &str, extended: bool, silent: bool) -> String {
    let each = |change: &dyn Fn(usize, &str) -> Option<String>| -> String {
        let changed = text
            .lines()
            .enumerate()
            .filter_map(|(at, line)| change(at + 1, line));
        changed.map(|line| format!("{line}\n")).collect()
    };
    if let Some(rest) = part.strip_prefix('s')
        && let Some(delimiter) = rest.chars().next().filter(|c| !c.is_alphanumeric())
    {
        let pieces: Vec<&str> = rest[delimiter.len_utf8()..].split(delimiter).collect();
        let [from, to, flags] = pieces.as_slice() else {
            return text.to_owned();
        };
        let Some(regex) = expression(from, extended, flags.contains('i')) else {
            return text.to_owned();
        };
        let numbered = Regex::new(r"\\([0-9])").ok();
        let to = to.replace('$', "$$");
        let to = numbered.map_or(to.clone(), |n| n.replace_all(&to, "$${$1}").into_owned());
        let to = to.replace('&', "${0}");
        let limit = usize::from(!flags.contains('g'));
        return each(&|_, line| Some(regex.replacen(line, limit, to.as_str()).into_owned()));
    }
    if let Some(pattern) = part.strip_prefix('/').and_then(|p| p.strip_suffix("/d")) {
        let regex = expression(pattern, extended, false);
        return each(&|_, line| {
            let goes = regex.as_ref().is_some_and(|r| r.is_match(line));
            (!goes).then(|| line.to_owned())
        });
    }
    if let Some(number) = part.strip_suffix('p').and_then(|p| p.parse::<usize>().ok())
        && silent
    {
        return each(&|at, line| (at == number).then(|| line.to_owned()));
    }
    text.to_owned()
}

// `{print $1}`; other scripts let the text through.
fn awk(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let mut parsed = parse(arguments, "Fv");
    if parsed.rest.is_empty() {
        return Ok(1);
    }
    let script = parsed.rest.remove(0);
    let found = input(shell, "awk", &parsed.rest, streams)?;
    let body = script
        .trim()
        .strip_prefix('{')
        .and_then(|s| s.strip_suffix('}'));
    let Some(printed) = body.and_then(|b| b.trim().strip_prefix("print")) else {
        shell.write(&streams.out, &found.text)?;
        return Ok(0);
    };
    let separator = parsed.flags.get(&'F').cloned().unwrap_or_default();
    let mut out = String::new();
    for line in found.text.lines() {
        let fields: Vec<&str> = if separator.is_empty() {
            line.split_whitespace().collect()
        } else {
            line.split(separator.as_str()).collect()
        };
        let value = |word: &str| -> String {
            match word.trim().trim_end_matches(';') {
                "" | "$0" => line.to_owned(),
                "$NF" => fields.last().map_or(String::new(), |f| (*f).to_owned()),
                "NF" => fields.len().to_string(),
                word => match word.strip_prefix('$').and_then(|n| n.parse::<usize>().ok()) {
                    Some(at) => fields
                        .get(at.wrapping_sub(1))
                        .map_or(String::new(), |f| (*f).to_owned()),
                    None => word.trim_matches('"').to_owned(),
                },
            }
        };
        let words: Vec<String> = printed.split(',').map(value).collect();
        out += &format!("{}\n", words.join(" "));
    }
    shell.write(&streams.out, &out)?;
    Ok(0)
}

fn base64(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let parsed = parse(arguments, "w");
    let found = input(shell, "base64", &parsed.rest, streams)?;
    let decodes = parsed.flags.contains_key(&'d') || parsed.flags.contains_key(&'D');
    if !decodes {
        shell.write(&streams.out, &format!("{}\n", STANDARD.encode(&found.text)))?;
        return Ok(0);
    }
    let joined: String = found.text.split_whitespace().collect();
    match STANDARD.decode(joined) {
        Ok(bytes) => {
            shell.write(&streams.out, &String::from_utf8_lossy(&bytes))?;
            Ok(0)
        }
        Err(_) => {
            shell.write(&streams.err, "base64: invalid input\n")?;
            Ok(1)
        }
    }
}
