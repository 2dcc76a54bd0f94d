//! Random numbers and primes for keys.

use crate::call::Call;
use crate::error::Limit;
use num_bigint::BigUint;

/// Rounds of Miller and Rabin's test for new primes.
const ROUNDS: usize = 20;

const SMALL: [u32; 53] = [
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
    101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193,
    197, 199, 211, 223, 227, 229, 233, 239, 241, 251,
];

/// A random number of exactly so many bits.
pub(super) fn random_bits(call: &mut Call<'_>, bits: u64) -> BigUint {
    let mut bytes = vec![0; bits.div_ceil(8) as usize];
    call.random(&mut bytes);
    let mut number = BigUint::from_bytes_be(&bytes);
    number.set_bit(bits - 1, true);
    number
}

/// A random number from 1 up to a bound.
pub(super) fn below(call: &mut Call<'_>, bound: &BigUint) -> BigUint {
    let mut bytes = vec![0; (bound.bits() + 64).div_ceil(8) as usize];
    call.random(&mut bytes);
    BigUint::from_bytes_be(&bytes) % (bound - 1u8) + 1u8
}

/// A random prime of so many bits, the two highest of them set.
pub(super) fn probable_prime(call: &mut Call<'_>, bits: u64) -> Result<BigUint, Limit> {
    loop {
        call.context().step(10_000)?;
        let mut number = random_bits(call, bits);
        number.set_bit(bits - 2, true);
        number.set_bit(0, true);
        if is_prime(call, &number, ROUNDS) {
            return Ok(number);
        }
    }
}

/// Whether an odd number is prime, as far as so many rounds can tell.
pub(super) fn is_prime(call: &mut Call<'_>, number: &BigUint, rounds: usize) -> bool {
    if SMALL.iter().any(|p| (number % *p) == BigUint::default()) {
        return false;
    }
    let one = BigUint::from(1u8);
    let last = number - &one;
    let twos = last.trailing_zeros().unwrap_or(0);
    let odd = &last >> twos;
    (0..rounds).all(|_| {
        let base = below(call, &last);
        let mut x = base.modpow(&odd, number);
        if x == one || x == last {
            return true;
        }
        for _ in 1..twos {
            x = &x * &x % number;
            if x == last {
                return true;
            }
        }
        false
    })
}
