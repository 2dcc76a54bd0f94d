//! `.helmignore`: Go's `filepath.Match` line by line, with Helm's own idea of `!`.

use pattern::Glob;

/// The rules of a `.helmignore`, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    pattern: Glob,
    scope: Scope,
    negate: bool,
    only_directories: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// The whole path, from the chart's root.
    Path,
    /// The last name of the path.
    Name,
}

impl Rules {
    /// No rules.
    pub(crate) fn empty() -> Self {
        Self::default()
    }

    /// Reads a `.helmignore`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut rules = Self::empty();
        for line in text.lines() {
            rules.add(line)?;
        }
        Ok(rules)
    }

    /// These rules and the one every chart has: no hidden files in `templates/`.
    pub(crate) fn with_defaults(mut self) -> Self {
        self.add("templates/.?*").expect("the rule is well formed");
        self
    }

    /// Whether a file or directory is left out; the first rule that decides does.
    pub(crate) fn ignores(&self, path: &str, is_directory: bool) -> bool {
        for rule in &self.rules {
            let matches = rule.matches(path);
            if rule.negate {
                // Helm leaves out whatever a negated rule does not name.
                if (rule.only_directories && !is_directory) || !matches {
                    return true;
                }
            } else if matches && (is_directory || !rule.only_directories) {
                return true;
            }
        }
        false
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.contains("**") {
            return Err("double-star (**) syntax is not supported".into());
        }
        let compile =
            |text: &str| Glob::path(text).map_err(|_| "syntax error in pattern".to_owned());
        compile(line)?;
        let negate = line.starts_with('!');
        let rule = line.strip_prefix('!').unwrap_or(line);
        let only_directories = rule.ends_with('/');
        let rule = rule.strip_suffix('/').unwrap_or(rule);
        let (pattern, scope) = match rule.strip_prefix('/') {
            Some(rest) => (rest, Scope::Path),
            None if rule.contains('/') => (rule, Scope::Path),
            None => (rule, Scope::Name),
        };
        self.rules.push(Rule {
            pattern: compile(pattern)?,
            scope,
            negate,
            only_directories,
        });
        Ok(())
    }
}

impl Rule {
    fn matches(&self, path: &str) -> bool {
        let subject = match self.scope {
            Scope::Path => path,
            Scope::Name => path.rsplit('/').next().unwrap_or(path),
        };
        self.pattern.matches(subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: &str, ignored: &[&str], kept: &[&str]) {
        let rules = Rules::parse(rules)
            .expect("the rules parse")
            .with_defaults();
        for path in ignored {
            assert!(
                rules.ignores(path.trim_end_matches('/'), path.ends_with('/')),
                "{path}"
            );
        }
        for path in kept {
            assert!(
                !rules.ignores(path.trim_end_matches('/'), path.ends_with('/')),
                "{path}"
            );
        }
    }

    #[test]
    fn names_match_anywhere_and_paths_from_the_root() {
        check("*.md\n", &["README.md", "docs/a.md"], &["a.txt"]);
        check("/a.txt", &["a.txt"], &["b/a.txt"]);
        check("b/a.txt", &["b/a.txt"], &["a.txt", "c/b/a.txt"]);
        check("b/", &["b/", "c/b/"], &["b"]);
        check("# c\n\n  *.bak  ", &["x.bak"], &["# c"]);
        check("a[b-d]?", &["abx", "adx"], &["aax", "ab"]);
    }

    #[test]
    fn hidden_templates_are_always_ignored() {
        check("", &["templates/.x"], &["templates/x", ".x", "templates/."]);
    }

    #[test]
    fn a_negated_rule_ignores_everything_else() {
        check("!keep.txt", &["other.txt"], &["keep.txt"]);
        check("!keep/", &["file", "other/"], &["keep/"]);
    }

    #[test]
    fn double_stars_and_broken_patterns_are_refused() {
        assert_eq!(
            Rules::parse("a/**").map(|_| ()),
            Err("double-star (**) syntax is not supported".into())
        );
        assert_eq!(
            Rules::parse("a[").map(|_| ()),
            Err("syntax error in pattern".into())
        );
    }
}
