//! Flags as Helm's parser reads them: `--name value`, `--name=value`, `-n value`, `-nvalue`.

use super::{Template, ValueFlag};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    // Takes a value.
    Value,
    // Takes none, or one behind `=`.
    Switch,
}

// Name, letter, kind. Flags without an effect on what is printed are read and forgotten.
const FLAGS: [(&str, char, Kind); 71] = [
    ("values", 'f', Kind::Value),
    ("set", ' ', Kind::Value),
    ("set-string", ' ', Kind::Value),
    ("set-file", ' ', Kind::Value),
    ("set-json", ' ', Kind::Value),
    ("set-literal", ' ', Kind::Value),
    ("namespace", 'n', Kind::Value),
    ("kube-version", ' ', Kind::Value),
    ("api-versions", 'a', Kind::Value),
    ("show-only", 's', Kind::Value),
    ("output-dir", ' ', Kind::Value),
    ("name-template", ' ', Kind::Value),
    ("include-crds", ' ', Kind::Switch),
    ("skip-tests", ' ', Kind::Switch),
    ("no-hooks", ' ', Kind::Switch),
    ("is-upgrade", ' ', Kind::Switch),
    ("validate", ' ', Kind::Switch),
    ("generate-name", 'g', Kind::Switch),
    ("release-name", ' ', Kind::Switch),
    ("skip-schema-validation", ' ', Kind::Switch),
    ("debug", ' ', Kind::Switch),
    ("dependency-update", ' ', Kind::Switch),
    ("dry-run", ' ', Kind::Switch),
    ("repo", ' ', Kind::Value),
    ("version", ' ', Kind::Value),
    ("username", ' ', Kind::Value),
    ("password", ' ', Kind::Value),
    ("ca-file", ' ', Kind::Value),
    ("cert-file", ' ', Kind::Value),
    ("key-file", ' ', Kind::Value),
    ("insecure-skip-tls-verify", ' ', Kind::Switch),
    ("pass-credentials", ' ', Kind::Switch),
    ("plain-http", ' ', Kind::Switch),
    ("devel", ' ', Kind::Switch),
    ("kubeconfig", ' ', Kind::Value),
    ("kube-context", ' ', Kind::Value),
    ("post-renderer", ' ', Kind::Value),
    ("post-renderer-args", ' ', Kind::Value),
    ("post-renderer-strategy", ' ', Kind::Value),
    ("atomic", ' ', Kind::Switch),
    ("create-namespace", ' ', Kind::Switch),
    ("description", ' ', Kind::Value),
    ("disable-openapi-validation", ' ', Kind::Switch),
    ("enable-dns", ' ', Kind::Switch),
    ("force", ' ', Kind::Switch),
    ("force-conflicts", ' ', Kind::Switch),
    ("force-replace", ' ', Kind::Switch),
    ("hide-notes", ' ', Kind::Switch),
    ("keyring", ' ', Kind::Value),
    ("labels", 'l', Kind::Value),
    ("render-subchart-notes", ' ', Kind::Switch),
    ("replace", ' ', Kind::Switch),
    ("rollback-on-failure", ' ', Kind::Switch),
    ("server-side", ' ', Kind::Switch),
    ("skip-crds", ' ', Kind::Switch),
    ("take-ownership", ' ', Kind::Switch),
    ("timeout", ' ', Kind::Value),
    ("verify", ' ', Kind::Switch),
    ("wait", ' ', Kind::Switch),
    ("wait-for-jobs", ' ', Kind::Switch),
    ("burst-limit", ' ', Kind::Value),
    ("qps", ' ', Kind::Value),
    ("kube-apiserver", ' ', Kind::Value),
    ("kube-as-group", ' ', Kind::Value),
    ("kube-as-user", ' ', Kind::Value),
    ("kube-ca-file", ' ', Kind::Value),
    ("kube-insecure-skip-tls-verify", ' ', Kind::Switch),
    ("kube-tls-server-name", ' ', Kind::Value),
    ("kube-token", ' ', Kind::Value),
    ("registry-config", ' ', Kind::Value),
    ("repository-config", ' ', Kind::Value),
];

/// Reads what stands behind `helm template`; the error is what Helm says.
pub fn parse(arguments: &[String]) -> Result<Template, String> {
    let mut template = Template::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            template.arguments.extend(rest.by_ref().cloned());
        } else if let Some(long) = argument.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let known = FLAGS.iter().find(|(flag, _, _)| *flag == name);
            let (flag, _, kind) = known.ok_or_else(|| format!("unknown flag: --{name}"))?;
            let value = match (value, kind) {
                (Some(value), _) => value,
                (None, Kind::Switch) => String::new(),
                (None, Kind::Value) => rest
                    .next()
                    .cloned()
                    .ok_or_else(|| format!("flag needs an argument: --{name}"))?,
            };
            apply(&mut template, flag, value)?;
        } else if argument.starts_with('-') && argument.len() > 1 {
            letters(&mut template, &argument[1..], &mut rest)?;
        } else {
            template.arguments.push(argument.clone());
        }
    }
    Ok(template)
}

