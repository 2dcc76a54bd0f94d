//! The built-in table of fields: where labels, annotations, images, names and variables stand in
//! Kubernetes' own kinds.

use super::{Config, NameReference};
use crate::fieldspec::FieldSpec;
use crate::id::Gvk;

// Kinds with a pod inside, and where it is.
const POD: (&str, &str) = ("Pod", "spec");
const POD_TEMPLATE: (&str, &str) = ("PodTemplate", "template/spec");
const WORKLOADS: [&str; 5] = [
    "Deployment",
    "ReplicaSet",
    "DaemonSet",
    "StatefulSet",
    "Job",
];
const TEMPLATE: &str = "spec/template/spec";
const CRON: (&str, &str) = ("CronJob", "spec/jobTemplate/spec/template/spec");

pub(super) fn config() -> Config {
    let mut config = Config {
        name_prefix: vec![FieldSpec::of_all("metadata/name", false)],
        name_suffix: vec![FieldSpec::of_all("metadata/name", false)],
        namespace: table(NAMESPACE),
        common_labels: common_labels(),
        labels: Vec::new(),
        template_labels: table(METADATA_LABELS),
        common_annotations: table(ANNOTATIONS),
        name_reference: name_references(),
        var_reference: var_references(),
        images: images(),
        replicas: table(REPLICAS),
    };
    config.sort();
    config
}

// Lines of `group version kind path`, each of the first three `-` when it does not matter; a `+`
// in front of the path makes the field where it is missing.
fn table(text: &str) -> Vec<FieldSpec> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(line)
        .collect()
}

fn line(line: &str) -> FieldSpec {
    let mut words = line
        .split(' ')
        .map(|word| if word == "-" { "" } else { word });
    let mut word = || words.next().unwrap_or("").to_owned();
    let gvk = Gvk {
        group: word(),
        version: word(),
        kind: word(),
    };
    let path = word();
    match path.strip_prefix('+') {
        Some(path) => FieldSpec::new(gvk, path, true),
        None => FieldSpec::new(gvk, &path, false),
    }
}

const NAMESPACE: &str = "
- - Namespace +metadata/name
apiregistration.k8s.io - APIService +spec/service/namespace
apiextensions.k8s.io - CustomResourceDefinition spec/conversion/webhook/clientConfig/service/namespace";

const METADATA_LABELS: &str = "
- - - +metadata/labels
- v1 ReplicationController +spec/template/metadata/labels
- - Deployment +spec/template/metadata/labels
- - ReplicaSet +spec/template/metadata/labels
- - DaemonSet +spec/template/metadata/labels
apps - StatefulSet +spec/template/metadata/labels
apps - StatefulSet +spec/volumeClaimTemplates[]/metadata/labels
batch - Job +spec/template/metadata/labels
batch - CronJob +spec/jobTemplate/metadata/labels
batch - CronJob +spec/jobTemplate/spec/template/metadata/labels";

const SELECTORS: &str = "
- v1 Service +spec/selector
- v1 ReplicationController +spec/selector
- - Deployment +spec/selector/matchLabels
- - ReplicaSet +spec/selector/matchLabels
- - DaemonSet +spec/selector/matchLabels
apps - StatefulSet +spec/selector/matchLabels
batch - Job spec/selector/matchLabels
batch - CronJob spec/jobTemplate/spec/selector/matchLabels
policy - PodDisruptionBudget spec/selector/matchLabels
networking.k8s.io - NetworkPolicy spec/podSelector/matchLabels
networking.k8s.io - NetworkPolicy spec/ingress/from/podSelector/matchLabels
networking.k8s.io - NetworkPolicy spec/egress/to/podSelector/matchLabels";

const ANNOTATIONS: &str = "
- - - +metadata/annotations
- v1 ReplicationController +spec/template/metadata/annotations
- - Deployment +spec/template/metadata/annotations
- - ReplicaSet +spec/template/metadata/annotations
- - DaemonSet +spec/template/metadata/annotations
- - StatefulSet +spec/template/metadata/annotations
batch - Job +spec/template/metadata/annotations
batch - CronJob +spec/jobTemplate/metadata/annotations
batch - CronJob +spec/jobTemplate/spec/template/metadata/annotations";

const REPLICAS: &str = "
- - Deployment +spec/replicas
- - ReplicationController +spec/replicas
- - ReplicaSet +spec/replicas
- - StatefulSet +spec/replicas";

