//! Charts out of `.tgz` bytes: no path out of the chart, no bomb, no surprise.

use super::tar::Reader;
use super::{FILES_MAX, Found, files};
use crate::{Chart, Flavour, HelmError};
use std::io::Read;

/// How large a chart may be, unpacked.
pub const CHART_SIZE_MAX: u64 = 100 * 1024 * 1024;
/// How large one file of a chart may be.
pub const FILE_SIZE_MAX: u64 = 5 * 1024 * 1024;
// Headers and padding of an archive of the largest chart we read.
const OVERHEAD_MAX: u64 = (FILES_MAX as u64) * 1024;
const BYTE_ORDER_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];

/// The files of an archive and the directory they lie in.
#[derive(Debug)]
pub(crate) struct Unpacked {
    pub(crate) files: Vec<Found>,
    pub(crate) directory: String,
}

/// Loads a chart from the bytes of an archive.
pub(crate) fn load(
    bytes: &[u8],
    name: &str,
    flavour: Flavour,
    depth: usize,
) -> Result<Chart, HelmError> {
    let unpacked = unpack(bytes, flavour).map_err(|message| HelmError::Chart {
        message: match (depth, flavour) {
            (0, _) if message == BAD_GZIP => {
                format!(
                    "file '{name}' does not appear to be a valid chart file (details: {message})"
                )
            }
            (0, Flavour::V4) => "unable to load chart archive".to_owned(),
            _ => message,
        },
        file: name.to_owned(),
        line: 0,
    })?;
    let root = format!("{name}:{}/", unpacked.directory);
    files::assemble(unpacked.files, root.trim_end_matches('/'), flavour, depth)
}

const BAD_GZIP: &str = "gzip: invalid header";

/// Refuses a file that is plainly no archive, with a hint for the usual mistake.
pub(crate) fn check_kind(bytes: &[u8], name: &str) -> Result<(), HelmError> {
    if bytes.starts_with(&[0x1f, 0x8b, 0x08]) {
        return Ok(());
    }
    let extension = std::path::Path::new(name).extension();
    let message = if extension.is_some_and(|e| e == "yml" || e == "yaml") {
        format!("file '{name}' seems to be a YAML file, but expected a gzipped archive")
    } else {
        let head = &bytes[..bytes.len().min(512)];
        let binary = |b: &u8| matches!(b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
        // Go looks at 512 bytes, those behind a short file's end as zeros.
        let kind = if head.len() < 512 || head.iter().any(binary) {
            "application/octet-stream"
        } else {
            "text/plain; charset=utf-8"
        };
        format!("file '{name}' does not appear to be a gzipped archive; got '{kind}'")
    };
    Err(HelmError::Chart {
        message,
        file: name.to_owned(),
        line: 0,
    })
}

/// Unpacks an archive; an error says what Helm says.
pub(crate) fn unpack(bytes: &[u8], flavour: Flavour) -> Result<Unpacked, String> {
    let plain = gunzip(bytes, flavour)?;
    let mut reader = Reader::new(&plain);
    let mut unpacked = Unpacked {
        files: Vec::new(),
        directory: String::new(),
    };
    let mut remaining = CHART_SIZE_MAX;
    while let Some(entry) = reader.next_entry()? {
        if entry.is_dir || entry.is_header {
            continue;
        }
        let (directory, name) = inside(&entry.name)?;
        if entry.size > remaining {
            return Err(too_large(flavour));
        }
        if entry.size > FILE_SIZE_MAX {
            return Err(format!(
                "decompressed chart file {:?} is larger than the maximum file size {FILE_SIZE_MAX}",
                entry.name
            ));
        }
        remaining -= entry.size;
        if remaining == 0 {
            return Err(too_large(flavour));
        }
        if unpacked.files.len() >= FILES_MAX {
            return Err(format!("chart has more than {FILES_MAX} files"));
        }
        unpacked.directory = directory;
        unpacked.files.push((name, without_mark(entry.data).into()));
    }
    if unpacked.files.is_empty() {
        return Err("no files in chart archive".into());
    }
    Ok(unpacked)
}

pub(crate) fn without_mark(data: &[u8]) -> &[u8] {
    data.strip_prefix(BYTE_ORDER_MARK).unwrap_or(data)
}

fn too_large(flavour: Flavour) -> String {
    let what = match flavour {
        Flavour::V3 => "maximum file size",
        Flavour::V4 => "maximum size",
    };
    format!("decompressed chart is larger than the {what} {CHART_SIZE_MAX}")
}

fn gunzip(bytes: &[u8], flavour: Flavour) -> Result<Vec<u8>, String> {
    match bytes {
        [] => return Err("EOF".into()),
        [0x1f, 0x8b, 0x08, ..] => {}
        _ => return Err(BAD_GZIP.into()),
    }
    let mut plain = Vec::new();
    let limit = CHART_SIZE_MAX + OVERHEAD_MAX;
    let mut decoder = flate2::read::MultiGzDecoder::new(bytes).take(limit + 1);
    decoder.read_to_end(&mut plain).map_err(|error| {
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            "unexpected EOF".to_owned()
        } else {
            format!("gzip: {error}")
        }
    })?;
    if plain.len() as u64 > limit {
        return Err(too_large(flavour));
    }
    Ok(plain)
}

// The chart's directory and the path inside it; what leads out is refused.
fn inside(name: &str) -> Result<(String, String), String> {
    let delimiter = if name.contains('\\') { '\\' } else { '/' };
    let (directory, rest) = name.split_once(delimiter).unwrap_or((name, ""));
    let rest = rest.replace(delimiter, "/");
    if rest.starts_with('/') {
        return Err("chart illegally contains absolute paths".into());
    }
    let clean = clean(&rest);
    if clean == "." {
        return Err(format!(
            "chart illegally contains content outside the base directory: {name:?}"
        ));
    }
    if clean.starts_with("..") {
        return Err("chart illegally references parent directory".into());
    }
    let bytes = clean.as_bytes();
    if bytes.len() >= 3 && bytes[0].is_ascii_alphabetic() && &bytes[1..3] == b":/" {
        return Err("chart contains illegally named files".into());
    }
    if directory == "Chart.yaml" {
        return Err("chart yaml not in base directory".into());
    }
    Ok((directory.to_owned(), clean))
}

// A relative path without `.`, doubled slashes and, where possible, `..`.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() {
        ".".into()
    } else {
        parts.join("/")
    }
}
