//! The elliptic curve P-256, for keys and signatures of certificates.

use super::primes::below;
use crate::call::Call;
use num_bigint::BigUint;

fn number(hex: &[u8]) -> BigUint {
    BigUint::parse_bytes(hex, 16).unwrap_or_default()
}

fn prime() -> BigUint {
    number(b"ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
}

/// How many points the curve has.
pub(super) fn order() -> BigUint {
    number(b"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
}

fn base() -> Point {
    Some((
        number(b"6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"),
        number(b"4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"),
    ))
}

// None is the point at infinity.
type Point = Option<(BigUint, BigUint)>;

fn add(a: &Point, b: &Point, p: &BigUint) -> Point {
    let ((x1, y1), (x2, y2)) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (Some(one), None) | (None, Some(one)) => return Some(one.clone()),
        (None, None) => return None,
    };
    let slope = if x1 == x2 {
        if (y1 + y2) % p == BigUint::default() {
            return None;
        }
        // The curve is y² = x³ - 3x + b.
        let top = (x1 * x1 % p * 3u8 + p - 3u8) % p;
        top * (y1 * 2u8 % p).modinv(p)? % p
    } else {
        let top = (y2 + p - y1) % p;
        top * ((x2 + p - x1) % p).modinv(p)? % p
    };
    let x = (&slope * &slope + p * 2u8 - x1 - x2) % p;
    let y = (slope * ((x1 + p - &x) % p) + p - y1) % p;
    Some((x, y))
}

fn times(scalar: &BigUint, point: &Point) -> Point {
    let p = prime();
    let mut out = None;
    for bit in (0..scalar.bits()).rev() {
        out = add(&out, &out, &p);
        if scalar.bit(bit) {
            out = add(&out, point, &p);
        }
    }
    out
}

fn padded(number: &BigUint) -> Vec<u8> {
    let bytes = number.to_bytes_be();
    [vec![0; 32usize.saturating_sub(bytes.len())], bytes].concat()
}

/// The public point of a secret number, uncompressed.
pub(super) fn public(secret: &BigUint) -> Vec<u8> {
    let (x, y) = times(secret, &base()).unwrap_or_default();
    [vec![4], padded(&x), padded(&y)].concat()
}

/// Signs a hash of 256 bits.
pub(super) fn sign(call: &mut Call<'_>, secret: &BigUint, hash: &BigUint) -> (BigUint, BigUint) {
    let n = order();
    loop {
        let k = below(call, &n);
        let Some((x, _)) = times(&k, &base()) else {
            continue;
        };
        let r = x % &n;
        let Some(inverse) = k.modinv(&n) else {
            continue;
        };
        let s = inverse * (hash + &r * secret) % &n;
        if r.bits() > 0 && s.bits() > 0 {
            return (r, s);
        }
    }
}
