//! Whether a container's image can be had: names, pull policies, and registries that refuse.

use crate::act::EventType::{Normal, Warning};
use crate::behaviour::Behaviour;
use crate::life::{BACK_OFF_FIRST, BACK_OFF_MAX, ContainerLife};
use crate::spec::{Container, later, seconds};
use crate::turn::Turn;
use model::{Timestamp, meta};

/// How long `ErrImagePull` stands before the container is seen to back off.
const ERROR_SHOWN: i64 = 2;

/// Makes sure the image is there; otherwise the container waits and this is false.
pub(crate) fn ensure(
    turn: &mut Turn<'_>,
    container: &Container<'_>,
    life: &mut ContainerLife,
    behaviour: Option<&Behaviour>,
) -> bool {
    let image = container.image();
    if let Some(fault) = fault(image) {
        let message = format!(
            "Failed to apply default image tag {image:?}: couldn't parse image name {image:?}: invalid reference format{fault}"
        );
        turn.event(container, Warning, "InspectFailed", message.clone());
        turn.event(container, Warning, "Failed", "Error: InvalidImageName");
        life.wait("InvalidImageName", message);
        life.retry = Some(later(turn.now, seconds(BACK_OFF_FIRST)));
        return false;
    }
    let refusal = behaviour.and_then(|b| b.refusal(life.pull.failures));
    match (refusal, policy(container)) {
        (None, "Always") => {
            turn.event(
                container,
                Normal,
                "Pulling",
                format!("Pulling image {image:?}"),
            );
            let message = format!(
                "Successfully pulled image {image:?} in 0s (0s including waiting). Image size: 0 bytes."
            );
            turn.event(container, Normal, "Pulled", message);
            true
        }
        (None, _) => {
            let message = format!(
                "Container image {image:?} already present on machine and can be accessed by the pod"
            );
            turn.event(container, Normal, "Pulled", message);
            true
        }
        (Some(_), "Never") => {
            let message =
                format!("Container image {image:?} is not present with pull policy of Never");
            turn.event(container, Warning, "ErrImageNeverPull", message.clone());
            turn.event(container, Warning, "Failed", "Error: ErrImageNeverPull");
            life.wait("ErrImageNeverPull", message);
            life.retry = Some(later(turn.now, seconds(BACK_OFF_FIRST)));
            false
        }
        (Some(answer), _) => {
            let error = pull_error(image, answer);
            refuse(turn, container, life, error);
            false
        }
    }
}

fn refuse(turn: &mut Turn<'_>, container: &Container<'_>, life: &mut ContainerLife, error: String) {
    let image = container.image();
    if let Some(until) = life.pull.until {
        // The error has been shown: from here on the container backs off.
        let message = format!("Back-off pulling image {image:?}");
        turn.event(container, Normal, "BackOff", message.clone());
        turn.event(container, Warning, "Failed", "Error: ImagePullBackOff");
        life.wait(
            "ImagePullBackOff",
            format!("{message}: ErrImagePull: {}", life.pull.error),
        );
        life.retry = Some(until);
        return;
    }
    turn.event(
        container,
        Normal,
        "Pulling",
        format!("Pulling image {image:?}"),
    );
    let message = format!("Failed to pull image {image:?}: {error}");
    turn.event(container, Warning, "Failed", message);
    turn.event(container, Warning, "Failed", "Error: ErrImagePull");
    life.wait("ErrImagePull", error.clone());
    life.pull.error = error;
    life.pull.delay = match life.pull.delay {
        0 => BACK_OFF_FIRST,
        delay => (delay * 2).min(BACK_OFF_MAX),
    };
    life.pull.until = Some(later(turn.now, seconds(life.pull.delay)));
    life.retry = Some(later(turn.now, seconds(ERROR_SHOWN)));
}

/// Notes that the next pull is a new one, when the wait since the last is over.
pub(crate) fn next_pull(life: &mut ContainerLife, now: Timestamp) {
    if life.pull.until.is_some_and(|until| until <= now) {
        life.pull.failures = life.pull.failures.saturating_add(1);
        life.pull.until = None;
    }
}

fn policy<'a>(container: &Container<'a>) -> &'a str {
    match meta::text_at(container.value, "/imagePullPolicy") {
        "" => "IfNotPresent",
        policy => policy,
    }
}

