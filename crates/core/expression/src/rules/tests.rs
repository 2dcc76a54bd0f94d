//! Compile faults and answers as kube-apiserver v1.36.4 gives them.

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
