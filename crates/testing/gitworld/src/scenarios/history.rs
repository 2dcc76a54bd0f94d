//! What changed, what a change touches, and who took a path away.

use super::{Scenario, World, fails, same, words};
use git::Credentials;
use gitworld::Outcome;

pub(crate) const ALL: &[(&str, Scenario)] = &[
    (
        "history: changed paths, and whether they touch what was read",
        changes,
    ),
    ("history: equal directories have one name", keys),
    (
        "history: a path that was moved, deep in the past",
        moved_path,
    ),
    (
        "history: a path that was removed in a branch and merged",
        removed_path,
    ),
    ("history: a path that never was, and one near it", never),
];

fn none() -> Credentials {
    Credentials::default()
}

fn changes() -> Outcome {
    let world = World::new()?;
    let old = world.resolve("main").map_err(words)?;
    world.repo.write("apps/web/deploy.yaml", "kind: Job\n")?;
    world.repo.write("apps/new/a.yaml", "a: 1\n")?;
    std::fs::remove_file(world.repo.work.join("README.md")).map_err(|e| e.to_string())?;
    world.repo.commit("several")?;
    world.repo.push()?;
    let new = world.resolve("main").map_err(words)?;
    let changed = world
        .git
        .changed_paths(&old, &new, &none())
        .map_err(words)?;
    same(
        changed,
        ["README.md", "apps/new/a.yaml", "apps/web/deploy.yaml"]
            .map(str::to_owned)
            .to_vec(),
    )?;
    let touches = |reads: &[&str]| {
        let reads: Vec<String> = reads.iter().map(|r| (*r).to_owned()).collect();
        world
            .git
            .touches(&old, &new, &reads, &none())
            .map_err(words)
    };
    same(
        touches(&["apps/db", "apps/db/deploy.yaml", "apps/web/service.yaml"])?,
        false,
    )?;
    same(touches(&["apps/web/deploy.yaml"])?, true)?;
    // The names in a directory: the same in one, one more in the other.
    same(touches(&["apps/web"])?, false)?;
    same(touches(&["apps"])?, true)?;
    same(touches(&["apps/new/a.yaml"])?, true)?;
    same(touches(&["apps/none.yaml"])?, false)
}

fn keys() -> Outcome {
    let world = World::new()?;
    let old = world.tree(&world.resolve("main").map_err(words)?)?;
    world.repo.change("apps/web/deploy.yaml", "kind: Job\n")?;
    let new = world.tree(&world.resolve("main").map_err(words)?)?;
    same(
        old.tree_id("apps/db").map_err(words)?,
        new.tree_id("apps/db").map_err(words)?,
    )?;
    same(
        old.tree_id("apps/web").map_err(words)? == new.tree_id("apps/web").map_err(words)?,
        false,
    )?;
    same(new.tree_id("apps/none").map_err(words)?, None)
}

fn moved_path() -> Outcome {
    let world = World::new()?;
    world.repo.git(&["mv", "apps/web", "apps/frontend"])?;
    world.repo.write("apps/frontend/extra.yaml", "a: 1\n")?;
    let commit = world.repo.commit("call it what it is")?;
    for number in 0..60 {
        world.repo.commit(&format!("later {number}"))?;
    }
    world.repo.push()?;
    let revision = world.resolve("main").map_err(words)?;
    let check = world.git.check_path(&revision, "apps/web", &none());
    let finding = check
        .as_ref()
        .err()
        .map(|e| format!("{:?}", e.finding().fix))
        .unwrap_or_default();
    same(
        finding.contains("\"path\": String(\"apps/frontend\")"),
        true,
    )
    .map_err(|e| format!("{e} {finding} {check:?}"))?;
    fails(
        check,
        "G05",
        &format!(
            "commit {} of Ada <ada@example.com> moved it to `apps/frontend`",
            &commit[..8]
        ),
    )
}

fn removed_path() -> Outcome {
    let world = World::new()?;
    world.repo.git(&["checkout", "-q", "-b", "cleanup"])?;
    world.repo.git(&["rm", "-q", "-r", "apps/db"])?;
    let commit = world.repo.commit("no database")?;
    world.repo.git(&["checkout", "-q", "main"])?;
    world.repo.commit("meanwhile")?;
    world
        .repo
        .git(&["merge", "-q", "--no-ff", "-m", "merge", "cleanup"])?;
    world.repo.push()?;
    let revision = world.resolve("main").map_err(words)?;
    fails(
        world.git.check_path(&revision, "apps/db", &none()),
        "G05",
        &format!("commit {} of Ada", &commit[..8]),
    )
}

fn never() -> Outcome {
    let world = World::new()?;
    let revision = world.resolve("main").map_err(words)?;
    same(
        world.git.check_path(&revision, "apps/web", &none()).is_ok(),
        true,
    )?;
    fails(
        world.git.check_path(&revision, "apps/wbe", &none()),
        "G05",
        "near it: `apps/web`",
    )?;
    fails(
        world.git.check_path(&revision, "old/place/web", &none()),
        "G05",
        "near it: `apps/web`",
    )
}
