//! The corpus of charts below `helm/`: the same arguments to us and to the real `helm template`.
//!
//! Each folder has a chart and a `cases.txt` with one case a line, `name: arguments`. What Helm
//! printed stands in `expected/`: `name.out` where Helm 3 and 4 agree, `name.v3` and `name.v4`
//! where they do not. A refusal is recorded with its words.

use helm::command::{self, Template, World};
use helm::{Capabilities, Chart, Flavour, HelmError, Rendered};
use model::tree::{Entry, EntryKind, Node};
use model::{SourceTree, Tree, TreeError};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// One run of `helm template`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Where it runs.
    pub folder: PathBuf,
    /// What it is called.
    pub name: String,
    /// What stands behind `helm template`.
    pub arguments: Vec<String>,
}

/// The folder of the corpus.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("helm")
}

/// All cases, in order.
pub fn cases() -> io::Result<Vec<Case>> {
    let mut folders: Vec<PathBuf> = fs::read_dir(corpus())?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    let mut cases = Vec::new();
    for folder in folders {
        for line in fs::read_to_string(folder.join("cases.txt"))?.lines() {
            if let Some((name, arguments)) = line.split_once(": ") {
                cases.push(Case {
                    folder: folder.clone(),
                    name: name.to_owned(),
                    arguments: words(arguments),
                });
            }
        }
    }
    Ok(cases)
}

// Words as a shell takes them: blanks separate, single quotes keep together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

impl Case {
    /// The folder's name and the case's.
    pub fn title(&self) -> String {
        let folder = self.folder.file_name().unwrap_or_default();
        format!("{}/{}", folder.to_string_lossy(), self.name)
    }

    fn file(&self, suffix: &str) -> PathBuf {
        self.folder
            .join("expected")
            .join(format!("{}.{suffix}", self.name))
    }

    /// What the real program printed when it was recorded.
    pub fn expected(&self, flavour: Flavour) -> io::Result<String> {
        let own = self.file(suffix(flavour));
        let file = if own.exists() { own } else { self.file("out") };
        fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Keeps what both programs print.
    pub fn record(&self, v3: &str, v4: &str) -> io::Result<()> {
        fs::create_dir_all(self.folder.join("expected"))?;
        for suffix in ["out", "v3", "v4"] {
            let _ = fs::remove_file(self.file(suffix));
        }
        if v3 == v4 {
            return fs::write(self.file("out"), v3);
        }
        fs::write(self.file("v3"), v3)?;
        fs::write(self.file("v4"), v4)
    }

    /// What the real program prints now.
    pub fn run(&self, program: &Path) -> io::Result<String> {
        let output = Command::new(program)
            .arg("template")
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env("HELM_CACHE_HOME", std::env::temp_dir().join("tiphys-helm"))
            .env("KUBECONFIG", "/dev/null")
            .output()?;
        // Helm prints whole paths; the corpus lies elsewhere on every machine.
        let here = format!("{}/", self.folder.display());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&here, "");
        Ok(shown(
            &text(&output.stdout),
            &text(&output.stderr),
            output.status.success(),
        ))
    }

    /// What we print.
    pub fn ours(&self, flavour: Flavour) -> String {
        let template = match command::parse(&self.arguments) {
            Ok(template) => template,
            Err(message) => return shown("", &format!("Error: {message}\n"), false),
        };
        let mut here = Here {
            folder: &self.folder,
            flavour,
        };
        match command::run(&template, flavour, &mut here) {
            Ok(outcome) => shown(&outcome.stdout, &outcome.stderr, outcome.code == 0),
            Err(refused) => shown("", &format!("Error: {refused}\n"), false),
        }
    }
}

fn suffix(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::V3 => "v3",
        Flavour::V4 => "v4",
    }
}

// Standard output, and of standard error what is wrong; warnings carry times and differ.
fn shown(stdout: &str, stderr: &str, success: bool) -> String {
    if success {
        return stdout.to_owned();
    }
    let at = stderr.find("Error: ").unwrap_or(0);
    format!("{stdout}{}", &stderr[at..])
}

// A folder of the corpus.
struct Here<'a> {
    folder: &'a Path,
    flavour: Flavour,
}

#[derive(Debug)]
struct Disk(PathBuf);

impl Tree for Disk {
    fn node(&self, path: &str) -> Result<Option<Node>, TreeError> {
        let at = self.0.join(path);
        if at.is_dir() {
            let unreadable = |error: io::Error| TreeError::Unreadable {
                path: path.to_owned(),
                why: error.to_string(),
            };
            let mut entries = Vec::new();
            for entry in fs::read_dir(&at).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                let kind = if entry.path().is_dir() {
                    EntryKind::Directory
                } else {
                    EntryKind::File
                };
                let name = entry.file_name().to_string_lossy().into_owned();
                entries.push(Entry { name, kind });
            }
            return Ok(Some(Node::Directory(entries)));
        }
        Ok(fs::read(&at).ok().map(|bytes| Node::File(bytes.into())))
    }
}

impl World for Here<'_> {
    fn chart(&mut self, name: &str, _template: &Template) -> Result<Chart, HelmError> {
        let tree = SourceTree::new(Disk(self.folder.to_owned()));
        if self.folder.join(name).exists() {
            return helm::load(&tree, name, self.flavour);
        }
        Err(HelmError::Chart {
            message: format!("path {name:?} not found"),
            file: name.to_owned(),
            line: 0,
        })
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        fs::read(self.folder.join(path))
            .map_err(|_| format!("open {path}: no such file or directory"))
    }

    fn context(&mut self, _template: &Template) -> Result<gotemplate::Context, String> {
        // Nothing of the corpus depends on chance or time.
        Ok(gotemplate::Context::new(
            (1_600_000_000, 0),
            Box::new(|bytes| bytes.fill(7)),
        ))
    }

    fn capabilities(&mut self, _template: &Template) -> Result<Capabilities, String> {
        Err("there is no cluster".into())
    }

    fn validate(&mut self, _template: &Template, _rendered: &Rendered) -> Result<(), String> {
        Err("there is no cluster".into())
    }

    fn write(&mut self, path: &str, _text: &str, _first: bool) -> Result<(), String> {
        Err(format!("{path}: the corpus is not written to"))
    }

    fn now(&self) -> i64 {
        1_600_000_000
    }
}
