//! x
use kube as _; use k8s_openapi as _;
