//! ConfigMaps, Secrets and ServiceAccounts.

use crate::Endpoint;
use crate::fault::{Faults, Spot};
use crate::fields::{entries, fill_empty, flag, get, items_mut, map_slot, same, set, text, unset};
use crate::rules::{PLAIN, Recheck, Rules};
use crate::syntax;
use model::{Map, Value, meta};

const SIZE_MAX: usize = 1024 * 1024;
const FROZEN: &str = "field is immutable when `immutable` is set";

/// What is special about a ConfigMap.
pub(crate) static CONFIG_MAP: Rules = Rules {
    check: check_config_map,
    check_update: |new, old, _, faults| {
        check_frozen(new, old, &["data", "binaryData"], faults);
        check_config_map(new, faults);
    },
    recheck: Recheck::Both,
    ..PLAIN
};

/// What is special about a Secret.
pub(crate) static SECRET: Rules = Rules {
    default: |object, _| {
        fill_empty(object, "type", "Opaque");
        merge_texts(object);
    },
    check: check_secret,
    check_update: |new, old, _: Endpoint, faults| {
        let (kind, before) = (text(new, "type"), text(old, "type"));
        if kind != before {
            faults.invalid(&Spot::of("type"), kind, "field is immutable");
        }
        check_frozen(new, old, &["data"], faults);
        check_secret(new, faults);
    },
    select: |object| vec![("type", text(object, "type").into())],
    recheck: Recheck::Both,
    ..PLAIN
};

/// What is special about a ServiceAccount.
pub(crate) static SERVICE_ACCOUNT: Rules = Rules {
    create: |object, _| clean_references(object),
    update: |new, _, _, _| clean_references(new),
    recheck: Recheck::Both,
    ..PLAIN
};

fn clean_references(account: &mut Value) {
    for reference in items_mut(account, "secrets") {
        let mut kept = Map::new();
        if let Some(name) = reference.get("name") {
            kept.insert("name".into(), name.clone());
        }
        *reference = Value::Object(kept);
    }
}

// What was given as text becomes base64, as all data is kept.
fn merge_texts(secret: &mut Value) {
    let texts: Vec<(String, String)> = entries(secret, "stringData")
        .map(|(key, value)| (key.clone(), encode(value.as_str().unwrap_or("").as_bytes())))
        .collect();
    unset(secret, "stringData");
    for (key, value) in texts {
        set(map_slot(secret, "data"), &key, value);
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes bytes as base64.
fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let group = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            if place <= chunk.len() {
                let digit = group >> (18 - 6 * place) & 0x3f;
                out.push(char::from(DIGITS[digit as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

/// Reads base64; `None` when it is none.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut bits) = (0_u32, 0);
    for byte in text.bytes().filter(|b| !matches!(b, b'\n' | b'\r' | b'=')) {
        let digit = DIGITS.iter().position(|d| *d == byte)?;
        group = group << 6 | u32::try_from(digit).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((group >> bits & 0xff) as u8);
        }
    }
    Some(out)
}

fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|b| *b == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

fn check_frozen(new: &Value, old: &Value, fields: &[&str], faults: &mut Faults) {
    if !flag(old, "immutable") {
        return;
    }
    if !flag(new, "immutable") {
        faults.forbidden(&Spot::of("immutable"), FROZEN);
    }
    for field in fields {
        if !same(get(new, field), get(old, field)) {
            faults.forbidden(&Spot::of(field), FROZEN);
        }
    }
}

fn check_config_map(object: &Value, faults: &mut Faults) {
    let mut size = 0;
    let binary = get(object, "binaryData");
    for (key, value) in entries(object, "data") {
        let spot = Spot::of("data");
        faults.invalid_each(&spot.key(key), key, syntax::config_key(key));
        if binary.get(key).is_some() {
            let message = "duplicate of key present in binaryData";
            faults.invalid(&spot.key(key), key.as_str(), message);
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in entries(object, "binaryData") {
        let spot = Spot::of("binaryData");
        faults.invalid_each(&spot.key(key), key, syntax::config_key(key));
        size += value.as_str().map_or(0, decoded_len);
    }
    if size > SIZE_MAX {
        faults.too_long(&Spot::of(""), SIZE_MAX);
    }
}

fn check_secret(object: &Value, faults: &mut Faults) {
    let spot = &Spot::of("data");
    let mut size = 0;
    for (key, value) in entries(object, "data") {
        faults.invalid_each(&spot.key(key), key, syntax::config_key(key));
        size += value.as_str().map_or(0, decoded_len);
    }
    if size > SIZE_MAX {
        faults.too_long(spot, SIZE_MAX);
    }
    let data = get(object, "data");
    let missing = |key: &str| data.get(key).is_none();
    match text(object, "type") {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            if meta::annotation(object, key).unwrap_or("").is_empty() {
                let at = Spot::of("metadata.annotations");
                faults.required(&at.key(key), "");
            }
        }
        "kubernetes.io/dockercfg" => check_json(data, ".dockercfg", spot, faults),
        "kubernetes.io/dockerconfigjson" => {
            check_json(data, ".dockerconfigjson", spot, faults);
        }
        "kubernetes.io/basic-auth" if missing("username") && missing("password") => {
            faults.required(&spot.key("username"), "");
            faults.required(&spot.key("password"), "");
        }
        "kubernetes.io/ssh-auth" if text(data, "ssh-privatekey").is_empty() => {
            faults.required(&spot.key("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if missing(key) {
                    faults.required(&spot.key(key), "");
                }
            }
        }
        _ => {}
    }
}

fn check_json(data: &Value, key: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.key(key);
    let Some(content) = data.get(key).and_then(Value::as_str) else {
        return faults.required(at, "");
    };
    let bytes = decode(content).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    if let Some(why) = not_a_map(&text) {
        faults.invalid(at, "<secret contents redacted>", &why);
    }
}

// Why a text is no JSON object, in Go's words where they are plain to give.
fn not_a_map(text: &str) -> Option<String> {
    let kind = match text.parse::<Value>() {
        Ok(Value::Object(_) | Value::Null) => return None,
        Ok(Value::Array(_)) => "array",
        Ok(Value::String(_)) => "string",
        Ok(Value::Number(_)) => "number",
        Ok(Value::Bool(_)) => "bool",
        Err(_) => return Some(syntax_fault(text)),
    };
    Some(format!(
        "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    ))
}

fn syntax_fault(text: &str) -> String {
    match text.trim_start().chars().next() {
        Some(c) if !"{[\"-0123456789tfn".contains(c) => {
            format!("invalid character '{c}' looking for beginning of value")
        }
        Some(_) if text.trim_end().ends_with('}') => {
            "invalid character '}' looking for beginning of value".into()
        }
        _ => "unexpected end of JSON input".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn base64_goes_both_ways() {
        for text in ["", "a", "ab", "abc", "hello world"] {
            let encoded = encode(text.as_bytes());
            assert_eq!(decode(&encoded).unwrap(), text.as_bytes());
            assert_eq!(decoded_len(&encoded), text.len());
        }
        assert_eq!(encode(b"b"), "Yg==");
    }

    #[test]
    fn texts_become_data() {
        let mut secret = json!({"stringData": {"a": "b"}, "data": {"a": "eA=="}});
        (SECRET.default)(&mut secret, "v1");
        assert_eq!(secret, json!({"type": "Opaque", "data": {"a": "Yg=="}}));
    }
}
