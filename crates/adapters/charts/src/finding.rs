//! Why a chart could not be had, as an entry of the catalogue: G07.

use crate::ChartsError;
use model::{Evidence, Finding, Fix, Remedy};

impl ChartsError {
    /// The catalogue's entry for it.
    pub fn finding(&self) -> Finding {
        let (culprit, advice) = match self {
            Self::Address { url, .. } => (url, "write `https://…` or `oci://…`".to_owned()),
            Self::Unreachable { url, stage, .. } => (url, by_stage(stage).to_owned()),
            Self::Refused { url, .. } => (
                url,
                "give the repository's secret a user and password that may read it".to_owned(),
            ),
            Self::Status { url, .. } => (url, "look at the address with a browser".to_owned()),
            Self::NoChart { chart, nearest, .. } => (chart, alternatives("charts", nearest)),
            Self::NoVersion { chart, known, .. } => (chart, alternatives("versions", known)),
            Self::Digest { url, .. } => (
                url,
                "the archive was replaced after it was published: ask its owner".to_owned(),
            ),
            Self::Malformed { url, .. } => (
                url,
                "this is no chart repository: look at the address".to_owned(),
            ),
            Self::TooLarge { url, .. } => (url, "use a smaller chart".to_owned()),
            Self::LockOutOfSync => return lock(self),
            Self::NoRepository { names } => {
                (names, "register the repository under that name".to_owned())
            }
        };
        Finding {
            culprit: culprit.clone(),
            evidence: vec![Evidence {
                source: culprit.clone(),
                says: self.to_string(),
                place: None,
            }],
            fix: vec![Fix {
                title: advice.clone(),
                how: Remedy::Advice(advice),
                destructive: false,
            }],
            prevent: "commit the charts of charts/ with the chart that needs them".into(),
            ..Finding::new("G07", "helm-dependency", self.to_string())
        }
    }
}

fn lock(error: &ChartsError) -> Finding {
    Finding {
        culprit: "Chart.lock".into(),
        fix: vec![Fix {
            title: "lock the dependencies again and commit Chart.lock".into(),
            how: Remedy::Command("helm dependency update".into()),
            destructive: false,
        }],
        prevent: "commit Chart.yaml and Chart.lock together".into(),
        ..Finding::new("G07", "helm-dependency", error.to_string())
    }
}

fn by_stage(stage: &str) -> &'static str {
    match stage {
        "dns" => "the name is not known here: look at the address and at the DNS of this machine",
        "tcp" => "nothing answers there: look at network policies and firewalls",
        "proxy" => "the proxy did not let us through: look at its address and rules",
        "tls" => {
            "the certificate is not trusted: add its authority to the repository's TLS settings"
        }
        _ => "try again later",
    }
}

fn alternatives(what: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("there are no {what} there at all");
    }
    format!("{what} that exist: {}", names.join(", "))
}
