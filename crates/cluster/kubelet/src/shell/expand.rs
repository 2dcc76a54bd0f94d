//! Words become texts: parameters, substitutions, sums, splitting, file names.

use super::machine::{Flow, Manner, Shell, Sink, Streams, TEXT_MAX, confined};
use super::syntax::{Change, Command, Part, Word};
use super::text::Pattern;
use super::word;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

/// How many words one command may have.
const FIELDS_MAX: usize = 20_000;

type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, Flow>> + Send + 'a>>;

/// A piece of an expanded word.
#[derive(Clone, Debug)]
enum Piece {
    /// Stays as it is.
    Quoted(String),
    /// Text of the script: not split, but may name files.
    Plain(String),
    /// A value: split at spaces.
    Value(String),
    /// The end of a word inside `"$@"`.
    Break,
}

/// The words of a command.
pub(crate) async fn fields(
    shell: &mut Shell,
    words: &[Word],
    streams: &Streams,
) -> Result<Vec<String>, Flow> {
    let mut out = Vec::new();
    for word in words {
        let pieces = pieces(shell, word, streams).await?;
        for field in split(pieces, shell) {
            out.extend(file_names(shell, field));
        }
        if out.len() > FIELDS_MAX {
            shell.complain(streams, "Argument list too long")?;
            return Err(Flow::Exit(126));
        }
    }
    Ok(out)
}

/// One text, neither split nor matched with files.
pub(crate) async fn text(
    shell: &mut Shell,
    word: &Word,
    streams: &Streams,
) -> Result<String, Flow> {
    let mut out = String::new();
    for piece in pieces(shell, word, streams).await? {
        match piece {
            Piece::Quoted(text) | Piece::Plain(text) | Piece::Value(text) => out.push_str(&text),
            Piece::Break => out.push(' '),
        }
    }
    Ok(out)
}

/// A pattern: what is quoted is not special.
pub(crate) async fn pattern(
    shell: &mut Shell,
    word: &Word,
    streams: &Streams,
) -> Result<Pattern, Flow> {
    let pieces = pieces(shell, word, streams).await?;
    let parts = pieces.iter().map(|piece| match piece {
        Piece::Quoted(text) => (text.as_str(), true),
        Piece::Plain(text) | Piece::Value(text) => (text.as_str(), false),
        Piece::Break => (" ", true),
    });
    Ok(Pattern::new(parts))
}

/// The text of an arithmetic, with what is substituted in it.
pub(crate) async fn embedded(
    shell: &mut Shell,
    expression: &str,
    streams: &Streams,
) -> Result<String, Flow> {
    if !expression.contains(['$', '`']) {
        return Ok(expression.to_owned());
    }
    match word::here_text(expression, shell.depth) {
        Ok(word) => text(shell, &word, streams).await,
        Err(why) => {
            shell.complain(streams, &why)?;
            Err(Flow::Exit(2))
        }
    }
}

/// Whether a word runs commands.
pub(crate) fn substitutes(word: &Word) -> bool {
    word.parts
        .iter()
        .any(|part| matches!(part, Part::Substitution { .. }))
}

fn pieces<'a>(shell: &'a mut Shell, word: &'a Word, streams: &'a Streams) -> Later<'a, Vec<Piece>> {
    Box::pin(async move {
        let mut out = Vec::new();
        for (at, part) in word.parts.iter().enumerate() {
            match part {
                Part::Text { text, quoted: true } => out.push(Piece::Quoted(text.clone())),
                Part::Text { text, .. } => {
                    let home = at == 0 && (text == "~" || text.starts_with("~/"));
                    let text = if home {
                        let home = shell.variables.get("HOME").cloned().unwrap_or_default();
                        format!("{home}{}", &text[1..])
                    } else {
                        text.clone()
                    };
                    out.push(Piece::Plain(text));
                }
                Part::Substitution { script, quoted } => {
                    let text = substitute(shell, script, streams).await?;
                    out.push(value(text, *quoted));
                }
                Part::Sum { expression, quoted } => {
                    let sum = shell.calculate(expression, streams).await?;
                    out.push(value(sum.to_string(), *quoted));
                }
                Part::Parameter {
                    name,
                    change,
                    quoted,
                } => parameter(shell, name, change.as_ref(), *quoted, streams, &mut out).await?,
            }
        }
        let length = out.iter().map(|piece| match piece {
            Piece::Quoted(text) | Piece::Plain(text) | Piece::Value(text) => text.len(),
            Piece::Break => 1,
        });
        if length.sum::<usize>() > TEXT_MAX {
            shell.complain(streams, "out of memory")?;
            return Err(Flow::Exit(2));
        }
        Ok(out)
    })
}