// Letters in one word: switches, and at the end one that takes a value.
fn letters<'a>(
    template: &mut Template,
    word: &str,
    rest: &mut impl Iterator<Item = &'a String>,
) -> Result<(), String> {
    let mut left = word;
    while let Some(letter) = left.chars().next() {
        left = &left[letter.len_utf8()..];
        let known = FLAGS
            .iter()
            .find(|(_, short, _)| *short == letter && letter != ' ');
        let (flag, _, kind) =
            known.ok_or_else(|| format!("unknown shorthand flag: '{letter}' in -{word}"))?;
        if *kind == Kind::Switch {
            apply(template, flag, String::new())?;
            continue;
        }
        let value = match left.strip_prefix('=').unwrap_or(left) {
            "" => rest
                .next()
                .cloned()
                .ok_or_else(|| format!("flag needs an argument: '{letter}' in -{word}"))?,
            value => value.to_owned(),
        };
        return apply(template, flag, value);
    }
    Ok(())
}

fn switch(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "" | "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        other => Err(format!(
            "invalid argument {other:?} for \"--{name}\" flag: strconv.ParseBool: parsing {other:?}: invalid syntax"
        )),
    }
}

// A list in one word: `a,b`, with quotes where a comma is meant.
fn list(value: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut quoted = false;
    for c in value.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => items.push(String::new()),
            c => items.last_mut().expect("there is always one").push(c),
        }
    }
    items
}

fn apply(template: &mut Template, name: &str, value: String) -> Result<(), String> {
    let on = |into: &mut bool| {
        *into = switch(name, &value)?;
        Ok(())
    };
    match name {
        "values" => {
            let files = list(&value).into_iter().map(ValueFlag::File);
            template.values.extend(files);
        }
        "set" => template.values.push(ValueFlag::Set(value)),
        "set-string" => template.values.push(ValueFlag::Text(value)),
        "set-file" => template.values.push(ValueFlag::Content(value)),
        "set-json" => template.values.push(ValueFlag::Json(value)),
        "set-literal" => template.values.push(ValueFlag::Literal(value)),
        "namespace" => template.namespace = value,
        "kube-version" => template.kube_version = value,
        "api-versions" => template.api_versions.extend(list(&value)),
        "show-only" => template.show_only.push(value),
        "output-dir" => template.output_dir = value,
        "name-template" => template.name_template = value,
        "post-renderer" => template.post_renderer = value,
        "repo" => template.source.repo = value,
        "version" => template.source.version = value,
        "username" => template.source.username = value,
        "password" => template.source.password = value,
        "ca-file" => template.source.ca_file = value,
        "cert-file" => template.source.cert_file = value,
        "key-file" => template.source.key_file = value,
        "kubeconfig" => template.cluster.kubeconfig = value,
        "kube-context" => template.cluster.context = value,
        "include-crds" => return on(&mut template.include_crds),
        "skip-tests" => return on(&mut template.skip_tests),
        "no-hooks" => return on(&mut template.no_hooks),
        "is-upgrade" => return on(&mut template.is_upgrade),
        "validate" => return on(&mut template.validate),
        "generate-name" => return on(&mut template.generate_name),
        "release-name" => return on(&mut template.use_release_name),
        "skip-schema-validation" => return on(&mut template.skip_schema_validation),
        "debug" => return on(&mut template.debug),
        "dependency-update" => return on(&mut template.dependency_update),
        "insecure-skip-tls-verify" => return on(&mut template.source.insecure),
        "pass-credentials" => return on(&mut template.source.pass_credentials),
        "plain-http" => return on(&mut template.source.plain_http),
        "devel" => return on(&mut template.source.devel),
        "dry-run" => template.validate |= value == "server",
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let answer = match parse(&words) {
            Ok(t) => format!(
                "{:?} {:?} {:?} {:?}",
                t.arguments, t.values, t.namespace, t.api_versions
            ),
            Err(error) => error,
        };
        assert_eq!(answer, expected);
    }

    #[test]
    fn flags_are_read_in_every_form() {
        check(
            "web ./c -f a.yaml,b.yaml --set=x=1,y=2 -nprod -a v1,v2 --api-versions v3 --debug",
            r#"["web", "./c"] [File("a.yaml"), File("b.yaml"), Set("x=1,y=2")] "prod" ["v1", "v2", "v3"]"#,
        );
        check("-gn=prod c", r#"["c"] [] "prod" []"#);
        check("c -- -x", r#"["c", "-x"] [] "" []"#);
    }

    #[test]
    fn what_is_no_flag_is_named() {
        check("--nope", "unknown flag: --nope");
        check("-z c", "unknown shorthand flag: 'z' in -z");
        check("c --set", "flag needs an argument: --set");
        check("c -f", "flag needs an argument: 'f' in -f");
    }
}
