//! Programs that talk to others: a Service answers exactly when it has ready endpoints.

use crate::shell::machine::{Outcome, Shell, Streams};
use crate::shell::network::Reach;
use crate::spec::seconds;

/// Their names, and those of programs that hooks are known to call.
pub(crate) const NAMES: [&str; 28] = [
    "curl",
    "wget",
    "nc",
    "ncat",
    "netcat",
    "telnet",
    "ping",
    "nslookup",
    "getent",
    "host",
    "dig",
    "pg_isready",
    "mysqladmin",
    "redis-cli",
    "psql",
    "mysql",
    "mongosh",
    "kubectl",
    "helm",
    "migrate",
    "flyway",
    "liquibase",
    "jq",
    "git",
    "aws",
    "python",
    "node",
    "java",
];

/// Runs one of them; nothing when nothing is known of it.
pub(crate) async fn run(
    shell: &Shell,
    name: &str,
    arguments: &[String],
    streams: &Streams,
) -> Option<Outcome> {
    Some(match name {
        "curl" => curl(shell, arguments, streams).await,
        "wget" => wget(shell, arguments, streams).await,
        "nc" | "ncat" | "netcat" | "telnet" => netcat(shell, name, arguments, streams).await,
        "nslookup" | "getent" | "host" | "dig" | "ping" => {
            resolve(shell, name, arguments, streams).await
        }
        "pg_isready" | "mysqladmin" | "redis-cli" => ready(shell, name, arguments, streams).await,
        // A database is asked only where it is named; what it is asked for is taken to be done.
        "psql" | "mysql" | "mongosh" => return database(shell, name, arguments, streams).await,
        _ => return None,
    })
}

/// Scheme, host, port and path of an address.
pub(crate) fn address(text: &str) -> Option<(String, u16, String)> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let default = if scheme == "https" { 443 } else { 80 };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, default),
    };
    (!host.is_empty()).then(|| (host.to_owned(), port, path.to_owned()))
}

#[derive(Default)]
struct Curl {
    url: String,
    output: String,
    format: String,
    silent: bool,
    show_error: bool,
    head: bool,
    retries: u32,
    delay: Option<i64>,
    retry_refused: bool,
    retry_all: bool,
}

fn curl_options(arguments: &[String]) -> Curl {
    let mut curl = Curl::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().unwrap_or_default();
        match word.as_str() {
            "--retry" => curl.retries = value().parse().unwrap_or(0),
            "--retry-delay" => curl.delay = value().parse().ok(),
            "--retry-connrefused" => curl.retry_refused = true,
            "--retry-all-errors" => curl.retry_all = true,
            "--silent" => curl.silent = true,
            "--show-error" => curl.show_error = true,
            "--head" => curl.head = true,
            "--output" => curl.output = value(),
            "--write-out" => curl.format = value(),
            "--url" => curl.url = value(),
            "--request" | "--header" | "--data" | "--data-raw" | "--data-binary" | "--max-time"
            | "--connect-timeout" | "--user" | "--cacert" | "--cert" | "--key" | "--user-agent"
            | "--retry-max-time" | "--form" | "--json" | "--proxy" => {
                value();
            }
            long if long.starts_with("--") => {}
            short if short.starts_with('-') && short.len() > 1 => {
                let letters: Vec<char> = short.chars().skip(1).collect();
                for (at, letter) in letters.iter().enumerate() {
                    let rest: String = letters[at + 1..].iter().collect();
                    let mut value = || {
                        if rest.is_empty() {
                            words.next().cloned().unwrap_or_default()
                        } else {
                            rest.clone()
                        }
                    };
                    match letter {
                        's' => curl.silent = true,
                        'S' => curl.show_error = true,
                        'I' => curl.head = true,
                        'o' => {
                            curl.output = value();
                            break;
                        }
                        'w' => {
                            curl.format = value();
                            break;
                        }
                        'X' | 'H' | 'd' | 'm' | 'u' | 'A' | 'F' | 'T' | 'b' | 'c' | 'e' | 'E' => {
                            value();
                            break;
                        }
                        _ => {}
                    }
                }
            }
            url => curl.url = url.to_owned(),
        }
    }
    curl
}

async fn curl(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let curl = curl_options(arguments);
    let Some((host, port, _)) = address(&curl.url) else {
        shell.write(
            &streams.err,
            "curl: (3) URL rejected: Malformed input to a URL function\n",
        )?;
        return Ok(3);
    };
    let mut tries = 0;
    loop {
        let reach = shell.reach(&host, Some(port)).await;
        let (code, complaint) = match reach {
            Reach::Open(_) => return curl_done(shell, &curl, streams),
            Reach::Refused(_) => (
                7,
                format!(
                    "curl: (7) Failed to connect to {host} port {port} after 0 ms: Could not connect to server\n"
                ),
            ),
            Reach::Unknown => (6, format!("curl: (6) Could not resolve host: {host}\n")),
        };
        let again = curl.retry_all || (code == 7 && curl.retry_refused);
        if !curl.silent || curl.show_error {
            shell.write(&streams.err, &complaint)?;
        }
        if !again || tries >= curl.retries {
            if !curl.format.is_empty() {
                shell.write(&streams.out, &written(&curl.format, "000"))?;
            }
            return Ok(code);
        }
        let wait = curl.delay.filter(|d| *d > 0).unwrap_or(1 << tries.min(9));
        tries += 1;
        shell.sleep(seconds(wait)).await?;
    }
}

