//! `Chart.yaml`, `requirements.yaml` and lock files: read as Go's decoder reads them, then checked.

use crate::chart::{Chart, Dependency, Lock, Maintainer, Metadata};
use crate::{Flavour, decode};
use decode::Fields;
use model::{Map, Value};

impl Flavour {
    fn package(self) -> &'static str {
        match self {
            Self::V3 => "chart",
            Self::V4 => "v2",
        }
    }
}

/// Reads `Chart.yaml`, or `requirements.yaml`, over what is known already.
pub(crate) fn read(text: &str, into: &mut Metadata, flavour: Flavour) -> Result<(), String> {
    let value = decode::parse(text)?;
    let package = flavour.package();
    let Some(mut fields) = Fields::of(&value, "Metadata", &format!("{package}.Metadata"))? else {
        return Ok(());
    };
    fields.text("name", &mut into.name);
    fields.text("home", &mut into.home);
    fields.texts("sources", &mut into.sources);
    fields.text("version", &mut into.version);
    fields.text("description", &mut into.description);
    fields.texts("keywords", &mut into.keywords);
    fields.text("icon", &mut into.icon);
    fields.text("apiVersion", &mut into.api_version);
    fields.text("condition", &mut into.condition);
    fields.text("tags", &mut into.tags);
    fields.text("appVersion", &mut into.app_version);
    fields.flag("deprecated", &mut into.deprecated);
    if let Some(notes) = fields.text_map("annotations") {
        into.annotations = notes;
    }
    fields.text("kubeVersion", &mut into.kube_version);
    fields.text("type", &mut into.kind);
    let maintainer = format!("{package}.Maintainer");
    if let Some(list) = fields.structs("maintainers", "Maintainer", &maintainer, |fields| {
        let mut maintainer = Maintainer::default();
        fields.text("name", &mut maintainer.name);
        fields.text("email", &mut maintainer.email);
        fields.text("url", &mut maintainer.url);
        maintainer
    }) {
        if list.iter().any(Option::is_none) {
            fields.note("validation: maintainers must not contain empty or null nodes");
        }
        into.maintainers = list.into_iter().flatten().collect();
    }
    if let Some(list) = dependencies(&mut fields, package) {
        into.dependencies = list;
    }
    fields.finish()
}

// The outer `None` means the field is absent, the inner one that it is null.
#[expect(clippy::option_option, reason = "absent and null differ, as in Go")]
fn dependencies(fields: &mut Fields<'_>, package: &str) -> Option<Option<Vec<Dependency>>> {
    let kind = format!("{package}.Dependency");
    let null = fields.is_null("dependencies");
    let list = fields.structs("dependencies", "Dependency", &kind, |fields| {
        let mut dependency = Dependency::default();
        fields.text("name", &mut dependency.name);
        fields.text("version", &mut dependency.version);
        fields.text("repository", &mut dependency.repository);
        fields.text("condition", &mut dependency.condition);
        fields.texts("tags", &mut dependency.tags);
        fields.flag("enabled", &mut dependency.enabled);
        if let Some(values) = fields.any_list("import-values") {
            dependency.import_values = values;
        }
        fields.text("alias", &mut dependency.alias);
        dependency
    });
    if null {
        return Some(None);
    }
    let list = list?;
    if list.iter().any(Option::is_none) {
        fields.note("validation: dependencies must not contain empty or null nodes");
    }
    Some(Some(list.into_iter().flatten().collect()))
}

/// Reads `Chart.lock` or `requirements.lock`.
pub(crate) fn read_lock(text: &str, flavour: Flavour) -> Result<Option<Lock>, String> {
    let value = decode::parse(text)?;
    let package = flavour.package();
    let Some(mut fields) = Fields::of(&value, "Lock", &format!("{package}.Lock"))? else {
        return Ok(None);
    };
    let mut lock = Lock::default();
    fields.text("generated", &mut lock.generated);
    fields.text("digest", &mut lock.digest);
    if let Some(list) = dependencies(&mut fields, package) {
        lock.dependencies = list.unwrap_or_default();
    }
    fields.finish()?;
    Ok(Some(lock))
}

