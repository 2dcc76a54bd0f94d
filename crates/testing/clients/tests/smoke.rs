//! x
use k8s_openapi as _;
use kube as _;
