//! Whatever goes wrong on the way, and what is said about it.

use super::{Scenario, World, fails, same, short, words};
use git::{Credentials, GitError, Limits, Options, Repositories, Retry, Step, Timeouts};
use gitworld::{Outcome, Repo, ServerOptions};
use std::time::{Duration, Instant};

pub(crate) const ALL: &[(&str, Scenario)] = &[
    ("failure: the name of the host has no address", dns),
    ("failure: nobody listens", tcp),
    ("failure: 401, 403, 404, 410, 429, 500 and 503", statuses),
    (
        "failure: the repository moved: it works, and says where to",
        moved,
    ),
    ("failure: a page where people sign in", sign_in),
    ("failure: a web page instead of a repository", html),
    ("failure: bytes that are not HTTP", garbage),
    ("failure: a server that never answers", hang),
    (
        "failure: a server that drips, ended by the limit of the whole",
        drip,
    ),
    (
        "failure: a pack that breaks off, and the store is fine after it",
        cut,
    ),
    ("failure: more than we take", too_large),
    ("failure: an empty repository", empty),
    (
        "failure: no such revision, with the nearest names",
        no_revision,
    ),
    ("failure: no such commit", no_commit),
    ("failure: addresses that are none", bad_urls),
    ("failure: findings carry evidence and a way out", findings),
];

fn none() -> Credentials {
    Credentials::default()
}

fn dns() -> Outcome {
    let world = World::with(ServerOptions::default(), short())?;
    let read = world.read("https://no-such-host.invalid/app.git", &none());
    if let Err(error) = &read {
        same(error.retry(), Retry::Later)?;
    }
    fails(
        read,
        "G02",
        "could not reach `https://no-such-host.invalid/app.git`: dns:",
    )
}

fn tcp() -> Outcome {
    let world = World::with(ServerOptions::default(), short())?;
    let port = world.server.port();
    drop(world.server);
    let url = format!("http://localhost:{port}/git/app.git");
    let source = git::Source::new(url, "main");
    fails(
        world.git.resolve(&source, &none(), git::Freshness::Now),
        "G02",
        "tcp: Connection refused",
    )?;
    let source = git::Source::new(format!("git://127.0.0.1:{port}/app.git"), "main");
    fails(
        world.git.resolve(&source, &none(), git::Freshness::Now),
        "G02",
        "tcp: Connection refused",
    )
}

fn statuses() -> Outcome {
    let world = World::with(ServerOptions::default(), short())?;
    for (status, code, part) in [
        (401, "G01", "http 401: as you wish"),
        (403, "G01", "http 403: as you wish"),
        (404, "G03", "there is no repository"),
        (410, "G03", "there is no repository"),
        (429, "G02", "http 429"),
        (500, "G02", "http 500"),
        (503, "G02", "http 503"),
    ] {
        let url = world.server.url(&format!("status/{status}/app.git"));
        fails(world.read(&url, &none()), code, part)?;
    }
    Ok(())
}

fn moved() -> Outcome {
    let world = World::new()?;
    let revision = world
        .resolve_at(&world.server.url("moved/app.git"), "main", &none())
        .map_err(words)?;
    same(revision.moved_to, Some(world.url()))?;
    let gone = world.read(&world.server.url("moved/none.git"), &none());
    let expected = world.server.url("git/none.git");
    fails(gone, "G03", &format!("(it is now at `{expected}`)"))
}

fn sign_in() -> Outcome {
    let world = World::new()?;
    fails(
        world.read(&world.server.url("login/app.git"), &none()),
        "G01",
        "it redirects to ",
    )
}

fn html() -> Outcome {
    let world = World::new()?;
    fails(
        world.read(&world.server.url("html/app.git"), &none()),
        "G03",
        "answers with `text/html; charset=utf-8`",
    )
}

fn garbage() -> Outcome {
    let world = World::with(ServerOptions::default(), short())?;
    fails(
        world.read(&world.server.url("garbage/app.git"), &none()),
        "G02",
        "what came is not an answer of HTTP",
    )
}

