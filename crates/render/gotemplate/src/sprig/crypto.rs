//! Passwords, keys and certificates.

use super::args::text;
use super::{certificate, cipher, keys};
use crate::call::Call;
use crate::function::Type::{Certificate, Int, List, String as Str, Uint32};
use crate::function::{Fault, Function};
use crate::value::Value;

type Answer = Result<Value, Fault>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("bcrypt", &[Str], |call, a| {
        let password = text(a, 0);
        Ok(bcrypt(call, &password).into())
    }),
    Function::new("htpasswd", &[Str, Str], |call, a| {
        let (user, password) = (text(a, 0), text(a, 1));
        if user.contains(&b':') {
            return Ok(format!("invalid username: {user}").into());
        }
        Ok(format!("{user}:{}", bcrypt(call, &password)).into())
    }),
    Function::new(
        "derivePassword",
        &[Uint32, Str, Str, Str, Str],
        derive_password,
    ),
    Function::new("genPrivateKey", &[Str], private_key),
    Function::new("genCA", &[Str, Int], certificate::authority),
    Function::new("genCAWithKey", &[Str, Int, Str], certificate::authority),
    Function::new(
        "genSelfSignedCert",
        &[Str, List, List, Int],
        certificate::self_signed,
    ),
    Function::new(
        "genSelfSignedCertWithKey",
        &[Str, List, List, Int, Str],
        certificate::self_signed,
    ),
    Function::new(
        "genSignedCert",
        &[Str, List, List, Int, Certificate],
        certificate::signed,
    ),
    Function::new(
        "genSignedCertWithKey",
        &[Str, List, List, Int, Certificate, Str],
        certificate::signed,
    ),
    Function::new("buildCustomCert", &[Str, Str], certificate::custom),
    Function::new("encryptAES", &[Str, Str], |call, a| {
        let (password, plain) = (text(a, 0), text(a, 1));
        Ok(cipher::encrypt(call, &password, &plain)?.into())
    }),
    Function::new("decryptAES", &[Str, Str], |_, a| {
        Ok(cipher::decrypt(&text(a, 0), &text(a, 1))?.into())
    }),
];

const BCRYPT_COST: u32 = 10;

fn bcrypt(call: &mut Call<'_>, password: &[u8]) -> String {
    if password.len() > 72 {
        let why = "bcrypt: password length exceeds 72 bytes";
        return format!("failed to encrypt string with bcrypt: {why}");
    }
    let mut salt = [0; 16];
    call.random(&mut salt);
    let hash = bcrypt_hash(password, &salt);
    format!(
        "$2a${BCRYPT_COST:02}${}{}",
        bcrypt_text(&salt),
        bcrypt_text(&hash[..23])
    )
}

fn bcrypt_hash(password: &[u8], salt: &[u8; 16]) -> Vec<u8> {
    // The zero at the end of the password counts.
    let key = [password, &[0]].concat();
    let mut state: blowfish::Blowfish = blowfish::Blowfish::bc_init_state();
    state.salted_expand_key(salt, &key);
    for _ in 0..1u32 << BCRYPT_COST {
        state.bc_expand_key(&key);
        state.bc_expand_key(salt);
    }
    let mut out = Vec::with_capacity(24);
    for pair in b"OrpheanBeholderScryDoubt".chunks(8) {
        let word =
            |at: usize| u32::from_be_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        let mut block = [word(0), word(4)];
        for _ in 0..64 {
            block = state.bc_encrypt(block);
        }
        out.extend(block.iter().flat_map(|w| w.to_be_bytes()));
    }
    out
}

// Base 64 with an alphabet of its own and no padding.
fn bcrypt_text(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const USUAL: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = crate::base64(bytes);
    let swap = |b: u8| {
        USUAL
            .iter()
            .position(|u| *u == b)
            .map_or('=', |at| char::from(LETTERS[at]))
    };
    text.trim_end_matches('=').bytes().map(swap).collect()
}

fn private_key(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let kind = text(args, 0);
    let key = match &kind[..] {
        b"" | b"rsa" => keys::rsa(call, 4096)?,
        b"dsa" => keys::dsa(call)?,
        b"ecdsa" => keys::ecdsa(call),
        b"ed25519" => keys::ed25519(call),
        _ => return Ok(format!("Unknown type {kind}").into()),
    };
    Ok(key.pem().into())
}

// The Master Password algorithm: shapes of passwords, and what each letter of a shape may be.
const SHAPES: [(&str, &[&str]); 6] = [
    ("maximum", &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"]),
    (
        "long",
        &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
    ),
    ("medium", &["CvcnoCvc", "CvcCvcno"]),
    ("short", &["Cvcn"]),
    ("basic", &["aaanaaan", "aannaaan", "aaannaaa"]),
    ("pin", &["nnnn"]),
];

fn letters(class: u8) -> &'static [u8] {
    match class {
        b'V' => b"AEIOU",
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'A' => b"AEIOUBCDFGHJKLMNPQRSTVWXYZ",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

fn derive_password(call: &mut Call<'_>, args: &[Value]) -> Answer {
    const SEED: &[u8] = b"com.lyndir.masterpassword";
    let counter = args[0].as_unsigned().unwrap_or(0) as u32;
    let [kind, password, user, site] = [1, 2, 3, 4].map(|i| text(args, i));
    let Some((_, shapes)) = SHAPES.iter().find(|(name, _)| name.as_bytes() == &kind[..]) else {
        return Ok(format!("cannot find password template {kind}").into());
    };
    call.context().step(1_000_000)?;
    let length = |text: &[u8]| (text.len() as u32).to_be_bytes();
    let salt = [SEED, &length(&user), &user].concat();
    let key = cipher::scrypt(&password, &salt);
    let message = [SEED, &length(&site), &site, &counter.to_be_bytes()].concat();
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key);
    let seed = ring::hmac::sign(&key, &message);
    let seed = seed.as_ref();
    let shape = shapes[usize::from(seed[0]) % shapes.len()];
    let letter = |(i, class): (usize, u8)| {
        let letters = letters(class);
        letters[usize::from(seed[i + 1]) % letters.len()]
    };
    Ok(shape
        .bytes()
        .enumerate()
        .map(letter)
        .collect::<Vec<u8>>()
        .into())
}
