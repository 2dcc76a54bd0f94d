//! Paths as Go's `path` takes them apart.

/// The last name of a path, as Go's `path.Base`.
pub(crate) fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return "/";
    }
    trimmed.rsplit('/').next().unwrap_or(trimmed)
}

/// The extension of a path with its dot, as Go's `path.Ext`.
pub(crate) fn extension(path: &str) -> &str {
    let name_at = path.rfind('/').map_or(0, |at| at + 1);
    path[name_at..]
        .rfind('.')
        .map_or("", |at| &path[name_at + at..])
}

/// Joins two paths and cleans the result, as Go's `path.Join`.
pub(crate) fn join(a: &str, b: &str) -> String {
    let joined = format!("{a}/{b}");
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart() {
        assert_eq!((base("a/b.yaml"), base("")), ("b.yaml", "."));
        assert_eq!((extension("a.b/c"), extension("a/b.tar.gz")), ("", ".gz"));
        assert_eq!(join("a", "templates/../x//y"), "a/x/y");
    }
}
