//! `tiphys sandbox start`, run as a user runs it.

use crate::access::Access;
use crate::folder::Folder;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use testkit::Client;

/// A bearer token of an administrator that every test's sandbox knows.
pub const ADMIN_TOKEN: &str = "e2e-admin-token";
/// How long a start may take before a test gives up.
const START_MAX: Duration = Duration::from_secs(30);

/// How to start.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep the cluster in this folder.
    pub data: Option<PathBuf>,
    /// Where to listen; a free port of loopback when empty.
    pub listen: Option<String>,
    /// Write the kubeconfig here; inside the test's folder when empty.
    pub kubeconfig: Option<PathBuf>,
    /// Whether Pods are made, placed and run.
    pub workloads: bool,
    /// How many times as fast as the machine's its clock runs; as fast when 0.
    pub speed: u32,
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum StartFault {
    /// The program ended before it was ready.
    #[error("the program ended with {status}: {words}")]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// What it printed on stderr.
        words: String,
    },
    /// The program did something unexpected.
    #[error("{0}")]
    Strange(String),
}

/// A running sandbox; killed when dropped.
#[derive(Debug)]
pub struct Sandbox {
    /// `https://127.0.0.1:PORT`.
    pub url: String,
    /// Where the program says its kubeconfig is.
    pub kubeconfig: PathBuf,
    /// What the kubeconfig says.
    pub access: Access,
    /// How long it took from the start of the process to its word that it is ready.
    pub ready_after: Duration,
    child: Child,
    log: PathBuf,
    _folder: Folder,
}

/// The program under test: `TIPHYS_BIN`, or the one cargo built beside this test.
pub fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("TIPHYS_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a test knows its own path");
    let beside = test
        .ancestors()
        .skip(1)
        .map(|folder| folder.join("tiphys"))
        .take(2)
        .find(|path| path.is_file());
    beside.unwrap_or_else(|| {
        panic!(
            "there is no `tiphys` beside {}: run `cargo build -p cli` first, or set TIPHYS_BIN",
            test.display()
        )
    })
}

impl Sandbox {
    /// Starts one in memory.
    pub fn start() -> Self {
        Self::start_with(&Options::default()).unwrap_or_else(|fault| panic!("{fault}"))
    }

    /// Starts one that keeps its data in a folder.
    pub fn start_at(data: &Path) -> Self {
        let options = Options {
            data: Some(data.to_owned()),
            ..Options::default()
        };
        Self::start_with(&options).unwrap_or_else(|fault| panic!("{fault}"))
    }

    /// Starts one and waits until it says that it is ready.
    pub fn start_with(options: &Options) -> Result<Self, StartFault> {
        let folder = Folder::new();
        let log = folder.join("stderr");
        let strange = |e: std::io::Error| StartFault::Strange(e.to_string());
        let wanted = options.kubeconfig.clone();
        let wanted = wanted.unwrap_or_else(|| folder.join("kubeconfig"));
        let mut command = Command::new(program());
        command
            .args(["-o", "json", "--loglevel", "warn", "sandbox", "start"])
            .arg("--listen")
            .arg(options.listen.as_deref().unwrap_or("127.0.0.1:0"))
            .arg("--kubeconfig")
            .arg(&wanted)
            .arg("--token")
            .arg(format!("{ADMIN_TOKEN}=e2e-admin,system:masters"))
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).map_err(strange)?);
        if !options.workloads {
            command.args(["--workloads", "off"]);
        }
        if options.speed > 0 {
            command.arg("--speed").arg(options.speed.to_string());
        }
        if let Some(data) = &options.data {
            command.arg("--data").arg(data);
        }
        let begin = Instant::now();
        let mut child = command.spawn().map_err(strange)?;
        let line = first_line(&mut child);
        let ready_after = begin.elapsed();
        let Some(line) = line else {
            // A program that neither speaks nor ends must not hold the test up.
            let status = end_of(&mut child, Duration::from_secs(1));
            return Err(StartFault::Ended {
                status,
                words: fs::read_to_string(&log).unwrap_or_default(),
            });
        };
        let said: serde_json::Value = serde_json::from_str(&line)
            .map_err(|e| StartFault::Strange(format!("{e} in {line:?}")))?;
        assert_eq!(said["pid"], child.id(), "the announced pid");
        let text = |field: &str| said[field].as_str().unwrap_or("").to_owned();
        let kubeconfig = PathBuf::from(text("kubeconfig"));
        let config = fs::read_to_string(&kubeconfig).map_err(strange)?;
        Ok(Self {
            url: text("url"),
            kubeconfig,
            access: Access::read(&config).map_err(StartFault::Strange)?,
            ready_after,
            child,
            log,
            _folder: folder,
        })
    }

    /// A client as the administrator, by bearer token.
    pub fn client(&self) -> Client {
        self.client_with(Some(ADMIN_TOKEN))
    }

    /// A client with another token, or none.
    pub fn client_with(&self, token: Option<&str>) -> Client {
        Client::new(&self.url, &self.access.ca_pem, token).expect("our own certificate is good")
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Memory it holds, in KiB; 0 where the system does not say.
    pub fn resident_kib(&self) -> u64 {
        self.status_kib("VmRSS:")
    }

    /// The most memory it ever held, in KiB.
    pub fn resident_peak_kib(&self) -> u64 {
        self.status_kib("VmHWM:")
    }

    fn status_kib(&self, field: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix(field));
        let number = line.and_then(|l| l.split_whitespace().next());
        number.and_then(|n| n.parse().ok()).unwrap_or(0)
    }

    /// What it printed on stderr so far.
    pub fn words(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks it to stop, and says how it ended and after how long.
    pub fn terminate(&mut self) -> (ExitStatus, Duration) {
        let begin = Instant::now();
        let asked = Command::new("kill")
            .args(["-TERM", &self.pid().to_string()])
            .status();
        assert!(asked.is_ok_and(|s| s.success()), "kill -TERM");
        let status = end_of(&mut self.child, Duration::from_secs(10));
        (status, begin.elapsed())
    }

    /// Ends it as a power cut would: `kill -9`.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Fails the test when the program panicked or died.
    pub fn assert_sound(&mut self) {
        let words = self.words();
        assert!(!words.contains("panicked"), "the program panicked: {words}");
        assert!(self.runs(), "the program ended: {words}");
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.kill();
        if !std::thread::panicking() {
            let words = self.words();
            assert!(!words.contains("panicked"), "the program panicked: {words}");
        }
    }
}

// The line that says it is ready; `None` when stdout closed first or nothing came in time.
fn first_line(child: &mut Child) -> Option<String> {
    let stdout = child.stdout.take()?;
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        let mut line = String::new();
        let _ = reader.read_line(&mut line);
        let _ = sender.send(line);
        // Keeps the pipe open and empty, so that the program never writes into a closed one.
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
    });
    let line = receiver.recv_timeout(START_MAX).ok()?;
    (!line.is_empty()).then_some(line)
}

fn end_of(child: &mut Child, within: Duration) -> ExitStatus {
    let until = Instant::now() + within;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return status;
        }
        if Instant::now() >= until {
            let _ = child.kill();
            return child.wait().expect("a killed child can be waited for");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