fn written(format: &str, code: &str) -> String {
    let text = format
        .replace("%{http_code}", code)
        .replace("%{response_code}", code);
    crate::shell::text::unescape(&text)
}

fn curl_done(shell: &Shell, curl: &Curl, streams: &Streams) -> Outcome {
    let body = if curl.head {
        "HTTP/1.1 200 OK\n\n"
    } else {
        "ok\n"
    };
    match curl.output.as_str() {
        "" => shell.write(&streams.out, body)?,
        "/dev/null" => {}
        path => {
            if shell.files.write(&shell.path(path), body, false).is_err() {
                shell.write(
                    &streams.err,
                    "curl: (23) Failure writing output to destination\n",
                )?;
                return Ok(23);
            }
        }
    }
    if !curl.format.is_empty() {
        shell.write(&streams.out, &written(&curl.format, "200"))?;
    }
    Ok(0)
}

async fn wget(shell: &Shell, arguments: &[String], streams: &Streams) -> Outcome {
    let quiet = arguments
        .iter()
        .any(|a| a == "--quiet" || (a.starts_with('-') && !a.starts_with("--") && a.contains('q')));
    let spider = arguments.iter().any(|a| a == "--spider" || a == "-S");
    let mut output = None;
    let mut url = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if let Some(name) = word.strip_prefix("--output-document=") {
            output = Some(name.to_owned());
        } else if matches!(
            word.as_str(),
            "-T" | "-t" | "--timeout" | "--tries" | "-U" | "--header" | "--post-data"
        ) {
            words.next();
        } else if word.starts_with('-') && !word.starts_with("--") && word.contains('O') {
            let name = &word[word.find('O').map_or(word.len(), |at| at + 1)..];
            output = Some(if name.is_empty() {
                words.next().cloned().unwrap_or_default()
            } else {
                name.to_owned()
            });
        } else if !word.starts_with('-') {
            url = Some(word.clone());
        }
    }
    let Some((host, port, path)) = url.as_deref().and_then(address) else {
        shell.write(&streams.err, "wget: missing URL\n")?;
        return Ok(1);
    };
    let complaint = match shell.reach(&host, Some(port)).await {
        Reach::Open(_) => {
            if !quiet {
                shell.write(
                    &streams.err,
                    &format!("Connecting to {host} ({host}:{port})\n"),
                )?;
            }
            return save(shell, streams, output, &path, spider);
        }
        Reach::Refused(ip) => {
            format!("wget: can't connect to remote host ({ip}): Connection refused\n")
        }
        Reach::Unknown => format!("wget: bad address '{host}'\n"),
    };
    shell.write(&streams.err, &complaint)?;
    Ok(1)
}

fn save(
    shell: &Shell,
    streams: &Streams,
    output: Option<String>,
    path: &str,
    spider: bool,
) -> Outcome {
    if spider {
        return Ok(0);
    }
    let name = output.unwrap_or_else(|| {
        let base = path
            .split('?')
            .next()
            .unwrap_or("")
            .rsplit('/')
            .next()
            .unwrap_or("");
        if base.is_empty() {
            "index.html".to_owned()
        } else {
            base.to_owned()
        }
    });
    match name.as_str() {
        "-" | "/dev/stdout" => shell.write(&streams.out, "ok\n")?,
        "/dev/null" => {}
        name => {
            if shell.files.write(&shell.path(name), "ok\n", false).is_err() {
                return Ok(1);
            }
        }
    }
    Ok(0)
}

async fn netcat(shell: &Shell, name: &str, arguments: &[String], streams: &Streams) -> Outcome {
    let mut plain = Vec::new();
    let mut loud = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "-w" | "-i" | "-q") {
            words.next();
        } else if word.starts_with('-') {
            loud |= word.contains('v');
        } else {
            plain.push(word.as_str());
        }
    }
    let (Some(host), port) = (plain.first(), plain.get(1).and_then(|p| p.parse().ok())) else {
        shell.write(&streams.err, &format!("{name}: missing host\n"))?;
        return Ok(1);
    };
    let shown = plain.get(1).unwrap_or(&"");
    let text = match shell.reach(host, port).await {
        Reach::Open(ip) => {
            if loud {
                let text = format!("{host} ({ip}:{shown}) open\n");
                shell.write(&streams.err, &text)?;
            }
            return Ok(0);
        }
        Reach::Refused(ip) if loud => format!("nc: {host} ({ip}:{shown}): Connection refused\n"),
        Reach::Refused(_) => String::new(),
        Reach::Unknown => format!("nc: bad address '{host}'\n"),
    };
    shell.write(&streams.err, &text)?;
    Ok(1)
}

