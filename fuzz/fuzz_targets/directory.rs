//! Whatever stands in the files of a source: manifests or a finding.
#![no_main]

use model::{MemoryTree, SourceTree};
use render::{Context, Source};

libfuzzer_sys::fuzz_target!(|input: (&[u8], &[u8], &str)| {
    let (first, second, overrides) = input;
    let tree = MemoryTree::new()
        .file("app/a.yaml", first)
        .file("app/b.json", second)
        .file("app/.argocd-source.yaml", overrides);
    let source = Source {
        path: "app".into(),
        directory: Some(render::Directory::default()),
        ..Source::default()
    };
    if let Err(error) = render::render(&SourceTree::new(tree), &source, &Context::default()) {
        assert!(!error.finding().summary.is_empty());
    }
});
