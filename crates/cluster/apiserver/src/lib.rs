//! Kubernetes' API as a pure function of request and state.
