//! The containers' own scripts.

pub(crate) mod files;
use crate::environment::Variables;
use crate::log::Log;
use crate::world::World;
use files::Files;
use model::{Timestamp, Value};

#[derive(Debug)]
#[allow(dead_code)]
pub(crate) struct Invocation {
    pub(crate) argv: Vec<String>,
    pub(crate) variables: Variables,
    pub(crate) files: Files,
    pub(crate) namespace: String,
    pub(crate) host: String,
    pub(crate) serves: bool,
    pub(crate) directory: String,
}
#[derive(Debug)]
pub(crate) enum Process {}
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) took: i64,
}
impl Process {
    pub(crate) fn start(_: Invocation, _: Timestamp) -> Option<Self> {
        None
    }
    pub(crate) fn advance(
        &mut self,
        _: &dyn World,
        _: Timestamp,
        _: &mut Log,
    ) -> Option<(Timestamp, i32)> {
        match *self {}
    }
    pub(crate) fn wake(&self) -> Option<Timestamp> {
        match *self {}
    }
    pub(crate) fn terminate(&mut self, _: Timestamp) {
        match *self {}
    }
    pub(crate) fn exec(&mut self, _: &dyn World, _: &[String], _: Timestamp) -> Done {
        match *self {}
    }
    pub(crate) fn file(&self, _: &str) -> Option<String> {
        match *self {}
    }
}
pub(crate) fn exec_alone(_: &dyn World, _: &Value, _: &[String], _: Timestamp) -> Done {
    Done::default()
}
