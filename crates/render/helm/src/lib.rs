//! Charts and values in, manifests out: what `helm template` prints, byte for byte.
