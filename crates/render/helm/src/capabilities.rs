//! What a chart may know about the cluster: its version and the APIs it serves.

use crate::Flavour;
use version::Version;

/// What `.Capabilities` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The version of Kubernetes.
    pub kube_version: KubeVersion,
    /// What is served: `apps/v1`, and with a cluster also `apps/v1/Deployment`.
    pub api_versions: Vec<String>,
    /// The version of Helm that charts believe to run under.
    pub helm_version: HelmVersion,
}

/// A version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeVersion {
    /// The whole of it, as in `v1.32.0`.
    pub version: String,
    /// Without what vendors append; charts' ranges are compared with it.
    pub normalized: String,
    /// The first number.
    pub major: String,
    /// The second number.
    pub minor: String,
}

/// A build of Helm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelmVersion {
    /// As in `v3.17.3`.
    pub version: String,
    /// The commit; empty when it is not known.
    pub git_commit: String,
    /// `clean` or `dirty`.
    pub git_tree_state: String,
    /// The version of Go it was built with.
    pub go_version: String,
    /// The Kubernetes it was built for; Helm 4 only.
    pub kube_client_version: String,
}

impl Capabilities {
    /// What `helm template` assumes without a cluster.
    pub fn offline(flavour: Flavour) -> Self {
        let (minor, known): (&str, &[&str]) = match flavour {
            Flavour::V3 => ("32", &KNOWN_V3),
            Flavour::V4 => ("36", &KNOWN_V4),
        };
        let version = format!("v1.{minor}.0");
        Self {
            kube_version: KubeVersion {
                version: version.clone(),
                normalized: version,
                major: "1".into(),
                minor: minor.into(),
            },
            api_versions: known.iter().map(|version| (*version).to_owned()).collect(),
            helm_version: HelmVersion::of(flavour),
        }
    }
}

impl HelmVersion {
    fn of(flavour: Flavour) -> Self {
        let (version, client) = match flavour {
            Flavour::V3 => ("v3.17.3", ""),
            Flavour::V4 => ("v4.2.4", "v1.36"),
        };
        Self {
            version: version.into(),
            git_commit: String::new(),
            git_tree_state: "clean".into(),
            go_version: "go1.26.8".into(),
            kube_client_version: client.into(),
        }
    }
}

impl KubeVersion {
    /// Reads `--kube-version`; the error is what Helm says.
    pub fn parse(text: &str, flavour: Flavour) -> Result<Self, String> {
        let fault = |why: String| format!("invalid kube version '{text}': {why}");
        match flavour {
            Flavour::V3 => {
                let version = Version::parse(text).map_err(|error| fault(error.to_string()))?;
                let full = format!("v{version}");
                Ok(Self {
                    normalized: full.clone(),
                    version: full,
                    major: version.major.to_string(),
                    minor: version.minor.to_string(),
                })
            }
            Flavour::V4 => Self::generic(text)
                .ok_or_else(|| fault(format!("could not parse \"{text}\" as version"))),
        }
    }

    // Two or three numbers with anything behind them.
    fn generic(text: &str) -> Option<Self> {
        let plain = text.trim().strip_prefix('v').unwrap_or(text.trim());
        let end = plain
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(plain.len());
        let numbers: Vec<&str> = plain[..end].trim_end_matches('.').split('.').collect();
        let fits = |n: &&str| !n.is_empty() && (n.len() == 1 || !n.starts_with('0'));
        if !(2..=3).contains(&numbers.len()) || !numbers.iter().all(fits) {
            return None;
        }
        let version = if text.starts_with('v') {
            text.to_owned()
        } else {
            format!("v{text}")
        };
        let normalized = numbers.join(".");
        Some(Self {
            version,
            normalized: format!("v{normalized}"),
            major: numbers[0].to_owned(),
            minor: numbers[1].to_owned(),
        })
    }
}

// What Helm 3.17 takes to be served when nobody says.
const KNOWN_V3: [&str; 56] = [
    "v1",
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "internal.apiserver.k8s.io/v1alpha1",
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1",
    "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1",
    "authorization.k8s.io/v1beta1",
    "autoscaling/v1",
    "autoscaling/v2",
    "autoscaling/v2beta1",
    "autoscaling/v2beta2",
    "batch/v1",
    "batch/v1beta1",
    "certificates.k8s.io/v1",
    "certificates.k8s.io/v1beta1",
    "certificates.k8s.io/v1alpha1",
    "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1alpha1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1",
    "rbac.authorization.k8s.io/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1alpha1",
    "scheduling.k8s.io/v1beta1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1beta1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1",
    "storagemigration.k8s.io/v1alpha1",
    "apiextensions.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
];

// What Helm 4.2 takes to be served when nobody says.
const KNOWN_V4: [&str; 55] = [
    "v1",
    "admissionregistration.k8s.io/v1",
    "admissionregistration.k8s.io/v1alpha1",
    "admissionregistration.k8s.io/v1beta1",
    "internal.apiserver.k8s.io/v1alpha1",
    "apps/v1",
    "apps/v1beta1",
    "apps/v1beta2",
    "authentication.k8s.io/v1",
    "authentication.k8s.io/v1alpha1",
    "authentication.k8s.io/v1beta1",
    "authorization.k8s.io/v1",
    "authorization.k8s.io/v1beta1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "batch/v1beta1",
    "certificates.k8s.io/v1",
    "certificates.k8s.io/v1beta1",
    "certificates.k8s.io/v1alpha1",
    "coordination.k8s.io/v1alpha2",
    "coordination.k8s.io/v1beta1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "discovery.k8s.io/v1beta1",
    "events.k8s.io/v1",
    "events.k8s.io/v1beta1",
    "extensions/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "networking.k8s.io/v1",
    "networking.k8s.io/v1beta1",
    "node.k8s.io/v1",
    "node.k8s.io/v1alpha1",
    "node.k8s.io/v1beta1",
    "policy/v1",
    "policy/v1beta1",
    "rbac.authorization.k8s.io/v1",
    "rbac.authorization.k8s.io/v1beta1",
    "rbac.authorization.k8s.io/v1alpha1",
    "resource.k8s.io/v1",
    "resource.k8s.io/v1beta2",
    "resource.k8s.io/v1beta1",
    "resource.k8s.io/v1alpha3",
    "scheduling.k8s.io/v1alpha2",
    "scheduling.k8s.io/v1beta1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1beta1",
    "storage.k8s.io/v1",
    "storage.k8s.io/v1alpha1",
    "storagemigration.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1beta1",
    "apiextensions.k8s.io/v1",
];
