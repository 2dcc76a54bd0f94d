//! Programs that make, move and list files.

use crate::shell::files::FileError;
use crate::shell::machine::{Outcome, Shell, Streams};

/// Their names.
pub(crate) const NAMES: [&str; 15] = [
    "mkdir", "touch", "rm", "rmdir", "ls", "cp", "mv", "ln", "chmod", "chown", "chgrp", "basename",
    "dirname", "mktemp", "realpath",
];

/// Runs one of them; nothing when it is another program.
pub(crate) fn run(
    shell: &Shell,
    name: &str,
    arguments: &[String],
    streams: &Streams,
) -> Option<Outcome> {
    let flags: String = arguments
        .iter()
        .filter(|a| a.starts_with('-'))
        .flat_map(|a| a.chars())
        .collect();
    let names: Vec<&str> = arguments
        .iter()
        .filter(|a| !a.starts_with('-'))
        .map(String::as_str)
        .collect();
    let say = |text: String| shell.write(&streams.out, &text).map(|()| 0);
    Some(match name {
        "chmod" | "chown" | "chgrp" => Ok(0),
        "mkdir" => each(
            shell,
            streams,
            &names,
            "mkdir: can't create directory",
            |path| shell.files.make_folder(path, flags.contains('p')),
        ),
        "touch" => each(shell, streams, &names, "touch:", |path| {
            if shell.files.is_folder(path) {
                return Ok(());
            }
            shell.files.write(path, "", true)
        }),
        "rm" => each(
            shell,
            streams,
            &names,
            "rm: can't remove",
            |path| match shell.files.remove(path, flags.contains(['r', 'R'])) {
                Err(FileError::Missing) if flags.contains('f') => Ok(()),
                other => other,
            },
        ),
        "rmdir" => each(shell, streams, &names, "rmdir:", |path| {
            shell.files.remove_folder(path)
        }),
        "ls" => list(shell, streams, &names, &flags),
        "cp" | "mv" | "ln" => copy(shell, streams, name, &names),
        "basename" => {
            let path = names.first().unwrap_or(&"").trim_end_matches('/');
            let base = path.rsplit('/').next().unwrap_or(path);
            let suffix = names.get(1).copied().unwrap_or("");
            let base = base
                .strip_suffix(suffix)
                .filter(|b| !b.is_empty())
                .unwrap_or(base);
            say(format!("{base}\n"))
        }
        "dirname" => {
            let path = names.first().unwrap_or(&"");
            let parent = match path.rfind('/') {
                Some(0) => "/",
                Some(at) => &path[..at],
                None => ".",
            };
            say(format!("{parent}\n"))
        }
        "realpath" => say(format!("{}\n", shell.path(names.first().unwrap_or(&"")))),
        "mktemp" => {
            let path = format!("/tmp/tmp.{:06x}", shell.task.now().micros() & 0xff_ffff);
            let made = if flags.contains('d') {
                shell.files.make_folder(&path, true)
            } else {
                shell.files.write(&path, "", true)
            };
            match made {
                Ok(()) => say(format!("{path}\n")),
                Err(_) => Ok(1),
            }
        }
        _ => return None,
    })
}

fn each(
    shell: &Shell,
    streams: &Streams,
    names: &[&str],
    complaint: &str,
    act: impl Fn(&str) -> Result<(), FileError>,
) -> Outcome {
    let mut code = 0;
    for name in names {
        if let Err(why) = act(&shell.path(name)) {
            let text = format!("{complaint} '{name}': {}\n", why.text());
            shell.write(&streams.err, &text)?;
            code = 1;
        }
    }
    Ok(code)
}

fn list(shell: &Shell, streams: &Streams, names: &[&str], flags: &str) -> Outcome {
    let names = if names.is_empty() { &["."][..] } else { names };
    let mut code = 0;
    for name in names {
        let path = shell.path(name);
        let found = if shell.files.is_folder(&path) {
            shell.files.list(&path)
        } else {
            shell.files.read(&path).map(|_| vec![(*name).to_owned()])
        };
        match found {
            Ok(entries) => {
                let shown = entries
                    .iter()
                    .filter(|e| flags.contains(['a', 'A']) || !e.starts_with('.'));
                let text: String = shown.map(|e| format!("{e}\n")).collect();
                shell.write(&streams.out, &text)?;
            }
            Err(why) => {
                shell.write(&streams.err, &format!("ls: {name}: {}\n", why.text()))?;
                code = 1;
            }
        }
    }
    Ok(code)
}

fn copy(shell: &Shell, streams: &Streams, program: &str, names: &[&str]) -> Outcome {
    let [sources @ .., target] = names else {
        shell.write(&streams.err, &format!("{program}: missing file operand\n"))?;
        return Ok(1);
    };
    let mut code = 0;
    for source in sources {
        let from = shell.path(source);
        let mut to = shell.path(target);
        if shell.files.is_folder(&to) {
            let base = from.rsplit('/').next().unwrap_or("");
            to = format!("{}/{base}", to.trim_end_matches('/'));
        }
        let done = copy_all(shell, &from, &to, 0).and_then(|()| {
            if program == "mv" {
                shell.files.remove(&from, true)
            } else {
                Ok(())
            }
        });
        if let Err(why) = done {
            let text = format!("{program}: can't stat '{source}': {}\n", why.text());
            shell.write(&streams.err, &text)?;
            code = 1;
        }
    }
    Ok(code)
}

fn copy_all(shell: &Shell, from: &str, to: &str, depth: usize) -> Result<(), FileError> {
    if !shell.files.is_folder(from) {
        let text = shell.files.read(from)?;
        return shell.files.write(to, &text, false);
    }
    if depth > 20 || to.starts_with(&format!("{from}/")) {
        return Err(FileError::Full);
    }
    shell.files.make_folder(to, true)?;
    for name in shell.files.list(from)? {
        copy_all(
            shell,
            &format!("{from}/{name}"),
            &format!("{to}/{name}"),
            depth + 1,
        )?;
    }
    Ok(())
}
