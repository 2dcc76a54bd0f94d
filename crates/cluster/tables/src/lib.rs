//! What `kubectl get` shows: `meta.k8s.io/v1` Tables of built-in and custom objects.
//!
//! Takes objects and the time of day, gives columns and cells. A [`Printer`] knows the columns of one
//! kind; the functions beside it answer single questions.

mod access;
mod age;
mod autoscale;
mod column;
mod control;
mod core;
mod custom;
mod device;
mod jsonpath;
mod network;
mod pod;
mod printer;
mod read;
mod registry;
mod storage;
mod workload;

pub use age::{age, human_duration};
pub use column::Column;
pub use custom::{CustomColumn, custom_cells, custom_columns};
pub use jsonpath::JsonPath;
pub use printer::{IncludeObject, ListMeta, Printer};
pub use registry::{cells, columns};
