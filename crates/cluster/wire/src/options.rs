//! The options objects of the API, read from query parameters, and from a body for deletes.

use crate::body::{BodyFormat, PatchType, interpret};
use crate::query::Query;
use crate::validate;
use json::write::Layout;
use model::field::go_quote;
use model::{
    ApiError, FieldError, FieldSelector, GroupVersionKind, LabelSelector, Path, Value, json,
};

/// What becomes of fields that the server does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped, with a warning for each.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

impl FieldValidation {
    fn of(text: &str) -> Self {
        match text {
            "Ignore" => Self::Ignore,
            "Strict" => Self::Strict,
            _ => Self::Warn,
        }
    }
}

/// Options of a list or watch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListOptions {
    /// Which labels to select.
    pub label_selector: LabelSelector,
    /// Which fields to select.
    pub field_selector: FieldSelector,
    /// Whether to watch instead of list.
    pub watch: bool,
    /// Whether the watcher wants bookmarks.
    pub allow_watch_bookmarks: bool,
    /// Version to start from, as text.
    pub resource_version: String,
    /// `Exact`, `NotOlderThan` or empty.
    pub resource_version_match: String,
    /// How long a watch may take.
    pub timeout_seconds: Option<i64>,
    /// How many items a page holds; 0 for all.
    pub limit: i64,
    /// Token of the next page.
    pub continue_token: String,
    /// Whether a watch starts with what exists.
    pub send_initial_events: Option<bool>,
}

impl ListOptions {
    /// Reads and checks the parameters of a list or watch.
    pub fn from_query(query: &Query) -> Result<Self, ApiError> {
        let text = |name: &str| query.get(name).unwrap_or_default().to_owned();
        let number = |name: &str| query.number(name).map_err(ApiError::bad_request);
        let options = Self {
            watch: query.flag("watch").unwrap_or(false),
            allow_watch_bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            resource_version: text("resourceVersion"),
            resource_version_match: text("resourceVersionMatch"),
            timeout_seconds: number("timeoutSeconds")?,
            limit: number("limit")?.unwrap_or(0),
            continue_token: text("continue"),
            send_initial_events: query.flag("sendInitialEvents"),
            label_selector: LabelSelector::parse(&text("labelSelector"))
                .map_err(ApiError::bad_request)?,
            field_selector: FieldSelector::parse(&text("fieldSelector"))
                .map_err(ApiError::bad_request)?,
        };
        validate::refuse("ListOptions", &options.faults())?;
        Ok(options)
    }

    fn faults(&self) -> Vec<FieldError> {
        let path = Path::new("resourceVersionMatch");
        let mut faults = Vec::new();
        let mut forbid = |path: &Path, detail: &str| {
            faults.push(FieldError::forbidden(path, detail));
        };
        let given = self.resource_version_match.as_str();
        if self.watch {
            if self.send_initial_events.is_some() && given != "NotOlderThan" {
                forbid(
                    &path,
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                );
            }
            if !given.is_empty() {
                if self.send_initial_events.is_none() {
                    forbid(
                        &path,
                        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                    );
                }
                if given != "NotOlderThan" {
                    let value = json!(given);
                    faults.push(FieldError::not_supported(&path, &value, &["NotOlderThan"]));
                }
                if !self.continue_token.is_empty() {
                    let detail = "resourceVersionMatch is forbidden when continue is provided";
                    faults.push(FieldError::forbidden(&path, detail));
                }
            }
            return faults;
        }
        if !given.is_empty() {
            if self.resource_version.is_empty() {
                forbid(
                    &path,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                );
            }
            if !self.continue_token.is_empty() {
                forbid(
                    &path,
                    "resourceVersionMatch is forbidden when continue is provided",
                );
            }
            if !matches!(given, "Exact" | "NotOlderThan") {
                let words = ["Exact", "NotOlderThan", ""];
                faults.push(FieldError::not_supported(&path, &json!(given), &words));
            }
            if given == "Exact" && self.resource_version == "0" {
                let detail =
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                faults.push(FieldError::forbidden(&path, detail));
            }
        }
        if self.send_initial_events.is_some() {
            let path = Path::new("sendInitialEvents");
            let detail = "sendInitialEvents is forbidden for list";
            faults.push(FieldError::forbidden(&path, detail));
        }
        faults
    }
}

