//! Compile faults and answers as kube-apiserver v1.36.4 gives them.
#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expect! writes its texts so"
)]

use super::*;
use expect_test::{Expect, expect};
use model::json;

const PROPERTIES: &str = r#"{
    "a": {"type": "string", "maxLength": 10},
    "b": {"type": "integer"},
    "f": {"type": "number"},
    "l": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 10}},
    "m": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "integer"}},
    "ios": {"x-kubernetes-int-or-string": true},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    "anyobj": {"x-kubernetes-preserve-unknown-fields": true},
    "fmt": {"type": "string", "format": "date-time"}
}"#;

fn spec_with(rules: &Value) -> Value {
    let properties: Value = PROPERTIES.parse().unwrap();
    json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": properties, "x-kubernetes-validations": rules,
    }}})
}

fn check_faults(rule: &str, expected: Expect) {
    let (_, faults) = Rules::compile(&spec_with(&json!([{"rule": rule}])));
    let shown: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
    expected.assert_eq(&shown.join("\n"));
}

#[test]
fn names_and_fields_must_be_known() {
    check_faults(
        "self.foo",
        expect![[r#"
            compilation failed: ERROR: <input>:1:5: undefined field 'foo'
             | self.foo
             | ....^"#]],
    );
    check_faults(
        "b",
        expect![[r#"
            compilation failed: ERROR: <input>:1:1: undeclared reference to 'b' (in container '')
             | b
             | ^"#]],
    );
    check_faults(
        "has(self.zz)",
        expect![[r#"
            compilation failed: ERROR: <input>:1:4: undefined field 'zz'
             | has(self.zz)
             | ...^"#]],
    );
    check_faults(
        "self.nosuch(1)",
        expect![[r#"
            compilation failed: ERROR: <input>:1:12: undeclared reference to 'nosuch' (in container '')
             | self.nosuch(1)
             | ...........^"#]],
    );
    check_faults(
        "authorizer.x()",
        expect![[r#"
            compilation failed: ERROR: <input>:1:1: undeclared reference to 'authorizer' (in container '')
             | authorizer.x()
             | ^
            ERROR: <input>:1:13: undeclared reference to 'x' (in container '')
             | authorizer.x()
             | ............^"#]],
    );
    check_faults(
        "self.free.x == 1",
        expect![[r#"
            compilation failed: ERROR: <input>:1:10: undefined field 'x'
             | self.free.x == 1
             | .........^"#]],
    );
    check_faults(
        "self.anyobj.x == 1",
        expect![[r#"
            compilation failed: ERROR: <input>:1:5: undefined field 'anyobj'
             | self.anyobj.x == 1
             | ....^"#]],
    );
}

#[test]
fn types_must_fit() {
    check_faults(
        "self.a == 1",
        expect![[r#"
            compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(string, int)'
             | self.a == 1
             | .......^"#]],
    );
    check_faults("self.b", expect!["cel expression must evaluate to a bool"]);
    check_faults(
        "self.l.all(x, x.foo == 1)",
        expect![[r#"
            compilation failed: ERROR: <input>:1:16: type 'string' does not support field selection
             | self.l.all(x, x.foo == 1)
             | ...............^"#]],
    );
    check_faults(
        "size(self.b) > 1",
        expect![[r#"
            compilation failed: ERROR: <input>:1:5: found no matching overload for 'size' applied to '(int)'
             | size(self.b) > 1
             | ....^"#]],
    );
    check_faults(
        "1 in self.l",
        expect![[r#"
            compilation failed: ERROR: <input>:1:3: found no matching overload for '@in' applied to '(int, list(string))'
             | 1 in self.l
             | ..^"#]],
    );
    check_faults(
        "[1, 'a'] == [1]",
        expect![[r#"
            compilation failed: ERROR: <input>:1:5: expected type 'int' but found 'string'
             | [1, 'a'] == [1]
             | ....^"#]],
    );
    check_faults(
        "self.l.filter(x, x).size() > 0",
        expect![[r#"
            compilation failed: ERROR: <input>:1:14: found no matching overload for '_?_:_' applied to '(string, list(string), list(string))'
             | self.l.filter(x, x).size() > 0
             | .............^"#]],
    );
    check_faults(
        "true && self.a",
        expect![[r#"
            compilation failed: ERROR: <input>:1:13: expected type 'bool' but found 'string'
             | true && self.a
             | ............^"#]],
    );
    check_faults(
        "self.f == 1",
        expect![[r#"
            compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(double, int)'
             | self.f == 1
             | .......^"#]],
    );
    check_faults(
        "!self.b",
        expect![[r#"
            compilation failed: ERROR: <input>:1:1: found no matching overload for '!_' applied to '(int)'
             | !self.b
             | ^"#]],
    );
}

#[test]
fn constant_arguments_are_checked() {
    check_faults(
        "self.a.matches('(')",
        expect![[r#"
            compilation failed: ERROR: <input>:1:16: invalid matches argument
             | self.a.matches('(')
             | ...............^"#]],
    );
    check_faults(
        "duration('x') == duration('1s')",
        expect![[r#"
            compilation failed: ERROR: <input>:1:10: invalid duration argument
             | duration('x') == duration('1s')
             | .........^"#]],
    );
}

#[test]
fn syntax_errors_show_the_place() {
    check_faults(
        "self.a +",
        expect![[r#"
            compilation failed: ERROR: <input>:1:9: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}
             | self.a +
             | ........^"#]],
    );
    check_faults(
        "(self.a",
        expect![[r#"
            compilation failed: ERROR: <input>:1:8: Syntax error: missing ')' at '<EOF>'
             | (self.a
             | .......^"#]],
    );
    check_faults(
        "self.l.exists(1, true)",
        expect![[r#"
            compilation failed: ERROR: <input>:1:15: argument must be a simple name
             | self.l.exists(1, true)
             | ..............^"#]],
    );
}

#[test]
fn rules_that_the_server_takes_compile() {
    for rule in [
        "self.b > 1.0",
        "has(self.a)",
        "self.l[0] == 'x'",
        "self.m['x'] == 1",
        "'x' in self.l",
        "self.ios == 1",
        "self.ios == 'a' || self.ios > 3",
        "self.l == ['a']",
        "dyn(self.a) == 1",
        "self.fmt > timestamp('2020-01-01T00:00:00Z')",
        "self.f < 1",
        "self.?a.orValue('x') == 'x'",
        "oldSelf.a == self.a",
        "type(self.a) == string",
        "{'a': 1}.b == 1",
    ] {
        let (_, faults) = Rules::compile(&spec_with(&json!([{"rule": rule}])));
        assert_eq!(faults, [], "{rule}");
    }
}

/// One object with a field of every sort; `values.txt` says what expressions make of it.
const VALUES: &str = r#"{
    "a": "hello", "b": 5, "f": 1.5, "l": ["a", "b"], "m": {"k1": 1, "k2": 2},
    "fmt": "2024-02-29T01:02:03Z", "dur": "1h", "by": "YWJj", "ios": 7, "namespace": "ns",
    "a-b": "ab", "nul": null, "obj": {"x": 1}, "objl": [{"x": 3}], "set": ["a", "b"],
    "big": 9007199254740993, "whole": 3
}"#;

fn value_properties() -> Value {
    r#"{
        "a": {"type": "string"}, "b": {"type": "integer"}, "f": {"type": "number"},
        "none": {"type": "string"}, "l": {"type": "array", "items": {"type": "string"}},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "fmt": {"type": "string", "format": "date-time"},
        "dur": {"type": "string", "format": "duration"},
        "by": {"type": "string", "format": "byte"},
        "ios": {"x-kubernetes-int-or-string": true},
        "namespace": {"type": "string"}, "a-b": {"type": "string"},
        "nul": {"type": "string", "nullable": true},
        "obj": {"type": "object", "properties": {
            "x": {"type": "integer"}, "y": {"type": "string"}}},
        "objl": {"type": "array", "items": {"type": "object", "properties": {
            "x": {"type": "integer"}}}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "big": {"type": "integer"}, "whole": {"type": "number"}
    }"#
    .parse()
    .unwrap()
}

/// The value of an expression as text, or `!` and why it has none.
fn value_of(expression: &str) -> String {
    let shown = format!("'%s'.format([dyn({expression})])");
    let rule = json!({"rule": format!("'@@' == {shown}"), "messageExpression": shown});
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": value_properties(), "x-kubernetes-validations": [rule],
    }}});
    let (rules, faults) = Rules::compile(&schema);
    assert_eq!(faults, [], "{expression}");
    let values: Value = VALUES.parse().unwrap();
    let faults = rules.check(&json!({"spec": values}), None);
    let detail = faults[0].detail.clone().unwrap();
    if faults[0].value.is_none() {
        return detail;
    }
    let why = match detail.strip_prefix('\'') {
        Some(quoted) => quoted.split('\'').next(),
        None => detail.split(" evaluating rule: ").next(),
    };
    format!("! {}", why.unwrap_or_default())
}

#[test]
fn expressions_have_the_values_that_were_recorded() {
    let mut count = 0;
    for line in include_str!("values.txt").lines() {
        let (expression, expected) = line.split_once(" ==> ").unwrap();
        assert_eq!(value_of(expression), expected, "{expression}");
        count += 1;
    }
    assert!(count > 180, "only {count} cases were read");
}

#[test]
fn more_of_the_library() {
    for (expression, expected) in [
        ("['a','b'].join('-')", "a-b"),
        ("self.?a.optMap(x, x + '!').orValue('')", "hello!"),
        (
            "self.?none.optFlatMap(x, optional.of(x)).hasValue()",
            "false",
        ),
        (
            "self.a + string(self.b) + ' ' + string(self.f)",
            "hello5 1.5",
        ),
        ("'a.b'.lastIndexOf('.', 1)", "1"),
        (
            "quantity('2Gi').sub(quantity('1Gi')).asInteger()",
            "1073741824",
        ),
        ("semver('1.2.3').compareTo(semver('1.10.0'))", "-1"),
        ("ip('fe80::1').isLinkLocalUnicast()", "true"),
        (
            "timestamp('2024-01-01T00:00:00Z') + duration('36h')",
            "2024-01-02T12:00:00Z",
        ),
        ("[1, 2, 3].exists_one(x, x > 2)", "true"),
        ("{'a': 1}.all(k, v, v == 1)", "true"),
    ] {
        assert_eq!(value_of(expression), expected, "{expression}");
    }
}

fn rule_schema() -> Value {
    r#"{"type": "object", "x-kubernetes-validations": [
        {"rule": "self.metadata.name != 'bad'", "message": "bad name"}],
    "properties": {"spec": {"type": "object", "x-kubernetes-validations": [
        {"rule": "!has(self.size) || self.size != 50", "message": "not 50"},
        {"rule": "!has(self.size) || self.size != 51", "fieldPath": ".size",
         "reason": "FieldValueInvalid"}],
    "properties": {
        "size": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "self >= oldSelf", "message": "size must not shrink"},
            {"rule": "self < 100"}]},
        "name": {"type": "string", "x-kubernetes-validations": [
            {"rule": "self == oldSelf", "message": " name is immutable ",
             "reason": "FieldValueForbidden"},
            {"rule": "self.startsWith('a')", "messageExpression": "'got ' + self"}]},
        "list": {"type": "array", "items": {"type": "object",
            "properties": {"v": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.v > 0", "fieldPath": ".v"}]}},
        "lm": {"type": "array", "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {
                "k": {"type": "string"},
                "v": {"type": "integer", "x-kubernetes-validations": [
                    {"rule": "self >= oldSelf"}]}}}},
        "map": {"type": "object", "additionalProperties": {"type": "integer",
            "x-kubernetes-validations": [
                {"rule": "self > 0", "reason": "FieldValueRequired", "message": "pos"}]}},
        "f": {"type": "number", "x-kubernetes-validations": [
            {"rule": "self > 1.0", "reason": "FieldValueDuplicate"}]},
        "opt": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "oldSelf.hasValue() || self == 0", "optionalOldSelf": true,
             "message": "starts at 0"}]},
        "bool": {"type": "boolean", "x-kubernetes-validations": [{"rule": "self"}]},
        "bymap": {"type": "object",
            "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}},
            "x-kubernetes-validations": [
                {"rule": "!has(self.m) || !('a' in self.m)", "fieldPath": ".m['a']"}]}
    }}}}"#
        .parse()
        .unwrap()
}

fn check_rules(old: Option<Value>, new: Value, expected: Expect) {
    let (rules, faults) = Rules::compile(&rule_schema());
    assert_eq!(faults, []);
    let object = |spec: Value| json!({"metadata": {"name": "x"}, "spec": spec});
    let old = old.map(object);
    let faults = rules.check(&object(new), old.as_ref());
    let lines = faults.iter().map(|f| format!("{} | {f}\n", f.reason()));
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn broken_rules_are_told_at_their_place() {
    let check = |new: Value, expected: Expect| check_rules(None, new, expected);
    check(json!({"size": 5}), expect![""]);
    check(
        json!({"size": 150}),
        expect![[r#"
            FieldValueInvalid | spec.size: Invalid value: 150: failed rule: self < 100
        "#]],
    );
    check(
        json!({"size": 50}),
        expect![[r#"
            FieldValueInvalid | spec: Invalid value: not 50
        "#]],
    );
    check(
        json!({"size": 51}),
        expect![[r#"
            FieldValueInvalid | spec.size: Invalid value: failed rule: !has(self.size) || self.size != 51
        "#]],
    );
    check(
        json!({"name": "bob"}),
        expect![[r#"
            FieldValueInvalid | spec.name: Invalid value: "bob": got bob
        "#]],
    );
    check(
        json!({"list": [{"v": 1}, {"v": 0}]}),
        expect![[r#"
            FieldValueInvalid | spec.list[1].v: Invalid value: failed rule: self.v > 0
        "#]],
    );
    check(
        json!({"list": [{}]}),
        expect![[r#"
            FieldValueInvalid | spec.list[0]: Invalid value: "object": no such key: v evaluating rule: self.v > 0
        "#]],
    );
    check(
        json!({"map": {"a.b": 0, "c": -1}}),
        expect![[r#"
            FieldValueRequired | spec.map[a.b]: Required value: pos
            FieldValueRequired | spec.map[c]: Required value: pos
        "#]],
    );
    check(
        json!({"f": 0.5}),
        expect![[r#"
            FieldValueDuplicate | spec.f: Duplicate value: 0.5
        "#]],
    );
    check(
        json!({"opt": 1}),
        expect![[r#"
            FieldValueInvalid | spec.opt: Invalid value: 1: starts at 0
        "#]],
    );
    check(
        json!({"bool": false}),
        expect![[r#"
            FieldValueInvalid | spec.bool: Invalid value: false: failed rule: self
        "#]],
    );
    check(
        json!({"bymap": {"m": {"a": "x"}}}),
        expect![[r#"
            FieldValueInvalid | spec.bymap.m[a]: Invalid value: failed rule: !has(self.m) || !('a' in self.m)
        "#]],
    );
}

#[test]
fn transition_rules_need_an_old_value() {
    let check = |old: Value, new: Value, expected: Expect| check_rules(Some(old), new, expected);
    check(
        json!({"size": 5}),
        json!({"size": 4}),
        expect![[r#"
            FieldValueInvalid | spec.size: Invalid value: 4: size must not shrink
        "#]],
    );
    check(json!({}), json!({"size": 4, "name": "a"}), expect![""]);
    check(
        json!({"name": "ab"}),
        json!({"name": "b"}),
        expect![[r#"
            FieldValueForbidden | spec.name: Forbidden: name is immutable
            FieldValueInvalid | spec.name: Invalid value: "b": got b
        "#]],
    );
    check(
        json!({"lm": [{"k": "a", "v": 5}, {"k": "b", "v": 5}]}),
        json!({"lm": [{"k": "b", "v": 4}, {"k": "a", "v": 6}, {"k": "c", "v": 1}]}),
        expect![[r#"
            FieldValueInvalid | spec.lm[0].v: Invalid value: 4: failed rule: self >= oldSelf
        "#]],
    );
    check(json!({"opt": 0}), json!({"opt": 7}), expect![""]);
}

#[test]
fn unchanged_values_are_forgiven() {
    check_rules(
        Some(json!({"size": 150, "bool": false})),
        json!({"size": 150, "bool": false, "name": "a"}),
        expect![""],
    );
}

#[test]
fn a_rule_of_the_root_has_no_path() {
    let (rules, _) = Rules::compile(&rule_schema());
    let faults = rules.check(&json!({"metadata": {"name": "bad"}}), None);
    assert_eq!(faults[0].to_string(), "<nil>: Invalid value: bad name");
}

#[test]
fn no_rule_can_run_for_long() {
    let schema = json!({"type": "array", "items": {"type": "integer"},
        "x-kubernetes-validations": [
            {"rule": "self.all(a, self.all(b, self.all(c, a + b + c > 0)))"},
            {"rule": "false"}]});
    let (rules, faults) = Rules::compile(&schema);
    assert_eq!(faults, []);
    let many: Value = (1..2_000).collect();
    let faults = rules.check(&many, None);
    let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "<nil>: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no \
          further validation rules will be run due to call cost exceeds limit for rule: \
          self.all(a, self.all(b, self.all(c, a + b + c > 0)))"
        ]
    );
}

#[test]
fn rules_of_a_crd_are_refused_as_recorded() {
    let mut expected: Vec<String> = Vec::new();
    let mut schema = Value::Null;
    let at = Path::new("spec.validation.openAPIV3Schema");
    for line in include_str!("crd_cases.txt").lines().chain(["="]) {
        if let Some(cause) = line.strip_prefix("  ") {
            expected.push(cause.to_owned());
            continue;
        }
        if !expected.is_empty() {
            let line = |f: &FieldError| {
                let line = format!("{} | {} | {}", f.reason(), f.field, f.body());
                line.replace('\n', "\\n")
            };
            let faults: Vec<String> = compile_errors(&schema, &at).iter().map(line).collect();
            assert_eq!(faults, expected);
            expected.clear();
        }
        if let Some(value) = line.strip_prefix("= PROPERTY/x ") {
            let property: Value = value.parse().unwrap();
            schema = json!({"type": "object", "properties": {"spec": {
                "type": "object", "properties": {"x": property},
            }}});
        }
    }
}