fn pull_error(image: &str, answer: &str) -> String {
    let full = normal(image);
    match answer {
        "not found" => format!(
            "rpc error: code = NotFound desc = failed to pull and unpack image {full:?}: \
             failed to resolve reference {full:?}: {full}: not found"
        ),
        "unauthorized" | "denied" => format!(
            "failed to pull and unpack image {full:?}: failed to resolve reference {full:?}: \
             pull access denied, repository does not exist or may require authorization: \
             server message: insufficient_scope: authorization failed"
        ),
        other => format!(
            "failed to pull and unpack image {full:?}: failed to resolve reference {full:?}: {other}"
        ),
    }
}

/// An image's name with its registry and its tag.
pub(crate) fn normal(image: &str) -> String {
    let (path, tag) = split(image);
    let tag = if tag.is_empty() { ":latest" } else { tag };
    let registry = path.split('/').next().unwrap_or("");
    let has_registry =
        path.contains('/') && (registry.contains(['.', ':']) || registry == "localhost");
    match (has_registry, path.contains('/')) {
        (true, _) => format!("{path}{tag}"),
        (false, true) => format!("docker.io/{path}{tag}"),
        (false, false) => format!("docker.io/library/{path}{tag}"),
    }
}

/// The name of an image and its digest, as a runtime reports what it runs.
pub(crate) fn id(image: &str) -> String {
    let full = normal(image);
    let (path, tag) = split(&full);
    if let Some(at) = tag.find("@sha256:") {
        return format!("{path}{}", &tag[at..]);
    }
    format!("{path}@sha256:{}", crate::spec::digest(&full))
}

// Name, and tag or digest with its sign.
fn split(image: &str) -> (&str, &str) {
    let digest = image.find('@').unwrap_or(image.len());
    let name = &image[..digest];
    let slash = name.rfind('/').map_or(0, |at| at + 1);
    match name[slash..].find(':') {
        Some(at) => image.split_at(slash + at),
        None => image.split_at(digest),
    }
}

// What is wrong with an image's name, beyond being one.
fn fault(image: &str) -> Option<&'static str> {
    let (path, tag) = split(image);
    let part_ok = |part: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        !part.is_empty()
            && part.chars().all(inner)
            && part.starts_with(ends)
            && part.ends_with(ends)
    };
    let mut parts: Vec<&str> = path.split('/').collect();
    let first = parts[0];
    let is_host = parts.len() > 1
        && (first.contains(['.', ':'])
            || first == "localhost"
            || first.chars().any(char::is_uppercase));
    if is_host {
        parts.remove(0);
    }
    let word = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let tag_ok = match tag.strip_prefix(':') {
        Some(tag) => {
            let (tag, digest) = tag
                .split_once('@')
                .map_or((tag, None), |(t, d)| (t, Some(d)));
            !tag.is_empty()
                && tag.chars().all(word)
                && !tag.starts_with(['.', '-'])
                && digest.is_none_or(|d| d.contains(':'))
        }
        None => tag.is_empty() || tag.contains(':'),
    };
    if tag_ok && parts.iter().all(|p| part_ok(p)) {
        return None;
    }
    let lower = path.to_lowercase();
    let only_case = lower != path && fault(&format!("{lower}{tag}")).is_none();
    Some(if only_case {
        ": repository name must be lowercase"
    } else {
        ""
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed() {
        let table = [
            ("nginx", "docker.io/library/nginx:latest"),
            ("nginx:1.27", "docker.io/library/nginx:1.27"),
            ("team/app", "docker.io/team/app:latest"),
            ("ghcr.io/a/b:v1", "ghcr.io/a/b:v1"),
            ("localhost:5000/x", "localhost:5000/x:latest"),
            ("a@sha256:00", "docker.io/library/a@sha256:00"),
        ];
        for (image, full) in table {
            assert_eq!(normal(image), full);
            assert_eq!(fault(image), None, "{image}");
        }
        assert!(id("nginx").starts_with("docker.io/library/nginx@sha256:"));
        assert_eq!(id("a@sha256:00"), "docker.io/library/a@sha256:00");
    }

    #[test]
    fn bad_names_are_told() {
        assert_eq!(fault("Nginx"), Some(": repository name must be lowercase"));
        for image in ["", "a b", "nginx:", "/x", "a//b", "nginx:a:b:c"] {
            assert_eq!(fault(image), Some(""), "{image}");
        }
    }
}
