//! Bodies on the wire: JSON, YAML and protobuf.
