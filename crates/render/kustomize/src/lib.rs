//! A kustomization in, manifests out: what `kustomize build` prints, byte for byte.
