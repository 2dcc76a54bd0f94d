//! Picks the renderer for a source and keeps the origin of every object.
