//! Many users of one repository, processes that die, and a cache that stays small.

use super::{Scenario, World, same, words};
use git::{Credentials, Freshness, Limits, Options, Repositories, Source};
use gitworld::{Outcome, Repo, ServerOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const ALL: &[(&str, Scenario)] = &[
    (
        "sharing: a thousand users after a push are one fetch",
        thousand,
    ),
    (
        "sharing: a look that finds nothing new fetches nothing",
        nothing_new,
    ),
    ("sharing: what comes later is what changed", incremental),
    (
        "cache: a second process finds what the first fetched",
        second_process,
    ),
    (
        "cache: leftovers and stale locks of a process that died",
        leftovers,
    ),
    ("cache: a process killed in the middle of a fetch", killed),
    ("cache: a damaged store is made anew", damaged),
    ("cache: the least recently used goes first", evicted),
];

fn none() -> Credentials {
    Credentials::default()
}

/// Files of the cache that belong to no finished pack.
pub(crate) fn unfinished(cache: &Path) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    for store in std::fs::read_dir(cache)
        .map_err(|e| e.to_string())?
        .flatten()
    {
        let Ok(packs) = std::fs::read_dir(store.path().join("objects/pack")) else {
            continue;
        };
        let names = packs
            .flatten()
            .map(|e| e.file_name().to_string_lossy().into_owned());
        found.extend(names.filter(|name| !name.starts_with("pack-")));
    }
    Ok(found)
}

fn thousand() -> Outcome {
    let world = World::new()?;
    world.resolve("main").map_err(words)?;
    let before = (world.server.count("fetch"), world.server.count("names"));
    let commit = world.repo.change("apps/web/deploy.yaml", "kind: Job\n")?;
    let git = Arc::new(world.git);
    let url = world.server.url("git/app.git");
    let users: Vec<_> = (0..1000)
        .map(|_| {
            let (git, url) = (Arc::clone(&git), url.clone());
            std::thread::spawn(move || {
                let age = Freshness::Within(Duration::from_millis(0));
                let revision = git.resolve(&Source::new(url, "main"), &none(), age)?;
                git.tree(&revision, &none())
                    .map(|tree| tree.commit().to_string())
            })
        })
        .collect();
    for user in users {
        let seen = user.join().map_err(|_| "a thread panicked".to_owned())?;
        same(seen.map_err(words)?, commit.clone())?;
    }
    same(world.server.count("fetch") - before.0, 1)?;
    let names = world.server.count("names") - before.1;
    if names > 200 {
        return Err(format!("names were asked for {names} times"));
    }
    Ok(())
}

fn nothing_new() -> Outcome {
    let world = World::new()?;
    let first = world.resolve("main").map_err(words)?;
    world.tree(&first)?;
    let before = world.server.requests().len();
    same(world.resolve("main").map_err(words)?, first)?;
    same(world.server.requests().len() - before, 2)?;
    // Within its age an answer costs nothing at all.
    let source = Source::new(world.url(), "main");
    world
        .git
        .resolve(&source, &none(), Freshness::Within(Duration::from_secs(60)))
        .map_err(words)?;
    same(world.server.requests().len() - before, 2)
}

