use super::*;

fn check(layers: &[Layer], expected: &str) {
    let answer = match merge(layers, Flavour::V3) {
        Ok(values) => Value::Object(values).to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(answer, expected);
}

fn file(text: &str) -> Layer {
    Layer::File {
        name: "v.yaml".into(),
        text: text.into(),
    }
}

#[test]
fn files_come_before_flags_whatever_the_order() {
    check(
        &[
            Layer::Literal("a=l,x".into()),
            Layer::Set("a=1,b=2".into()),
            file("a: 0\nc: 1"),
        ],
        r#"{"a":"l,x","b":2,"c":1.0}"#,
    );
}

#[test]
fn maps_merge_and_everything_else_is_replaced() {
    check(
        &[file("m: {a: 1, l: [1, 2]}"), file("m: {b: 2, l: [3]}")],
        r#"{"m":{"a":1.0,"b":2.0,"l":[3.0]}}"#,
    );
}

#[test]
fn helm_4_reads_all_documents() {
    let read = |flavour| read("---\na: 1\n---\nb: 2\n", flavour).map(Value::Object);
    assert_eq!(read(Flavour::V3), Ok(model::json!({"a": 1.0})));
    assert_eq!(read(Flavour::V4), Ok(model::json!({"a": 1.0, "b": 2.0})));
}

#[test]
fn faults_name_their_file_and_line() {
    let error = merge(&[file("a: 1\nb: [\n")], Flavour::V3).expect_err("it is no YAML");
    let HelmError::Values { file, line, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(file, "v.yaml");
    assert!(*line >= 2, "{error}");
}
