//! The tiphys command.

fn main() {}
