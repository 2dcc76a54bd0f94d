//! Getting in: users, tokens, certificates, proxies, templates, every kind of address.

use super::{FILES, Scenario, World, content, fails, same, settings, short, words};
use git::{Credential, Credentials, Options, RepositorySettings, Template};
use gitworld::{Auth, Authority, Daemon, Outcome, Proxy, ServerOptions};

pub(crate) const ALL: &[(&str, Scenario)] = &[
    ("http: names and files of an open repository", open),
    (
        "http: an old server that knows the first protocol only",
        old_server,
    ),
    (
        "http: a user and a password, from the repository's own settings",
        basic,
    ),
    (
        "http: a token, from the template with the longest prefix",
        bearer,
    ),
    (
        "http: a user and a password in the address itself",
        in_the_address,
    ),
    (
        "https: a private authority, given for the host",
        private_authority,
    ),
    (
        "https: an authority we do not know is refused at the tls stage",
        unknown_authority,
    ),
    ("https: insecure takes any certificate", insecure),
    ("https: a certificate for another name", other_name),
    (
        "https: a client certificate, and what happens without",
        client_certificate,
    ),
    (
        "proxy: https through CONNECT, http with the whole address, exceptions",
        proxies,
    ),
    ("proxy: one that does not know us", proxy_refuses),
    ("git: a daemon", daemon),
    ("git: a repository the daemon does not have", daemon_gone),
    (
        "file: a bare repository and a work tree, nothing is copied",
        files,
    ),
];

fn expected() -> String {
    FILES[0].1.to_owned()
}

fn basic_settings(url: &str, password: &str) -> Credentials {
    Credentials::of(RepositorySettings {
        credential: Credential {
            name: "repo-app".into(),
            username: "bot".into(),
            password: password.into(),
            ..Credential::default()
        },
        ..settings(url)
    })
}

fn guarded() -> ServerOptions {
    ServerOptions {
        auth: Auth::Basic("bot".into(), "s3cret".into()),
        ..ServerOptions::default()
    }
}

fn open() -> Outcome {
    let world = World::new()?;
    same(
        world
            .read(&world.url(), &Credentials::default())
            .map_err(words)?,
        expected(),
    )?;
    // The first look at a repository: who are you, names, pack.
    same(world.server.requests().len(), 3)
}

fn old_server() -> Outcome {
    let world = World::with(
        ServerOptions {
            old: true,
            ..ServerOptions::default()
        },
        Options::default(),
    )?;
    same(
        world
            .read(&world.url(), &Credentials::default())
            .map_err(words)?,
        expected(),
    )?;
    let next = world.repo.change("apps/web/deploy.yaml", "kind: Job\n")?;
    same(
        world.resolve("main").map_err(words)?.commit.to_string(),
        next,
    )?;
    same(
        world
            .read(&world.url(), &Credentials::default())
            .map_err(words)?,
        "kind: Job\n".to_owned(),
    )
}

fn basic() -> Outcome {
    let world = World::with(guarded(), Options::default())?;
    let url = world.url();
    same(
        world
            .read(&url, &basic_settings(&url, "s3cret"))
            .map_err(words)?,
        expected(),
    )?;
    fails(
        world.read(&url, &basic_settings(&url, "wrong")),
        "G01",
        "the credential `repo-app`: http 401: who are you?",
    )?;
    fails(
        world.read(&url, &Credentials::default()),
        "G01",
        "without credentials",
    )?;
    // What is in the cache is for those only whom the host knows.
    let revision = world
        .resolve_at(&url, "", &basic_settings(&url, "s3cret"))
        .map_err(words)?;
    fails(
        world.git.tree(&revision, &basic_settings(&url, "wrong")),
        "G01",
        "401",
    )
}

fn bearer() -> Outcome {
    let server = ServerOptions {
        auth: Auth::Bearer("t0ken".into()),
        ..ServerOptions::default()
    };
    let world = World::with(server, Options::default())?;
    let template = |url: String, name: &str, token: &str| Template {
        url,
        credential: Credential {
            name: name.into(),
            bearer: token.into(),
            ..Credential::default()
        },
        ..Template::default()
    };
    let book = Credentials {
        templates: vec![
            template(world.server.url(""), "host", "wrong"),
            template(world.server.url("git"), "path", "t0ken"),
        ],
        ..Credentials::default()
    };
    same(world.read(&world.url(), &book).map_err(words)?, expected())?;
    let book = Credentials {
        templates: book.templates[..1].to_vec(),
        ..Credentials::default()
    };
    fails(
        world.read(&world.url(), &book),
        "G01",
        "the credential `host`",
    )
}

fn in_the_address() -> Outcome {
    let world = World::with(guarded(), Options::default())?;
    let url = world.url().replace("://", "://bot:s3cret@");
    same(
        world.read(&url, &Credentials::default()).map_err(words)?,
        expected(),
    )?;
    let wrong = world.url().replace("://", "://bot:hidden@");
    let error = world.read(&wrong, &Credentials::default());
    let text = format!("{error:?}");
    if text.contains("hidden") {
        return Err(format!("the password shows: {text}"));
    }
    fails(error, "G01", "`in the address`")
}