fn common_labels() -> Vec<FieldSpec> {
    let mut specs = table(SELECTORS);
    for kind in ["Deployment", "StatefulSet"] {
        let gvk = Gvk {
            group: "apps".into(),
            version: String::new(),
            kind: kind.into(),
        };
        for side in ["podAffinity", "podAntiAffinity"] {
            for inner in [
                "preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector",
                "requiredDuringSchedulingIgnoredDuringExecution/labelSelector",
            ] {
                let path = format!("{TEMPLATE}/affinity/{side}/{inner}/matchLabels");
                specs.push(FieldSpec::new(gvk.clone(), &path, false));
            }
        }
        let path = format!("{TEMPLATE}/topologySpreadConstraints/labelSelector/matchLabels");
        specs.push(FieldSpec::new(gvk, &path, false));
    }
    specs.extend(table(METADATA_LABELS));
    specs
}

fn images() -> Vec<FieldSpec> {
    let mut specs = Vec::new();
    for place in ["spec", TEMPLATE] {
        for field in [
            "containers[]/image",
            "initContainers[]/image",
            "volumes[]/image/reference",
        ] {
            specs.push(FieldSpec::of_all(&format!("{place}/{field}"), true));
        }
    }
    specs
}

fn of_kind(kind: &str, path: &str) -> FieldSpec {
    FieldSpec::new(Gvk::of("", kind), path, false)
}

// Fields of pods, in all kinds that have one.
fn in_pods(fields: &[&str], cron: &[&str]) -> Vec<FieldSpec> {
    let mut specs = Vec::new();
    for field in fields {
        let path = format!("{}/{field}", POD.1);
        specs.push(FieldSpec::new(Gvk::of("v1", POD.0), &path, false));
        specs.push(of_kind(
            POD_TEMPLATE.0,
            &format!("{}/{field}", POD_TEMPLATE.1),
        ));
        for kind in WORKLOADS {
            specs.push(of_kind(kind, &format!("{TEMPLATE}/{field}")));
        }
    }
    for field in fields.iter().chain(cron) {
        specs.push(of_kind(CRON.0, &format!("{}/{field}", CRON.1)));
    }
    specs
}

fn name_references() -> Vec<NameReference> {
    let mut all = Vec::new();
    for kind in [
        "Deployment",
        "ReplicationController",
        "ReplicaSet",
        "StatefulSet",
    ] {
        all.push(NameReference {
            gvk: Gvk::of("", kind),
            referrers: vec![of_kind(
                "HorizontalPodAutoscaler",
                "spec/scaleTargetRef/name",
            )],
        });
    }
    all.push(config_maps());
    all.push(secrets());
    let mut plain = |version: &str, kind: &str, lines: &str| {
        all.push(NameReference {
            gvk: Gvk::of(version, kind),
            referrers: table(lines),
        });
    };
    plain("v1", "Service", SERVICES);
    plain(
        "rbac.authorization.k8s.io/",
        "Role",
        "rbac.authorization.k8s.io - RoleBinding roleRef/name",
    );
    plain(
        "rbac.authorization.k8s.io/",
        "ClusterRole",
        "rbac.authorization.k8s.io - RoleBinding roleRef/name
         rbac.authorization.k8s.io - ClusterRoleBinding roleRef/name",
    );
    plain("v1", "ServiceAccount", ACCOUNTS);
    plain("v1", "PersistentVolumeClaim", CLAIMS);
    plain(
        "v1",
        "PersistentVolume",
        "- - PersistentVolumeClaim spec/volumeName
         - - ClusterRole rules/resourceNames",
    );
    plain(
        "storage.k8s.io/v1",
        "StorageClass",
        "- - PersistentVolume spec/storageClassName
         - - PersistentVolumeClaim spec/storageClassName
         - - StatefulSet spec/volumeClaimTemplates/spec/storageClassName",
    );
    plain("scheduling.k8s.io/v1", "PriorityClass", PRIORITIES);
    plain(
        "admissionregistration.k8s.io/",
        "ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io - ValidatingAdmissionPolicyBinding spec/policyName",
    );
    // The real program has the version in the group here, so that it never matches.
    all.push(NameReference {
        gvk: Gvk {
            group: "networking.k8s.io/v1".into(),
            version: "v1".into(),
            kind: "IngressClass".into(),
        },
        referrers: vec![of_kind("Ingress", "spec/ingressClassName")],
    });
    all
}

fn config_maps() -> NameReference {
    let fields = [
        "volumes/configMap/name",
        "containers/env/valueFrom/configMapKeyRef/name",
        "initContainers/env/valueFrom/configMapKeyRef/name",
        "containers/envFrom/configMapRef/name",
        "initContainers/envFrom/configMapRef/name",
        "volumes/projected/sources/configMap/name",
    ];
    let mut referrers = in_pods(&fields, &[]);
    referrers.extend(table(
        r"- - Node spec/configSource/configMap
          - - Role rules/resourceNames
          - - ClusterRole rules/resourceNames
          - - Ingress metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap",
    ));
    NameReference {
        gvk: Gvk::of("v1", "ConfigMap"),
        referrers,
    }
}

