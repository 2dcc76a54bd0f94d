//! ValidatingAdmissionPolicies.
