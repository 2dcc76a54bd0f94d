//! Charts from repositories and registries, with a cache.