fn secrets() -> NameReference {
    let fields = [
        "volumes/secret/secretName",
        "containers/env/valueFrom/secretKeyRef/name",
        "initContainers/env/valueFrom/secretKeyRef/name",
        "containers/envFrom/secretRef/name",
        "initContainers/envFrom/secretRef/name",
        "imagePullSecrets/name",
        "volumes/projected/sources/secret/name",
    ];
    let mut referrers = in_pods(&fields, &[]);
    referrers.extend(table(
        r"- - Ingress spec/tls/secretName
          - - Ingress metadata/annotations/ingress.kubernetes.io\/auth-secret
          - - Ingress metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret
          - - Ingress metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret
          - - ServiceAccount imagePullSecrets/name
          - - StorageClass parameters/secretName
          - - StorageClass parameters/adminSecretName
          - - StorageClass parameters/userSecretName
          - - StorageClass parameters/secretRef
          - - Role rules/resourceNames
          - - ClusterRole rules/resourceNames
          serving.knative.dev v1 Service spec/template/spec/containers/env/valueFrom/secretKeyRef/name
          - - PersistentVolume spec/azureFile/secretName",
    ));
    NameReference {
        gvk: Gvk::of("v1", "Secret"),
        referrers,
    }
}

const SERVICES: &str = "
apps - StatefulSet spec/serviceName
- - Ingress spec/rules/http/paths/backend/serviceName
- - Ingress spec/backend/serviceName
- - Ingress spec/rules/http/paths/backend/service/name
- - Ingress spec/defaultBackend/service/name
apiregistration.k8s.io - APIService spec/service/name
admissionregistration.k8s.io - ValidatingWebhookConfiguration webhooks/clientConfig/service
admissionregistration.k8s.io - MutatingWebhookConfiguration webhooks/clientConfig/service";

const ACCOUNTS: &str = "
rbac.authorization.k8s.io - RoleBinding subjects
rbac.authorization.k8s.io - ClusterRoleBinding subjects
- - Pod spec/serviceAccountName
- - StatefulSet spec/template/spec/serviceAccountName
- - Deployment spec/template/spec/serviceAccountName
- - ReplicationController spec/template/spec/serviceAccountName
- - CronJob spec/jobTemplate/spec/template/spec/serviceAccountName
- - Job spec/template/spec/serviceAccountName
- - DaemonSet spec/template/spec/serviceAccountName";

const CLAIMS: &str = "
- - Pod spec/volumes/persistentVolumeClaim/claimName
- - StatefulSet spec/template/spec/volumes/persistentVolumeClaim/claimName
- - Deployment spec/template/spec/volumes/persistentVolumeClaim/claimName
- - ReplicationController spec/template/spec/volumes/persistentVolumeClaim/claimName
- - CronJob spec/jobTemplate/spec/template/spec/volumes/persistentVolumeClaim/claimName
- - Job spec/template/spec/volumes/persistentVolumeClaim/claimName
- - DaemonSet spec/template/spec/volumes/persistentVolumeClaim/claimName";

const PRIORITIES: &str = "
- - Pod spec/priorityClassName
- - StatefulSet spec/template/spec/priorityClassName
- - Deployment spec/template/spec/priorityClassName
- - ReplicationController spec/template/spec/priorityClassName
- - CronJob spec/jobTemplate/spec/template/spec/priorityClassName
- - Job spec/template/spec/priorityClassName
- - DaemonSet spec/template/spec/priorityClassName";

fn var_references() -> Vec<FieldSpec> {
    const FIELDS: [&str; 4] = ["args", "command", "env/value", "volumeMounts/mountPath"];
    let mut specs = Vec::new();
    let mut places: Vec<(&str, &str)> = WORKLOADS.iter().map(|kind| (*kind, TEMPLATE)).collect();
    places.extend([POD, CRON]);
    for (kind, place) in places {
        for group in ["containers", "initContainers"] {
            for field in FIELDS {
                specs.push(of_kind(kind, &format!("{place}/{group}/{field}")));
            }
        }
    }
    specs.extend(table(
        "- - CronJob spec/jobTemplate/spec/template/volumes/nfs/server
         - - DaemonSet spec/template/spec/volumes/nfs/server
         - - Deployment spec/template/spec/volumes/nfs/server
         - - Job spec/template/spec/volumes/nfs/server
         - - ReplicaSet spec/template/spec/volumes/nfs/server
         - - Pod spec/volumes/nfs/server
         - - StatefulSet spec/volumeClaimTemplates/spec/nfs/server
         - - PersistentVolume spec/nfs/server
         - - Deployment spec/template/metadata/annotations
         - - Ingress spec/rules/host
         - - Ingress spec/tls/hosts
         - - Ingress spec/tls/secretName
         - - Service spec/ports/port
         - - Service spec/ports/targetPort
         - - - metadata/labels
         - - - metadata/annotations",
    ));
    specs
}
