//! Healthy Pods, crashes, back-offs, probes, hooks, deadlines, deletion.

use super::Story;
use expect_test::{Expect, expect};
use model::{Value, json};

fn check(mut story: Story, expected: Expect) {
    expected.assert_eq(&story.tell());
}

fn one(extra: Value) -> Value {
    let mut container = json!({"name": "c", "image": "app:1"});
    if let (Some(target), Some(more)) = (container.as_object_mut(), extra.as_object()) {
        target.extend(more.clone());
    }
    json!({"restartPolicy": "Always", "containers": [container]})
}

#[test]
fn healthy_at_once_and_deleted() {
    let story = Story::new(one(json!({}))).until(60).delete(30).until(100);
    check(
        story,
        expect![[r#"
        0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        0s   Normal Created c: Container created
        0s   Normal Started c: Container started
        0s Running ready=True c=ready
        60s   Normal Killing c: Stopping container c
        60s Succeeded ready=False c=Completed(0)
        60s deleted
    "#]],
    );
}

#[test]
fn a_task_completes() {
    let mut spec = one(json!({}));
    spec["restartPolicy"] = "Never".into();
    check(
        Story::new(spec).until(10).delete(30).until(20),
        expect![[r#"
        0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        0s   Normal Created c: Container created
        0s   Normal Started c: Container started
        0s Running ready=True c=ready
        1s Succeeded ready=False c=Completed(0)
        10s deleted
    "#]],
    );
}

#[test]
fn crash_loop() {
    let story = Story::new(one(
        json!({"terminationMessagePolicy": "FallbackToLogsOnError"}),
    ))
    .annotated("c", "crash 2 after 1s: no database");
    let mut story = story.until(100);
    expect![[r#"
        0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        0s   Normal Created c: Container created
        0s   Normal Started c: Container started
        0s Running ready=True c=ready
        1s Running ready=False c=Error(2)
        1s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        1s   Normal Created c: Container created
        1s   Normal Started c: Container started
        1s Running ready=True c=ready#1
        2s Running ready=False c=Error(2)#1
        2s   Warning BackOff c: Back-off restarting failed container c in pod p_n(u)
        2s Running ready=False c=CrashLoopBackOff#1
        12s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        12s   Normal Created c: Container created
        12s   Normal Started c: Container started
        12s Running ready=True c=ready#2
        13s Running ready=False c=Error(2)#2
        13s   Warning BackOff c: Back-off restarting failed container c in pod p_n(u)
        13s Running ready=False c=CrashLoopBackOff#2
        33s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        33s   Normal Created c: Container created
        33s   Normal Started c: Container started
        33s Running ready=True c=ready#3
        34s Running ready=False c=Error(2)#3
        34s   Warning BackOff c: Back-off restarting failed container c in pod p_n(u)
        34s Running ready=False c=CrashLoopBackOff#3
        74s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        74s   Normal Created c: Container created
        74s   Normal Started c: Container started
        74s Running ready=True c=ready#4
        75s Running ready=False c=Error(2)#4
        75s   Warning BackOff c: Back-off restarting failed container c in pod p_n(u)
        75s Running ready=False c=CrashLoopBackOff#4
    "#]].assert_eq(&story.tell());
    let last = &story.pod["status"]["containerStatuses"][0];
    expect![[r#"
        {
          "containerID": "containerd://c418ec1636f62c0edc64beadc711595c5afc6915bde330948481f0e33c746775",
          "image": "app:1",
          "imageID": "docker.io/library/app@sha256:0dd6237f8cf726bdba0a5a62e5d8f9468bfabe4583e716e110610f3252e2d12a",
          "lastState": {
            "terminated": {
              "containerID": "containerd://c418ec1636f62c0edc64beadc711595c5afc6915bde330948481f0e33c746775",
              "exitCode": 2,
              "finishedAt": "2026-05-28T20:27:55Z",
              "message": "no database\n",
              "reason": "Error",
              "startedAt": "2026-05-28T20:27:54Z"
            }
          },
          "name": "c",
          "ready": false,
          "restartCount": 4,
          "started": false,
          "state": {
            "waiting": {
              "message": "back-off 1m20s restarting failed container=c pod=p_n(u)",
              "reason": "CrashLoopBackOff"
            }
          }
        }"#]].assert_eq(&format!("{last:#}"));
}

#[test]
fn crash_twice_then_ready_with_probe() {
    let probe = json!({"httpGet": {"path": "/ok", "port": 8080}, "periodSeconds": 5});
    let story = Story::new(one(json!({"readinessProbe": probe})))
        .annotated("c", "crash 1 after 1s twice, then ready after 7s");
    check(
        story.until(60),
        expect![[r#"
        0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        0s   Normal Created c: Container created
        0s   Normal Started c: Container started
        0s Running ready=True c=ready
        1s Running ready=False c=Error(1)
        1s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        1s   Normal Created c: Container created
        1s   Normal Started c: Container started
        1s Running ready=True c=ready#1
        2s Running ready=False c=Error(1)#1
        2s   Warning BackOff c: Back-off restarting failed container c in pod p_n(u)
        2s Running ready=False c=CrashLoopBackOff#1
        12s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        12s   Normal Created c: Container created
        12s   Normal Started c: Container started
        12s   Warning Unhealthy c: Readiness probe failed: Get "http://10.244.0.1:8080/ok": dial tcp 10.244.0.1:8080: connect: connection refused
        12s Running ready=False c=unready#2
        17s   Warning Unhealthy c: Readiness probe failed: Get "http://10.244.0.1:8080/ok": dial tcp 10.244.0.1:8080: connect: connection refused
        22s Running ready=True c=ready#2
    "#]],
    );
}

#[test]
fn liveness_kills() {
    let probe = json!({"exec": {"command": ["check"]}, "periodSeconds": 2, "failureThreshold": 2});
    let story = Story::new(one(json!({"livenessProbe": probe})))
        .annotated("c", "unhealthy after 5s: broken");
    check(
        story.until(12),
        expect![[r#"
        0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        0s   Normal Created c: Container created
        0s   Normal Started c: Container started
        0s Running ready=True c=ready
        6s   Warning Unhealthy c: Liveness probe failed: broken
        8s   Warning Unhealthy c: Liveness probe failed: broken
        8s   Normal Killing c: Container c failed liveness probe, will be restarted
        8s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        8s   Normal Created c: Container created
        8s   Normal Started c: Container started
        8s Running ready=True c=ready#1
    "#]],
    );
}

#[test]
fn startup_then_never_ready() {
    let container = json!({
        "startupProbe": {"tcpSocket": {"port": "web"}, "periodSeconds": 1, "failureThreshold": 3},
        "ports": [{"name": "web", "containerPort": 80}],
    });
    let story = Story::new(one(container)).annotated("c", "hang");
    check(
        story.until(5),
        expect![[r#"
        0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        0s   Normal Created c: Container created
        0s   Normal Started c: Container started
        0s   Warning Unhealthy c: Startup probe failed: dial tcp 10.244.0.1:80: i/o timeout
        0s Running ready=False c=unstarted
        1s   Warning Unhealthy c: Startup probe failed: dial tcp 10.244.0.1:80: i/o timeout
        2s   Warning Unhealthy c: Startup probe failed: dial tcp 10.244.0.1:80: i/o timeout
        2s   Normal Killing c: Container c failed startup probe, will be restarted
    "#]],
    );
    let story = Story::new(one(json!({})))
        .annotated("c", "never ready: HTTP probe failed with statuscode: 503");
    check(
        story.until(5),
        expect![[r#"
        0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        0s   Normal Created c: Container created
        0s   Normal Started c: Container started
        0s   Warning Unhealthy c: Readiness probe failed: HTTP probe failed with statuscode: 503
        0s Running ready=False c=unready
    "#]],
    );
}

#[test]
fn out_of_memory() {
    let story = Story::new(one(json!({}))).annotated("c", "oom after 3s once, then ready");
    check(
        story.until(30),
        expect![[r#"
        0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        0s   Normal Created c: Container created
        0s   Normal Started c: Container started
        0s Running ready=True c=ready
        3s Running ready=False c=OOMKilled(137)
        3s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        3s   Normal Created c: Container created
        3s   Normal Started c: Container started
        3s Running ready=True c=ready#1
    "#]],
    );
}

#[test]
fn images() {
    let story = Story::new(one(json!({}))).annotated("c", "image: not found twice, then ready");
    check(
        story.until(60),
        expect![[r#"
        0s   Normal Pulling c: Pulling image "app:1"
        0s   Warning Failed c: Failed to pull image "app:1": rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/app:1": failed to resolve reference "docker.io/library/app:1": docker.io/library/app:1: not found
        0s   Warning Failed c: Error: ErrImagePull
        0s Pending ready=False c=ErrImagePull
        2s   Normal BackOff c: Back-off pulling image "app:1"
        2s   Warning Failed c: Error: ImagePullBackOff
        2s Pending ready=False c=ImagePullBackOff
        10s   Normal Pulling c: Pulling image "app:1"
        10s   Warning Failed c: Failed to pull image "app:1": rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/app:1": failed to resolve reference "docker.io/library/app:1": docker.io/library/app:1: not found
        10s   Warning Failed c: Error: ErrImagePull
        10s Pending ready=False c=ErrImagePull
        12s   Normal BackOff c: Back-off pulling image "app:1"
        12s   Warning Failed c: Error: ImagePullBackOff
        12s Pending ready=False c=ImagePullBackOff
        30s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        30s   Normal Created c: Container created
        30s   Normal Started c: Container started
        30s Running ready=True c=ready
    "#]],
    );
    check(
        Story::new(one(json!({"image": "App:1"}))).until(5),
        expect![[r#"
            0s   Warning InspectFailed c: Failed to apply default image tag "App:1": couldn't parse image name "App:1": invalid reference format: repository name must be lowercase
            0s   Warning Failed c: Error: InvalidImageName
            0s Pending ready=False c=InvalidImageName
        "#]],
    );
    let story = Story::new(one(json!({"imagePullPolicy": "Never"}))).annotated("c", "image: gone");
    check(
        story.until(5),
        expect![[r#"
        0s   Warning ErrImageNeverPull c: Container image "app:1" is not present with pull policy of Never
        0s   Warning Failed c: Error: ErrImageNeverPull
        0s Pending ready=False c=ErrImageNeverPull
    "#]],
    );
}

#[test]
fn configuration_appears_later() {
    let env = json!([{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]);
    let mut story = Story::new(one(json!({"env": env}))).until(15);
    expect![[r#"
        0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        0s   Warning Failed c: Error: secret "s" not found
        0s Pending ready=False c=CreateContainerConfigError
        10s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        10s   Warning Failed c: Error: secret "s" not found
    "#]].assert_eq(&story.tell());
    story
        .cluster
        .put("secrets/n/s", json!({"data": {"other": ""}}));
    let mut story = story.until(25);
    expect![[r#"
        20s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        20s   Warning Failed c: Error: couldn't find key k in Secret n/s
        20s Pending ready=False c=CreateContainerConfigError
    "#]].assert_eq(&story.tell());
    story
        .cluster
        .put("secrets/n/s", json!({"data": {"k": "djE="}}));
    check(
        story.until(40),
        expect![[r#"
        30s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        30s   Normal Created c: Container created
        30s   Normal Started c: Container started
        30s Running ready=True c=ready
    "#]],
    );
}

#[test]
fn volumes() {
    let mut spec = one(json!({}));
    spec["volumes"] = json!([
        {"name": "conf", "configMap": {"name": "cm", "items": [{"key": "a", "path": "a"}]}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "pvc"}},
        {"name": "maybe", "secret": {"secretName": "no", "optional": true}},
    ]);
    let mut story = Story::new(spec).until(2);
    expect![[r#"
        0s   Warning FailedMount -: MountVolume.SetUp failed for volume "conf" : configmap "cm" not found
        0s   Warning FailedMount -: Unable to attach or mount volumes: unmounted volumes=[conf data], unattached volumes=[], failed to process volumes=[data]: error processing PVC n/pvc: failed to fetch PVC from API server: persistentvolumeclaims "pvc" not found
        0s Pending ready=False c=ContainerCreating
        0.5s   Warning FailedMount -: MountVolume.SetUp failed for volume "conf" : configmap "cm" not found
        1.5s   Warning FailedMount -: MountVolume.SetUp failed for volume "conf" : configmap "cm" not found
    "#]].assert_eq(&story.tell());
    let claim = json!({"status": {"phase": "Bound"}});
    story.cluster.put("persistentvolumeclaims/n/pvc", claim);
    story
        .cluster
        .put("configmaps/n/cm", json!({"data": {"b": ""}}));
    let mut story = story.until(4);
    expect![[r#"
        3.5s   Warning FailedMount -: MountVolume.SetUp failed for volume "conf" : configmap references non-existent config key: a
    "#]].assert_eq(&story.tell());
    story
        .cluster
        .put("configmaps/n/cm", json!({"data": {"a": ""}}));
    check(
        story.until(20),
        expect![[r#"
        7.5s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        7.5s   Normal Created c: Container created
        7.5s   Normal Started c: Container started
        7.5s Running ready=True c=ready
    "#]],
    );
}

#[test]
fn init_containers_and_sidecars() {
    let spec = json!({
        "restartPolicy": "Always",
        "initContainers": [
            {"name": "first", "image": "i"},
            {"name": "proxy", "image": "i", "restartPolicy": "Always"},
            {"name": "second", "image": "i"},
        ],
        "containers": [{"name": "c", "image": "app"}],
    });
    let story =
        Story::new(spec).annotated("second", "crash 1 after 1s twice, then exit 0 after 2s");
    let mut story = story.until(60);
    expect![[r#"
        0s   Normal Pulled first: Container image "i" already present on machine and can be accessed by the pod
        0s   Normal Created first: Container created
        0s   Normal Started first: Container started
        0s Pending ready=False first=unready proxy=PodInitializing second=PodInitializing c=PodInitializing
        1s Pending ready=False first=Completed(0) proxy=PodInitializing second=PodInitializing c=PodInitializing
        1s   Normal Pulled proxy: Container image "i" already present on machine and can be accessed by the pod
        1s   Normal Created proxy: Container created
        1s   Normal Started proxy: Container started
        1s   Normal Pulled second: Container image "i" already present on machine and can be accessed by the pod
        1s   Normal Created second: Container created
        1s   Normal Started second: Container started
        1s Pending ready=False first=Completed(0) proxy=ready second=unready c=PodInitializing
        2s Pending ready=False first=Completed(0) proxy=ready second=Error(1) c=PodInitializing
        2s   Normal Pulled second: Container image "i" already present on machine and can be accessed by the pod
        2s   Normal Created second: Container created
        2s   Normal Started second: Container started
        2s Pending ready=False first=Completed(0) proxy=ready second=unready#1 c=PodInitializing
        3s Pending ready=False first=Completed(0) proxy=ready second=Error(1)#1 c=PodInitializing
        3s   Warning BackOff second: Back-off restarting failed container second in pod p_n(u)
        3s Pending ready=False first=Completed(0) proxy=ready second=CrashLoopBackOff#1 c=PodInitializing
        13s   Normal Pulled second: Container image "i" already present on machine and can be accessed by the pod
        13s   Normal Created second: Container created
        13s   Normal Started second: Container started
        13s Pending ready=False first=Completed(0) proxy=ready second=unready#2 c=PodInitializing
        15s Pending ready=False first=Completed(0) proxy=ready second=Completed(0)#2 c=PodInitializing
        15s   Normal Pulled c: Container image "app" already present on machine and can be accessed by the pod
        15s   Normal Created c: Container created
        15s   Normal Started c: Container started
        15s Running ready=True first=Completed(0) proxy=ready second=Completed(0)#2 c=ready
    "#]].assert_eq(&story.tell());
    check(
        story.delete(30).until(100),
        expect![[r"
        60s   Normal Killing proxy: Stopping container proxy
        60s   Normal Killing c: Stopping container c
        60s Succeeded ready=False first=Completed(0) proxy=Completed(0) second=Completed(0)#2 c=Completed(0)
        60s deleted
    "]],
    );
}

#[test]
fn a_job_with_a_sidecar_ends() {
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{"name": "proxy", "image": "i", "restartPolicy": "Always"}],
        "containers": [{"name": "c", "image": "app"}],
    });
    check(
        Story::new(spec).until(10),
        expect![[r#"
        0s   Normal Pulled proxy: Container image "i" already present on machine and can be accessed by the pod
        0s   Normal Created proxy: Container created
        0s   Normal Started proxy: Container started
        0s   Normal Pulled c: Container image "app" already present on machine and can be accessed by the pod
        0s   Normal Created c: Container created
        0s   Normal Started c: Container started
        0s Running ready=True proxy=ready c=ready
        1s Running ready=False proxy=ready c=Completed(0)
        1s   Normal Killing proxy: Stopping container proxy
        1s Succeeded ready=False proxy=Completed(0) c=Completed(0)
    "#]],
    );
}

#[test]
fn deadline() {
    let mut spec = one(json!({}));
    spec["activeDeadlineSeconds"] = 5.into();
    check(
        Story::new(spec).until(20),
        expect![[r#"
            0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
            0s   Normal Created c: Container created
            0s   Normal Started c: Container started
            0s Running ready=True c=ready
            5s   Normal DeadlineExceeded -: Pod was active on the node longer than the specified deadline
            5s   Normal Killing c: Stopping container c
            5s Failed ready=False reason=DeadlineExceeded c=Completed(0)
        "#]],
    );
}

#[test]
fn stubborn_containers_are_killed() {
    let hook = json!({"preStop": {"sleep": {"seconds": 3}}});
    let story = Story::new(one(json!({"lifecycle": hook.clone()})))
        .until(1)
        .delete(10);
    check(
        story.until(30),
        expect![[r#"
        0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        0s   Normal Created c: Container created
        0s   Normal Started c: Container started
        0s Running ready=True c=ready
        1s   Normal Killing c: Stopping container c
        4s Succeeded ready=False c=Completed(0)
        4s deleted
    "#]],
    );
    let story = Story::new(one(json!({})))
        .annotated("c", "hang")
        .until(1)
        .delete(10);
    check(
        story.until(30),
        expect![[r#"
        0s   Normal Pulled c: Container image "app:1" already present on machine and can be accessed by the pod
        0s   Normal Created c: Container created
        0s   Normal Started c: Container started
        0s Running ready=True c=ready
        1s   Normal Killing c: Stopping container c
        11s Failed ready=False c=Error(137)
        11s deleted
    "#]],
    );
}

#[test]
fn a_bad_annotation_is_told() {
    let story = Story::new(one(json!({}))).annotated("c", "redy");
    check(
        story.until(5),
        expect![[r#"
        0s   Warning InvalidBehaviour c: annotation sandbox.tiphys.dev/c cannot be read: "redy" is not understood: write one of "ready after 2s", "crash 1 after 1s: <log line>", "exit 0 after 5s", "oom after 3s", "hang", "never ready: <probe message>", "unhealthy after 10s: <probe message>", "log: <line>", "image: not found"
        0s Pending ready=False c=InvalidBehaviour
    "#]],
    );
}

#[test]
fn a_killed_kubelet_goes_on() {
    let spec = one(json!({}));
    let whole = Story::new(spec.clone())
        .annotated("c", "crash 1 after 1s: no")
        .until(200);
    for stop in [0, 1, 2, 5, 13, 14, 40, 90] {
        let mut story = Story::new(spec.clone()).annotated("c", "crash 1 after 1s: no");
        story = story.until(stop);
        story.life = crate::Life::resume(&story.pod, story.now);
        let story = story.until(200);
        assert_eq!(story.pod["status"], whole.pod["status"], "{stop}");
    }
}
