//! One control plane: etcd, kube-apiserver and, when asked, kube-controller-manager and kube-scheduler.

use crate::process::{Guard, Program};
use crate::tools::{self, Tool};
use crate::{RealError, certificates, io_error};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use testkit::Client;

/// The token of the administrator, a member of `system:masters`.
pub const ADMIN_TOKEN: &str = "admin-token";
/// The token of `somebody`, a user without groups who may do nothing.
pub const USER_TOKEN: &str = "user-token";
/// How long a start may take.
pub const START_MAX: Duration = Duration::from_secs(90);

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The project's `tools` folder; the one beside this crate when empty.
    pub modules: Option<PathBuf>,
    /// Where certificates, data and logs go; a temporary folder, removed at the end, when empty.
    pub folder: Option<PathBuf>,
    /// Controllers of kube-controller-manager to run (`--controllers`); none: it is not started.
    pub controllers: Vec<String>,
    /// More flags for kube-apiserver.
    pub apiserver_flags: Vec<String>,
    /// More flags for kube-controller-manager.
    pub controller_flags: Vec<String>,
    /// Whether kube-scheduler runs, too.
    pub scheduler: bool,
}

impl Options {
    /// With the controllers that work without workloads: namespaces, garbage, accounts, quota.
    pub fn with_basic_controllers() -> Self {
        let names = [
            "namespace-controller",
            "garbage-collector-controller",
            "serviceaccount-controller",
            "root-ca-certificate-publisher-controller",
            "resourcequota-controller",
        ];
        Self {
            controllers: names.map(str::to_owned).into(),
            ..Self::default()
        }
    }

    /// With every controller and the scheduler: all of a cluster but its nodes. Their requests are
    /// not throttled, and autoscalers look every two seconds.
    pub fn with_workloads() -> Self {
        Self {
            controllers: vec!["*".into()],
            controller_flags: flags(&[
                ("kube-api-qps", "1000"),
                ("kube-api-burst", "2000"),
                ("horizontal-pod-autoscaler-sync-period", "2s"),
            ]),
            scheduler: true,
            ..Self::default()
        }
    }
}

/// A running control plane; it ends when this is dropped.
#[derive(Debug)]
pub struct ControlPlane {
    /// `https://127.0.0.1:PORT`.
    pub url: String,
    /// The authority of its certificate, PEM.
    pub ca_pem: String,
    /// The administrator's token.
    pub admin_token: String,
    /// The token of a user who may do nothing.
    pub user_token: String,
    /// A kubeconfig of the administrator.
    pub kubeconfig: PathBuf,
    /// Where its files are.
    pub folder: PathBuf,
    /// Where kubectl and the other real programs are.
    pub programs: PathBuf,
    running: Vec<Program>,
    guard: Option<Guard>,
    temporary: bool,
}

