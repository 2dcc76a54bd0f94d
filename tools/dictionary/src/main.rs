//! Makes the statistics that stand before the store's dictionary text.
//!
//! `cargo run --release --manifest-path tools/dictionary/Cargo.toml`, from the root of the repository, reads
//! `crates/cluster/store/src/dictionary.txt` and writes `dictionary.head` beside it: how often which
//! letters, lengths and distances occur in objects that are compressed with that text. With it the store
//! need not count them for every object, which halves the time to pack and to unpack.

mod samples;

use std::error::Error;
use std::ffi::c_void;
use zstd_sys::{ZDICT_finalizeDictionary, ZDICT_getDictHeaderSize, ZDICT_isError, ZDICT_params_t};

const FOLDER: &str = "crates/cluster/store/src";
const SAMPLES: usize = 6000;
/// Marks the dictionary; the store leaves it out of what it packs.
const NUMBER: u32 = 0x7469_7068;

fn main() -> Result<(), Box<dyn Error>> {
    let text = std::fs::read(format!("{FOLDER}/dictionary.txt"))?;
    let head = head(&text, &samples::all(SAMPLES))?;
    std::fs::write(format!("{FOLDER}/dictionary.head"), &head)?;
    println!(
        "{} bytes of statistics for {} bytes of text",
        head.len(),
        text.len()
    );
    Ok(())
}

fn head(text: &[u8], samples: &[String]) -> Result<Vec<u8>, Box<dyn Error>> {
    let sizes: Vec<usize> = samples.iter().map(String::len).collect();
    let joined = samples.concat();
    let parameters = ZDICT_params_t {
        compressionLevel: 1,
        notificationLevel: 0,
        dictID: NUMBER,
    };
    let mut out = vec![0_u8; text.len() + 4096];
    // SAFETY: every pointer comes with the length of the live buffer behind it, and the sizes
    // add up to the length of the samples.
    let (length, head) = unsafe {
        let length = ZDICT_finalizeDictionary(
            out.as_mut_ptr().cast::<c_void>(),
            out.len(),
            text.as_ptr().cast::<c_void>(),
            text.len(),
            joined.as_ptr().cast::<c_void>(),
            sizes.as_ptr(),
            sizes.len().try_into()?,
            parameters,
        );
        if ZDICT_isError(length) != 0 {
            return Err("zstd could not make a dictionary".into());
        }
        (
            length,
            ZDICT_getDictHeaderSize(out.as_ptr().cast::<c_void>(), length),
        )
    };
    if length != head + text.len() {
        return Err("the text did not fit behind the statistics".into());
    }
    out.truncate(head);
    Ok(out)
}
