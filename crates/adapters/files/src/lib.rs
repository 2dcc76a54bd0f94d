//! A directory of this machine as a tree of files.
