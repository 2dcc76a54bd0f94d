//! Objects as they are found in clusters, made up.

use serde_json::{Map, Value, json};

const WORDS: &str = "timeout endpoint replicas level cache size feature enabled server client port host \
    name value database url mode user group team service backend frontend worker queue region zone policy \
    limit memory cpu log debug info warn error path file http https example internal cluster production \
    staging test release version image tag build commit author email config settings data key token secret";

/// So many objects as JSON texts; the same in every run.
pub(crate) fn all(count: usize) -> Vec<String> {
    let mut dice = Dice(7);
    let makers = [
        config_map, config_map, config_map, secret, deployment, pod, service,
    ];
    (0..count)
        .map(|_| dice.pick(&makers)(&mut dice).to_string())
        .collect()
}

fn config_map(dice: &mut Dice) -> Value {
    let data: Map<String, Value> = (0..=dice.below(3))
        .map(|_| {
            let ending = dice.pick(&["", ".yaml", ".json", ".properties"]);
            let size = dice.pick(&[10, 50, 200, 700, 1024, 1024, 2000]);
            (format!("{}{ending}", dice.word()), json!(dice.text(size)))
        })
        .collect();
    let fields = owned(&data);
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data, "metadata": dice.metadata("v1", fields)})
}

fn secret(dice: &mut Dice) -> Value {
    let data: Map<String, Value> = (0..=dice.below(3))
        .map(|_| {
            let size = dice.pick(&[16, 44, 800]);
            (dice.word().to_owned(), json!(dice.base64(size)))
        })
        .collect();
    let fields = owned(&data);
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data,
        "metadata": dice.metadata("v1", fields),
    })
}

fn deployment(dice: &mut Dice) -> Value {
    let labels = json!({"app": dice.name()});
    let fields = json!({"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {
        format!("k:{{\"name\":\"{}\"}}", dice.name()): {".": {}, "f:image": {}, "f:name": {}}}}}}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": dice.metadata("apps/v1", fields),
        "spec": {
            "progressDeadlineSeconds": 600, "replicas": dice.below(10), "revisionHistoryLimit": 10,
            "selector": {"matchLabels": labels},
            "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}, "type": "RollingUpdate"},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(dice)},
        },
        "status": {
            "observedGeneration": dice.below(9), "replicas": dice.below(9),
            "conditions": [{
                "lastTransitionTime": dice.time(), "lastUpdateTime": dice.time(),
                "message": "Deployment has minimum availability.",
                "reason": "MinimumReplicasAvailable", "status": "True", "type": "Available",
            }],
        },
    })
}

fn pod(dice: &mut Dice) -> Value {
    let fields = json!({"f:spec": {"f:containers": {}}});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": dice.metadata("v1", fields),
        "spec": pod_spec(dice),
        "status": {
            "phase": "Running", "podIP": dice.address(), "startTime": dice.time(),
            "conditions": [{"lastProbeTime": null, "lastTransitionTime": dice.time(), "status": "True", "type": "Ready"}],
        },
    })
}

fn service(dice: &mut Dice) -> Value {
    let fields = json!({"f:spec": {"f:ports": {}, "f:selector": {}}});
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": dice.metadata("v1", fields),
        "spec": {
            "clusterIP": dice.address(),
            "ports": [{"name": "http", "port": dice.below(9000), "protocol": "TCP", "targetPort": dice.below(9000)}],
            "selector": {"app": dice.name()}, "sessionAffinity": "None", "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    })
}

fn pod_spec(dice: &mut Dice) -> Value {
    let env: Vec<Value> = (0..dice.below(5))
        .map(|_| json!({"name": dice.word().to_uppercase(), "value": dice.name()}))
        .collect();
    json!({
        "containers": [{
            "env": env, "image": format!("{}:{}.{}", dice.name(), dice.below(9), dice.below(30)),
            "imagePullPolicy": "IfNotPresent", "name": dice.name(),
            "ports": [{"containerPort": dice.below(9000), "protocol": "TCP"}],
            "resources": {"limits": {"cpu": format!("{}m", dice.below(900)), "memory": format!("{}Mi", dice.below(900))}},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        }],
        "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
        "securityContext": {}, "serviceAccountName": dice.name(), "terminationGracePeriodSeconds": 30,
    })
}

/// The fields that a writer of `data` owns.
fn owned(data: &Map<String, Value>) -> Value {
    let mut fields: Map<String, Value> = data
        .keys()
        .map(|key| (format!("f:{key}"), json!({})))
        .collect();
    fields.insert(".".into(), json!({}));
    json!({"f:data": fields})
}

/// Numbers that look random and are the same in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.roll() % limit as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn word(&mut self) -> &'static str {
        let words: Vec<&'static str> = WORDS.split_whitespace().collect();
        self.pick(&words)
    }

    fn name(&mut self) -> String {
        let words: Vec<&str> = (0..=self.below(3)).map(|_| self.word()).collect();
        match self.below(3) {
            0 => words.join("-"),
            1 => format!("{}-{}", words.join("-"), self.below(1000)),
            _ => format!("{}-{:05x}", words.join("-"), self.roll() & 0xf_ffff),
        }
    }

    fn time(&mut self) -> String {
        let (month, day) = (1 + self.below(12), 1 + self.below(28));
        let (hour, minute, second) = (self.below(24), self.below(60), self.below(60));
        format!("2026-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    fn address(&mut self) -> String {
        format!(
            "10.{}.{}.{}",
            self.below(256),
            self.below(256),
            self.below(256)
        )
    }

    fn base64(&mut self, size: usize) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        (0..size).map(|_| char::from(self.pick(LETTERS))).collect()
    }

    /// What people put into ConfigMaps: settings, prose, JSON, and what looks like noise.
    fn text(&mut self, size: usize) -> String {
        let mut text = String::new();
        match self.below(10) {
            0..3 => return self.base64(size),
            3..6 => {
                while text.len() < size {
                    let between = self.pick(&[".", ": ", "=", "_", "-"]);
                    let number = self.below(10_000).to_string();
                    let word = self.word();
                    let value = self.pick(&[word, number.as_str(), "true", "false"]);
                    text.push_str(&format!("{}{between}{value}\n", self.word()));
                }
            }
            6..8 => {
                while text.len() < size {
                    text.push_str(self.word());
                    text.push(' ');
                }
            }
            _ => {
                let pairs = (0..=size / 24).map(|_| (self.word().to_owned(), json!(self.name())));
                text = Value::Object(pairs.collect()).to_string();
            }
        }
        text.truncate(size);
        text
    }

    fn metadata(&mut self, version: &str, fields: Value) -> Value {
        let mut metadata = json!({
            "creationTimestamp": self.time(),
            "managedFields": [{
                "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields,
                "manager": self.pick(&["kubectl-create", "kubectl-client-side-apply", "helm", "kube-controller-manager"]),
                "operation": self.pick(&["Update", "Apply"]), "time": self.time(),
            }],
            "name": self.name(),
            "namespace": self.name(),
            "resourceVersion": self.below(2_000_000).to_string(),
            "uid": format!(
                "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
                self.roll() >> 32, self.roll() >> 48, self.roll() >> 52, self.roll() >> 52, self.roll() >> 16
            ),
        });
        if self.below(2) == 0 {
            metadata["labels"] = json!({"app": self.name(), "app.kubernetes.io/name": self.name()});
        }
        metadata
    }
}
