//! Finds the real programs: in the cache, else builds them with Go.
//!
//! A module under `tools/` names the programs and pins their sources. What is built is kept in
//! `$XDG_CACHE_HOME/tiphys` (or `~/.cache/tiphys`) in a folder named after the module and a hash
//! of everything that decides the result, so that a second run only looks.

use std::env;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A module of real programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// kube-apiserver, kube-controller-manager, kube-scheduler, kubectl.
    Kube,
    /// etcd.
    Etcd,
    /// helm 3.
    Helm3,
    /// helm 4.
    Helm4,
    /// kustomize.
    Kustomize,
}

/// Why a program is not there.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// There is no Go to build with.
    #[error(
        "`{what}` must be built once and there is no Go: install Go 1.26 or later from \
         https://go.dev/dl and put `go` on the PATH (modules come from $GOPROXY)"
    )]
    NoGo {
        /// What would have been built.
        what: String,
    },
    /// There is no place to keep programs.
    #[error("neither $XDG_CACHE_HOME nor $HOME is set: no place to keep built programs")]
    NoCache,
    /// A file of the module or the cache cannot be used.
    #[error("could not use `{path}`")]
    File {
        /// Which one.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Go said no.
    #[error("`{command}` failed in {folder}:\n{output}")]
    Build {
        /// What ran.
        command: String,
        /// Where.
        folder: String,
        /// What it said.
        output: String,
    },
}

impl Tool {
    /// Every module.
    pub const ALL: [Self; 5] = [
        Self::Kube,
        Self::Etcd,
        Self::Helm3,
        Self::Helm4,
        Self::Kustomize,
    ];

    /// The folder under `tools/`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Kube => "kube",
            Self::Etcd => "etcd",
            Self::Helm3 => "helm3",
            Self::Helm4 => "helm4",
            Self::Kustomize => "kustomize",
        }
    }

    /// The programs it gives.
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Kube => &[
                "kube-apiserver",
                "kube-controller-manager",
                "kube-scheduler",
                "kubectl",
            ],
            Self::Etcd => &["etcd"],
            Self::Helm3 | Self::Helm4 => &["helm"],
            Self::Kustomize => &["kustomize"],
        }
    }

    // The version the module asks for, without the leading `v`.
    fn version(self, go_mod: &str) -> Option<&str> {
        let module = match self {
            Self::Kube => "k8s.io/kubernetes",
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::Helm3 => "helm.sh/helm/v3",
            Self::Helm4 => "helm.sh/helm/v4",
            Self::Kustomize => "sigs.k8s.io/kustomize/kustomize/v5",
        };
        go_mod.lines().find_map(|line| {
            let line = line.trim().trim_start_matches("require ");
            line.strip_prefix(module)?
                .strip_prefix(" v")?
                .split(' ')
                .next()
        })
    }

    // Helm 3 renders as if for the Kubernetes its client speaks; its build must say which that is.
    fn kube_stamps(self, go_mod: &str) -> Vec<(String, String)> {
        let client = |line: &str| {
            let version = line.trim().strip_prefix("k8s.io/client-go v0.")?;
            Some(version.split('.').next()?.to_owned())
        };
        match go_mod.lines().find_map(client) {
            Some(minor) if self == Self::Helm3 => vec![
                (
                    "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor".into(),
                    "1".into(),
                ),
                (
                    "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor".into(),
                    minor,
                ),
            ],
            _ => Vec::new(),
        }
    }

    // Without stamps the programs call themselves v0.0.0 and clients refuse to talk to them.
    fn ldflags(self, go_mod: &str) -> String {
        let version = self.version(go_mod).unwrap_or("0.0.0");
        let mut numbers = version.split('.');
        let (major, minor) = (numbers.next().unwrap_or(""), numbers.next().unwrap_or(""));
        let stamps: Vec<(String, String)> = match self {
            Self::Kube => [
                "k8s.io/component-base/version",
                "k8s.io/client-go/pkg/version",
            ]
            .iter()
            .flat_map(|package| {
                [
                    (format!("{package}.gitVersion"), format!("v{version}")),
                    (format!("{package}.gitMajor"), major.to_owned()),
                    (format!("{package}.gitMinor"), minor.to_owned()),
                ]
            })
            .collect(),
            // It knows its version from its module.
            Self::Etcd | Self::Kustomize => Vec::new(),
            Self::Helm3 | Self::Helm4 => vec![(
                format!("helm.sh/helm/v{major}/internal/version.version"),
                format!("v{version}"),
            )],
        };
        let stamps = stamps.into_iter().chain(self.kube_stamps(go_mod));
        let mut flags = String::new();
        for (name, value) in stamps {
            let _ = write!(flags, "-X {name}={value} ");
        }
        flags.trim_end().to_owned()
    }
}