async fn resolve(shell: &Shell, name: &str, arguments: &[String], streams: &Streams) -> Outcome {
    let plain =
        |a: &&String| !a.starts_with(['-', '+', '@']) && !matches!(a.as_str(), "hosts" | "ahosts");
    let Some(host) = arguments.iter().find(plain) else {
        return Ok(1);
    };
    let address = match shell.reach(host, None).await {
        Reach::Open(address) | Reach::Refused(address) => address,
        Reach::Unknown => {
            let text = match name {
                "nslookup" => format!(
                    "Server:\t\t10.0.0.10\nAddress:\t10.0.0.10:53\n\n** server can't find {host}: NXDOMAIN\n\n"
                ),
                "host" => format!("Host {host} not found: 3(NXDOMAIN)\n"),
                "ping" => format!("ping: bad address '{host}'\n"),
                _ => String::new(),
            };
            shell.write(&streams.out, &text)?;
            return Ok(match name {
                "getent" => 2,
                "dig" => 0,
                _ => 1,
            });
        }
    };
    let text = match name {
        "nslookup" => format!(
            "Server:\t\t10.0.0.10\nAddress:\t10.0.0.10:53\n\nName:\t{host}\nAddress: {address}\n\n"
        ),
        "getent" => format!("{address}  {host}\n"),
        "host" => format!("{host} has address {address}\n"),
        "ping" => format!("PING {host} ({address}): 56 data bytes\n"),
        _ => format!("{address}\n"),
    };
    shell.write(&streams.out, &text)?;
    Ok(0)
}

// The value of `-h host`, `-hhost`, `--host=host`.
fn option<'a>(arguments: &'a [String], short: &str, long: &str) -> Option<&'a str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == short || word == long {
            return words.next().map(String::as_str);
        }
        let joined = word
            .strip_prefix(long)
            .and_then(|rest| rest.strip_prefix('='));
        let attached = word
            .strip_prefix(short)
            .filter(|rest| !rest.is_empty() && !word.starts_with("--"));
        if let Some(value) = joined.or(attached) {
            return Some(value);
        }
    }
    None
}

fn place(shell: &Shell, name: &str, arguments: &[String]) -> Option<(String, u16)> {
    let (default, variables) = match name {
        "psql" | "pg_isready" => (5432, ("PGHOST", "PGPORT")),
        "mysql" | "mysqladmin" => (3306, ("MYSQL_HOST", "MYSQL_TCP_PORT")),
        "redis-cli" => (6379, ("REDIS_HOST", "REDIS_PORT")),
        _ => (27017, ("MONGO_HOST", "MONGO_PORT")),
    };
    if let Some(url) = arguments.iter().find(|a| a.contains("://")) {
        let (host, port, _) = address(url)?;
        return Some((host, if port == 80 { default } else { port }));
    }
    let variable = |name: &str| shell.variables.get(name).map(String::as_str);
    let host = option(arguments, "-h", "--host").or_else(|| variable(variables.0))?;
    let port = option(
        arguments,
        if matches!(name, "mysql" | "mysqladmin") {
            "-P"
        } else {
            "-p"
        },
        "--port",
    )
    .or_else(|| variable(variables.1));
    let port = port.and_then(|p| p.parse().ok()).unwrap_or(default);
    Some((host.to_owned(), port))
}

async fn ready(shell: &Shell, name: &str, arguments: &[String], streams: &Streams) -> Outcome {
    let (host, port) = place(shell, name, arguments).unwrap_or_else(|| ("localhost".into(), 0));
    let reach = shell.reach(&host, Some(port)).await;
    let open = matches!(reach, Reach::Open(_));
    let (text, code) = match (name, open) {
        ("pg_isready", true) => (format!("{host}:{port} - accepting connections\n"), 0),
        ("pg_isready", false) => (format!("{host}:{port} - no response\n"), 2),
        ("mysqladmin", true) => ("mysqld is alive\n".to_owned(), 0),
        ("mysqladmin", false) => (
            format!("mysqladmin: connect to server at '{host}' failed\n"),
            1,
        ),
        (_, true) => ("PONG\n".to_owned(), 0),
        (_, false) => (
            format!("Could not connect to Redis at {host}:{port}: Connection refused\n"),
            1,
        ),
    };
    let sink = if open || name == "pg_isready" {
        &streams.out
    } else {
        &streams.err
    };
    shell.write(sink, &text)?;
    Ok(code)
}

async fn database(
    shell: &Shell,
    name: &str,
    arguments: &[String],
    streams: &Streams,
) -> Option<Outcome> {
    let (host, port) = place(shell, name, arguments)?;
    let why = match shell.reach(&host, Some(port)).await {
        Reach::Open(_) => return None,
        Reach::Refused(_) => "Connection refused",
        Reach::Unknown => "Name or service not known",
    };
    let text =
        format!("{name}: error: connection to server at \"{host}\", port {port} failed: {why}\n");
    let code = if name == "psql" { 2 } else { 1 };
    Some(shell.write(&streams.err, &text).map(|()| code))
}
