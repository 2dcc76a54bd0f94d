//! AES in chains of blocks, and passwords derived by scrypt.

use super::encode::decode64;
use crate::call::Call;
use crate::function::Fault;
use crate::text::Text;
use ring::pbkdf2;
use std::num::NonZeroU32;

const BLOCK: usize = 16;
const ROUNDS: usize = 14;

type State = [u8; BLOCK];

fn double(b: u8) -> u8 {
    b << 1 ^ if b & 0x80 == 0 { 0 } else { 0x1b }
}

fn multiply(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b > 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = double(a);
        b >>= 1;
    }
    product
}

// The substitution of AES and its inverse, from their definition.
fn boxes() -> ([u8; 256], [u8; 256]) {
    let (mut forward, mut backward) = ([0u8; 256], [0u8; 256]);
    let (mut p, mut q) = (1u8, 1u8);
    loop {
        p ^= double(p);
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        if q & 0x80 != 0 {
            q ^= 0x09;
        }
        let x =
            q ^ q.rotate_left(1) ^ q.rotate_left(2) ^ q.rotate_left(3) ^ q.rotate_left(4) ^ 0x63;
        forward[usize::from(p)] = x;
        backward[usize::from(x)] = p;
        if p == 1 {
            break;
        }
    }
    forward[0] = 0x63;
    backward[0x63] = 0;
    (forward, backward)
}

struct Aes {
    keys: Vec<[u8; 4]>,
    forward: [u8; 256],
    backward: [u8; 256],
}

impl Aes {
    fn new(key: &[u8; 32]) -> Self {
        let (forward, backward) = boxes();
        let mut keys: Vec<[u8; 4]> = key.chunks(4).map(|c| [c[0], c[1], c[2], c[3]]).collect();
        let mut round = 1u8;
        for i in 8..4 * (ROUNDS + 1) {
            let mut word = keys[i - 1];
            if i % 8 == 0 {
                word.rotate_left(1);
                word = word.map(|b| forward[usize::from(b)]);
                word[0] ^= round;
                round = double(round);
            } else if i % 8 == 4 {
                word = word.map(|b| forward[usize::from(b)]);
            }
            let before = keys[i - 8];
            keys.push([0, 1, 2, 3].map(|j: usize| word[j] ^ before[j]));
        }
        Self {
            keys,
            forward,
            backward,
        }
    }

    fn add_key(&self, state: &mut State, round: usize) {
        for (i, byte) in state.iter_mut().enumerate() {
            *byte ^= self.keys[4 * round + i / 4][i % 4];
        }
    }

    fn mix(state: &mut State, factors: [u8; 4]) {
        for column in state.chunks_mut(4) {
            let old = [column[0], column[1], column[2], column[3]];
            for (i, byte) in column.iter_mut().enumerate() {
                *byte = (0..4).fold(0, |sum, j| sum ^ multiply(old[(i + j) % 4], factors[j]));
            }
        }
    }

    fn encrypt(&self, state: &mut State) {
        self.add_key(state, 0);
        for round in 1..=ROUNDS {
            let old = state.map(|b| self.forward[usize::from(b)]);
            *state = std::array::from_fn(|i| old[(i + 4 * (i % 4)) % BLOCK]);
            if round < ROUNDS {
                Self::mix(state, [2, 3, 1, 1]);
            }
            self.add_key(state, round);
        }
    }

    fn decrypt(&self, state: &mut State) {
        for round in (1..=ROUNDS).rev() {
            self.add_key(state, round);
            if round < ROUNDS {
                Self::mix(state, [14, 11, 13, 9]);
            }
            let old = *state;
            *state = std::array::from_fn(|i| old[(i + 3 * 4 * (i % 4)) % BLOCK]);
            *state = state.map(|b| self.backward[usize::from(b)]);
        }
        self.add_key(state, 0);
    }
}

fn key(password: &[u8]) -> [u8; 32] {
    std::array::from_fn(|i| password.get(i).copied().unwrap_or(0))
}

fn block(bytes: &[u8]) -> State {
    std::array::from_fn(|i| bytes[i])
}

/// `encryptAES password text`.
pub(super) fn encrypt(call: &mut Call<'_>, password: &Text, plain: &Text) -> Result<String, Fault> {
    if plain.is_empty() {
        return Ok(String::new());
    }
    let padding = BLOCK - plain.len() % BLOCK;
    let content = [plain.to_vec(), vec![padding as u8; padding]].concat();
    let mut chain: State = [0; BLOCK];
    call.random(&mut chain);
    let aes = Aes::new(&key(password));
    let mut out = chain.to_vec();
    for part in content.chunks(BLOCK) {
        let part = block(part);
        for (to, from) in chain.iter_mut().zip(part) {
            *to ^= from;
        }
        aes.encrypt(&mut chain);
        out.extend_from_slice(&chain);
    }
    Ok(crate::base64(&out))
}