/// The folder that holds the programs of a module; builds them when they are not there.
/// `modules` is the project's `tools` folder.
pub fn find(tool: Tool, modules: &Path) -> Result<PathBuf, ToolError> {
    let module = modules.join(tool.folder());
    let go_mod = read(&module.join("go.mod"))?;
    let go_sum = read(&module.join("go.sum"))?;
    let ldflags = tool.ldflags(&go_mod);
    let cache = cache()?;
    let Some(go) = go_version() else {
        return newest_without_go(tool, &cache, &key_prefix(&go_mod, &go_sum, &ldflags));
    };
    let prefix = key_prefix(&go_mod, &go_sum, &ldflags);
    let folder = cache.join(format!("{}-{prefix}-{go}", tool.folder()));
    if !complete(tool, &folder) {
        build(tool, &module, &ldflags, &folder)?;
    }
    Ok(folder)
}

fn key_prefix(go_mod: &str, go_sum: &str, ldflags: &str) -> String {
    let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
    for part in [go_mod, go_sum, ldflags, "-trimpath"] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let mut text = String::new();
    for byte in &hash.finish().as_ref()[..8] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

// Programs that another Go built from the same sources do as well as none.
fn newest_without_go(tool: Tool, cache: &Path, prefix: &str) -> Result<PathBuf, ToolError> {
    let wanted = format!("{}-{prefix}-", tool.folder());
    let mut found: Vec<PathBuf> = fs::read_dir(cache)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or("");
            name.starts_with(&wanted) && complete(tool, path)
        })
        .collect();
    found.sort();
    found.pop().ok_or_else(|| ToolError::NoGo {
        what: tool.programs().join("`, `"),
    })
}

fn complete(tool: Tool, folder: &Path) -> bool {
    tool.programs().iter().all(|p| folder.join(p).is_file())
}

fn build(tool: Tool, module: &Path, ldflags: &str, folder: &Path) -> Result<(), ToolError> {
    let draft = folder.with_extension(format!("draft-{}", std::process::id()));
    let file = |path: &Path| {
        let path = path.display().to_string();
        move |source| ToolError::File { path, source }
    };
    fs::create_dir_all(&draft).map_err(file(&draft))?;
    let mut command = Command::new("go");
    command.current_dir(module).args(["build", "-trimpath"]);
    command.args(["-buildvcs=false", "-ldflags", ldflags, "-o"]);
    command.arg(format!("{}/", draft.display())).arg("tool");
    eprintln!(
        "building {} (a few minutes, once)",
        tool.programs().join(", ")
    );
    let done = command.output().map_err(file(module))?;
    if !done.status.success() {
        let _ = fs::remove_dir_all(&draft);
        return Err(ToolError::Build {
            command: "go build".into(),
            folder: module.display().to_string(),
            output: String::from_utf8_lossy(&done.stderr).into_owned(),
        });
    }
    if tool == Tool::Etcd {
        // The package is called `server`; the program is etcd.
        fs::rename(draft.join("server"), draft.join("etcd")).map_err(file(&draft))?;
    }
    match fs::rename(&draft, folder) {
        Ok(()) => Ok(()),
        // Somebody else was faster.
        Err(_) if complete(tool, folder) => fs::remove_dir_all(&draft).map_err(file(&draft)),
        Err(source) => Err(file(folder)(source)),
    }
}

fn read(path: &Path) -> Result<String, ToolError> {
    fs::read_to_string(path).map_err(|source| ToolError::File {
        path: path.display().to_string(),
        source,
    })
}

fn cache() -> Result<PathBuf, ToolError> {
    let set = |name| {
        env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .map(|folder| folder.join("tiphys"))
        .ok_or(ToolError::NoCache)
}

fn go_version() -> Option<String> {
    let output = Command::new("go")
        .args(["env", "GOVERSION"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && text.starts_with("go")).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO_MOD: &str = "module m\n\nrequire k8s.io/kubernetes v1.36.4 // indirect\n";

    #[test]
    fn stamps_carry_the_version_of_the_module() {
        let flags = Tool::Kube.ldflags(GO_MOD);
        assert!(flags.starts_with("-X k8s.io/component-base/version.gitVersion=v1.36.4 "));
        assert!(flags.contains("version.gitMinor=36"));
        assert_eq!(Tool::Etcd.ldflags(GO_MOD), "");
    }

    #[test]
    fn every_input_changes_the_key() {
        let base = key_prefix("a", "b", "c");
        assert_eq!(base, key_prefix("a", "b", "c"));
        assert_eq!(base.len(), 16);
        assert_ne!(base, key_prefix("ab", "", "c"));
        assert_ne!(base, key_prefix("a", "b", "d"));
    }
}