fn secured(names: &[&str]) -> Outcome<(World, Authority)> {
    let authority = Authority::new()?;
    let server = ServerOptions {
        identity: Some(authority.sign(names)?),
        ..ServerOptions::default()
    };
    Ok((World::with(server, short())?, authority))
}

fn trusting(authority: &Authority) -> Credentials {
    Credentials {
        certificates: [("localhost".to_owned(), authority.pem())].into(),
        ..Credentials::default()
    }
}

fn private_authority() -> Outcome {
    let (world, authority) = secured(&["localhost"])?;
    same(
        world
            .read(&world.url(), &trusting(&authority))
            .map_err(words)?,
        expected(),
    )
}

fn unknown_authority() -> Outcome {
    let (world, _) = secured(&["localhost"])?;
    fails(
        world.read(&world.url(), &Credentials::default()),
        "G02",
        "tls: the certificate of the host is signed by an authority we do not trust",
    )
}

fn insecure() -> Outcome {
    let (world, _) = secured(&["elsewhere"])?;
    let book = Credentials::of(RepositorySettings {
        insecure: true,
        ..settings(&world.url())
    });
    same(world.read(&world.url(), &book).map_err(words)?, expected())
}

fn other_name() -> Outcome {
    let (world, authority) = secured(&["elsewhere"])?;
    fails(
        world.read(&world.url(), &trusting(&authority)),
        "G02",
        "tls: the certificate of the host is for another name",
    )
}

fn client_certificate() -> Outcome {
    let authority = Authority::new()?;
    let server = ServerOptions {
        identity: Some(authority.sign(&["localhost"])?),
        clients: Some(authority.pem()),
        ..ServerOptions::default()
    };
    let world = World::with(server, short())?;
    let identity = authority.sign(&["client"])?;
    let mut book = trusting(&authority);
    fails(world.read(&world.url(), &book), "G02", "could not reach")?;
    book.repositories.push(RepositorySettings {
        credential: Credential {
            name: "mtls".into(),
            client_certificate: identity.certificate,
            client_key: identity.key.into(),
            ..Credential::default()
        },
        ..settings(&world.url())
    });
    same(world.read(&world.url(), &book).map_err(words)?, expected())
}

fn proxies() -> Outcome {
    let proxy = Proxy::start("me", "pw")?;
    let (world, authority) = secured(&["localhost"])?;
    let through = |url: &str, no_proxy: &str| {
        let mut book = trusting(&authority);
        book.repositories.push(RepositorySettings {
            proxy: format!("http://me:pw@{}", proxy.address()),
            no_proxy: no_proxy.into(),
            ..settings(url)
        });
        book
    };
    same(
        world
            .read(&world.url(), &through(&world.url(), ""))
            .map_err(words)?,
        expected(),
    )?;
    let after = proxy.used();
    same(after > 0, true)?;
    same(
        world
            .read(&world.url(), &through(&world.url(), "other, localhost"))
            .map_err(words)?,
        expected(),
    )?;
    same(proxy.used(), after)?;
    let plain = World::new()?;
    same(
        plain
            .read(&plain.url(), &through(&plain.url(), ""))
            .map_err(words)?,
        expected(),
    )?;
    same(proxy.used() > after, true)
}

fn proxy_refuses() -> Outcome {
    let proxy = Proxy::start("me", "pw")?;
    let (world, authority) = secured(&["localhost"])?;
    let mut book = trusting(&authority);
    book.repositories.push(RepositorySettings {
        proxy: format!("http://me:wrong@{}", proxy.address()),
        ..settings(&world.url())
    });
    fails(
        world.read(&world.url(), &book),
        "G02",
        "proxy: the proxy answered 407",
    )
}

fn daemon() -> Outcome {
    let world = World::new()?;
    let daemon = Daemon::start(world.folder.path())?;
    same(
        world
            .read(&daemon.url("app.git"), &Credentials::default())
            .map_err(words)?,
        expected(),
    )?;
    let next = world.repo.change("apps/web/deploy.yaml", "kind: Job\n")?;
    let found = world.resolve_at(&daemon.url("app.git"), "main", &Credentials::default());
    same(found.map_err(words)?.commit.to_string(), next)
}

fn daemon_gone() -> Outcome {
    let world = World::new()?;
    let daemon = Daemon::start(world.folder.path())?;
    fails(
        world.read(&daemon.url("none.git"), &Credentials::default()),
        "G03",
        "access denied or repository not exported",
    )
}

fn files() -> Outcome {
    let world = World::new()?;
    for path in [&world.repo.bare, &world.repo.work] {
        let url = format!("file://{}", path.display());
        let revision = world
            .resolve_at(&url, "main", &Credentials::default())
            .map_err(words)?;
        same(
            content(world.tree(&revision)?, "apps/web/deploy.yaml"),
            expected(),
        )?;
    }
    let copied = std::fs::read_dir(world.cache())
        .map_err(|e| e.to_string())?
        .count();
    same(copied, 1)?;
    let nowhere = format!("file://{}/none", world.folder.path().display());
    fails(
        world.read(&nowhere, &Credentials::default()),
        "G03",
        "there is no such directory",
    )?;
    let plain = format!("file://{}", world.folder.path().display());
    fails(
        world.read(&plain, &Credentials::default()),
        "G03",
        "holds no Git repository",
    )
}
