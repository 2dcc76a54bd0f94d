//! The pattern dialects of Argo CD's settings: globs of several kinds.
