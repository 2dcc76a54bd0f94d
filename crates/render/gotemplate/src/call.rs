//! What a function may do besides looking at its arguments.

use crate::context::Context;
use crate::error::Limit;
use crate::function::{Edition, Fault};
use crate::value::Value;

/// Runs templates for functions that do.
pub(crate) trait Runtime {
    fn context(&mut self) -> &mut Context;
    fn edition(&self) -> Edition;
    fn include(&mut self, name: &crate::text::Text, data: Value) -> Result<Value, Fault>;
    fn tpl(&mut self, text: &crate::text::Text, data: Value) -> Result<Value, Fault>;
    /// Notes that a function made the output depend on more than its input.
    fn mark(&mut self, function: &'static str);
}

/// A call of a function.
pub(crate) struct Call<'a> {
    pub(crate) name: &'static str,
    pub(crate) runtime: &'a mut dyn Runtime,
}

impl Call<'_> {
    pub(crate) fn context(&mut self) -> &mut Context {
        self.runtime.context()
    }

    pub(crate) fn edition(&self) -> Edition {
        self.runtime.edition()
    }

    /// Notes that the answer is not decided by the arguments.
    pub(crate) fn mark(&mut self) {
        self.runtime.mark(self.name);
    }

    /// Refuses to make a text of so many bytes, or accounts for it.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<(), Limit> {
        self.context().bytes(count)
    }

    /// Random bytes; marks the call.
    pub(crate) fn random(&mut self, buffer: &mut [u8]) {
        self.mark();
        (self.context().entropy)(buffer);
    }

    /// A random number below a bound.
    pub(crate) fn random_below(&mut self, bound: u64) -> u64 {
        let mut bytes = [0; 16];
        self.random(&mut bytes);
        // So many bits that the remainder is as good as fair.
        (u128::from_le_bytes(bytes) % u128::from(bound.max(1))) as u64
    }
}