fn hang() -> Outcome {
    let world = World::with(ServerOptions::default(), short())?;
    let began = Instant::now();
    let read = world.read(&world.server.url("hang/app.git"), &none());
    same(began.elapsed() < Duration::from_secs(3), true)?;
    fails(
        read,
        "G02",
        "waiting for the next bytes took longer than 0.7 s",
    )
}

fn drip() -> Outcome {
    let options = Options {
        timeouts: Timeouts {
            total: Duration::from_secs(1),
            ..short().timeouts
        },
        ..Options::default()
    };
    let world = World::with(ServerOptions::default(), options)?;
    let read = world.read(&world.server.url("drip/app.git"), &none());
    match &read {
        Err(GitError::Timeout {
            step: Step::Whole, ..
        }) => fails(read, "G11", "the whole operation took longer than 1 s"),
        // Dripping zeros is no line of Git's protocol either.
        other => Err(format!("{other:?}")),
    }
}

fn cut() -> Outcome {
    let world = World::with(ServerOptions::default(), short())?;
    let read = world.read(&world.server.url("cut/app.git"), &none());
    fails(read, "G02", "hung up in the middle")?;
    let left = super::sharing::unfinished(&world.cache())?;
    same(left, Vec::new())?;
    same(world.read(&world.url(), &none()).is_ok(), true)
}

fn too_large() -> Outcome {
    let limits = Limits {
        pack_bytes_max: 3000,
        ..Limits::default()
    };
    let world = World::with(ServerOptions::default(), Options { limits, ..short() })?;
    let noise: String = (0..20_000_u64)
        .map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    world.repo.change("large.txt", &noise)?;
    fails(
        world.read(&world.url(), &none()),
        "G11",
        "is larger than 3000 bytes",
    )
}

fn empty() -> Outcome {
    let world = World::new()?;
    Repo::new(world.folder.path(), "empty")?;
    fails(
        world.read(&world.server.url("git/empty.git"), &none()),
        "G03",
        "is empty: it has no commit yet",
    )
}

fn no_revision() -> Outcome {
    let world = World::new()?;
    world.repo.git(&["tag", "v1.2.0"])?;
    world.repo.git(&["branch", "release-1.2"])?;
    world.repo.push()?;
    fails(
        world.resolve("mian"),
        "G04",
        "has no revision `mian`; near it: `main`",
    )?;
    fails(
        world.resolve("release-1.3"),
        "G04",
        "near it: `release-1.2`",
    )?;
    fails(
        world.resolve(">=2.0.0"),
        "G04",
        "none of its 1 tags is a version in that range",
    )?;
    fails(
        world.resolve("0123456"),
        "G04",
        "no branch or tag leads to such a commit",
    )
}

fn no_commit() -> Outcome {
    let world = World::new()?;
    let revision = world.resolve(&"1".repeat(40)).map_err(words)?;
    fails(
        world.git.tree(&revision, &none()),
        "G04",
        "does not have this commit",
    )
}

fn bad_urls() -> Outcome {
    let world = World::new()?;
    fails(
        world.read("ftp://host/app", &none()),
        "G03",
        "`ftp` is no way to reach Git",
    )?;
    fails(
        world.read("https://host", &none()),
        "G03",
        "names a host but no repository",
    )
}

fn findings() -> Outcome {
    let world = World::new()?;
    let Err(error) = world.resolve("mian") else {
        return Err("it should fail".into());
    };
    let finding = error.finding();
    let fix = format!("{:?}", finding.fix.first().map(|f| &f.how));
    same(fix.contains("\"targetRevision\": String(\"main\")"), true)
        .map_err(|e| format!("{e}\n{fix}"))?;
    same(finding.evidence.len(), 1)?;
    same(error.retry(), Retry::AfterChange)?;
    // A cache that cannot be made is told as such.
    let blocked = world.folder.path().join("file");
    std::fs::write(&blocked, "x").map_err(|e| e.to_string())?;
    let failed = Repositories::open(blocked.join("cache"), Options::default());
    fails(failed.map(|_| ()), "G02", "the cache of repositories")
}