fn noise(seed: u64) -> String {
    let numbers = (0..300_u64).map(|n| (n + seed * 7919 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    numbers.map(|n| format!("{:x}", n ^ (n >> 31))).collect()
}

fn incremental() -> Outcome {
    let world = World::new()?;
    for number in 0..50 {
        world
            .repo
            .write(&format!("many/{number}.yaml"), &noise(number))?;
    }
    world.repo.commit("many")?;
    world.repo.push()?;
    world.resolve("main").map_err(words)?;
    world.repo.change("many/7.yaml", "n: changed\n")?;
    let revision = world.resolve("main").map_err(words)?;
    same(
        super::content(world.tree(&revision)?, "many/7.yaml"),
        "n: changed\n".to_owned(),
    )?;
    let mut sizes: Vec<u64> = Vec::new();
    for store in std::fs::read_dir(world.cache())
        .map_err(|e| e.to_string())?
        .flatten()
    {
        let Ok(packs) = std::fs::read_dir(store.path().join("objects/pack")) else {
            continue;
        };
        let files = packs
            .flatten()
            .filter(|e| e.path().extension().is_some_and(|x| x == "pack"));
        sizes.extend(files.filter_map(|e| e.metadata().ok()).map(|m| m.len()));
    }
    sizes.sort_unstable();
    same(sizes.len(), 2)?;
    same(sizes[0] * 4 < sizes[1], true).map_err(|e| format!("{e}: {sizes:?}"))
}

fn second_process() -> Outcome {
    let world = World::new()?;
    let revision = world.resolve("main").map_err(words)?;
    let other = Repositories::open(world.cache(), Options::default()).map_err(words)?;
    let before = world.server.count("fetch");
    let tree = other.tree(&revision, &none()).map_err(words)?;
    same(super::content(tree, "README.md"), "hello\n".to_owned())?;
    same(world.server.count("fetch"), before)
}

fn store_of(world: &World) -> Outcome<std::path::PathBuf> {
    let stores = std::fs::read_dir(world.cache()).map_err(|e| e.to_string())?;
    let mut stores = stores
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.join("kept").is_dir());
    stores.next().ok_or_else(|| "there is no store".to_owned())
}

fn leftovers() -> Outcome {
    let world = World::new()?;
    world.resolve("main").map_err(words)?;
    let store = store_of(&world)?;
    for name in [
        "shallow.lock",
        "lock",
        "objects/pack/tmpAbC",
        "objects/pack/.tmp-x",
    ] {
        std::fs::write(store.join(name), "half").map_err(|e| e.to_string())?;
    }
    let next = world.repo.change("x.yaml", "x: 1\n")?;
    let revision = world.resolve("main").map_err(words)?;
    same(revision.commit.to_string(), next)?;
    world.tree(&revision)?;
    same(unfinished(&world.cache())?, Vec::new())
}

// The same program as another process, killed while a pack is on its way.
fn killed() -> Outcome {
    let world = World::new()?;
    for number in 0..400 {
        let noise: String = (0..300_u64)
            .map(|n| {
                format!(
                    "{:x}",
                    (n + number * 7919).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                )
            })
            .collect();
        world.repo.write(&format!("noise/{number}.txt"), &noise)?;
    }
    world.repo.commit("noise")?;
    world.repo.push()?;
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    for delay in [15, 30, 45, 60, 90] {
        let mut child = std::process::Command::new(&program)
            .env("GITWORLD_FETCH", world.url())
            .env("GITWORLD_CACHE", world.cache())
            .spawn()
            .map_err(|e| e.to_string())?;
        std::thread::sleep(Duration::from_millis(delay));
        let _ = child.kill();
        let _ = child.wait();
    }
    let revision = world.resolve("main").map_err(words)?;
    let tree = world.tree(&revision)?;
    same(super::content(tree, "README.md"), "hello\n".to_owned())?;
    let tree = model::SourceTree::new(world.tree(&revision)?);
    for number in 0..400 {
        tree.read(&format!("noise/{number}.txt"))
            .map_err(|e| e.to_string())?;
    }
    let next = world.repo.change("x.yaml", "x: 1\n")?;
    let revision = world.resolve("main").map_err(words)?;
    same(revision.commit.to_string(), next)?;
    world.tree(&revision)?;
    same(unfinished(&world.cache())?, Vec::new())
}

fn damaged() -> Outcome {
    let world = World::new()?;
    let revision = world.resolve("main").map_err(words)?;
    world.tree(&revision)?;
    let store = store_of(&world)?;
    let World {
        repo: _repo,
        server,
        git,
        folder,
    } = world;
    drop(git);
    for entry in std::fs::read_dir(store.join("objects/pack"))
        .map_err(|e| e.to_string())?
        .flatten()
    {
        std::fs::remove_file(entry.path()).map_err(|e| e.to_string())?;
    }
    let git = Repositories::open(folder.path().join("cache"), Options::default()).map_err(words)?;
    let source = Source::new(server.url("git/app.git"), "main");
    // The marker says that the commit is there, and it is not: it is fetched again.
    let tree = git.tree(&revision, &none()).map_err(words)?;
    same(super::content(tree, "README.md"), "hello\n".to_owned())?;
    let again = git
        .resolve(&source, &none(), Freshness::Now)
        .map_err(words)?;
    let tree = git.tree(&again, &none()).map_err(words)?;
    same(super::content(tree, "README.md"), "hello\n".to_owned())
}

fn evicted() -> Outcome {
    let limits = Limits {
        cache_bytes_max: 20_000,
        ..Limits::default()
    };
    let world = World::with(
        ServerOptions::default(),
        Options {
            limits,
            ..Options::default()
        },
    )?;
    let noise = |seed: u64| -> String {
        (0..900_u64)
            .map(|n| format!("{:x}", (n + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect()
    };
    let mut urls = Vec::new();
    for number in 0..4 {
        let repo = Repo::new(world.folder.path(), &format!("r{number}"))?;
        repo.change("a.txt", &noise(number * 10_000))?;
        let url = world.server.url(&format!("git/r{number}.git"));
        let git = Repositories::open(world.cache(), world.git.options()).map_err(words)?;
        let revision = git
            .resolve(&Source::new(url.clone(), "main"), &none(), Freshness::Now)
            .map_err(words)?;
        git.tree(&revision, &none()).map_err(words)?;
        urls.push((url, revision));
        std::thread::sleep(Duration::from_millis(20));
    }
    let stores = std::fs::read_dir(world.cache()).map_err(|e| e.to_string())?;
    let mut names: Vec<String> = stores
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| name.starts_with('r'));
    names.sort();
    same(
        names.len() < 4 && names.iter().any(|n| n.starts_with("r3")),
        true,
    )
    .map_err(|e| format!("{e}: {names:?}"))?;
    same(names.iter().any(|n| n.starts_with("r0")), false)?;
    // What was thrown away is fetched again.
    let (_, revision) = &urls[0];
    world.git.tree(revision, &none()).map_err(words)?;
    Ok(())
}
