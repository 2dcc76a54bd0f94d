//! One table row per built-in kind: which functions and plain facts make it special.

use crate::fault::Faults;
use crate::{
    Endpoint, Fresh, ScaleInfo, autoscaler, batch, budget, certificates, claim, cluster, config,
    endpoints, event, flow, ingress, network, pod, policy, quota, rbac, registration, scheduling,
    service, storage, volume, webhook, workload,
};
use model::{GroupVersionKind, Value, names};

/// What is special about one kind. [`PLAIN`] is a kind without anything special.
pub(crate) struct Rules {
    /// Fills defaults, at the given version.
    pub(crate) default: fn(&mut Value, &str),
    /// Changes a new object before it is validated; status and generation are done already.
    pub(crate) create: fn(&mut Value, &Fresh<'_>),
    /// Changes an update before it is validated; status, spec and generation are done already
    /// except that the generation is compared afterwards.
    pub(crate) update: fn(&mut Value, &Value, Endpoint, &Fresh<'_>),
    /// Finds the faults of a new object.
    pub(crate) check: fn(&Value, &mut Faults),
    /// Finds the faults of an update.
    pub(crate) check_update: fn(&Value, &Value, Endpoint, &mut Faults),
    /// Adds warnings.
    pub(crate) warn: fn(&Value, Option<&Value>, &mut Vec<String>),
    /// Field selector labels beyond name and namespace.
    pub(crate) select: fn(&Value) -> Vec<(&'static str, String)>,
    /// The rule for names.
    pub(crate) name: Name,
    /// The status of a new object as JSON text, for kinds that have one.
    pub(crate) status: Option<&'static str>,
    /// Which fields move the generation; none for kinds without generation.
    pub(crate) generation: &'static [&'static str],
    /// What the status endpoint keeps of the metadata.
    pub(crate) status_keeps: Keeps,
    /// Whether a new object may bring its status along.
    pub(crate) keeps_new_status: bool,
    /// How an update checks the metadata once more.
    pub(crate) recheck: Recheck,
    /// Whether a PUT of a missing object creates it.
    pub(crate) create_on_update: bool,
    /// Whether a PUT may leave out the resource version.
    pub(crate) unconditional: bool,
    /// Where replicas are, for kinds with a scale endpoint.
    pub(crate) scale: Option<ScaleInfo>,
}

/// The generation of kinds that have one which never moves.
pub(crate) const FIXED: &[&str] = &[""];

/// How the update of a kind checks metadata, beyond what all updates check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recheck {
    /// Not at all.
    Not,
    /// As the metadata of an update, first of all.
    AsUpdate,
    /// As the metadata of an update and then as that of a new object, first of all.
    Both,
    /// As the metadata of a new object, first of all.
    AsNew,
    /// As the metadata of a new object first of all, as that of an update last of all.
    Around,
}

/// What a status update keeps of the old metadata.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Nothing: metadata can be changed there.
    Nothing,
    /// The labels.
    Labels,
    /// The owners and the deletion time, as pods do.
    Owners,
    /// All of it but the managed fields.
    All,
}

/// Rules for names.
#[derive(Clone, Copy)]
pub(crate) enum Name {
    /// RFC 1123 subdomain.
    Subdomain,
    /// RFC 1123 label.
    Label,
    /// URL path segment.
    Segment,
    /// A rule of the kind's own; the flag says that the text is only a prefix.
    Own(fn(&str, bool) -> Vec<String>),
}

impl Name {
    /// What is wrong with a name, or with the prefix of one.
    pub(crate) fn faults(self, name: &str, prefix: bool) -> Vec<String> {
        let masked;
        let text = if prefix && name.len() > 1 && name.ends_with('-') {
            masked = format!("{}a", &name[..floor(name, name.len() - 2)]);
            masked.as_str()
        } else {
            name
        };
        match self {
            Self::Subdomain => names::dns1123_subdomain(text),
            Self::Label => names::dns1123_label(text),
            Self::Segment => segment(name, prefix),
            Self::Own(rule) => rule(name, prefix),
        }
    }
}