/// `decryptAES password text`.
pub(super) fn decrypt(password: &Text, encrypted: &Text) -> Result<Vec<u8>, Fault> {
    if encrypted.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = decode64(encrypted)?;
    if bytes.len() < BLOCK {
        // Go slices by capacity, which is what decoding asked for.
        let capacity = encrypted.len() / 4 * 3;
        return Err(format!(
            "runtime error: slice bounds out of range [:{BLOCK}] with capacity {capacity}"
        )
        .into());
    }
    if bytes.len() % BLOCK != 0 {
        return Err("crypto/cipher: input not full blocks".into());
    }
    let aes = Aes::new(&key(password));
    let mut out = Vec::with_capacity(bytes.len());
    for (before, part) in bytes.chunks(BLOCK).zip(bytes.chunks(BLOCK).skip(1)) {
        let mut state = block(part);
        aes.decrypt(&mut state);
        out.extend(state.iter().zip(before).map(|(a, b)| a ^ b));
    }
    let Some(last) = out.last() else {
        return Err("runtime error: index out of range [-1]".into());
    };
    let padding = usize::from(*last);
    let length = out.len();
    if padding > length {
        let end = length as i64 - padding as i64;
        return Err(format!("runtime error: slice bounds out of range [:{end}]").into());
    }
    out.truncate(length - padding);
    Ok(out)
}

fn salsa(block: &mut [u32; 16]) {
    let mut x = *block;
    let mut quarter = |a: usize, b: usize, c: usize, d: usize| {
        x[b] ^= x[a].wrapping_add(x[d]).rotate_left(7);
        x[c] ^= x[b].wrapping_add(x[a]).rotate_left(9);
        x[d] ^= x[c].wrapping_add(x[b]).rotate_left(13);
        x[a] ^= x[d].wrapping_add(x[c]).rotate_left(18);
    };
    for _ in 0..4 {
        for (a, b, c, d) in [(0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11)] {
            quarter(a, b, c, d);
        }
        for (a, b, c, d) in [(0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)] {
            quarter(a, b, c, d);
        }
    }
    for (to, from) in block.iter_mut().zip(x) {
        *to = to.wrapping_add(from);
    }
}

const R: usize = 8;
const COST: usize = 32_768;

fn mix_blocks(data: &mut [u32], spare: &mut [u32]) {
    let mut x: [u32; 16] = std::array::from_fn(|i| data[(2 * R - 1) * 16 + i]);
    for i in 0..2 * R {
        for (to, from) in x.iter_mut().zip(&data[i * 16..]) {
            *to ^= *from;
        }
        salsa(&mut x);
        let at = if i % 2 == 0 { i / 2 } else { R + i / 2 };
        spare[at * 16..at * 16 + 16].copy_from_slice(&x);
    }
    data.copy_from_slice(spare);
}

/// scrypt with a cost of 2¹⁵, blocks of 8, twice, for 64 bytes.
pub(super) fn scrypt(password: &[u8], salt: &[u8]) -> Vec<u8> {
    let derive = |salt: &[u8], out: &mut [u8]| {
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            NonZeroU32::MIN,
            salt,
            password,
            out,
        );
    };
    let size = 128 * R;
    let mut bytes = vec![0; 2 * size];
    derive(salt, &mut bytes);
    for part in bytes.chunks_mut(size) {
        let mut data: Vec<u32> = part
            .chunks(4)
            .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
            .collect();
        let words = data.len();
        let mut spare = vec![0; words];
        let mut seen = Vec::with_capacity(COST * words);
        for _ in 0..COST {
            seen.extend_from_slice(&data);
            mix_blocks(&mut data, &mut spare);
        }
        for _ in 0..COST {
            let at = data[(2 * R - 1) * 16] as usize % COST * words;
            for (to, from) in data.iter_mut().zip(&seen[at..]) {
                *to ^= *from;
            }
            mix_blocks(&mut data, &mut spare);
        }
        for (to, word) in part.chunks_mut(4).zip(&data) {
            to.copy_from_slice(&word.to_le_bytes());
        }
    }
    let mut out = vec![0; 64];
    derive(&bytes, &mut out);
    out
}
