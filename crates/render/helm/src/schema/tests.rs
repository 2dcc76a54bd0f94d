use super::*;

fn check(schema: &str, values: &Value, v3: &str, v4: &str) {
    let Value::Object(values) = values else {
        panic!("values are a map");
    };
    for (flavour, expected) in [(Flavour::V3, v3), (Flavour::V4, v4)] {
        let answer = validate_one(schema.as_bytes(), values, flavour);
        assert_eq!(
            answer.err().unwrap_or_default().trim_end(),
            expected,
            "{flavour:?}"
        );
    }
}

#[test]
fn both_validators_speak_their_own_words() {
    let schema = r#"{"$schema": "http://json-schema.org/draft-07/schema#", "required": ["a"],
        "properties": {"a": {"type": "integer", "maximum": 65535}}}"#;
    check(schema, &model::json!({"a": 5.0}), "", "");
    check(
        schema,
        &model::json!({}),
        "- (root): a is required",
        "- at '': missing property 'a'",
    );
    check(
        schema,
        &model::json!({"a": "x"}),
        "- a: Invalid type. Expected: integer, given: string",
        "- at '/a': got string, want integer",
    );
    check(
        schema,
        &model::json!({"a": 70000.0}),
        "- a: Must be less than or equal to 65535",
        "- at '/a': maximum: got 70,000, want 65,535",
    );
}

#[test]
fn newer_keywords_count_for_helm_4_only() {
    let schema = r#"{"$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"a": true}, "unevaluatedProperties": false}"#;
    check(
        schema,
        &model::json!({"b": 1}),
        "",
        "- at '/b': false schema",
    );
}

#[test]
fn schemas_that_never_end_are_refused() {
    let schema = r##"{"$ref": "#"}"##;
    let values = Map::new();
    assert!(validate_one(schema.as_bytes(), &values, Flavour::V3).is_err());
    assert!(validate_one(schema.as_bytes(), &values, Flavour::V4).is_err());
}