fn value(text: String, quoted: bool) -> Piece {
    if quoted {
        Piece::Quoted(text)
    } else {
        Piece::Value(text)
    }
}

async fn substitute(
    shell: &mut Shell,
    script: &Arc<Command>,
    streams: &Streams,
) -> Result<String, Flow> {
    let buffer = Arc::new(Mutex::new(String::new()));
    let own = Streams {
        out: Sink::Buffer(buffer.clone()),
        ..streams.clone()
    };
    let mut inner = shell.clone();
    inner.traps.clear();
    let code = confined(inner.run(script, &own, Manner::default()).await)?;
    shell.status = code;
    let mut text = std::mem::take(&mut *buffer.lock().unwrap_or_else(PoisonError::into_inner));
    while text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

async fn parameter(
    shell: &mut Shell,
    name: &str,
    change: Option<&Change>,
    quoted: bool,
    streams: &Streams,
    out: &mut Vec<Piece>,
) -> Result<(), Flow> {
    if matches!(name, "@" | "*") && change.is_none() {
        let joined = quoted && name == "*";
        if joined {
            out.push(Piece::Quoted(shell.arguments.join(" ")));
            return Ok(());
        }
        let count = shell.arguments.len();
        for (at, argument) in shell.arguments.iter().enumerate() {
            out.push(value(argument.clone(), quoted));
            if at + 1 < count {
                out.push(Piece::Break);
            }
        }
        return Ok(());
    }
    let known = lookup(shell, name);
    let Some(change) = change else {
        if known.is_none() && shell.options.contains(&'u') {
            shell.complain(streams, &format!("{name}: parameter not set"))?;
            return Err(Flow::Exit(2));
        }
        out.push(value(known.unwrap_or_default(), quoted));
        return Ok(());
    };
    if let Change::Default {
        sign,
        empty_too,
        word,
    } = change
    {
        let missing = known.as_ref().is_none_or(|v| v.is_empty() && *empty_too);
        match (sign, missing) {
            ('+', false) | ('-', true) => {
                let inner = pieces(shell, word, streams).await?;
                out.extend(inner.into_iter().map(|piece| match piece {
                    Piece::Plain(text) | Piece::Value(text) => value(text, quoted),
                    other => other,
                }));
            }
            ('=', true) => {
                let text = text(shell, word, streams).await?;
                shell.set(name, text.clone());
                out.push(value(text, quoted));
            }
            ('?', true) => {
                let text = text(shell, word, streams).await?;
                let text = if text.is_empty() {
                    "parameter not set".to_owned()
                } else {
                    text
                };
                shell.complain(streams, &format!("{name}: {text}"))?;
                return Err(Flow::Exit(2));
            }
            ('+', true) => {}
            _ => out.push(value(known.unwrap_or_default(), quoted)),
        }
        return Ok(());
    }
    let known = known.unwrap_or_default();
    let changed = changed(shell, name, known, change, streams).await?;
    out.push(value(changed, quoted));
    Ok(())
}

async fn changed(
    shell: &mut Shell,
    name: &str,
    known: String,
    change: &Change,
    streams: &Streams,
) -> Result<String, Flow> {
    Ok(match change {
        Change::Length if matches!(name, "@" | "*") => shell.arguments.len().to_string(),
        Change::Length => known.chars().count().to_string(),
        Change::Trim {
            front,
            longest,
            pattern: word,
        } => {
            let pattern = pattern(shell, word, streams).await?;
            pattern.trim(&known, *front, *longest)
        }
        Change::Replace { all, from, to } => {
            let pattern = pattern(shell, from, streams).await?;
            let to = text(shell, to, streams).await?;
            pattern.replace(&known, &to, *all)
        }
        Change::Slice(offset, length) => {
            let offset = shell.calculate(offset, streams).await?;
            let length = match length {
                Some(length) => Some(shell.calculate(length, streams).await?),
                None => None,
            };
            slice(&known, offset, length)
        }
        Change::Case { upper: true } => known.to_uppercase(),
        Change::Case { upper: false } => known.to_lowercase(),
        Change::Default { .. } => known,
    })
}

fn slice(text: &str, offset: i64, length: Option<i64>) -> String {
    let count = text.chars().count() as i64;
    let start = if offset < 0 {
        (count + offset).max(0)
    } else {
        offset.min(count)
    };
    let end = match length {
        Some(length) if length < 0 => count + length,
        Some(length) => start.saturating_add(length).min(count),
        None => count,
    };
    let length = usize::try_from(end - start).unwrap_or(0);
    let start = usize::try_from(start).unwrap_or(0);
    text.chars().skip(start).take(length).collect()
}

fn lookup(shell: &Shell, name: &str) -> Option<String> {
    match name {
        "?" => Some(shell.status.to_string()),
        "#" => Some(shell.arguments.len().to_string()),
        "$" => Some("1".into()),
        "!" => (shell.job > 0).then(|| shell.job.to_string()),
        "-" => Some(shell.options.iter().collect()),
        "0" => Some(shell.name.clone()),
        "RANDOM" => {
            let seed = shell.task.now().micros() as u64 ^ (shell.depth as u64) << 40;
            Some((crate::spec::hash(&shell.site.host, seed) % 32_768).to_string())
        }
        "SECONDS" => shell.variables.get("SECONDS").cloned().or(Some("0".into())),
        "PWD" => Some(shell.directory.clone()),
        _ => match name.parse::<usize>() {
            Ok(at) => shell.arguments.get(at.wrapping_sub(1)).cloned(),
            Err(_) => shell.variables.get(name).cloned(),
        },
    }
}

// A word while it is put together: what of it is quoted matters for file names.
#[derive(Default)]
struct Field {
    parts: Vec<(String, bool)>,
}

fn split(pieces: Vec<Piece>, shell: &Shell) -> Vec<Field> {
    let separators = shell
        .variables
        .get("IFS")
        .map_or(" \t\n", String::as_str)
        .to_owned();
    let mut fields = Vec::new();
    let mut current: Option<Field> = None;
    let add = |current: &mut Option<Field>, text: &str, quoted: bool| {
        let field = current.get_or_insert_with(Field::default);
        field.parts.push((text.to_owned(), quoted));
    };
    for piece in pieces {
        match piece {
            Piece::Quoted(text) => add(&mut current, &text, true),
            Piece::Plain(text) => add(&mut current, &text, false),
            Piece::Break => fields.extend(current.take()),
            Piece::Value(text) => {
                let text = text.get(..TEXT_MAX).unwrap_or(&text);
                let mut start = 0;
                let blank = |c: char| separators.contains(c);
                for (at, c) in text.char_indices().filter(|(_, c)| blank(*c)) {
                    if at > start {
                        add(&mut current, &text[start..at], false);
                    } else if !c.is_whitespace() {
                        // A separator that is no space keeps empty fields.
                        add(&mut current, "", false);
                    }
                    fields.extend(current.take());
                    start = at + c.len_utf8();
                }
                if start < text.len() {
                    add(&mut current, &text[start..], false);
                }
            }
        }
    }
    fields.extend(current);
    fields
}

// Names of files that match, or the word itself.
fn file_names(shell: &Shell, field: Field) -> Vec<String> {
    let whole: String = field.parts.iter().map(|(text, _)| text.as_str()).collect();
    let parts = field.parts.iter().map(|(t, q)| (t.as_str(), *q));
    let pattern = Pattern::new(parts);
    if pattern.is_plain() || shell.options.contains(&'f') {
        return vec![whole];
    }
    let (folder, shown) = match whole.rfind('/') {
        Some(at) if whole[..at].contains(['*', '?', '[']) => return vec![whole],
        Some(at) => (shell.path(&whole[..=at]), &whole[..=at]),
        None => (shell.directory.clone(), ""),
    };
    let names = shell.files.list(&folder).unwrap_or_default();
    let found: Vec<String> = names
        .iter()
        .filter(|name| !name.starts_with('.'))
        .map(|name| format!("{shown}{name}"))
        .filter(|name| pattern.matches(name))
        .collect();
    if found.is_empty() { vec![whole] } else { found }
}