impl ControlPlane {
    /// Starts everything and waits until it answers.
    pub fn start(options: &Options) -> Result<Self, RealError> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools");
        let modules = options.modules.clone().unwrap_or(beside);
        let etcd = tools::find(Tool::Etcd, &modules)?;
        let programs = tools::find(Tool::Kube, &modules)?;
        let temporary = options.folder.is_none();
        let folder = options.folder.clone().unwrap_or_else(temporary_folder);
        fs::create_dir_all(&folder)
            .map_err(io_error(format!("make the folder `{}`", folder.display())))?;
        let ca_pem = certificates::write(&folder)?;
        let ports = free_ports()?;
        let url = format!("https://127.0.0.1:{}", ports[2]);
        let kubeconfig = folder.join("kubeconfig");
        let tokens = format!("{ADMIN_TOKEN},admin,,\"system:masters\"\n{USER_TOKEN},somebody,\n");
        write(&folder.join("tokens.csv"), &tokens)?;
        write(&kubeconfig, &kubeconfig_text(&url, &folder, ADMIN_TOKEN))?;
        let mut plane = Self {
            url,
            ca_pem,
            admin_token: ADMIN_TOKEN.into(),
            user_token: USER_TOKEN.into(),
            kubeconfig,
            folder,
            programs,
            running: Vec::new(),
            guard: Some(Guard::start()?),
            temporary,
        };
        if let (true, Some(guard)) = (temporary, plane.guard.as_mut()) {
            guard.remove(&plane.folder);
        }
        plane.launch(&etcd, ports, options)?;
        Ok(plane)
    }

    /// A client as the administrator.
    pub fn client(&self) -> Result<Client, testkit::HttpError> {
        Client::new(&self.url, &self.ca_pem, Some(&self.admin_token))
    }

    /// The ids of the running programs.
    pub fn ids(&self) -> Vec<u32> {
        self.running.iter().map(Program::id).collect()
    }

    /// Lets the programs run on after this process; [`end`](crate::end) stops them by id.
    pub fn detach(mut self) -> Vec<u32> {
        let ids = self.ids();
        self.running.clear();
        self.temporary = false;
        if let Some(guard) = self.guard.take() {
            guard.release();
        }
        ids
    }

    fn launch(&mut self, etcd: &Path, ports: [u16; 3], options: &Options) -> Result<(), RealError> {
        let until = Instant::now() + START_MAX;
        let [client_port, peer_port, secure_port] = ports;
        let arguments = etcd_arguments(&self.folder, client_port, peer_port);
        self.run(("etcd", etcd), &arguments, until, &|_| {
            std::net::TcpStream::connect(("127.0.0.1", client_port)).is_ok()
        })?;
        let mut arguments = apiserver_arguments(&self.folder, client_port, secure_port);
        arguments.extend(options.apiserver_flags.iter().cloned());
        let programs = self.programs.clone();
        let ready = |client: &Client| client.get("/readyz").is_ok_and(|r| r.status == 200);
        self.run(("kube-apiserver", &programs), &arguments, until, &ready)?;
        if options.controllers.is_empty() {
            return Ok(());
        }
        let mut arguments = controller_arguments(&self.folder, &options.controllers);
        arguments.extend(options.controller_flags.iter().cloned());
        let accounts = options
            .controllers
            .iter()
            .any(|c| c.contains("serviceaccount") || c == "*");
        // Nothing else says that the controllers have begun.
        let account = "/api/v1/namespaces/default/serviceaccounts/default";
        let begun =
            |client: &Client| !accounts || client.get(account).is_ok_and(|r| r.status == 200);
        self.run(
            ("kube-controller-manager", &programs),
            &arguments,
            until,
            &begun,
        )?;
        if !options.scheduler {
            return Ok(());
        }
        let arguments = scheduler_arguments(&self.folder);
        // It says nothing when it has begun: pods simply wait until it has.
        self.run(("kube-scheduler", &programs), &arguments, until, &|_| true)
    }

    fn run(
        &mut self,
        program: (&'static str, &Path),
        arguments: &[String],
        until: Instant,
        ready: &dyn Fn(&Client) -> bool,
    ) -> Result<(), RealError> {
        let client = self
            .client()
            .map_err(|e| RealError::Certificate(e.to_string()))?;
        let guard = self.guard.as_mut().expect("taken only by detach");
        let mut started = Program::start(program, arguments, &self.folder, guard)?;
        let waited = started.wait_until(until, || ready(&client));
        self.running.push(started);
        waited
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        while let Some(mut program) = self.running.pop() {
            // The data is thrown away with it: only etcd's clients deserve a farewell.
            if self.temporary {
                program.kill();
            } else {
                program.stop();
            }
        }
        if let Some(guard) = self.guard.as_mut() {
            guard.dismiss();
        }
        if self.temporary {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// The text of a kubeconfig for a server with its authority in `<folder>/ca.crt`.
fn kubeconfig_text(url: &str, folder: &Path, token: &str) -> String {
    let ca = folder.join("ca.crt");
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: real\n\
         clusters:\n- name: real\n  cluster:\n    server: {url}\n    certificate-authority: {}\n\
         contexts:\n- name: real\n  context:\n    cluster: real\n    user: admin\n\
         users:\n- name: admin\n  user:\n    token: {token}\n",
        ca.display()
    )
}

fn etcd_arguments(folder: &Path, client: u16, peer: u16) -> Vec<String> {
    let client = format!("http://127.0.0.1:{client}");
    let peer = format!("http://127.0.0.1:{peer}");
    flags(&[
        ("data-dir", &folder.join("etcd").display().to_string()),
        ("name", "real"),
        ("listen-client-urls", &client),
        ("advertise-client-urls", &client),
        ("listen-peer-urls", &peer),
        ("initial-advertise-peer-urls", &peer),
        ("initial-cluster", &format!("real={peer}")),
        ("unsafe-no-fsync", "true"),
        ("log-level", "warn"),
    ])
}

fn apiserver_arguments(folder: &Path, etcd: u16, port: u16) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    flags(&[
        ("etcd-servers", &format!("http://127.0.0.1:{etcd}")),
        ("bind-address", "127.0.0.1"),
        ("secure-port", &port.to_string()),
        ("service-account-issuer", "https://kubernetes.default.svc"),
        ("service-account-key-file", &file("sa.pub")),
        ("service-account-signing-key-file", &file("sa.key")),
        ("token-auth-file", &file("tokens.csv")),
        ("authorization-mode", "RBAC"),
        ("tls-cert-file", &file("server.crt")),
        ("tls-private-key-file", &file("server.key")),
        ("client-ca-file", &file("ca.crt")),
        ("service-cluster-ip-range", "10.0.0.0/24"),
        ("endpoint-reconciler-type", "none"),
        ("kubelet-preferred-address-types", "InternalIP"),
    ])
}

fn controller_arguments(folder: &Path, controllers: &[String]) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    flags(&[
        ("kubeconfig", &file("kubeconfig")),
        ("controllers", &controllers.join(",")),
        ("leader-elect", "false"),
        ("secure-port", "0"),
        ("bind-address", "127.0.0.1"),
        ("service-account-private-key-file", &file("sa.key")),
        ("root-ca-file", &file("ca.crt")),
        ("flex-volume-plugin-dir", &file("flex")),
    ])
}

fn scheduler_arguments(folder: &Path) -> Vec<String> {
    flags(&[
        (
            "kubeconfig",
            &folder.join("kubeconfig").display().to_string(),
        ),
        ("leader-elect", "false"),
        ("secure-port", "0"),
        ("bind-address", "127.0.0.1"),
        ("kube-api-qps", "1000"),
        ("kube-api-burst", "2000"),
    ])
}

fn flags(pairs: &[(&str, &str)]) -> Vec<String> {
    pairs.iter().map(|(k, v)| format!("--{k}={v}")).collect()
}

// Ports that were free a moment ago; all are held until all are known.
fn free_ports() -> Result<[u16; 3], RealError> {
    let mut ports = [0; 3];
    let mut held = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(io_error("find a free port"))?;
        *port = listener
            .local_addr()
            .map_err(io_error("find a free port"))?
            .port();
        held.push(listener);
    }
    Ok(ports)
}

fn temporary_folder() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("tiphys-real-{}-{count}", std::process::id()))
}

fn write(path: &Path, text: &str) -> Result<(), RealError> {
    fs::write(path, text).map_err(io_error(format!("write `{}`", path.display())))
}