/// Cleans a chart's metadata and says what is wrong with it, in Helm's words.
pub(crate) fn validate(metadata: &mut Metadata, flavour: Flavour) -> Result<(), String> {
    for text in [
        &mut metadata.name,
        &mut metadata.description,
        &mut metadata.home,
        &mut metadata.icon,
        &mut metadata.condition,
        &mut metadata.tags,
        &mut metadata.app_version,
        &mut metadata.kube_version,
    ] {
        *text = sanitize(text);
    }
    for text in metadata.sources.iter_mut().chain(&mut metadata.keywords) {
        *text = sanitize(text);
    }
    if metadata.api_version.is_empty() {
        return Err("validation: chart.metadata.apiVersion is required".into());
    }
    let name = &metadata.name;
    if name.is_empty() {
        return Err("validation: chart.metadata.name is required".into());
    }
    if flavour == Flavour::V4 && (name == "." || name == "..") {
        return Err(format!(
            "validation: chart.metadata.name {name:?} is not allowed"
        ));
    }
    if name != crate::gopath::base(name) {
        return Err(format!(
            "validation: chart.metadata.name {name:?} is invalid"
        ));
    }
    if metadata.version.is_empty() {
        return Err("validation: chart.metadata.version is required".into());
    }
    if version::Version::parse(&metadata.version).is_err() {
        let version = &metadata.version;
        return Err(format!(
            "validation: chart.metadata.version {version:?} is invalid"
        ));
    }
    if !matches!(metadata.kind.as_str(), "" | "application" | "library") {
        return Err("validation: chart.metadata.type must be application or library".into());
    }
    for maintainer in &mut metadata.maintainers {
        for text in [
            &mut maintainer.name,
            &mut maintainer.email,
            &mut maintainer.url,
        ] {
            *text = sanitize(text);
        }
    }
    validate_dependencies(metadata.dependencies.as_deref_mut().unwrap_or_default())
}

fn validate_dependencies(dependencies: &mut [Dependency]) -> Result<(), String> {
    let mut names = std::collections::BTreeSet::new();
    for dependency in dependencies {
        for text in [
            &mut dependency.name,
            &mut dependency.version,
            &mut dependency.repository,
            &mut dependency.condition,
        ] {
            *text = sanitize(text);
        }
        for tag in &mut dependency.tags {
            *tag = sanitize(tag);
        }
        let alias = &dependency.alias;
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !alias.chars().all(allowed) {
            return Err(format!(
                "validation: dependency {:?} has disallowed characters in the alias",
                dependency.name
            ));
        }
        let key = if alias.is_empty() {
            &dependency.name
        } else {
            alias
        };
        if !names.insert(key.clone()) {
            return Err(format!(
                "validation: more than one dependency with name or alias {key:?}"
            ));
        }
    }
    Ok(())
}

// Blanks become spaces and what cannot be printed goes.
fn sanitize(text: &str) -> String {
    let plain = |c: char| c == ' ' || c.is_ascii_graphic();
    if text.chars().all(plain) {
        return text.to_owned();
    }
    let keep = |c: char| match c {
        c if c.is_whitespace() => Some(' '),
        c if c.is_control() || unprintable(c) => None,
        c => Some(c),
    };
    text.chars().filter_map(keep).collect()
}

// Format characters, surrogates' stand-ins and private use, which Go does not print.
fn unprintable(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x600..=0x605 | 0x61C | 0x6DD | 0x70F | 0x180E | 0x200B..=0x200F | 0x202A..=0x202E
        | 0x2060..=0x2064 | 0x2066..=0x206F | 0xE000..=0xF8FF | 0xFEFF | 0xFFF9..=0xFFFB
        | 0xFFFE..=0xFFFF | 0xE0001 | 0xE0020..=0xE007F | 0xF0000..)
}

/// Reads `values.yaml`; null and an empty file are no values.
pub(crate) fn read_values(text: &str, flavour: Flavour) -> Result<Map<String, Value>, String> {
    crate::values::read(text, flavour).map_err(|fault| fault.message)
}

/// Warns of files that belong to charts of Helm 2's time.
pub(crate) fn warn_of_old_file(chart: &mut Chart, what: &str, file: &str) {
    if chart.metadata.api_version != crate::chart::API_V1 {
        chart.warnings.push(format!(
            "Warning: {what} in {file} since apiVersion \"v2\". We recommend migrating"
        ));
    }
}
