//! Admission webhooks as data.
