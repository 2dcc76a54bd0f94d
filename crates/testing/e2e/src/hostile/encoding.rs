//! Bodies that are no proper JSON, YAML or protobuf.

use super::{
    APPLY, Case, DEPTH, JSON, MAP, MAPS, PROTOBUF, WIDGET, WIDGETS, YAML, deep, numbered, post,
    repeat,
};

pub(super) fn cases() -> Vec<Case> {
    let mut all = json();
    all.extend(nested_json());
    all.extend(yaml());
    all.extend(protobuf());
    all.extend(media());
    all
}

fn json() -> Vec<Case> {
    let mut invalid_utf8 = br#"{"metadata":{"name":"utf8"},"data":{"a":"x"#.to_vec();
    invalid_utf8.extend(b"\xff\xfe\xc0\x80");
    invalid_utf8.extend(br#""}}"#);
    let mut raw_nul = br#"{"metadata":{"name":"raw-nul"},"data":{"a":"x"#.to_vec();
    raw_nul.extend(b"\0");
    raw_nul.extend(br#"y"}}"#);
    let mut key_utf8 = br#"{"metadata":{"name":"key-utf8"},"data":{"k"#.to_vec();
    key_utf8.extend(b"\xff");
    key_utf8.extend(br#"":"v"}}"#);
    let mut huge = br#"{"metadata":{"name":"huge"},"data":{"a":""#.to_vec();
    huge.resize(5 << 20, b'x');
    huge.extend(br#""}}"#);
    vec![
        post("json-empty", MAPS, ""),
        post("json-cut", MAPS, r#"{"metadata":{"name":"cut""#),
        post("json-array", MAPS, "[1,2]"),
        post("json-string", MAPS, "\"text\""),
        post("json-null", MAPS, "null"),
        post("json-number", MAPS, "7"),
        post(
            "json-trailing",
            MAPS,
            r#"{"metadata":{"name":"trailing"}} more"#,
        ),
        post(
            "json-two-documents",
            MAPS,
            r#"{"metadata":{"name":"two"}}{"a":1}"#,
        ),
        post("json-single-quotes", MAPS, "{'metadata':{'name':'q'}}"),
        post("json-comment", MAPS, "{/*x*/\"metadata\":{\"name\":\"c\"}}"),
        post(
            "json-nan",
            WIDGETS,
            r#"{"apiVersion":"hostile.example.com/v1","kind":"Widget","metadata":{"name":"nan"},"spec":{"any":NaN}}"#,
        ),
        post(
            "json-bom",
            MAPS,
            "\u{feff}{\"metadata\":{\"name\":\"bom\"}}",
        ),
        post("json-nul-bytes", MAPS, vec![0_u8; 64]),
        post("json-raw-nul", MAPS, raw_nul),
        post(
            "json-escaped-nul",
            MAPS,
            r#"{"metadata":{"name":"escaped-nul"},"data":{"a":"x\u0000y"}}"#,
        ),
        post(
            "json-lone-surrogate",
            MAPS,
            r#"{"metadata":{"name":"surrogate"},"data":{"a":"\ud800"}}"#,
        ),
        post(
            "json-bad-escape",
            MAPS,
            r#"{"metadata":{"name":"esc"},"data":{"a":"\q"}}"#,
        ),
        post("json-invalid-utf8", MAPS, invalid_utf8),
        post("json-invalid-utf8-key", MAPS, key_utf8),
        post("json-5-mib", MAPS, huge),
        post("json-huge-number", WIDGETS, widget(&repeat("9", 100_000))),
        post("json-huge-exponent", WIDGETS, widget("1e999999")),
        post("json-minus-zero", WIDGETS, widget("-0")),
        post("json-leading-zero", WIDGETS, widget("01")),
        post(
            "json-many-duplicates",
            MAPS,
            format!(
                r#"{{"metadata":{{"name":"dup"}},"data":{{{}"a":"1"}}}}"#,
                repeat(r#""a":"1","#, 50_000)
            ),
        ),
        post("json-many-keys", MAPS, many_keys()),
    ]
}

// Fifty thousand keys: many objects of Kubernetes are maps of any size.
fn many_keys() -> String {
    let keys: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\":\"v\"")).collect();
    format!(
        r#"{{"metadata":{{"name":"many-keys"}},"data":{{{}}}}}"#,
        keys.join(",")
    )
}

fn widget(any: &str) -> String {
    format!(
        r#"{{"apiVersion":"hostile.example.com/v1","kind":"Widget","metadata":{{"name":"number"}},"spec":{{"any":{any}}}}}"#
    )
}

fn nested_json() -> Vec<Case> {
    let arrays = deep("[", "", "]", DEPTH);
    let objects = deep("{\"a\":", "1", "}", DEPTH);
    let map = |inner: &str| format!(r#"{{"metadata":{{"name":"deep"}},"data":{inner}}}"#);
    vec![
        post("deep-arrays", MAPS, map(&arrays)),
        post("deep-objects", MAPS, map(&objects)),
        post("deep-open", MAPS, repeat("[", DEPTH)),
        post("deep-open-objects", MAPS, repeat("{\"a\":", DEPTH)),
        post(
            "deep-unknown-field",
            MAPS,
            format!(r#"{{"metadata":{{"name":"deep-unknown"}},"nope":{arrays}}}"#),
        ),
        post("deep-custom-arrays", WIDGETS, widget(&arrays)),
        post("deep-custom-objects", WIDGETS, widget(&objects)),
        post(
            "deep-custom-9000",
            WIDGETS,
            widget(&deep("[", "", "]", 9_000)),
        ),
        Case::new("deep-put", "PUT", MAP).body(JSON, map(&objects)),
        Case::new("deep-delete-options", "DELETE", MAP).body(JSON, arrays.clone()),
        Case::new("deep-custom-put", "PUT", WIDGET).body(JSON, widget(&objects)),
    ]
}

fn yaml() -> Vec<Case> {
    let make = |name: &str, body: String| Case::new(name, "POST", MAPS).body(YAML, body);
    let apply = |name: &str, body: String| {
        Case::new(name, "PATCH", &format!("{MAP}?fieldManager=e2e&force=true")).body(APPLY, body)
    };
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: victim\n";
    let mut invalid = b"metadata: {name: yaml-utf8}\ndata: {a: \"".to_vec();
    invalid.extend(b"\xff\xfe");
    invalid.extend(b"\"}\n");
    let stairs: String = (0..1_500).fold(String::from("data:\n"), |mut text, level| {
        text.push_str(&" ".repeat(level + 1));
        text.push_str("a:\n");
        text
    });
    vec![
        make("yaml-empty", String::new()),
        make("yaml-broken", "metadata: {name: x\n".into()),
        make("yaml-tab", "metadata:\n\tname: x\n".into()),
        make("yaml-scalar", "just words".into()),
        make(
            "yaml-two-documents",
            "metadata: {name: yaml-one}\n---\nmetadata: {name: yaml-two}\n".into(),
        ),
        make(
            "yaml-cycle",
            "metadata: {name: yaml-cycle}\ndata: &a\n  x: *a\n".into(),
        ),
        make("yaml-unknown-alias", "metadata: {name: *nobody}\n".into()),
        make(
            "yaml-deep-flow",
            format!("data: {}", deep("[", "", "]", DEPTH)),
        ),
        make("yaml-deep-flow-open", repeat("[", DEPTH)),
        make(
            "yaml-deep-maps",
            format!("data: {}", deep("{a: ", "1", "}", DEPTH)),
        ),
        make("yaml-deep-dashes", repeat("- ", DEPTH)),
        make("yaml-deep-question", repeat("? ", DEPTH)),
        make("yaml-stairs", stairs.clone()),
        make(
            "yaml-laughs",
            format!("metadata: {{name: laughs}}\n{}", laughs(10)),
        ),
        make(
            "yaml-many-anchors",
            numbered(40_000, |n| format!("k{n}: &a{n} v\n")),
        ),
        make(
            "yaml-complex-key",
            "? [a, b]\n: c\nmetadata: {name: complex}\n".into(),
        ),
        make(
            "yaml-tag",
            "metadata: !!python/object {name: tagged}\n".into(),
        ),
        make(
            "yaml-binary",
            "metadata: {name: yaml-binary}\ndata: {a: !!binary \"*\"}\n".into(),
        ),
        Case::new("yaml-invalid-utf8", "POST", MAPS).body(YAML, invalid),
        Case::new("yaml-nul", "POST", MAPS).body(YAML, b"a: \0\n".to_vec()),
        apply("apply-empty", String::new()),
        apply("apply-broken", "a: [".into()),
        apply("apply-list", "[1]".into()),
        apply("apply-laughs", format!("{head}{}", laughs(10))),
        apply(
            "apply-deep-flow",
            format!("{head}data: {}", deep("[", "", "]", DEPTH)),
        ),
        apply(
            "apply-deep-json",
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"victim"}},"data":{}}}"#,
                deep("{\"a\":", "1", "}", DEPTH)
            ),
        ),
        apply("apply-stairs", format!("{head}{stairs}")),
        apply(
            "apply-wrong-kind",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: victim}\n".into(),
        ),
        apply(
            "apply-other-name",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n".into(),
        ),
        apply("apply-undeclared", format!("{head}nope: 1\n")),
        apply("apply-wrong-type", format!("{head}data: [1]\n")),
        apply(
            "apply-managed-fields",
            format!("{head}  managedFields: [{{manager: x}}]\n"),
        ),
        Case::new("apply-no-manager", "PATCH", MAP).body(APPLY, head.to_owned()),
        Case::new(
            "apply-bad-manager",
            "PATCH",
            &format!("{MAP}?fieldManager=a%00b"),
        )
        .body(APPLY, head.to_owned()),
        Case::new(
            "apply-long-manager",
            "PATCH",
            &format!("{MAP}?fieldManager={}", repeat("m", 300)),
        )
        .body(APPLY, head.to_owned()),
        Case::new(
            "apply-custom-deep",
            "PATCH",
            &format!("{WIDGET}?fieldManager=e2e&force=true"),
        )
        .body(
            APPLY,
            widget(&deep("[", "", "]", DEPTH)).replace("\"number\"", "\"victim\""),
        ),
    ]
}

