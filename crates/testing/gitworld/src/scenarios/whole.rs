//! The whole way, as an application goes it: a credential that stops working, a host that comes back.

use super::{Scenario, World, fails, same, settings, words};
use git::{Credential, Credentials, GitError, Options, RepositorySettings};
use gitworld::{Auth, HttpServer, Outcome, ServerOptions};

pub(crate) const ALL: &[(&str, Scenario)] = &[
    (
        "whole: a token that worked and no longer does says when it last did",
        rotated,
    ),
    (
        "whole: files that were fetched stay readable while the host is away",
        away,
    ),
];

fn rotated() -> Outcome {
    let server = ServerOptions {
        auth: Auth::Bearer("old".into()),
        ..ServerOptions::default()
    };
    let world = World::with(server, Options::default())?;
    let url = world.url();
    let book = Credentials::of(RepositorySettings {
        credential: Credential {
            name: "ci-token".into(),
            bearer: "old".into(),
            ..Credential::default()
        },
        ..settings(&url)
    });
    world.read(&url, &book).map_err(words)?;
    let port = world.server.port();
    let World {
        folder,
        server,
        git,
        ..
    } = world;
    drop(server);
    // The same address, another token.
    let changed = ServerOptions {
        auth: Auth::Bearer("new".into()),
        ..ServerOptions::default()
    };
    let Ok(_server) = HttpServer::start_at(port, folder.path(), changed) else {
        return Err("the port was taken by somebody else".into());
    };
    let source = git::Source::new(url, "main");
    let refused = git.resolve(&source, &book, git::Freshness::Now);
    match &refused {
        Err(GitError::Auth {
            last_worked: Some(_),
            ..
        }) => {}
        other => return Err(format!("{other:?}")),
    }
    let command = refused
        .as_ref()
        .err()
        .map(|e| format!("{:?}", e.finding().fix))
        .unwrap_or_default();
    same(command.contains("patch secret ci-token"), true)?;
    fails(refused, "G01", "the credential `ci-token`")
}

fn away() -> Outcome {
    let world = World::new()?;
    let revision = world.resolve("main").map_err(words)?;
    let World {
        server,
        git,
        folder: _folder,
        ..
    } = world;
    drop(server);
    let tree = git
        .tree(&revision, &Credentials::default())
        .map_err(words)?;
    same(super::content(tree, "README.md"), "hello\n".to_owned())
}
