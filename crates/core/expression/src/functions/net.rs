//! IP addresses and address ranges.

use super::Answer;
use crate::operators::Failure;
use crate::value::{Library, Val};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Answer<'a> {
    match args {
        [Val::Text(text)] => from_text(name, text),
        [Val::Library(library)] => match &**library {
            Library::Ip(ip) => of_ip(name, *ip),
            Library::Cidr(ip, bits) => of_cidr(name, *ip, *bits),
            _ => None,
        },
        [Val::Library(library), other] => match &**library {
            Library::Cidr(ip, bits) => within(name, (*ip, *bits), other),
            _ => None,
        },
        _ => None,
    }
}

fn from_text<'a>(name: &str, text: &str) -> Answer<'a> {
    Some(match name {
        "ip" => parse_ip(text).map(|ip| Val::library(Library::Ip(ip))),
        "isIP" => Ok(Val::Bool(parse_ip(text).is_ok())),
        "ip.isCanonical" => parse_ip(text).map(|ip| Val::Bool(ip.to_string() == text)),
        "cidr" => parse_cidr(text).map(|(ip, bits)| Val::library(Library::Cidr(ip, bits))),
        "isCIDR" => Ok(Val::Bool(parse_cidr(text).is_ok())),
        _ => return None,
    })
}

fn parse_ip(text: &str) -> Result<IpAddr, Failure> {
    match text.parse() {
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"))
        }
        Ok(ip) => Ok(ip),
        Err(_) => {
            let digits = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            let short = digits && matches!(text.matches('.').count(), 1 | 2);
            let why = if short {
                "IPv4 address too short"
            } else {
                "unable to parse IP"
            };
            Err(format!(
                "IP Address {text:?} parse error during conversion from string: \
                 ParseAddr({text:?}): {why}"
            ))
        }
    }
}

fn parse_cidr(text: &str) -> Result<(IpAddr, u8), Failure> {
    let fail = |why: &str| {
        format!(
            "network address parse error during conversion from string: network address parse \
             error during conversion from string: netip.ParsePrefix({text:?}): {why}"
        )
    };
    let (address, bits) = text.split_once('/').ok_or_else(|| fail("no '/'"))?;
    let ip = parse_ip(address)?;
    let max = if ip.is_ipv4() { 32 } else { 128 };
    let canonical = bits == "0" || !bits.starts_with(['0', '+']);
    let bits = bits.parse::<u8>().ok().filter(|n| *n <= max && canonical);
    bits.map(|bits| (ip, bits))
        .ok_or_else(|| fail("prefix length out of range"))
}

fn of_ip<'a>(name: &str, ip: IpAddr) -> Answer<'a> {
    let local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80,
    };
    let local_multicast = match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    };
    let broadcast = ip == IpAddr::V4(Ipv4Addr::BROADCAST);
    let flag = match name {
        "family" => return Some(Ok(Val::Int(if ip.is_ipv4() { 4 } else { 6 }))),
        "isUnspecified" => ip.is_unspecified(),
        "isLoopback" => ip.is_loopback(),
        "isLinkLocalUnicast" => local,
        "isLinkLocalMulticast" => local_multicast,
        "isGlobalUnicast" => {
            !(broadcast || ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || local)
        }
        _ => return None,
    };
    Some(Ok(Val::Bool(flag)))
}

fn of_cidr<'a>(name: &str, ip: IpAddr, bits: u8) -> Answer<'a> {
    Some(Ok(match name {
        "ip" => Val::library(Library::Ip(ip)),
        "prefixLength" => Val::Int(i64::from(bits)),
        "masked" => Val::library(Library::Cidr(mask(ip, bits), bits)),
        _ => return None,
    }))
}

fn mask(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let keep = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & keep))
        }
        IpAddr::V6(ip) => {
            let keep = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & keep))
        }
    }
}

fn within<'a>(name: &str, outer: (IpAddr, u8), other: &Val<'_>) -> Answer<'a> {
    let inner = match (name, other) {
        ("containsIP", Val::Text(text)) => parse_ip(text).map(|ip| (ip, None)),
        ("containsCIDR", Val::Text(text)) => parse_cidr(text).map(|(ip, bits)| (ip, Some(bits))),
        ("containsIP" | "containsCIDR", Val::Library(library)) => match &**library {
            Library::Ip(ip) => Ok((*ip, None)),
            Library::Cidr(ip, bits) => Ok((*ip, Some(*bits))),
            _ => return None,
        },
        _ => return None,
    };
    Some(inner.map(|(ip, bits)| {
        let same = ip.is_ipv4() == outer.0.is_ipv4();
        let inside = mask(ip, outer.1) == mask(outer.0, outer.1);
        Val::Bool(same && inside && bits.is_none_or(|bits| bits >= outer.1))
    }))
}
