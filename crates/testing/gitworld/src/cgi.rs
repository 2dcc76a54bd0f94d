//! `git http-backend`, as a web server runs it.

use crate::repo;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

/// A request, as far as the program needs it.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) content_type: &'a str,
    pub(crate) protocol: &'a str,
    pub(crate) body: &'a [u8],
}

/// Runs the program; gives its answer as it wrote it: headers, an empty line, the body.
pub(crate) fn serve(root: &Path, asked: &Asked<'_>) -> std::io::Result<Vec<u8>> {
    let mut child = repo::command("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", asked.method)
        .env("PATH_INFO", asked.path)
        .env("QUERY_STRING", asked.query)
        .env("CONTENT_TYPE", asked.content_type)
        .env("CONTENT_LENGTH", asked.body.len().to_string())
        .env("GIT_PROTOCOL", asked.protocol)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut stdin = child.stdin.take();
    let body = asked.body.to_vec();
    // Written from the side: the program may answer before it has read everything.
    let writer = std::thread::spawn(move || {
        if let Some(stdin) = stdin.as_mut() {
            let _ = stdin.write_all(&body);
        }
    });
    let mut answer = Vec::new();
    if let Some(stdout) = child.stdout.as_mut() {
        stdout.read_to_end(&mut answer)?;
    }
    child.wait()?;
    let _ = writer.join();
    Ok(answer)
}
