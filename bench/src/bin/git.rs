//! Measures our Git beside `git` itself, on one repository of 10,000 files and 5,000 commits.
//!
//! Takes nothing, gives a Markdown table; ends with an error when a bound is not kept. The server
//! is `git http-backend` on this machine.

use git::{Credentials, Freshness, Options, Repositories, Source};
use gitworld::{Folder, HttpServer, Outcome, Repo, ServerOptions, run};
use model::SourceTree;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const APPS: usize = 1000;
const FILES_PER_APP: usize = 10;
const COMMITS: usize = 5000;
const ROUNDS: usize = 200;
/// What one application may take, warm.
const WARM_MAX: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    match measure() {
        Ok(table) => {
            print!("{table}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Outcome<String> {
    let folder = Folder::new()?;
    let repo = Repo::new(folder.path(), "mono")?;
    fill(&repo)?;
    let server = HttpServer::start(folder.path(), ServerOptions::default())?;
    let url = server.url("git/mono.git");
    let git = open(&folder)?;
    let mut table = String::from("| what | git | ours |\n|---|---:|---:|\n");
    let mut row = |what: &str, theirs: Option<Duration>, ours: Duration| {
        let theirs = theirs.map_or("".to_owned(), |t| format!("{:.2} ms", ms(t)));
        let _ = writeln!(table, "| {what} | {theirs} | {:.2} ms |", ms(ours));
    };

    let theirs = timed(|| {
        let into = folder.path().join("clone").display().to_string();
        run(
            "git",
            &["clone", "-q", "--bare", "--depth", "1", &url, &into],
            folder.path(),
        )
        .map(|_| ())
    })?;
    let ours = timed(|| read_app(&git, &url, "main", Freshness::Now, 1).map(|_| ()))?;
    row(
        "first fetch, one commit of 10,000 files, and one application of it",
        Some(theirs),
        ours,
    );

    let theirs = median(|round| {
        let path = format!("apps/app{:03}", round % APPS);
        run(
            "git",
            &["archive", "--format=tar", "main", &path],
            &repo.bare,
        )
        .map(|_| ())
    })?;
    let age = Freshness::Within(Duration::from_secs(600));
    let warm = median(|round| read_app(&git, &url, "main", age, round).map(|_| ()))?;
    row("resolve and read one application, warm", Some(theirs), warm);

    let local = format!("file://{}", repo.bare.display());
    let from_disk =
        median(|round| read_app(&git, &local, "main", Freshness::Now, round).map(|_| ()))?;
    row(
        "the same from a repository on this machine, names read anew",
        Some(theirs),
        from_disk,
    );

    let theirs = median_of(20, |_| {
        run(
            "git",
            &["ls-remote", "-q", &url, "HEAD", "refs/heads/*"],
            folder.path(),
        )
        .map(|_| ())
    })?;
    let ours = median_of(20, |round| {
        read_app(&git, &url, "main", Freshness::Now, round).map(|_| ())
    })?;
    row(
        "ask the server whether there is anything new",
        Some(theirs),
        ours,
    );

    let (took, fetches, names) = thousand(&folder, &repo, &server, git)?;
    row("1,000 applications after a push", None, took);
    let _ = writeln!(
        table,
        "\nAfter the push: {fetches} fetch, {names} look at the names."
    );
    if warm > WARM_MAX || fetches != 1 {
        return Err(format!("{table}\na bound is not kept"));
    }
    Ok(table)
}

fn open(folder: &Folder) -> Outcome<Repositories> {
    Repositories::open(folder.path().join("cache"), Options::default()).map_err(|e| e.to_string())
}

// All files of one application, as a renderer would read them.
fn read_app(
    git: &Repositories,
    url: &str,
    revision: &str,
    freshness: Freshness,
    round: usize,
) -> Outcome<usize> {
    let credentials = Credentials::default();
    let source = Source::new(url, revision);
    let revision = git
        .resolve(&source, &credentials, freshness)
        .map_err(|e| e.to_string())?;
    let tree = SourceTree::new(
        git.tree(&revision, &credentials)
            .map_err(|e| e.to_string())?,
    );
    let path = format!("apps/app{:03}", round % APPS);
    let mut bytes = 0;
    for entry in tree.list(&path).map_err(|e| e.to_string())? {
        bytes += tree
            .read(&format!("{path}/{}", entry.name))
            .map_err(|e| e.to_string())?
            .len();
    }
    Ok(bytes)
}

fn thousand(
    folder: &Folder,
    repo: &Repo,
    server: &HttpServer,
    git: Repositories,
) -> Outcome<(Duration, usize, usize)> {
    run(
        "git",
        &[
            "clone",
            "-q",
            "--depth",
            "1",
            &format!("file://{}", repo.bare.display()),
            "push",
        ],
        folder.path(),
    )?;
    let push = folder.path().join("push");
    std::fs::write(push.join("apps/app007/new.yaml"), "a: 1\n").map_err(|e| e.to_string())?;
    run("git", &["add", "-A"], &push)?;
    run("git", &["commit", "-q", "-m", "push"], &push)?;
    run("git", &["push", "-q"], &push)?;
    let before = (server.count("fetch"), server.count("names"));
    let git = Arc::new(git);
    let url = server.url("git/mono.git");
    let began = Instant::now();
    // As a controller does it: a few workers, all applications, names not older than the push.
    let workers: Vec<_> = (0..32)
        .map(|worker| {
            let (git, url) = (Arc::clone(&git), url.clone());
            std::thread::spawn(move || -> Outcome {
                for app in (worker..APPS).step_by(32) {
                    let age = Freshness::Within(began.elapsed());
                    read_app(&git, &url, "main", age, app)?;
                }
                Ok(())
            })
        })
        .collect();
    for worker in workers {
        worker
            .join()
            .map_err(|_| "a worker panicked".to_owned())??;
    }
    let took = began.elapsed();
    Ok((
        took,
        server.count("fetch") - before.0,
        server.count("names") - before.1,
    ))
}

// A history as a stream for `git fast-import`: all files, then one changed file per commit.
fn fill(repo: &Repo) -> Outcome {
    let mut child = Command::new("git")
        .args(["fast-import", "--quiet"])
        .current_dir(&repo.bare)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|e| format!("`git` is needed here: {e}"))?;
    let mut stream = String::new();
    let commit = |stream: &mut String, number: usize| {
        let _ = writeln!(
            stream,
            "commit refs/heads/main\nmark :{number}\ncommitter Ada <ada@example.com> {} +0000\ndata 1\nx",
            1_700_000_000 + number
        );
        if number > 1 {
            let _ = writeln!(stream, "from :{}", number - 1);
        }
    };
    let file = |stream: &mut String, app: usize, file: usize, version: usize| {
        let text = manifest(app, file, version);
        let _ = writeln!(
            stream,
            "M 100644 inline apps/app{app:03}/file{file}.yaml\ndata {}\n{text}",
            text.len()
        );
    };
    commit(&mut stream, 1);
    for app in 0..APPS {
        for number in 0..FILES_PER_APP {
            file(&mut stream, app, number, 0);
        }
    }
    for number in 2..=COMMITS {
        commit(&mut stream, number);
        file(
            &mut stream,
            number * 7919 % APPS,
            number % FILES_PER_APP,
            number,
        );
    }
    let mut stdin = child.stdin.take().ok_or("no pipe to git")?;
    stdin
        .write_all(stream.as_bytes())
        .map_err(|e| e.to_string())?;
    drop(stdin);
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("git fast-import: {other:?}")),
    }
}

fn manifest(app: usize, file: usize, version: usize) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app{app}-{file}\n  labels:\n    app: app{app}\ndata:\n  version: \"{version}\"\n  text: {}\n",
        "some text of a manifest ".repeat(20)
    )
}

fn timed(work: impl FnOnce() -> Outcome) -> Outcome<Duration> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed())
}

fn median(work: impl Fn(usize) -> Outcome) -> Outcome<Duration> {
    median_of(ROUNDS, work)
}

fn median_of(rounds: usize, work: impl Fn(usize) -> Outcome) -> Outcome<Duration> {
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds {
        times.push(timed(|| work(round))?);
    }
    times.sort_unstable();
    Ok(times[rounds / 2])
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
