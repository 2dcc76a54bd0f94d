# What workloads do, from kubectl. Runs against the cluster of $KUBECONFIG; `cargo xtask real show`
# runs it on real Kubernetes and on the sandbox.
set -u
say() { printf '\n# %s\n' "$*"; }
run() { printf '$ kubectl %s\n' "$*"; kubectl "$@" 2>&1; }
until_says() { # FIELD VALUE OBJECT...: waits until a field has a value
  local field=$1 value=$2; shift 2
  for _ in $(seq 300); do
    [ "$(kubectl get "$@" -o "jsonpath=$field" 2>/dev/null)" = "$value" ] && return
    sleep 0.2
  done
  echo "gave up waiting for $* to say $value"
}
until kubectl get serviceaccount default >/dev/null 2>&1; do sleep 0.2; done

say 'a Deployment to Ready'
kubectl apply -f - <<'Y' >/dev/null
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: shop/web:1
        resources: {requests: {cpu: 100m}}
Y
run rollout status deployment/web --timeout=60s
run get deployment web

say 'a Job that fails with BackoffLimitExceeded, and its logs'
kubectl apply -f - <<'Y' >/dev/null
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: app
        image: shop/migrate:1
        command: [sh, -c, 'echo migrating; echo "dial tcp 10.0.1.45:5432: connect: connection refused" >&2; exit 3']
Y
run wait --for=condition=Failed job/migrate --timeout=60s
run get job migrate -o 'jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'
run logs job/migrate

say 'CreateContainerConfigError, healed by creating the Secret'
kubectl apply -f - <<'Y' >/dev/null
apiVersion: v1
kind: Pod
metadata: {name: needs-secret}
spec:
  containers:
  - name: app
    image: shop/box:1
    envFrom: [{secretRef: {name: db}}]
Y
until_says '{.status.containerStatuses[0].state.waiting.reason}' CreateContainerConfigError pod needs-secret
run get pod needs-secret -o 'jsonpath={.status.containerStatuses[0].state.waiting.reason}: {.status.containerStatuses[0].state.waiting.message}{"\n"}'
run create secret generic db --from-literal=password=x
run wait --for=condition=Ready pod/needs-secret --timeout=90s

say 'a claim that waits for its first consumer'
kubectl apply -f - <<'Y' >/dev/null
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: later}
provisioner: volumes.sandbox.tiphys.dev
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: later
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
Y
until_says '{.status.phase}' Pending pvc data
sleep 1
run get events --field-selector involvedObject.name=data,reason=WaitForFirstConsumer -o 'jsonpath={range .items[*]}{.reason}: {.message}{"\n"}{end}'
run get pvc data -o 'jsonpath={.status.phase}{"\n"}'
kubectl apply -f - <<'Y' >/dev/null
apiVersion: v1
kind: Pod
metadata: {name: consumer}
spec:
  containers: [{name: app, image: shop/box:1, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
Y
run wait --for=condition=Ready pod/consumer --timeout=60s
run get pvc data -o 'jsonpath={.status.phase}{"\n"}'

say 'an autoscaler moves replicas'
kubectl apply -f - <<'Y' >/dev/null
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
  annotations: {sandbox.tiphys.dev/cpu: "200%"}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 6
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
Y
until_says '{.status.readyReplicas}' 4 deployment web
run get deployment web -o 'jsonpath={.spec.replicas} wanted, {.status.readyReplicas} ready{"\n"}'
run get events --field-selector involvedObject.name=web,reason=SuccessfulRescale -o 'jsonpath={range .items[*]}{.message}{"\n"}{end}'

say 'a namespace stuck on a finalizer'
run create namespace doomed
kubectl apply -f - <<'Y' >/dev/null
apiVersion: v1
kind: ConfigMap
metadata: {name: keeper, namespace: doomed, finalizers: [shop.example/cleanup]}
Y
run delete namespace doomed --wait=false
until_says '{.status.conditions[?(@.type=="NamespaceFinalizersRemaining")].status}' True namespace doomed
run get namespace doomed -o 'jsonpath={.status.phase}: {.status.conditions[?(@.type=="NamespaceFinalizersRemaining")].message}{"\n"}'
