//! Repositories behind a real `sshd`.

use super::{FILES, Scenario, World, fails, same, settings, short, words};
use git::{Credential, Credentials, KnownHosts, RepositorySettings};
use gitworld::{Outcome, ServerOptions, SshServer};

pub(crate) const ALL: &[(&str, Scenario)] = &[
    ("ssh: a key and a known host", known),
    (
        "ssh: a host that is not known, with the line to add",
        unknown_host,
    ),
    ("ssh: a host whose key changed", changed_host),
    ("ssh: insecure asks no host for its name", insecure),
    ("ssh: a key the server does not know", wrong_key),
    ("ssh: a key that is none", broken_key),
    ("ssh: a repository that is not there", gone),
    ("ssh: nobody listens, and no such host", unreachable),
    ("ssh: nothing private is left behind", tidy),
];

struct Behind {
    world: World,
    ssh: SshServer,
    url: String,
}

fn behind() -> Outcome<Behind> {
    let world = World::with(
        ServerOptions::default(),
        git::Options {
            timeouts: git::Timeouts {
                idle: std::time::Duration::from_secs(10),
                ..short().timeouts
            },
            ..short()
        },
    )?;
    let ssh = SshServer::start()?;
    let url = ssh.url(&world.repo.bare)?;
    Ok(Behind { world, ssh, url })
}

impl Behind {
    fn book(&self, url: &str, key: &str, host: &str) -> Outcome<Credentials> {
        Ok(Credentials {
            known_hosts: KnownHosts::Lines(match host {
                "" => String::new(),
                host => self.ssh.known_hosts(host)?,
            }),
            ..Credentials::of(RepositorySettings {
                credential: Credential {
                    name: "deploy-key".into(),
                    ssh_key: self.ssh.key(key)?.into(),
                    ..Credential::default()
                },
                ..settings(url)
            })
        })
    }
}

fn known() -> Outcome {
    let all = behind()?;
    let book = all.book(&all.url, "client", "host")?;
    same(
        all.world.read(&all.url, &book).map_err(words)?,
        FILES[0].1.to_owned(),
    )?;
    let next = all.world.repo.change("a.yaml", "a: 1\n")?;
    same(
        all.world
            .resolve_at(&all.url, "main", &book)
            .map_err(words)?
            .commit
            .to_string(),
        next,
    )
}

fn unknown_host() -> Outcome {
    let all = behind()?;
    let read = all.world.read(&all.url, &all.book(&all.url, "client", "")?);
    let line = all.ssh.known_hosts("host")?;
    let finding = read
        .as_ref()
        .err()
        .map(|e| format!("{:?}", e.finding().fix))
        .unwrap_or_default();
    same(finding.contains(line.trim()), true).map_err(|e| format!("{e}\n{line}\n{finding}"))?;
    fails(read, "G02", "is not known")
}

fn changed_host() -> Outcome {
    let all = behind()?;
    fails(
        all.world
            .read(&all.url, &all.book(&all.url, "client", "stranger")?),
        "G02",
        "has another key than the one we know",
    )
}

fn insecure() -> Outcome {
    let all = behind()?;
    let mut book = all.book(&all.url, "client", "")?;
    for settings in &mut book.repositories {
        settings.insecure = true;
    }
    same(
        all.world.read(&all.url, &book).map_err(words)?,
        FILES[0].1.to_owned(),
    )
}

fn wrong_key() -> Outcome {
    let all = behind()?;
    fails(
        all.world
            .read(&all.url, &all.book(&all.url, "stranger", "host")?),
        "G01",
        "the credential `deploy-key`",
    )
}

fn broken_key() -> Outcome {
    let all = behind()?;
    let mut book = all.book(&all.url, "client", "host")?;
    for settings in &mut book.repositories {
        settings.credential.ssh_key = "not a key".into();
    }
    fails(
        all.world.read(&all.url, &book),
        "G01",
        "the credential `deploy-key`",
    )
}

fn gone() -> Outcome {
    let all = behind()?;
    let url = all.ssh.url(&all.world.folder.path().join("none.git"))?;
    fails(
        all.world.read(&url, &all.book(&url, "client", "host")?),
        "G03",
        "does not appear to be a git repository",
    )
}

fn unreachable() -> Outcome {
    let all = behind()?;
    let Behind { world, ssh, url } = all;
    let book = Credentials::default();
    drop(ssh);
    fails(world.read(&url, &book), "G02", "tcp: Connection refused")?;
    fails(
        world.read("ssh://git@no-such-host.invalid/app.git", &book),
        "G02",
        "dns:",
    )
}

fn tidy() -> Outcome {
    let all = behind()?;
    let book = all.book(&all.url, "client", "host")?;
    all.world.read(&all.url, &book).map_err(words)?;
    let left = std::fs::read_dir(all.world.cache().join("tmp")).map_err(|e| e.to_string())?;
    same(left.count(), 0)
}
