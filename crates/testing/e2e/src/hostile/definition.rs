//! Definitions of custom resources that are wrong, enormous or expensive.

use super::{Case, DEFINITIONS, deep, post, repeat};

/// The kind the other cases use.
pub(super) const WIDGETS: &str = r#"{"metadata":{"name":"widgets.hostile.example.com"},"spec":{"group":"hostile.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"any":{"x-kubernetes-preserve-unknown-fields":true},"other":{"x-kubernetes-preserve-unknown-fields":true},"count":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"!has(self.count) || self.count >= 0"}]}}}}}]}}"#;

fn with_schema(name: &str, schema: &str) -> Case {
    let plural = name.replace('-', "");
    post(
        name,
        DEFINITIONS,
        format!(
            r#"{{"metadata":{{"name":"{plural}.hostile.example.com"}},"spec":{{"group":"hostile.example.com","scope":"Namespaced","names":{{"plural":"{plural}","singular":"{plural}","kind":"K{plural}","listKind":"K{plural}List"}},"versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
        ),
    )
}

fn with_field(name: &str, field: &str) -> Case {
    let schema = format!(
        r#"{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{"f":{field}}}}}}}}}"#
    );
    with_schema(name, &schema)
}

fn with_rule(name: &str, field: &str, rule: &str) -> Case {
    let rule = rule.replace('\\', "\\\\").replace('"', "\\\"");
    let schema = format!(
        r#"{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{"f":{field}}},"x-kubernetes-validations":[{{"rule":"{rule}"}}]}}}}}}"#
    );
    with_schema(name, &schema)
}

pub(super) fn cases() -> Vec<Case> {
    let nest = r#"{"type":"object","properties":{"a":"#;
    let leaf = r#"{"type":"string"}"#;
    let lists = r#"{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}}"#;
    let properties = |count: usize| {
        let all: Vec<String> = (0..count)
            .map(|n| format!(r#""p{n}":{{"type":"string"}}"#))
            .collect();
        format!(r#"{{"type":"object","properties":{{{}}}}}"#, all.join(","))
    };
    let words: Vec<String> = (0..20_000).map(|n| format!("\"w{n}\"")).collect();
    let deep_logic = format!(
        r#"{{"type":"object","properties":{{"spec":{{"type":"object"}}}},"allOf":[{}]}}"#,
        deep(r#"{"not":"#, "{}", "}", 2_000)
    );
    vec![
        post("crd-empty", DEFINITIONS, "{}"),
        post(
            "crd-no-versions",
            DEFINITIONS,
            r#"{"metadata":{"name":"a.b.c"},"spec":{"group":"b.c","scope":"Namespaced","names":{"plural":"a","kind":"A"},"versions":[]}}"#,
        ),
        post(
            "crd-wrong-name",
            DEFINITIONS,
            WIDGETS.replacen("widgets.hostile", "gadgets.hostile", 1),
        ),
        post(
            "crd-builtin-group",
            DEFINITIONS,
            WIDGETS.replace("hostile.example.com", "apps"),
        ),
        with_schema("crd-no-type", "{}"),
        with_schema("crd-schema-array", "[]"),
        with_schema("crd-deep-500", &deep(nest, leaf, "}}", 500)),
        with_schema("crd-deep-5000", &deep(nest, leaf, "}}", 5_000)),
        with_schema("crd-deep-50000", &deep(nest, leaf, "}}", 50_000)),
        with_schema("crd-deep-logic", &deep_logic),
        with_schema("crd-wide", &properties(20_000)),
        with_field(
            "crd-enum",
            &format!(r#"{{"type":"string","enum":[{}]}}"#, words.join(",")),
        ),
        with_field("crd-pattern-broken", r#"{"type":"string","pattern":"("}"#),
        with_field(
            "crd-pattern-evil",
            r#"{"type":"string","pattern":"^(a+)+$"}"#,
        ),
        with_field(
            "crd-pattern-repeat",
            r#"{"type":"string","pattern":"((a{1000}){1000}){1000}"}"#,
        ),
        with_field(
            "crd-pattern-big-repeat",
            r#"{"type":"string","pattern":"(a{1,500}){1,500}"}"#,
        ),
        with_field(
            "crd-pattern-deep",
            &format!(
                r#"{{"type":"string","pattern":"{}"}}"#,
                deep("(", "a", ")", 20_000)
            ),
        ),
        with_field(
            "crd-pattern-backreference",
            r#"{"type":"string","pattern":"(a)\\1"}"#,
        ),
        with_field(
            "crd-default-wrong",
            r#"{"type":"integer","default":"text"}"#,
        ),
        with_field(
            "crd-default-deep",
            &format!(
                r#"{{"x-kubernetes-preserve-unknown-fields":true,"default":{}}}"#,
                deep("[", "", "]", 9_000)
            ),
        ),
        with_field("crd-bad-type", r#"{"type":"banana"}"#),
        with_field(
            "crd-bad-list-type",
            r#"{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"bag"}"#,
        ),
        with_field(
            "crd-map-without-keys",
            r#"{"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"map"}"#,
        ),
        with_field("crd-ref", r##"{"$ref":"#/definitions/x"}"##),
        with_rule("crd-rule-broken", leaf, "self.f =="),
        with_rule("crd-rule-unknown", leaf, "self.nope == 1"),
        with_rule("crd-rule-not-bool", leaf, "self.f"),
        with_rule("crd-rule-empty", leaf, ""),
        with_rule(
            "crd-rule-costly",
            lists,
            "self.f.all(a, a.all(b, b.all(c, c.all(d, self.f.all(e, e.all(g, g.all(h, h.all(i, i != d))))))))",
        ),
        with_rule("crd-rule-deep", leaf, &deep("(", "true", ")", 2_000)),
        with_rule("crd-rule-very-deep", leaf, &deep("(", "true", ")", 50_000)),
        with_rule(
            "crd-rule-nots",
            leaf,
            &format!("{}true", repeat("!", 50_000)),
        ),
        with_rule(
            "crd-rule-lists",
            leaf,
            &format!("{} == []", deep("[", "1", "]", 10_000)),
        ),
        with_rule(
            "crd-rule-long",
            leaf,
            &format!("true{}", repeat(" && true", 5_000)),
        ),
        with_rule("crd-rule-regex", leaf, r"self.f.matches('(a{1000}){1000}')"),
        with_rule("crd-rule-regex-broken", leaf, r"self.f.matches('(')"),
        with_rule("crd-rule-bytes", leaf, r"self.f == b'\377'"),
        with_rule("crd-rule-int-overflow", leaf, "99999999999999999999 > 1"),
        with_rule(
            "crd-rule-macro-abuse",
            leaf,
            "[1,2].map(x, [1,2].map(x, x)) == []",
        ),
    ]
}
