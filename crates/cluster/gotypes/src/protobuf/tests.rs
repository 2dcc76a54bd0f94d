use super::*;
use model::json;

fn varint(mut value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn field(number: usize, bytes: &[u8]) -> Vec<u8> {
    let mut out = varint(number << 3 | 2);
    out.extend(varint(bytes.len()));
    out.extend_from_slice(bytes);
    out
}

fn body(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let names = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), field(1, &names), field(2, message)].concat()
}

#[test]
fn a_body_becomes_the_json_it_means() {
    let meta = [
        field(1, b"cfg"),
        field(11, &[field(1, b"app"), field(2, b"web")].concat()),
    ];
    let message = [
        field(1, &meta.concat()),
        field(2, &[field(1, b"k"), field(2, b"v")].concat()),
        field(3, &[field(1, b"b"), field(2, b"hi")].concat()),
    ];
    let (gvk, value) = decode_protobuf(&body("v1", "ConfigMap", &message.concat())).unwrap();
    assert_eq!(gvk, GroupVersionKind::new("", "v1", "ConfigMap"));
    assert_eq!(
        value,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cfg", "labels": {"app": "web"}},
            "data": {"k": "v"}, "binaryData": {"b": "aGk="}})
    );
}

#[test]
fn what_is_no_body_is_refused() {
    for (bytes, wanted) in [
        (Vec::new(), "empty data"),
        (
            b"xx".to_vec(),
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (
            body("e.com/v1", "Widget", b""),
            "no kind \"Widget\" is registered for version \"e.com/v1\" in scheme",
        ),
        (body("v1", "ConfigMap", &[0x0a, 0x7f]), "unexpected EOF"),
        (
            body("v1", "ConfigMap", &[0x08, 0x01]),
            "proto: wrong wireType for field metadata",
        ),
        (
            body("v1", "ConfigMap", &[0x0b]),
            "proto: illegal wireType 3",
        ),
    ] {
        assert_eq!(decode_protobuf(&bytes).unwrap_err(), wanted);
    }
}

#[test]
fn depth_has_an_end() {
    // A schema inside a schema inside a schema, as `not` allows.
    let mut schema = Vec::new();
    for _ in 0..2_000 {
        schema = field(28, &schema);
    }
    let schema = field(1, &schema);
    let version = field(4, &schema);
    let spec = field(7, &version);
    let bytes = body(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &field(2, &spec),
    );
    assert_eq!(decode_protobuf(&bytes).unwrap_err(), "exceeded max depth");
}

#[test]
fn bodies_inside_bodies_have_an_end() {
    // A revision whose data is a revision, and so on.
    let mut bytes = body("apps/v1", "ControllerRevision", b"");
    for _ in 0..5_000 {
        bytes = body(
            "apps/v1",
            "ControllerRevision",
            &field(2, &field(1, &bytes)),
        );
    }
    assert_eq!(decode_protobuf(&bytes).unwrap_err(), "exceeded max depth");
}