/// Options of a get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetOptions {
    /// Version the answer must not be older than, as text.
    pub resource_version: String,
}

impl GetOptions {
    /// Reads the parameters of a get.
    pub fn from_query(query: &Query) -> Result<Self, ApiError> {
        if query.flag("export") == Some(true) {
            return Err(ApiError::bad_request(
                "the export parameter, deprecated since v1.14, is no longer supported",
            ));
        }
        Ok(Self {
            resource_version: query.get("resourceVersion").unwrap_or_default().to_owned(),
        })
    }
}

/// Options of a create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateOptions {
    /// Whether nothing is to be stored.
    pub dry_run: bool,
    /// Who manages the fields; empty when not given.
    pub field_manager: String,
    /// What becomes of unknown fields.
    pub field_validation: FieldValidation,
}

/// Options of an update; the same three as of a create.
pub type UpdateOptions = CreateOptions;

impl CreateOptions {
    /// Reads and checks the parameters of a create.
    pub fn for_create(query: &Query) -> Result<Self, ApiError> {
        Self::read(query, "CreateOptions", Vec::new())
    }

    /// Reads and checks the parameters of an update.
    pub fn for_update(query: &Query) -> Result<Self, ApiError> {
        Self::read(query, "UpdateOptions", Vec::new())
    }

    fn read(query: &Query, kind: &str, mut faults: Vec<FieldError>) -> Result<Self, ApiError> {
        let dry_run: Vec<String> = query.all("dryRun").map(str::to_owned).collect();
        let manager = query.get("fieldManager").unwrap_or_default();
        let validation = query.get("fieldValidation").unwrap_or_default();
        validate::field_manager(manager, &mut faults);
        validate::dry_run(&dry_run, &mut faults);
        validate::field_validation(validation, &mut faults);
        validate::refuse(kind, &faults)?;
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            field_manager: manager.to_owned(),
            field_validation: FieldValidation::of(validation),
        })
    }
}

/// Options of a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchOptions {
    /// What patches share with creates and updates.
    pub write: CreateOptions,
    /// Whether an apply takes fields over from others.
    pub force: bool,
}

impl PatchOptions {
    /// Reads and checks the parameters of a patch.
    pub fn from_query(query: &Query, patch: PatchType) -> Result<Self, ApiError> {
        let mut faults = Vec::new();
        let force = query.flag("force");
        if patch == PatchType::Apply {
            if query.get("fieldManager").unwrap_or_default().is_empty() {
                let path = Path::new("fieldManager");
                faults.push(FieldError::required(&path, "is required for apply patch"));
            }
        } else if force.is_some() {
            let path = Path::new("force");
            let detail = "may not be specified for non-apply patch";
            faults.push(FieldError::forbidden(&path, detail));
        }
        Ok(Self {
            write: CreateOptions::read(query, "PatchOptions", faults)?,
            force: force.unwrap_or(false),
        })
    }
}

/// What an object must be for a delete to go through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// Its uid.
    pub uid: Option<String>,
    /// Its version.
    pub resource_version: Option<String>,
}

/// Options of a delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// How long the object may take to end.
    pub grace_period_seconds: Option<i64>,
    /// What must hold before.
    pub preconditions: Preconditions,
    /// The old switch between orphaning and background deletion.
    pub orphan_dependents: Option<bool>,
    /// `Foreground`, `Background` or `Orphan`.
    pub propagation_policy: Option<String>,
    /// Whether nothing is to be stored.
    pub dry_run: bool,
}

impl DeleteOptions {
    /// Reads and checks the parameters of a delete that has no body.
    pub fn from_query(query: &Query) -> Result<Self, ApiError> {
        let text = |name: &str| {
            let value = query.get(name)?;
            (!value.is_empty()).then(|| value.to_owned())
        };
        let dry_run: Vec<String> = query.all("dryRun").map(str::to_owned).collect();
        let options = Self {
            grace_period_seconds: query
                .number("gracePeriodSeconds")
                .map_err(ApiError::bad_request)?,
            preconditions: Preconditions {
                uid: text("uid"),
                resource_version: text("resourceVersion"),
            },
            orphan_dependents: query.flag("orphanDependents"),
            propagation_policy: query.get("propagationPolicy").map(str::to_owned),
            dry_run: !dry_run.is_empty(),
        };
        options.check(&dry_run)?;
        Ok(options)
    }

