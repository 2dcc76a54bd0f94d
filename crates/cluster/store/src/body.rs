//! Object bodies as the store keeps them: JSON text, compressed, shared.
//!
//! Takes a [`Value`] and a version, gives a [`Stored`] that is one pointer to clone and a few
//! hundred bytes to keep. All bodies share one dictionary of text that Kubernetes objects tend to
//! contain, so that even a body of half a kilobyte compresses well. A body that does not compress
//! costs its own length and a few bytes.

use crate::change::Version;
use model::{Value, meta};
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

/// Text that objects tend to contain; later text is cheaper to refer to.
const TEXT: &[u8] = include_bytes!("dictionary.txt");
/// How often letters and repetitions occur in objects; made from the text by `tools/dictionary`.
const STATISTICS: &[u8] = include_bytes!("dictionary.head");

const LEVEL: i32 = 1;
/// Version (8 bytes) and length of the JSON text (4 bytes), little endian.
const HEADER: usize = 12;
/// Longest JSON text we unpack; far above any request the API takes.
const JSON_MAX: usize = 64 << 20;
/// Scratch space kept between calls.
const SCRATCH_MAX: usize = 1 << 20;

/// What all bodies are packed with.
pub(crate) fn dictionary() -> &'static [u8] {
    static DICTIONARY: OnceLock<Vec<u8>> = OnceLock::new();
    DICTIONARY.get_or_init(|| [STATISTICS, TEXT].concat())
}

/// One version of one object: compressed JSON that already carries its `resourceVersion`.
#[derive(Clone, PartialEq, Eq)]
pub struct Stored(Arc<[u8]>);

impl Stored {
    /// Sets the version in the body and packs it.
    pub(crate) fn new(version: Version, mut body: Value) -> Self {
        meta::set_text(&mut body, "resourceVersion", &version.to_string());
        with_codec(|codec| codec.pack(version, &body))
    }

    /// The version that wrote it.
    pub fn version(&self) -> Version {
        let bytes = self.0[..8].try_into().expect("the header is checked");
        Version::from_le_bytes(bytes)
    }

    /// The JSON text, ready to be sent.
    pub fn json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.json_into(&mut out);
        out
    }

    /// Appends the JSON text; for answers that hold many objects.
    pub fn json_into(&self, out: &mut Vec<u8>) {
        with_codec(|codec| codec.unpack(&self.0, out))
            .expect("packed by us, or checked when it was read from disk");
    }

    /// The length of the JSON text, without unpacking it.
    pub fn json_len(&self) -> usize {
        length(&self.0)
    }

    /// The object as a tree.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.json()).expect("the text was made from a tree")
    }

    /// How many bytes it takes in memory and on disk.
    pub fn size(&self) -> usize {
        self.0.len()
    }

    /// What goes to disk.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads what [`Stored::as_bytes`] gave; `None` when a bit of it is wrong.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() <= HEADER || length(bytes) > JSON_MAX {
            return None;
        }
        with_codec(|codec| {
            let mut text = std::mem::take(&mut codec.text);
            text.clear();
            let sound = codec.unpack(bytes, &mut text).is_ok();
            codec.text = text;
            sound
        })
        .then(|| Self(bytes.into()))
    }

    /// Reads bytes that were packed with another dictionary.
    pub(crate) fn from_foreign(bytes: &[u8], dictionary: &[u8]) -> Option<Self> {
        if bytes.len() <= HEADER || length(bytes) > JSON_MAX {
            return None;
        }
        let mut decompressor = Decompressor::with_dictionary(dictionary).ok()?;
        let text = decompressor
            .decompress(&bytes[HEADER..], length(bytes))
            .ok()?;
        let version = Version::from_le_bytes(bytes[..8].try_into().ok()?);
        Some(with_codec(|codec| codec.pack_text(version, &text)))
    }
}

impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.json()))
    }
}

/// The length of the JSON text as the header says it.
fn length(bytes: &[u8]) -> usize {
    let field = bytes[8..HEADER].try_into().expect("the header is checked");
    u32::from_le_bytes(field) as usize
}

/// Compression state that is costly to make and kept per thread.
struct Codec {
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
    text: Vec<u8>,
    packed: Vec<u8>,
}

impl Codec {
    fn new() -> Self {
        static ENCODER: OnceLock<EncoderDictionary<'static>> = OnceLock::new();
        static DECODER: OnceLock<DecoderDictionary<'static>> = OnceLock::new();
        let encoder = ENCODER.get_or_init(|| EncoderDictionary::copy(dictionary(), LEVEL));
        let decoder = DECODER.get_or_init(|| DecoderDictionary::copy(dictionary()));
        let mut compressor = Compressor::with_prepared_dictionary(encoder)
            .expect("a context takes any prepared dictionary");
        compressor
            .include_checksum(true)
            .and_then(|()| compressor.include_dictid(false))
            .expect("the parameters exist");
        Self {
            compressor,
            decompressor: Decompressor::with_prepared_dictionary(decoder)
                .expect("a context takes any prepared dictionary"),
            text: Vec::new(),
            packed: Vec::new(),
        }
    }

