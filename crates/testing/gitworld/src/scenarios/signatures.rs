//! Commits signed with real programs: gpg and ssh-keygen.

use super::{Scenario, World, same, words};
use git::{Credentials, Keys, Verdict};
use gitworld::{Outcome, run};
use std::path::Path;

pub(crate) const ALL: &[(&str, Scenario)] = &[
    ("signature: ssh keys of every kind", ssh),
    ("signature: gpg keys of every kind", gpg),
    (
        "signature: a gpg subkey, an expired key, a revoked key",
        lifetimes,
    ),
    ("signature: forged and missing ones", forged),
];

fn verdict(world: &World, keys: &Keys) -> Outcome<Verdict> {
    let revision = world.resolve("main").map_err(words)?;
    world
        .git
        .verify_signature(&revision, &Credentials::default(), keys)
        .map_err(words)
}

fn signed_commit(world: &World, settings: &[&str]) -> Outcome {
    let mut arguments = Vec::new();
    for setting in settings {
        arguments.extend(["-c", setting]);
    }
    arguments.extend(["commit", "-q", "--allow-empty", "-S", "-m", "signed"]);
    world.repo.git(&arguments)?;
    world.repo.push()
}

fn ssh() -> Outcome {
    let world = World::new()?;
    let home = world.folder.path();
    for (kind, bits) in [
        ("ed25519", "256"),
        ("rsa", "3072"),
        ("ecdsa", "256"),
        ("ecdsa", "384"),
    ] {
        let name = format!("{kind}{bits}");
        run(
            "ssh-keygen",
            &[
                "-q", "-t", kind, "-b", bits, "-N", "", "-C", "ada", "-f", &name,
            ],
            home,
        )?;
        let key = home.join(format!("{name}.pub")).display().to_string();
        signed_commit(
            &world,
            &["gpg.format=ssh", &format!("user.signingKey={key}")],
        )?;
        let public = std::fs::read_to_string(&key).map_err(|e| e.to_string())?;
        let mut keys = Keys::new();
        same(
            matches!(verdict(&world, &keys)?, Verdict::UnknownKey { .. }),
            true,
        )?;
        keys.add_ssh(&format!("ada@example.com namespaces=\"git\" {public}"))
            .map_err(|e| e.to_string())?;
        match verdict(&world, &keys)? {
            Verdict::Good { signer, .. } if signer == "ada@example.com" => {}
            other => return Err(format!("{kind} {bits}: {other}")),
        }
    }
    Ok(())
}

// A home of its own for gpg, short enough for the socket of its agent.
struct Gpg(gitworld::Folder);

impl Gpg {
    fn new() -> Outcome<Self> {
        let folder = gitworld::Folder::new()?;
        run(
            "chmod",
            &["700", &folder.path().display().to_string()],
            folder.path(),
        )?;
        Ok(Self(folder))
    }