fn floor(text: &str, mut index: usize) -> usize {
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// What keeps a text from being a path segment, or the start of one.
pub(crate) fn segment(name: &str, prefix: bool) -> Vec<String> {
    if prefix && matches!(name, "." | "..") {
        return Vec::new();
    }
    names::path_segment(name)
}

fn nothing(_: &Value) -> Vec<(&'static str, String)> {
    Vec::new()
}

/// A kind without anything special.
pub(crate) const PLAIN: Rules = Rules {
    default: |_, _| {},
    create: |_, _| {},
    update: |_, _, _, _| {},
    check: |_, _| {},
    check_update: |_, _, _, _| {},
    warn: |_, _, _| {},
    select: nothing,
    name: Name::Subdomain,
    status: None,
    generation: &[],
    status_keeps: Keeps::Nothing,
    keeps_new_status: false,
    recheck: Recheck::AsUpdate,
    create_on_update: false,
    unconditional: true,
    scale: None,
};

static PLAIN_ROW: Rules = PLAIN;

/// Whether a kind is one of those with a row.
pub(crate) fn is_built_in(gvk: &GroupVersionKind) -> bool {
    !std::ptr::eq(of(gvk), &raw const PLAIN_ROW)
}

/// The row of a kind; a plain one for kinds that are not built in.
pub(crate) fn of(gvk: &GroupVersionKind) -> &'static Rules {
    let kind = gvk.kind.as_str();
    match gvk.group.as_str() {
        "" => core(kind),
        "apps" => apps(kind),
        "batch" => match kind {
            "Job" => &batch::JOB,
            "CronJob" => &batch::CRON_JOB,
            _ => &PLAIN_ROW,
        },
        "autoscaling" if kind == "HorizontalPodAutoscaler" => &autoscaler::AUTOSCALER,
        "policy" if kind == "PodDisruptionBudget" => &budget::BUDGET,
        "networking.k8s.io" => networking(kind),
        "rbac.authorization.k8s.io" => match kind {
            "Role" => &rbac::ROLE,
            "ClusterRole" => &rbac::CLUSTER_ROLE,
            "RoleBinding" => &rbac::ROLE_BINDING,
            "ClusterRoleBinding" => &rbac::CLUSTER_ROLE_BINDING,
            _ => &PLAIN_ROW,
        },
        "storage.k8s.io" => storing(kind),
        "scheduling.k8s.io" if kind == "PriorityClass" => &scheduling::PRIORITY_CLASS,
        "node.k8s.io" if kind == "RuntimeClass" => &scheduling::RUNTIME_CLASS,
        "coordination.k8s.io" if kind == "Lease" => &scheduling::LEASE,
        "discovery.k8s.io" if kind == "EndpointSlice" => &endpoints::SLICE,
        "events.k8s.io" if kind == "Event" => &event::NEW_EVENT,
        "admissionregistration.k8s.io" => admitting(kind),
        "apiregistration.k8s.io" if kind == "APIService" => &registration::API_SERVICE,
        "certificates.k8s.io" if kind == "CertificateSigningRequest" => {
            &certificates::SIGNING_REQUEST
        }
        "flowcontrol.apiserver.k8s.io" => match kind {
            "FlowSchema" => &flow::FLOW_SCHEMA,
            "PriorityLevelConfiguration" => &flow::PRIORITY_LEVEL,
            _ => &PLAIN_ROW,
        },
        "resource.k8s.io" => match kind {
            "ResourceClaim" => &scheduling::DEVICE_CLAIM,
            "ResourceClaimTemplate" => &scheduling::DEVICE_CLAIM_TEMPLATE,
            "DeviceClass" => &scheduling::DEVICE_CLASS,
            _ => &PLAIN_ROW,
        },
        _ => &PLAIN_ROW,
    }
}

fn core(kind: &str) -> &'static Rules {
    match kind {
        "Pod" => &pod::POD,
        "ConfigMap" => &config::CONFIG_MAP,
        "Secret" => &config::SECRET,
        "Event" => &event::EVENT,
        "Service" => &service::SERVICE,
        "ServiceAccount" => &config::SERVICE_ACCOUNT,
        "Namespace" => &cluster::NAMESPACE,
        "Node" => &cluster::NODE,
        "Endpoints" => &endpoints::ENDPOINTS,
        "PersistentVolumeClaim" => &claim::CLAIM,
        "PersistentVolume" => &volume::VOLUME,
        "PodTemplate" => &pod::POD_TEMPLATE,
        "ReplicationController" => &workload::REPLICATION_CONTROLLER,
        "LimitRange" => &quota::LIMIT_RANGE,
        "ResourceQuota" => &quota::RESOURCE_QUOTA,
        _ => &PLAIN_ROW,
    }
}

fn apps(kind: &str) -> &'static Rules {
    match kind {
        "Deployment" => &workload::DEPLOYMENT,
        "ReplicaSet" => &workload::REPLICA_SET,
        "StatefulSet" => &workload::STATEFUL_SET,
        "DaemonSet" => &workload::DAEMON_SET,
        "ControllerRevision" => &scheduling::REVISION,
        _ => &PLAIN_ROW,
    }
}

fn networking(kind: &str) -> &'static Rules {
    match kind {
        "Ingress" => &ingress::INGRESS,
        "IngressClass" => &ingress::INGRESS_CLASS,
        "NetworkPolicy" => &network::NETWORK_POLICY,
        "IPAddress" => &network::IP_ADDRESS,
        "ServiceCIDR" => &network::SERVICE_CIDR,
        _ => &PLAIN_ROW,
    }
}

fn storing(kind: &str) -> &'static Rules {
    match kind {
        "StorageClass" => &storage::STORAGE_CLASS,
        "CSIDriver" => &storage::CSI_DRIVER,
        "CSINode" => &storage::CSI_NODE,
        "CSIStorageCapacity" => &storage::STORAGE_CAPACITY,
        "VolumeAttachment" => &storage::ATTACHMENT,
        "VolumeAttributesClass" => &storage::ATTRIBUTES_CLASS,
        _ => &PLAIN_ROW,
    }
}

fn admitting(kind: &str) -> &'static Rules {
    match kind {
        "ValidatingWebhookConfiguration" => &webhook::VALIDATING,
        "MutatingWebhookConfiguration" => &webhook::MUTATING,
        "ValidatingAdmissionPolicy" => &policy::VALIDATING,
        "ValidatingAdmissionPolicyBinding" => &policy::VALIDATING_BINDING,
        "MutatingAdmissionPolicy" => &policy::MUTATING,
        "MutatingAdmissionPolicyBinding" => &policy::MUTATING_BINDING,
        _ => &PLAIN_ROW,
    }
}
