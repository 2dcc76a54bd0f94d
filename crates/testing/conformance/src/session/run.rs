//! Runs the commands of a session.

use super::print::normalise;
use super::{Outcome, Session, Step};
use crate::{RunError, fault};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest that one command may take.
const STEP_MAX: Duration = Duration::from_secs(90);
/// Longest that a command is run again.
const UNTIL_MAX: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(20);

/// The programs of a session, and the cluster they talk to.
#[derive(Clone, Debug)]
pub struct Clients {
    /// kubectl.
    pub kubectl: PathBuf,
    /// helm, for sessions that use it.
    pub helm: PathBuf,
    /// The cluster.
    pub kubeconfig: PathBuf,
}

/// Runs every command of a session, in a fresh folder with a copy of its files.
pub fn run(session: &Session, clients: &Clients) -> Result<Vec<Outcome>, RunError> {
    let work = Work::new(session)?;
    let steps = session.steps.iter();
    steps.map(|step| work.run(step, clients)).collect()
}

struct Work {
    folder: PathBuf,
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Work {
    fn new(session: &Session) -> Result<Self, RunError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tiphys-session-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let work = Self { folder };
        copy(&session.folder.join("files"), &work.folder).map_err(wrong(&session.folder))?;
        fs::create_dir_all(work.folder.join("home/tmp")).map_err(wrong(&work.folder))?;
        Ok(work)
    }

    fn run(&self, step: &Step, clients: &Clients) -> Result<Outcome, RunError> {
        let end = Instant::now() + UNTIL_MAX;
        loop {
            let outcome = self.run_once(step, clients)?;
            if !step.until || outcome.exit == step.exit || Instant::now() > end {
                return Ok(outcome);
            }
            sleep(TICK * 10);
        }
    }

    fn run_once(&self, step: &Step, clients: &Clients) -> Result<Outcome, RunError> {
        let program = match step.words[0].as_str() {
            "kubectl" => &clients.kubectl,
            "helm" => &clients.helm,
            other => return Err(fault(&step.name, format!("`{other}` is not a client"))),
        };
        let home = self.folder.join("home");
        let (out, err) = (home.join("stdout"), home.join("stderr"));
        let make = |path: &Path| File::create(path).map_err(wrong(path));
        let mut child = Command::new(program)
            .args(&step.words[1..])
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("TMPDIR", home.join("tmp"))
            .env("KUBECONFIG", &clients.kubeconfig)
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(make(&out)?)
            .stderr(make(&err)?)
            .spawn()
            .map_err(wrong(program))?;
        let limit = step.stop_s.map_or(STEP_MAX, Duration::from_secs);
        let end = Instant::now() + limit;
        let exit = loop {
            if let Some(status) = child.try_wait().map_err(wrong(program))? {
                break status.code().unwrap_or(-1);
            }
            if Instant::now() > end {
                let _ = child.kill();
                let _ = child.wait();
                break -1;
            }
            sleep(TICK);
        };
        let config = clients.kubeconfig.parent().unwrap_or(Path::new("/"));
        let folders = [
            &self.folder.display().to_string(),
            &config.display().to_string(),
        ];
        let folders = folders.map(Clone::clone);
        let text = |path: &Path| fs::read(path).map_err(wrong(path));
        let lines =
            |bytes: Vec<u8>| normalise(&String::from_utf8_lossy(&bytes), &folders, step.fields);
        let mut stdout = lines(text(&out)?);
        if step.sorted {
            stdout.sort();
        }
        Ok(Outcome {
            step: step.name.clone(),
            exit,
            stdout,
            stderr: lines(text(&err)?),
        })
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn wrong(path: &Path) -> impl FnOnce(io::Error) -> RunError + use<> {
    let path = path.display().to_string();
    move |source| RunError::File { path, source }
}
