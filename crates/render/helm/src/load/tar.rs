//! Tar archives as Go's `archive/tar` reads them: names, sizes and contents, within limits.

use std::collections::BTreeMap;

const BLOCK: usize = 512;
/// How many bytes of extended headers one entry may have.
const EXTENDED_MAX: usize = 1024 * 1024;
const BAD_HEADER: &str = "archive/tar: invalid tar header";
const CUT_OFF: &str = "unexpected EOF";

/// One entry of an archive that is no header of another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) name: String,
    pub(crate) is_dir: bool,
    /// A global header, which is not a file.
    pub(crate) is_header: bool,
    /// The size the header claims; the data of a link is empty whatever it says.
    pub(crate) size: u64,
    pub(crate) data: &'a [u8],
}

/// Reads entries one by one out of an archive in memory.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next entry, with what extended headers say about it.
    pub(crate) fn next_entry(&mut self) -> Result<Option<Entry<'a>>, String> {
        let mut pax: BTreeMap<String, String> = BTreeMap::new();
        let mut long_name: Option<String> = None;
        loop {
            let Some(header) = self.header()? else {
                return Ok(None);
            };
            let mut size = number(&header[124..136])?;
            let kind = header[156];
            match kind {
                b'x' => {
                    pax = records(self.extended(size)?)?;
                    continue;
                }
                b'L' => {
                    long_name = Some(text(self.extended(size)?));
                    continue;
                }
                b'K' => {
                    self.extended(size)?;
                    continue;
                }
                b'g' => {
                    let data = self.extended(size)?;
                    return Ok(Some(Entry {
                        name: text(&header[..100]),
                        is_dir: false,
                        is_header: true,
                        size,
                        data,
                    }));
                }
                b'S' => return Err("archive/tar: sparse files are not read".into()),
                _ => {}
            }
            if let Some(claimed) = pax.get("size") {
                size = claimed.parse().map_err(|_| BAD_HEADER.to_owned())?;
            }
            let name = match (pax.remove("path"), long_name) {
                (Some(name), _) | (None, Some(name)) => name,
                (None, None) => full_name(header),
            };
            let mode = number(&header[100..108]).unwrap_or(0);
            let old_file = kind == 0 || kind == b'7';
            let is_dir =
                kind == b'5' || (old_file && name.ends_with('/')) || mode & !0o7777 == 0o40000;
            // Links, devices and directories carry nothing, whatever their size says.
            let data: &[u8] = if matches!(kind, b'1'..=b'6') {
                size = 0;
                &[]
            } else {
                self.take(size)?
            };
            return Ok(Some(Entry {
                name,
                is_dir,
                is_header: false,
                size,
                data,
            }));
        }
    }

    // The next header that is not all zeros; two zero blocks, or the end, end the archive.
    fn header(&mut self) -> Result<Option<&'a [u8]>, String> {
        let Some(block) = self.block()? else {
            return Ok(None);
        };
        if block.iter().any(|byte| *byte != 0) {
            return check(block).map(Some);
        }
        match self.block()? {
            None => Ok(None),
            Some(second) if second.iter().all(|byte| *byte == 0) => Ok(None),
            Some(_) => Err(BAD_HEADER.into()),
        }
    }

    fn block(&mut self) -> Result<Option<&'a [u8]>, String> {
        let rest = &self.bytes[self.at..];
        match rest.len() {
            0 => Ok(None),
            len if len < BLOCK => Err(CUT_OFF.into()),
            _ => {
                self.at += BLOCK;
                Ok(Some(&rest[..BLOCK]))
            }
        }
    }

    fn extended(&mut self, size: u64) -> Result<&'a [u8], String> {
        if size > EXTENDED_MAX as u64 {
            return Err("archive/tar: header field too long".into());
        }
        self.take(size)
    }

    fn take(&mut self, size: u64) -> Result<&'a [u8], String> {
        let rest = &self.bytes[self.at..];
        let wanted = usize::try_from(size).map_err(|_| CUT_OFF.to_owned())?;
        if wanted > rest.len() {
            return Err(CUT_OFF.into());
        }
        let padded = wanted.div_ceil(BLOCK).saturating_mul(BLOCK);
        self.at += padded.min(rest.len());
        Ok(&rest[..wanted])
    }
}

fn check(block: &[u8]) -> Result<&[u8], String> {
    let claimed = number(&block[148..156])?;
    let mut unsigned: u64 = 0;
    let mut signed: i64 = 0;
    for (at, byte) in block.iter().enumerate() {
        let byte = if (148..156).contains(&at) {
            b' '
        } else {
            *byte
        };
        unsigned += u64::from(byte);
        signed += i64::from(byte.cast_signed());
    }
    if claimed == unsigned || i64::try_from(claimed) == Ok(signed) {
        Ok(block)
    } else {
        Err(BAD_HEADER.into())
    }
}

// Octal digits, or a big-endian number when the first bit is set.
fn number(field: &[u8]) -> Result<u64, String> {
    if field[0] & 0x80 != 0 {
        if field[0] & 0x40 != 0 {
            return Err(BAD_HEADER.into());
        }
        let mut value: u64 = u64::from(field[0] & 0x3f);
        for byte in &field[1..] {
            if value >> 55 != 0 {
                return Err(BAD_HEADER.into());
            }
            value = (value << 8) | u64::from(*byte);
        }
        return Ok(value);
    }
    let digits = text(field);
    let digits = digits.trim_matches([' ', '\0']);
    if digits.is_empty() {
        return Ok(0);
    }
    u64::from_str_radix(digits, 8).map_err(|_| BAD_HEADER.into())
}

// Bytes up to the first zero, as text.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
}

fn full_name(header: &[u8]) -> String {
    let name = text(&header[..100]);
    let is_ustar = &header[257..263] == b"ustar\0";
    let prefix = if is_ustar {
        text(&header[345..500])
    } else {
        String::new()
    };
    if prefix.is_empty() {
        name
    } else {
        format!("{prefix}/{name}")
    }
}

// Records of the form `22 path=some/file\n`.
fn records(data: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let mut found = BTreeMap::new();
    let mut rest = data;
    while !rest.is_empty() {
        let space = rest
            .iter()
            .position(|byte| *byte == b' ')
            .ok_or(BAD_HEADER)?;
        let length = std::str::from_utf8(&rest[..space]).ok();
        let length: usize = length.and_then(|l| l.parse().ok()).ok_or(BAD_HEADER)?;
        if length <= space + 1 || length > rest.len() || rest[length - 1] != b'\n' {
            return Err(BAD_HEADER.into());
        }
        let record = &rest[space + 1..length - 1];
        let equals = record
            .iter()
            .position(|byte| *byte == b'=')
            .ok_or(BAD_HEADER)?;
        let key = String::from_utf8_lossy(&record[..equals]).into_owned();
        let value = String::from_utf8_lossy(&record[equals + 1..]).into_owned();
        found.insert(key, value);
        rest = &rest[length..];
    }
    Ok(found)
}
