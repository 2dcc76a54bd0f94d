//! Chance: random texts and numbers, from the entropy of the context.

use super::args::{int, text};
use crate::call::Call;
use crate::function::Type::{Int, String as Str};
use crate::function::{Fault, Function};
use crate::value::Value;

type Answer = Result<Value, Fault>;

const DIGITS: &[u8] = b"0123456789";
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const BOTH: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("randAlphaNum", &[Int], |call, a| {
        pick(call, int(a, 0), |i| BOTH[i as usize], 62)
    }),
    Function::new("randAlpha", &[Int], |call, a| {
        pick(call, int(a, 0), |i| LETTERS[i as usize], 52)
    }),
    Function::new("randNumeric", &[Int], |call, a| {
        pick(call, int(a, 0), |i| DIGITS[i as usize], 10)
    }),
    Function::new("randAscii", &[Int], |call, a| {
        pick(call, int(a, 0), |i| 32 + i as u8, 95)
    }),
    Function::new("randBytes", &[Int], |call, a| {
        let count =
            usize::try_from(int(a, 0)).map_err(|_| "runtime error: makeslice: len out of range")?;
        call.bytes(count)?;
        let mut bytes = vec![0; count];
        call.random(&mut bytes);
        Ok(crate::base64(&bytes).into())
    }),
    Function::new("randInt", &[Int, Int], |call, a| {
        let (low, high) = (int(a, 0), int(a, 1));
        match high.checked_sub(low) {
            Some(span) if span > 0 => Ok(Value::Int(low + call.random_below(span as u64) as i64)),
            _ => Err("invalid argument to Intn".into()),
        }
    }),
    Function::new("shuffle", &[Str], shuffle),
    Function::new("uuidv4", &[], |call, _| {
        let mut bytes = [0; 16];
        call.random(&mut bytes);
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let parts = [
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..],
        ];
        Ok(parts.join("-").into())
    }),
];

fn pick(call: &mut Call<'_>, count: i64, letter: fn(u64) -> u8, letters: u64) -> Answer {
    // A negative count is an error that the library swallows.
    let count = usize::try_from(count).unwrap_or(0);
    call.bytes(count.saturating_mul(64))?;
    Ok((0..count)
        .map(|_| letter(call.random_below(letters)))
        .collect::<Vec<u8>>()
        .into())
}

fn shuffle(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let mut letters: Vec<char> = text(args, 0).lossy().chars().collect();
    call.mark();
    call.bytes(letters.len().saturating_mul(64))?;
    for i in (1..letters.len()).rev() {
        let other = call.random_below(i as u64 + 1) as usize;
        letters.swap(i, other);
    }
    Ok(letters.into_iter().collect::<String>().into())
}