    fn home(&self) -> String {
        self.0.path().display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> Outcome<String> {
        let home = self.home();
        let mut all = vec![
            "--homedir",
            &home,
            "--batch",
            "--quiet",
            "--pinentry-mode",
            "loopback",
            "--passphrase",
            "",
        ];
        all.extend(arguments);
        run("gpg", &all, self.0.path())
    }

    fn program(&self) -> Outcome<String> {
        let path = self.0.path().join("gpg.sh");
        std::fs::write(
            &path,
            format!("#!/bin/sh\nexec gpg --homedir {} \"$@\"\n", self.home()),
        )
        .map_err(|e| e.to_string())?;
        run(
            "chmod",
            &["755", &path.display().to_string()],
            Path::new("/"),
        )?;
        Ok(path.display().to_string())
    }

    fn sign(&self, world: &World, key: &str) -> Outcome {
        let program = self.program()?;
        signed_commit(
            world,
            &[
                &format!("gpg.program={program}"),
                &format!("user.signingKey={key}"),
            ],
        )
    }

    fn keys(&self, who: &str) -> Outcome<Keys> {
        let mut keys = Keys::new();
        keys.add_openpgp(&self.run(&["--armor", "--export", who])?)
            .map_err(|e| e.to_string())?;
        Ok(keys)
    }
}

impl Drop for Gpg {
    fn drop(&mut self) {
        // Its agent stays otherwise.
        let _ = run(
            "gpgconf",
            &["--homedir", &self.home(), "--kill", "all"],
            Path::new("/"),
        );
    }
}

fn gpg() -> Outcome {
    let world = World::new()?;
    let gpg = Gpg::new()?;
    for kind in ["rsa3072", "ed25519", "nistp256", "nistp384"] {
        let who = format!("{kind} <{kind}@example.com>");
        gpg.run(&["--quick-generate-key", &who, kind, "sign", "never"])?;
        gpg.sign(&world, &format!("{kind}@example.com"))?;
        same(
            matches!(verdict(&world, &Keys::new())?, Verdict::UnknownKey { .. }),
            true,
        )?;
        match verdict(&world, &gpg.keys(&format!("{kind}@example.com"))?)? {
            Verdict::Good { signer, key } if signer == who && key.len() == 16 => {}
            other => return Err(format!("{kind}: {other}")),
        }
    }
    Ok(())
}

fn lifetimes() -> Outcome {
    let world = World::new()?;
    let gpg = Gpg::new()?;
    let who = "Sub <sub@example.com>";
    gpg.run(&["--quick-generate-key", who, "ed25519", "cert", "never"])?;
    let listed = gpg.run(&["--with-colons", "--list-keys", "sub@example.com"])?;
    let fingerprint = listed
        .lines()
        .find_map(|l| l.strip_prefix("fpr:::::::::"))
        .unwrap_or_default()
        .trim_end_matches(':')
        .to_owned();
    gpg.run(&["--quick-add-key", &fingerprint, "ed25519", "sign", "never"])?;
    gpg.sign(&world, "sub@example.com")?;
    match verdict(&world, &gpg.keys("sub@example.com")?)? {
        Verdict::Good { signer, .. } if signer == who => {}
        other => return Err(format!("subkey: {other}")),
    }
    // Expired: made and used a while ago, for a day.
    let old = "20200101T000000";
    gpg.run(&[
        "--faked-system-time",
        old,
        "--quick-generate-key",
        "Old <old@example.com>",
        "ed25519",
        "sign",
        "1d",
    ])?;
    let program = gpg.0.path().join("old.sh");
    std::fs::write(
        &program,
        format!(
            "#!/bin/sh\nexec gpg --homedir {} --faked-system-time {old} \"$@\"\n",
            gpg.home()
        ),
    )
    .map_err(|e| e.to_string())?;
    run(
        "chmod",
        &["755", &program.display().to_string()],
        Path::new("/"),
    )?;
    signed_commit(
        &world,
        &[
            &format!("gpg.program={}", program.display()),
            "user.signingKey=old@example.com",
        ],
    )?;
    match verdict(&world, &gpg.keys("old@example.com")?)? {
        Verdict::Bad { why, .. } if why == "the key expired at 2020-01-02T00:00:00Z" => {}
        other => return Err(format!("expired: {other}")),
    }
    // Revoked, with the certificate that gpg made along with the key.
    gpg.run(&[
        "--quick-generate-key",
        "Rev <rev@example.com>",
        "ed25519",
        "sign",
        "never",
    ])?;
    gpg.sign(&world, "rev@example.com")?;
    let listed = gpg.run(&["--with-colons", "--list-keys", "rev@example.com"])?;
    let fingerprint = listed
        .lines()
        .find_map(|l| l.strip_prefix("fpr:::::::::"))
        .unwrap_or_default()
        .trim_end_matches(':')
        .to_owned();
    let path = gpg
        .0
        .path()
        .join(format!("openpgp-revocs.d/{fingerprint}.rev"));
    let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
    std::fs::write(&path, text.replace(":-----BEGIN", "-----BEGIN")).map_err(|e| e.to_string())?;
    gpg.run(&["--import", &path.display().to_string()])?;
    match verdict(&world, &gpg.keys("rev@example.com")?)? {
        Verdict::Bad { why, .. } if why == "the key was revoked" => Ok(()),
        other => Err(format!("revoked: {other}")),
    }
}

fn forged() -> Outcome {
    let world = World::new()?;
    same(verdict(&world, &Keys::new())?, Verdict::Unsigned)?;
    let gpg = Gpg::new()?;
    gpg.run(&[
        "--quick-generate-key",
        "Ada <ada@example.com>",
        "ed25519",
        "sign",
        "never",
    ])?;
    gpg.sign(&world, "ada@example.com")?;
    // Another message under the same signature.
    let raw = world.repo.git(&["cat-file", "commit", "HEAD"])?;
    let path = world.folder.path().join("forged");
    std::fs::write(&path, raw.replace("\n\nsigned", "\n\nforged")).map_err(|e| e.to_string())?;
    let forged = world.repo.git(&[
        "hash-object",
        "-t",
        "commit",
        "-w",
        &path.display().to_string(),
    ])?;
    world.repo.git(&["reset", "-q", "--hard", forged.trim()])?;
    world.repo.push()?;
    match verdict(&world, &gpg.keys("ada@example.com")?)? {
        Verdict::Bad { why, .. } if why == "it does not fit the commit" => Ok(()),
        other => Err(other.to_string()),
    }
}
