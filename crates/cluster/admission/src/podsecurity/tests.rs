use super::*;
use crate::testing::{Fake, Request};
use expect_test::{Expect, expect};

fn cluster(labels: &Value) -> Fake {
    let pod = |name: &str, spec: Value| json!({"metadata": {"name": name, "namespace": "ns"}, "spec": spec});
    Fake::default()
        .with(
            "namespaces",
            &[json!({"metadata": {"name": "ns", "labels": labels}})],
        )
        .with(
            "pods",
            &[
                pod("b", json!({"containers": [{"name": "c"}]})),
                pod("a", json!({"containers": [{"name": "c"}]})),
                pod(
                    "h",
                    json!({"hostNetwork": true, "containers": [{"name": "c"}]}),
                ),
            ],
        )
}

fn check(labels: &Value, request: &Request, expected: Expect) {
    let answer = match validate(&request.review(), &cluster(labels)) {
        Ok(warnings) if warnings.is_empty() => "fine".into(),
        Ok(warnings) => format!("warning: {}", warnings.join("\nwarning: ")),
        Err(e) => format!("{} {}", e.code, e.message),
    };
    expected.assert_eq(&answer);
}

fn enforce(level: &str) -> Value {
    json!({"pod-security.kubernetes.io/enforce": level})
}

#[test]
fn restricted_pods_must_be_hardened() {
    let plain = json!({"containers": [{"name": "c", "image": "x"}]});
    check(
        &enforce("restricted"),
        &Request::pod("ns", plain.clone()),
        expect![[
            r#"403 pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#
        ]],
    );
    check(
        &enforce("baseline"),
        &Request::pod("ns", plain.clone()),
        expect!["fine"],
    );
    check(&json!({}), &Request::pod("ns", plain), expect!["fine"]);
    check(
        &enforce("restricted"),
        &Request::pod(
            "ns",
            json!({
                "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                "volumes": [{"name": "t", "emptyDir": {}}],
                "containers": [{"name": "c", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}}],
            }),
        ),
        expect!["fine"],
    );
}

#[test]
fn warnings_tell_the_rest() {
    check(
        &json!({"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/warn": "restricted"}),
        &Request::pod(
            "ns",
            json!({
                "securityContext": {"runAsUser": 0},
                "volumes": [{"name": "n", "nfs": {"server": "a", "path": "/"}}],
                "containers": [{"name": "c", "image": "x", "securityContext": {"capabilities": {"add": ["CHOWN"]}}}],
            }),
        ),
        expect![[
            r#"warning: would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]; container "c" must not include "CHOWN" in securityContext.capabilities.add), restricted volume types (volume "n" uses restricted volume type "nfs"), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), runAsUser=0 (pod must not set runAsUser=0), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#
        ]],
    );
}

#[test]
fn baseline_forbids_the_host() {
    check(
        &enforce("baseline"),
        &Request::pod(
            "ns",
            json!({
                "hostNetwork": true, "hostPID": true,
                "securityContext": {"sysctls": [{"name": "kernel.foo"}, {"name": "net.ipv4.tcp_rmem"}], "seLinuxOptions": {"type": "foo", "user": "u"}},
                "volumes": [{"name": "h", "hostPath": {"path": "/"}}],
                "containers": [
                    {"name": "c", "ports": [{"hostPort": 80}, {"hostPort": 443}], "livenessProbe": {"httpGet": {"host": "a.b"}},
                     "securityContext": {"privileged": true, "procMount": "Unmasked", "capabilities": {"add": ["SYS_ADMIN", "CHOWN"]},
                        "seccompProfile": {"type": "Unconfined"}, "appArmorProfile": {"type": "Unconfined"}, "windowsOptions": {"hostProcess": true}}},
                    {"name": "d", "ports": [{"hostPort": 81}], "securityContext": {"seccompProfile": {"type": "Unconfined"}}},
                ],
            }),
        ),
        expect![[
            r#"403 pods "p" is forbidden: violates PodSecurity "baseline:latest": forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined"), non-default capabilities (container "c" must not include "SYS_ADMIN" in securityContext.capabilities.add), host namespaces (hostNetwork=true, hostPID=true), hostPath volumes (volume "h"), hostPort (containers "c", "d" use hostPorts 443, 80, 81), probe or lifecycle host (container "c" uses probe or lifecycle host "a.b"), privileged (container "c" must not set securityContext.privileged=true), procMount (container "c" must not set securityContext.procMount to "Unmasked"), seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "foo"; user may not be set), seccompProfile (containers "c", "d" must not set securityContext.seccompProfile.type to "Unconfined"), forbidden sysctls (kernel.foo), hostProcess (container "c" must not set securityContext.windowsOptions.hostProcess=true)"#
        ]],
    );
}

#[test]
fn workloads_are_warned_about_only() {
    let deployment = json!({"kind": "Deployment", "metadata": {"name": "d"}, "spec": {"template": {"spec": {"hostPID": true, "containers": [{"name": "c"}]}}}});
    check(
        &enforce("baseline"),
        &Request::create("apps/v1/deployments", "ns", deployment),
        expect![[
            r#"warning: would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)"#
        ]],
    );
}

#[test]
fn older_versions_have_older_rules() {
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "v1.18"});
    check(
        &labels,
        &Request::pod(
            "ns",
            json!({"securityContext": {"runAsNonRoot": true, "sysctls": [{"name": "net.ipv4.tcp_rmem"}]}, "volumes": [{"name": "h", "hostPath": {}}], "containers": [{"name": "c", "securityContext": {"allowPrivilegeEscalation": false}}]}),
        ),
        expect![[
            r#"403 pods "p" is forbidden: violates PodSecurity "restricted:v1.18": forbidden sysctls (net.ipv4.tcp_rmem), restricted volume types (volume "h" uses restricted volume type "hostPath")"#
        ]],
    );
}

#[test]
fn updates_matter_when_an_image_changes() {
    let pod = |image: &str| json!({"metadata": {"name": "p"}, "spec": {"hostPID": true, "containers": [{"name": "c", "image": image}]}});
    let labels = enforce("baseline");
    check(
        &labels,
        &Request::update("pods", "ns", pod("a"), pod("a")),
        expect!["fine"],
    );
    check(
        &labels,
        &Request::update("pods", "ns", pod("b"), pod("a")),
        expect![[
            r#"403 pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)"#
        ]],
    );
}

#[test]
fn the_labels_themselves_are_checked() {
    let namespace =
        |labels: Value| json!({"kind": "Namespace", "metadata": {"name": "ns", "labels": labels}});
    check(
        &json!({}),
        &Request::create(
            "namespaces",
            "ns",
            namespace(
                json!({"pod-security.kubernetes.io/enforce": "strict", "pod-security.kubernetes.io/warn-version": "vx"}),
            ),
        ),
        expect![[
            r#"422 Namespace "ns" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "vx": must be "latest" or "v1.x"]"#
        ]],
    );
    check(
        &json!({}),
        &Request::update(
            "namespaces",
            "ns",
            namespace(enforce("restricted")),
            namespace(enforce("baseline")),
        ),
        expect![[r#"
            warning: existing pods in namespace "ns" violate the new PodSecurity enforce level "restricted:latest"
            warning: a (and 1 other pod): allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile
            warning: h: host namespaces, allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile"#]],
    );
    check(
        &json!({}),
        &Request::update(
            "namespaces",
            "ns",
            namespace(enforce("baseline")),
            namespace(enforce("restricted")),
        ),
        expect!["fine"],
    );
}
