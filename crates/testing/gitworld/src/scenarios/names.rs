//! What revisions are called, and what is inside a repository.

use super::{Scenario, World, content, same, settings, words};
use git::{Credentials, Freshness, Keys, Limits, Options, RepositorySettings, Source, TreeOptions};
use gitworld::{Outcome, Repo, ServerOptions};
use model::SourceTree;

pub(crate) const ALL: &[(&str, Scenario)] = &[
    (
        "names: HEAD, branches, tags, annotated tags, full names, pull requests",
        names,
    ),
    (
        "names: ranges of versions, with and without a prefix",
        ranges,
    ),
    ("names: commits in full and by their first digits", commits),
    ("names: what a commit says of itself", said),
    (
        "inside: links, binary files, large files, odd names",
        odd_files,
    ),
    (
        "inside: submodules, relative and nested, fetched on request",
        submodules,
    ),
    ("inside: files in Git LFS, told and fetched", large_files),
];

fn names() -> Outcome {
    let world = World::new()?;
    let first = world.repo.git(&["rev-parse", "HEAD"])?.trim().to_owned();
    world.repo.git(&["tag", "light"])?;
    world.repo.git(&["tag", "-a", "-m", "told", "told"])?;
    world.repo.git(&["branch", "feature/x"])?;
    let second = world.repo.change("new.yaml", "a: 1\n")?;
    world
        .repo
        .git(&["push", "-q", "origin", "HEAD:refs/pull/7/head"])?;
    for (asked, commit, name) in [
        ("", &second, "refs/heads/main"),
        ("HEAD", &second, "refs/heads/main"),
        ("main", &second, "refs/heads/main"),
        ("feature/x", &first, "refs/heads/feature/x"),
        ("refs/heads/feature/x", &first, "refs/heads/feature/x"),
        ("light", &first, "refs/tags/light"),
        ("told", &first, "refs/tags/told"),
        ("refs/tags/told", &first, "refs/tags/told"),
        ("refs/pull/7/head", &second, "refs/pull/7/head"),
        ("pull/7/head", &second, "refs/pull/7/head"),
    ] {
        let revision = world.resolve(asked).map_err(words)?;
        same(
            (revision.commit.to_string(), revision.name.as_deref()),
            (commit.clone(), Some(name)),
        )?;
        world.tree(&revision)?;
    }
    let refs = world
        .git
        .ls_remote(&world.url(), &Credentials::default(), Freshness::Now)
        .map_err(words)?;
    same(
        refs.branches().collect::<Vec<_>>(),
        vec!["feature/x", "main"],
    )?;
    same(refs.tags().collect::<Vec<_>>(), vec!["light", "told"])
}

fn ranges() -> Outcome {
    let world = World::new()?;
    for tag in [
        "v1.0.0",
        "v1.4.2",
        "v2.0.0",
        "v2.1.0-rc.1",
        "web-0.9.0",
        "web-0.10.0",
        "nonsense",
    ] {
        world.repo.commit(tag)?;
        world.repo.git(&["tag", tag])?;
    }
    world.repo.push()?;
    for (range, prefix, tag) in [
        ("1.*", "", "v1.4.2"),
        ("^1", "", "v1.4.2"),
        (">=1.0.0 <2.0.0", "", "v1.4.2"),
        ("*", "", "v2.0.0"),
        ("v1.0.0", "", "v1.0.0"),
        ("0.*", "web-", "web-0.10.0"),
    ] {
        let source = Source {
            tag_prefix: prefix.into(),
            ..Source::new(world.url(), range)
        };
        let revision = world
            .git
            .resolve(&source, &Credentials::default(), Freshness::Now)
            .map_err(words)?;
        same(revision.name, Some(format!("refs/tags/{tag}")))?;
    }
    Ok(())
}

fn commits() -> Outcome {
    let world = World::new()?;
    let old = world.repo.change("a.yaml", "old: 1\n")?;
    world.repo.change("a.yaml", "new: 1\n")?;
    for asked in [old.as_str(), &old[..7], &old[..12]] {
        let revision = world.resolve(asked).map_err(words)?;
        same(revision.commit.to_string(), old.clone())?;
        same(
            content(world.tree(&revision)?, "a.yaml"),
            "old: 1\n".to_owned(),
        )?;
    }
    Ok(())
}

fn said() -> Outcome {
    let world = World::new()?;
    world.repo.git(&["tag", "v1"])?;
    world.repo.push()?;
    let revision = world.resolve("main").map_err(words)?;
    let said = world
        .git
        .commit_info(&revision, &Credentials::default(), &Keys::new())
        .map_err(words)?;
    same(said.author, "Ada <ada@example.com>".to_owned())?;
    same(said.message, "first\n".to_owned())?;
    same(said.tags, vec!["v1".to_owned()])
}

