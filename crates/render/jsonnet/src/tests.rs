use super::*;
use model::MemoryTree;

fn tree() -> MemoryTree {
    MemoryTree::new()
        .file(
            "lib/k.libsonnet",
            "{ cm(name): { kind: 'ConfigMap', metadata: { name: name } } }",
        )
        .file("app/near.libsonnet", "'near'")
        .file("secret", "outside")
        .file("app/text.txt", "some text")
}

fn check(code: &str, expected: &str) {
    let tree = SourceTree::new(tree().file("app/main.jsonnet", code));
    let variable = |name: &str, value: &str, code| Variable {
        name: name.into(),
        value: value.into(),
        code,
    };
    let request = Request {
        file: "app/main.jsonnet".into(),
        ext_vars: vec![variable("env", "prod", false), variable("n", "1 + 2", true)],
        tlas: vec![variable("replicas", "2", true)],
        library: vec!["app".into(), "lib".into()],
    };
    let answer = match evaluate(&tree, &request) {
        Ok(value) => value.to_string(),
        Err(fault) => format!(
            "{}:{}:{}: {}",
            fault.place.file, fault.place.line, fault.place.column, fault.problem
        ),
    };
    assert_eq!(answer, expected, "{code}");
}

#[test]
fn variables_and_imports_reach_the_program() {
    check("[std.extVar('env'), std.extVar('n')]", "[\"prod\",3]");
    check(
        "function(replicas, image='a') {r: replicas, i: image}",
        "{\"i\":\"a\",\"r\":2}",
    );
    check(
        "local k = import 'k.libsonnet'; k.cm('a') + {n: import 'near.libsonnet', t: importstr 'text.txt'}",
        "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"n\":\"near\",\"t\":\"some text\"}",
    );
}

#[test]
fn imports_do_not_leave_the_tree() {
    check(
        "import '../../etc/passwd'",
        "app/main.jsonnet:1:1: couldn't open import \"../../etc/passwd\": no match locally or in the library paths",
    );
    check(
        "\n  importstr '/etc/passwd'",
        "app/main.jsonnet:2:3: couldn't open import \"/etc/passwd\": it leads out of the repository",
    );
}

#[test]
fn faults_say_where() {
    check(
        "{\n  a: 1,\n  b: self.c,\n}",
        "app/main.jsonnet:3:6: field does not exist: c",
    );
    check(
        "local f(x) = f(x) + 1; f(1)",
        "app/main.jsonnet:1:14: max stack frames exceeded: calls nest deeper than 500",
    );
    check(
        "std.extVar('none')",
        "app/main.jsonnet:1:1: undefined external variable: none: add it to `directory.jsonnet.extVars`",
    );
    check("error 'so it is'", "app/main.jsonnet:1:1: so it is");
}