// Each line holds the one before nine times.
fn laughs(lines: usize) -> String {
    let mut text = String::from("data:\n  l0: &l0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n");
    for line in 1..lines {
        let before = format!("*l{},", line - 1).repeat(9);
        text.push_str(&format!(
            "  l{line}: &l{line} [{}]\n",
            before.trim_end_matches(',')
        ));
    }
    text
}

fn protobuf() -> Vec<Case> {
    let make = |name: &str, body: &[u8]| Case::new(name, "POST", MAPS).body(PROTOBUF, body);
    let envelope = |kind: &str, raw: &[u8]| {
        let mut type_meta = vec![0x0a, 2];
        type_meta.extend(b"v1");
        type_meta.extend([0x12, kind.len() as u8]);
        type_meta.extend(kind.as_bytes());
        let mut all = b"k8s\0".to_vec();
        all.extend([0x0a, type_meta.len() as u8]);
        all.extend(type_meta);
        all.extend([0x12, raw.len() as u8]);
        all.extend(raw);
        all
    };
    let nested: Vec<u8> = (0..100).fold(Vec::new(), |inner, _| {
        let mut outer = vec![0x0a, (inner.len() % 120) as u8];
        outer.extend(inner.iter().take(inner.len() % 120));
        outer
    });
    vec![
        make("protobuf-empty", b""),
        make("protobuf-garbage", b"\xde\xad\xbe\xef\xff\xff\xff\xff"),
        make("protobuf-magic-alone", b"k8s\0"),
        make(
            "protobuf-magic-garbage",
            b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ),
        make(
            "protobuf-huge-length",
            b"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        ),
        make("protobuf-cut", b"k8s\0\x0a\x20\x0a\x02v1"),
        make("protobuf-wrong-kind", &envelope("Secret", b"")),
        make("protobuf-unknown-kind", &envelope("Nonsense", b"")),
        make("protobuf-no-name", &envelope("ConfigMap", b"")),
        make(
            "protobuf-bad-object",
            &envelope("ConfigMap", b"\x0a\x7f\x01"),
        ),
        make(
            "protobuf-bad-wire-type",
            &envelope("ConfigMap", b"\x0f\x0f\x0f"),
        ),
        make("protobuf-group-bomb", &envelope("ConfigMap", &[0x0b; 100])),
        make("protobuf-nested", &envelope("ConfigMap", &nested)),
        make("protobuf-is-json", br#"{"metadata":{"name":"x"}}"#),
        Case::new("protobuf-custom", "POST", WIDGETS).body(PROTOBUF, envelope("Widget", b"")),
        Case::new(
            "protobuf-delete-options",
            "DELETE",
            "/api/v1/namespaces/default/configmaps/nobody",
        )
        .body(PROTOBUF, b"k8s\0\xff\xff\xff".to_vec()),
    ]
}

fn media() -> Vec<Case> {
    let map = r#"{"metadata":{"name":"media"}}"#;
    let typed = |name: &str, media: &str| Case::new(name, "POST", MAPS).body(media, map);
    let accept = |name: &str, media: &str| super::get(name, MAP).header("Accept", media);
    vec![
        typed("content-type-xml", "application/xml"),
        typed("content-type-nonsense", ";;;=,"),
        typed("content-type-long", &repeat("a", 8_000)),
        typed("content-type-patch", "application/merge-patch+json"),
        Case::new("patch-without-type", "PATCH", MAP).body("", "{}"),
        Case::new("patch-json-type", "PATCH", MAP).body(JSON, "{}"),
        Case::new("strategic-custom", "PATCH", WIDGET).body(super::STRATEGIC, "{}"),
        accept("accept-xml", "application/xml"),
        accept("accept-nonsense", ",,;;q=,"),
        accept("accept-quality-nan", "application/json;q=nan"),
        accept("accept-many", &repeat("application/xml,", 2_000)),
        accept(
            "accept-unknown-form",
            "application/json;as=Nonsense;g=x;v=y",
        ),
        accept(
            "accept-table-v9",
            "application/json;as=Table;g=meta.k8s.io;v=v9",
        ),
        super::get("impersonate-without-user", MAP).header("Impersonate-Group", "x"),
        super::get("impersonate-empty-extra", MAP).header("Impersonate-Extra-", "x"),
    ]
}
