//! Bad input of every kind: a clear error each, in bounded time and memory. The random part is the same every
//! time; `fuzz/` holds the endless version of it.

use model::{MemoryTree, SourceTree};
use render::{Context, RenderError, Rendered, Settings, Source};

fn go(tree: MemoryTree) -> Result<Rendered, RenderError> {
    let source = Source {
        path: "app".into(),
        ..Source::default()
    };
    render::render(&SourceTree::new(tree), &source, &Context::default())
}

fn check(tree: MemoryTree, code: &str, part: &str) {
    let finding = match go(tree) {
        Ok(rendered) => panic!("{} manifests instead of `{part}`", rendered.manifests.len()),
        Err(error) => error.finding(),
    };
    assert_eq!(finding.code, code, "{}", finding.summary);
    assert!(finding.summary.contains(part), "{}", finding.summary);
}

fn file(content: impl AsRef<[u8]>) -> MemoryTree {
    MemoryTree::new().file("app/a.yaml", content)
}

const HEAD: &str = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n";

#[test]
fn what_is_no_text_is_named() {
    check(file(b"\x00\x01\x02\xff"), "G09", "binary file");
    check(file(b"\xff\xfea\0:\0"), "G09", "UTF-16");
    check(file(b"a: caf\xe9\n"), "G09", "0xe9, which is not UTF-8");
    check(file(b"a: \0\n"), "G09", "binary file");
}

#[test]
fn aliases_and_nesting_end_somewhere() {
    let mut laughs = format!("{HEAD}a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for i in 1..12 {
        let refs = vec![format!("*a{}", i - 1); 10].join(",");
        laughs.push_str(&format!("a{i}: &a{i} [{refs}]\n"));
    }
    check(file(laughs), "G09", "excessive aliasing");
    check(
        file(format!("{HEAD}x: {}", "[".repeat(200_000))),
        "G09",
        "app/a.yaml",
    );
    check(
        file(format!("{HEAD}x:\n {}", "- ".repeat(200_000))),
        "G09",
        "app/a.yaml",
    );
    check(
        file(format!("{HEAD}x: {}", "{a: ".repeat(200_000))),
        "G09",
        "app/a.yaml",
    );
    check(
        MemoryTree::new().file("app/a.json", format!("{}1", "{\"a\":".repeat(200_000))),
        "G09",
        "recursion limit",
    );
}

#[test]
fn size_is_limited() {
    let long = format!("{HEAD}x: {}\n", "y".repeat(11 << 20));
    check(
        file(&long),
        "G11",
        "exceeded max combined manifest file size",
    );
    let context = Context {
        settings: Settings {
            combined_size_max: 100 << 20,
            ..Settings::default()
        },
        ..Context::default()
    };
    let source = Source {
        path: "app".into(),
        ..Source::default()
    };
    let huge = format!("{HEAD}x: {}\n", "y".repeat(65 << 20));
    let error = render::render(&SourceTree::new(file(huge)), &source, &context).unwrap_err();
    assert!(error.to_string().contains("text is longer"), "{error}");
}

#[test]
fn paths_stay_inside() {
    check(
        file(HEAD).link("app/b.yaml", "/etc/passwd"),
        "G05",
        "leads out of the repository",
    );
    check(
        file(HEAD).link("app/b.yaml", "../../x"),
        "G05",
        "leads out of the repository",
    );
    check(
        file(HEAD).link("app/b.yaml", "b.yaml"),
        "G05",
        "leads back to itself",
    );
    check(
        file(HEAD).file("app/kustomization.yaml", "resources: [../../../etc]\n"),
        "G08",
        "",
    );
    check(
        MemoryTree::new()
            .file("app/kustomization.yaml", "resources: [../base]\n")
            .file("base/kustomization.yaml", "resources: [../app]\n"),
        "G08",
        "cycle",
    );
}

#[test]
fn no_text_makes_a_render_fall_over() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    };
    let pieces = [
        HEAD,
        "---\n",
        "items:\n",
        "- ",
        "kind: List\n",
        "metadata:\n  name: b\n",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "'",
        "|\n  x\n",
        "&a ",
        "*a",
        "<<: *a\n",
        "!!int ",
        "{{ .x }}",
        "\t",
        "\r\n",
        "é",
        "\u{feff}",
        "? ",
        ": ",
        "a: 1\n",
        "0x",
        "~",
        "%YAML 1.1\n",
        "...\n",
        "\u{2028}",
    ];
    for _ in 0..1_000 {
        let text: String = (0..=next(12)).map(|_| pieces[next(pieces.len())]).collect();
        let tree = file(&text)
            .file("app/b.json", &text)
            .file("app/.argocd-source.yaml", &text);
        if let Err(error) = go(tree) {
            assert!(!error.finding().summary.is_empty());
        }
    }
}