    fn pack(&mut self, version: Version, body: &Value) -> Stored {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        serde_json::to_writer(&mut text, body).expect("a tree with text keys is always JSON");
        let stored = self.pack_text(version, &text);
        self.text = text;
        self.text.clear();
        self.text.shrink_to(SCRATCH_MAX);
        stored
    }

    fn pack_text(&mut self, version: Version, text: &[u8]) -> Stored {
        let bound = zstd::zstd_safe::compress_bound(text.len());
        self.packed.resize(HEADER + bound, 0);
        self.packed[..8].copy_from_slice(&version.to_le_bytes());
        self.packed[8..HEADER].copy_from_slice(&(text.len() as u32).to_le_bytes());
        let packed = self
            .compressor
            .compress_to_buffer(text, &mut self.packed[HEADER..])
            .expect("the space is as much as is ever needed");
        let stored = Stored(self.packed[..HEADER + packed].into());
        self.packed.clear();
        self.packed.shrink_to(SCRATCH_MAX);
        stored
    }

    fn unpack(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
        let start = out.len();
        out.resize(start + length(bytes), 0);
        let written = self
            .decompressor
            .decompress_to_buffer(&bytes[HEADER..], &mut out[start..])?;
        if start + written == out.len() {
            Ok(())
        } else {
            Err(std::io::ErrorKind::InvalidData.into())
        }
    }
}

fn with_codec<T>(work: impl FnOnce(&mut Codec) -> T) -> T {
    thread_local! {
        static CODEC: RefCell<Codec> = RefCell::new(Codec::new());
    }
    CODEC.with(|codec| work(&mut codec.borrow_mut()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn the_version_is_part_of_the_text() {
        let stored = Stored::new(
            42,
            json!({"kind": "X", "metadata": {"resourceVersion": "7"}}),
        );
        let text = r#"{"kind":"X","metadata":{"resourceVersion":"42"}}"#;
        assert_eq!(String::from_utf8(stored.json()), Ok(text.to_owned()));
        assert_eq!((stored.version(), stored.json_len()), (42, text.len()));
        assert_eq!(stored.value()["metadata"]["resourceVersion"], "42");
    }

    #[test]
    fn texts_can_be_strung_together() {
        let stored = Stored::new(2, json!({}));
        let mut text = b"[".to_vec();
        stored.json_into(&mut text);
        text.push(b',');
        stored.json_into(&mut text);
        let one = r#"{"metadata":{"resourceVersion":"2"}}"#;
        assert_eq!(String::from_utf8(text), Ok(format!("[{one},{one}")));
    }

    #[test]
    fn what_is_no_object_becomes_one() {
        let stored = Stored::new(2, json!([1, 2]));
        assert_eq!(
            stored.value(),
            json!({"metadata": {"resourceVersion": "2"}})
        );
    }

    #[test]
    fn what_does_not_compress_costs_little_more_than_itself() {
        let mut seed = 1_u64;
        for size in [1, 100, 10_000, 2_000_000] {
            let noise: String = (0..size).map(|_| noise(&mut seed)).collect();
            let stored = Stored::new(9, json!({"data": noise}));
            assert!(stored.size() < stored.json_len() + 40, "{size}");
            assert_eq!(stored.value()["data"], noise);
        }
    }

    /// A letter out of so many that there is nothing to gain.
    fn noise(seed: &mut u64) -> char {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from_u32(0x4e00 + (*seed >> 48) as u32 % 0x5000).unwrap_or('x')
    }

    #[test]
    fn a_typical_object_takes_a_fraction() {
        let stored = Stored::new(
            1000,
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"mode": "on"},
                "metadata": {
                    "name": "settings", "namespace": "shop",
                    "uid": "8adb73e0-33f7-40fb-b1bf-4c9f75e7e05e",
                    "creationTimestamp": "2026-11-15T19:57:10Z",
                    "managedFields": [{
                        "apiVersion": "v1", "fieldsType": "FieldsV1", "manager": "kubectl-create",
                        "operation": "Update", "time": "2026-11-15T19:57:10Z",
                        "fieldsV1": {"f:data": {".": {}, "f:mode": {}}}
                    }]
                }
            }),
        );
        assert!(
            stored.size() * 2 < stored.json_len(),
            "{} bytes",
            stored.size()
        );
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let stored = Stored::new(3, json!({"data": "some text ".repeat(20)}));
        assert_eq!(
            Stored::from_bytes(stored.as_bytes()).as_ref(),
            Some(&stored)
        );
        // The first eight bytes are the version, which nothing but the reader can check.
        for at in 8..stored.size() {
            let mut damaged = stored.as_bytes().to_vec();
            damaged[at] ^= 0x10;
            let read = Stored::from_bytes(&damaged);
            assert!(
                read.is_none_or(|read| read.json() == stored.json()),
                "byte {at}"
            );
        }
        for length in 0..stored.size() {
            assert_eq!(Stored::from_bytes(&stored.as_bytes()[..length]), None);
        }
    }
}