    /// Reads and checks a decoded body. A body replaces the query parameters altogether.
    pub fn from_body(body: &Value) -> Result<Self, ApiError> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let wanted = &body["preconditions"];
        let dry_run: Vec<String> = body["dryRun"]
            .as_array()
            .map(|list| list.iter().filter_map(text).collect())
            .unwrap_or_default();
        let options = Self {
            grace_period_seconds: body["gracePeriodSeconds"].as_i64(),
            preconditions: Preconditions {
                uid: text(&wanted["uid"]),
                resource_version: text(&wanted["resourceVersion"]),
            },
            orphan_dependents: body["orphanDependents"].as_bool(),
            propagation_policy: text(&body["propagationPolicy"]),
            dry_run: !dry_run.is_empty(),
        };
        options.check(&dry_run)?;
        Ok(options)
    }

    /// Reads and checks a body in any format; an empty one says nothing.
    pub fn from_bytes(format: BodyFormat, bytes: &[u8]) -> Result<Self, ApiError> {
        let value = decode_options(format, bytes).map_err(ApiError::bad_request)?;
        Self::from_body(&value)
    }

    fn check(&self, dry_run: &[String]) -> Result<(), ApiError> {
        let mut faults = Vec::new();
        let path = Path::new("propagationPolicy");
        if let Some(policy) = &self.propagation_policy {
            if self.orphan_dependents.is_some() {
                let detail = "orphanDependents and deletionPropagation cannot be both set";
                faults.push(FieldError::invalid(&path, &json!(policy), detail));
            }
            let words = ["Foreground", "Background", "Orphan"];
            if !words.contains(&policy.as_str()) {
                let shown = ["Foreground", "Background", "Orphan", "nil"];
                faults.push(FieldError::not_supported(&path, &json!(policy), &shown));
            }
        }
        validate::dry_run(dry_run, &mut faults);
        validate::refuse("DeleteOptions", &faults)
    }
}

fn decode_options(format: BodyFormat, bytes: &[u8]) -> Result<Value, String> {
    let own = GroupVersionKind::new("", "v1", "DeleteOptions");
    let check = |found: &GroupVersionKind| {
        if matches!(found.kind.as_str(), "" | "DeleteOptions") {
            return Ok(());
        }
        Err(format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
            go_quote(&found.kind),
            go_quote(&found.api_version())
        ))
    };
    match format {
        BodyFormat::Json => {
            check(&interpret(bytes)?)?;
            let decoded = gotypes::decode_json(&own, bytes).map_err(|e| e.to_string())?;
            Ok(decoded.value)
        }
        BodyFormat::Yaml => {
            let text = String::from_utf8_lossy(bytes);
            let mut value = yaml::parse(&text).map_err(|e| e.to_string())?;
            check(&interpret(&json::write::to_vec(&value, Layout::Compact))?)?;
            gotypes::decode(&own, &mut value).map_err(|e| e.to_string())?;
            Ok(value)
        }
        BodyFormat::Protobuf => {
            let (found, _) = gotypes::unwrap_protobuf(bytes)?;
            check(&found)?;
            let (_, mut value) = gotypes::decode_protobuf(bytes)?;
            gotypes::decode(&own, &mut value).map_err(|e| e.to_string())?;
            Ok(value)
        }
    }
}

/// How much of each object a Table row carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
    /// Nothing.
    None,
}

/// Options of an answer in table form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// How much of each object a row carries.
    pub include_object: IncludeObject,
}

impl TableOptions {
    /// Reads and checks the parameters.
    pub fn from_query(query: &Query) -> Result<Self, ApiError> {
        let include_object = match query.get("includeObject").unwrap_or_default() {
            "" | "Metadata" => IncludeObject::Metadata,
            "Object" => IncludeObject::Object,
            "None" => IncludeObject::None,
            other => {
                let fault = FieldError::invalid(
                    &Path::new("includeObject"),
                    &json!(other),
                    "must be 'Metadata', 'Object', 'None', or empty",
                );
                return Err(ApiError::bad_request(format!(
                    "Unable to convert to Table as requested: {fault}"
                )));
            }
        };
        Ok(Self { include_object })
    }
}

#[cfg(test)]
mod tests;