fn odd_files() -> Outcome {
    let limits = Limits {
        file_bytes_max: 1 << 20,
        ..Limits::default()
    };
    let options = Options {
        limits,
        ..Options::default()
    };
    let world = World::with(ServerOptions::default(), options)?;
    let repo = &world.repo;
    for (target, name) in [
        ("../web", "apps/db/link"),
        ("/etc/passwd", "apps/out"),
        ("../../../etc/passwd", "apps/up"),
        ("loop", "apps/loop"),
    ] {
        std::os::unix::fs::symlink(target, repo.work.join(name)).map_err(|e| e.to_string())?;
    }
    std::fs::write(repo.work.join("binary"), [0_u8, 159, 146, 150]).map_err(|e| e.to_string())?;
    repo.write("apps/ümläut äß.yaml", "a: 1\n")?;
    std::fs::write(repo.work.join("large.yaml"), vec![b'#'; 2 << 20]).map_err(|e| e.to_string())?;
    repo.commit("odd")?;
    repo.push()?;
    let revision = world.resolve("main").map_err(words)?;
    let tree = SourceTree::new(world.tree(&revision)?);
    let read = |path: &str| match tree.read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => error.to_string(),
    };
    same(
        read("apps/db/link/deploy.yaml"),
        "kind: Deployment\n".to_owned(),
    )?;
    same(
        read("apps/out"),
        "`apps/out` leads out of the repository, to `/etc/passwd`".to_owned(),
    )?;
    same(
        read("apps/up"),
        "`apps/up` leads out of the repository, to `../../../etc/passwd`".to_owned(),
    )?;
    same(
        read("apps/loop"),
        "`apps/loop` is a link that leads back to itself".to_owned(),
    )?;
    same(read("apps/ümläut äß.yaml"), "a: 1\n".to_owned())?;
    same(
        tree.read("binary").map_err(|e| e.to_string())?.to_vec(),
        vec![0_u8, 159, 146, 150],
    )?;
    same(
        read("large.yaml"),
        "`large.yaml` has 2097152 bytes, more than the 1048576 we read".to_owned(),
    )?;
    let names: Vec<String> = tree
        .list("apps")
        .map_err(|e| e.to_string())?
        .into_iter()
        .map(|e| e.name)
        .collect();
    same(
        names,
        ["db", "loop", "out", "up", "web", "ümläut äß.yaml"]
            .map(str::to_owned)
            .to_vec(),
    )
}

fn submodules() -> Outcome {
    let world = World::new()?;
    let root = world.folder.path();
    let inner = Repo::new(root, "inner")?;
    inner.change("deep.yaml", "deep: 1\n")?;
    let lib = Repo::new(root, "lib")?;
    lib.write("lib.yaml", "lib: 1\n")?;
    let add = |repo: &Repo, from: &Repo, url: &str, path: &str| {
        let bare = from.bare.display().to_string();
        repo.git(&[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            &bare,
            path,
        ])?;
        repo.git(&[
            "config",
            "-f",
            ".gitmodules",
            &format!("submodule.{path}.url"),
            url,
        ])
    };
    add(&lib, &inner, "../inner.git", "vendor/inner")?;
    lib.commit("with inner")?;
    lib.push()?;
    add(&world.repo, &lib, "../lib.git", "libs/lib")?;
    world.repo.commit("with lib")?;
    world.repo.push()?;
    let revision = world.resolve("main").map_err(words)?;
    let without = world.tree(&revision)?;
    same(
        content(without, "libs/lib/lib.yaml"),
        "`libs/lib` is a submodule that was not fetched".to_owned(),
    )?;
    let options = TreeOptions {
        submodules: true,
        ..TreeOptions::default()
    };
    let with = || {
        world
            .git
            .tree_with(&revision, &Credentials::default(), &options)
            .map_err(words)
    };
    same(content(with()?, "libs/lib/lib.yaml"), "lib: 1\n".to_owned())?;
    same(
        content(with()?, "libs/lib/vendor/inner/deep.yaml"),
        "deep: 1\n".to_owned(),
    )
}

fn large_files() -> Outcome {
    let world = World::new()?;
    let content_of = "kind: ConfigMap\n";
    let digest = gitworld::run(
        "sh",
        &["-c", &format!("printf '{content_of}' | sha256sum")],
        world.folder.path(),
    )
    .map(|line| line.get(..64).unwrap_or_default().to_owned())?;
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {}\n",
        content_of.len()
    );
    world.repo.change("apps/web/big.yaml", &pointer)?;
    let url = world.server.url("lfs/app.git");
    let revision = world
        .resolve_at(&url, "main", &Credentials::default())
        .map_err(words)?;
    let told = content(world.tree(&revision)?, "apps/web/big.yaml");
    same(
        told.contains("kept in Git LFS (16 bytes)") && told.contains("enableLfs"),
        true,
    )
    .map_err(|e| format!("{e} {told}"))?;
    let book = Credentials::of(RepositorySettings {
        lfs: true,
        ..settings(&url)
    });
    let missing = world
        .git
        .tree_with(&revision, &book, &TreeOptions::default());
    super::fails(missing.map(|_| ()), "G03", "Git LFS: http 404")?;
    let store = world.folder.path().join("lfs");
    std::fs::create_dir_all(&store).map_err(|e| e.to_string())?;
    std::fs::write(store.join(&digest), content_of).map_err(|e| e.to_string())?;
    let tree = world
        .git
        .tree_with(&revision, &book, &TreeOptions::default())
        .map_err(words)?;
    same(content(tree, "apps/web/big.yaml"), content_of.to_owned())?;
    std::fs::write(store.join(&digest), "kind: Forged\n").map_err(|e| e.to_string())?;
    let forged = world
        .git
        .tree_with(&revision, &book, &TreeOptions::default());
    super::fails(forged.map(|_| ()), "G02", "has the digest sha256:")
}
