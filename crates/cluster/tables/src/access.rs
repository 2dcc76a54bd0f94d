//! Who may do what: bindings, certificates, webhooks and admission policies.

use crate::age::human_duration;
use crate::read::{Read, View, cells};
use crate::registry::BuiltIn;
use model::Value;

const BINDING: &str = "Name:name|Role|Age|Users+|Groups+|ServiceAccounts+";
const WEBHOOKS: &str = "Name:name|Webhooks:i|Age";
const POLICY_BINDING: &str = "Name:name|PolicyName|ParamRef|Age";
const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const CERTIFICATES: &str = "certificates.k8s.io";

pub(crate) const KINDS: &[BuiltIn] = &[
    BuiltIn {
        group: RBAC,
        kind: "RoleBinding",
        columns: BINDING,
        cells: binding,
    },
    BuiltIn {
        group: RBAC,
        kind: "ClusterRoleBinding",
        columns: BINDING,
        cells: binding,
    },
    BuiltIn {
        group: CERTIFICATES,
        kind: "CertificateSigningRequest",
        columns: "Name:name|Age|SignerName|Requestor|RequestedDuration|Condition",
        cells: signing_request,
    },
    BuiltIn {
        group: CERTIFICATES,
        kind: "ClusterTrustBundle",
        columns: "Name:name|SignerName",
        cells: |v| cells![v.name(), v.filled("spec.signerName", "<none>")],
    },
    BuiltIn {
        group: CERTIFICATES,
        kind: "PodCertificateRequest",
        columns: "Name:name|PodName|ServiceAccountName|NodeName|SignerName|State|\
                  UnverifiedUserAnnotations",
        cells: pod_certificate,
    },
    BuiltIn {
        group: ADMISSION,
        kind: "MutatingWebhookConfiguration",
        columns: WEBHOOKS,
        cells: |v| cells![v.name(), v.count("webhooks"), v.age()],
    },
    BuiltIn {
        group: ADMISSION,
        kind: "ValidatingWebhookConfiguration",
        columns: WEBHOOKS,
        cells: |v| cells![v.name(), v.count("webhooks"), v.age()],
    },
    BuiltIn {
        group: ADMISSION,
        kind: "ValidatingAdmissionPolicy",
        columns: "Name:name|Validations:i|ParamKind|Age",
        cells: |v| {
            cells![
                v.name(),
                v.count("spec.validations"),
                param_kind(v),
                v.age()
            ]
        },
    },
    BuiltIn {
        group: ADMISSION,
        kind: "MutatingAdmissionPolicy",
        columns: "Name:name|Mutations:i|ParamKind|Age",
        cells: |v| cells![v.name(), v.count("spec.mutations"), param_kind(v), v.age()],
    },
    BuiltIn {
        group: ADMISSION,
        kind: "ValidatingAdmissionPolicyBinding",
        columns: POLICY_BINDING,
        cells: policy_binding,
    },
    BuiltIn {
        group: ADMISSION,
        kind: "MutatingAdmissionPolicyBinding",
        columns: POLICY_BINDING,
        cells: policy_binding,
    },
];

fn binding(v: &View) -> Vec<Value> {
    let subjects = |kind: &str| {
        let found = v.list("subjects").iter().filter(|s| s.text("kind") == kind);
        let names = found.map(|s| match kind {
            "ServiceAccount" => format!("{}/{}", s.text("namespace"), s.text("name")),
            _ => s.text("name").to_owned(),
        });
        names.collect::<Vec<_>>().join(", ")
    };
    cells![
        v.name(),
        format!("{}/{}", v.text("roleRef.kind"), v.text("roleRef.name")),
        v.age(),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

fn signing_request(v: &View) -> Vec<Value> {
    let has = |ty: &str| v.condition(ty).is_some();
    let mut condition = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }
    .to_owned();
    if has("Failed") {
        condition.push_str(",Failed");
    }
    if !v.text("status.certificate").is_empty() {
        condition.push_str(",Issued");
    }
    let seconds = v.at("spec.expirationSeconds").and_then(Value::as_i64);
    cells![
        v.name(),
        v.age(),
        v.filled("spec.signerName", "<none>"),
        v.text("spec.username"),
        seconds.map_or("<none>".into(), |s| human_duration(
            s.saturating_mul(1_000_000)
        )),
        condition,
    ]
}

fn pod_certificate(v: &View) -> Vec<Value> {
    let outcomes = ["Issued", "Denied", "Failed"];
    let conditions = v
        .list("status.conditions")
        .iter()
        .rev()
        .map(|c| c.text("type"));
    let state = conditions
        .into_iter()
        .find(|ty| outcomes.contains(ty))
        .unwrap_or("Pending");
    cells![
        v.name(),
        v.text("spec.podName"),
        v.text("spec.serviceAccountName"),
        v.text("spec.nodeName"),
        v.text("spec.signerName"),
        state,
        v.labels("spec.unverifiedUserAnnotations"),
    ]
}

fn param_kind(v: &View) -> String {
    v.at("spec.paramKind").map_or("<unset>".into(), |kind| {
        format!("{}/{}", kind.text("apiVersion"), kind.text("kind"))
    })
}

fn policy_binding(v: &View) -> Vec<Value> {
    cells![v.name(), v.text("spec.policyName"), param_ref(v), v.age()]
}

fn param_ref(v: &View) -> String {
    let name = v.text("spec.paramRef.name");
    if !name.is_empty() {
        return format!("{}/{name}", v.filled("spec.paramRef.namespace", "*"));
    }
    v.at("spec.paramRef.selector")
        .map_or("<unset>".into(), go_selector)
}

/// A label selector as Go prints the struct.
fn go_selector(selector: &Value) -> String {
    let labels = selector.at("matchLabels").and_then(Value::as_object);
    let mut text = "&LabelSelector{MatchLabels:map[string]string{".to_owned();
    for (key, value) in labels.into_iter().flatten() {
        text.push_str(&format!("{key}: {},", value.as_str().unwrap_or("")));
    }
    text.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
    for expression in selector.list("matchExpressions") {
        text.push_str(&format!(
            "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
            expression.text("key"),
            expression.text("operator"),
            expression.texts("values").join(" "),
        ));
    }
    text.push_str("},}");
    text
}
