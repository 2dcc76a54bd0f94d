//! Go's text/template with the functions that Helm charts use.
