//! Jsonnet files in, objects out.
//!
//! The evaluator is rsjsonnet: it has no dependencies worth naming, its stack is a list (deep recursion
//! is an error, not a crash) and it knows where everything stands. Imports are read from the tree
//! and from nowhere else.

mod fault;

use fault::Sources;
use model::{Place, SourceTree, Value};
use rsjsonnet_lang::arena::Arena;
use rsjsonnet_lang::interner::InternedStr;
use rsjsonnet_lang::program::{
    Callbacks, EvalStackTraceItem, ImportError, NativeError, Program, Thunk, Value as Jsonnet,
};
use rsjsonnet_lang::span::{SpanContext, SpanId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How deep calls may nest.
pub const STACK_MAX: usize = 500;
/// How large one file may be, in bytes.
pub const FILE_MAX: usize = 8 * 1024 * 1024;
/// How many files may be imported.
pub const IMPORTS_MAX: usize = 2_000;
/// How large the result may be, in bytes of JSON.
pub const OUTPUT_MAX: usize = 64 * 1024 * 1024;
/// How long an evaluation may take, in seconds.
pub const TIME_MAX_S: u64 = 60;

/// What to evaluate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The file, from the root of the tree.
    pub file: String,
    /// External variables.
    pub ext_vars: Vec<Variable>,
    /// Arguments of the top level function.
    pub tlas: Vec<Variable>,
    /// Directories to import from besides that of the importing file, from the root of the tree.
    pub library: Vec<String>,
}

/// One variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The value is code, not text.
    pub code: bool,
}

/// Why a file could not be evaluated, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonnetError {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for JsonnetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}",
            self.place.file, self.place.line, self.problem
        )
    }
}

impl std::error::Error for JsonnetError {}

/// Evaluates a file. The answer comes within [`TIME_MAX_S`] seconds, whatever the program does.
pub fn evaluate(tree: &SourceTree, request: &Request) -> Result<Value, JsonnetError> {
    let (send, receive) = mpsc::channel();
    let (own_tree, own_request) = (tree.clone(), request.clone());
    // The evaluator cannot be asked to stop: when the time is up nobody listens to it any more.
    std::thread::spawn(move || {
        let _ = send.send(run(&own_tree, &own_request));
    });
    match receive.recv_timeout(Duration::from_secs(TIME_MAX_S)) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => Err(at_file(
            &request.file,
            format!("it was still running after {TIME_MAX_S} seconds"),
        )),
        Err(RecvTimeoutError::Disconnected) => {
            Err(at_file(&request.file, "the evaluator gave up".into()))
        }
    }
}

fn at_file(file: &str, problem: String) -> JsonnetError {
    JsonnetError {
        place: Place {
            file: file.to_owned(),
            ..Place::default()
        },
        problem,
    }
}

fn run(tree: &SourceTree, request: &Request) -> Result<Value, JsonnetError> {
    let arena = Arena::new();
    let mut program = Program::new(&arena);
    program.set_max_stack(STACK_MAX);
    let mut world = World {
        tree,
        library: &request.library,
        sources: Sources::default(),
        loaded: BTreeMap::new(),
        failed: None,
    };
    let mut seen: Vec<&str> = Vec::new();
    for variable in &request.ext_vars {
        if seen.contains(&variable.name.as_str()) {
            continue;
        }
        seen.push(&variable.name);
        let thunk = world.variable(&mut program, "external variable", variable)?;
        let name = program.intern_str(&variable.name);
        program.add_ext_var(name, &thunk);
    }
    let main = world.load(&mut program, &request.file)?;
    let mut arguments = Vec::new();
    for variable in &request.tlas {
        let thunk = world.variable(&mut program, "argument", variable)?;
        arguments.push((program.intern_str(&variable.name), thunk));
    }
    let value = world.value(&mut program, &main, &arguments)?;
    let text = match program.manifest_json(&value, false) {
        Ok(text) => text,
        Err(error) => return Err(world.explain(&program, &request.file, &error)),
    };
    if text.len() > OUTPUT_MAX {
        let problem = format!("its result is larger than {OUTPUT_MAX} bytes");
        return Err(at_file(&request.file, problem));
    }
    serde_json::from_str(&text).map_err(|why| at_file(&request.file, why.to_string()))
}

// The tree, as the program sees it.
struct World<'a, 'p> {
    tree: &'a SourceTree,
    library: &'a [String],
    sources: Sources,
    loaded: BTreeMap<String, Thunk<'p>>,
    // What went wrong with an import; the evaluator itself keeps no reason.
    failed: Option<JsonnetError>,
}

impl<'p> World<'_, 'p> {
    fn value(
        &mut self,
        program: &mut Program<'p>,
        main: &Thunk<'p>,
        arguments: &[(InternedStr<'p>, Thunk<'p>)],
    ) -> Result<Jsonnet<'p>, JsonnetError> {
        let file = self.sources.first();
        let value = program.eval_value(main, self);
        let value = match value {
            // A function at the top is called, with or without arguments.
            Ok(value) if value.is_function() => program.eval_call(main, &[], arguments, self),
            other => other,
        };
        value.map_err(|error| self.explain(program, &file, &error))
    }

    fn explain(
        &mut self,
        program: &Program<'p>,
        file: &str,
        error: &rsjsonnet_lang::program::EvalError,
    ) -> JsonnetError {
        match self.failed.take() {
            Some(failed) => failed,
            None => self.sources.eval_error(program, file, error),
        }
    }

    fn variable(
        &mut self,
        program: &mut Program<'p>,
        what: &str,
        variable: &Variable,
    ) -> Result<Thunk<'p>, JsonnetError> {
        if !variable.code {
            return Ok(program.value_to_thunk(&Jsonnet::string(&variable.value)));
        }
        let name = format!("<{what} {}>", variable.name);
        self.source(program, &name, variable.value.as_bytes())
    }

    fn load(&mut self, program: &mut Program<'p>, path: &str) -> Result<Thunk<'p>, JsonnetError> {
        if let Some(thunk) = self.loaded.get(path) {
            return Ok(thunk.clone());
        }
        if self.loaded.len() >= IMPORTS_MAX {
            return Err(at_file(
                path,
                format!("more than {IMPORTS_MAX} files are imported"),
            ));
        }
        let bytes = self.bytes(path)?;
        let thunk = self.source(program, path, &bytes)?;
        self.loaded.insert(path.to_owned(), thunk.clone());
        Ok(thunk)
    }

    fn bytes(&self, path: &str) -> Result<std::sync::Arc<[u8]>, JsonnetError> {
        let bytes = self
            .tree
            .read(path)
            .map_err(|why| at_file(path, why.to_string()))?;
        if bytes.len() > FILE_MAX {
            return Err(at_file(path, format!("it is larger than {FILE_MAX} bytes")));
        }
        Ok(bytes)
    }

    fn source(
        &mut self,
        program: &mut Program<'p>,
        name: &str,
        bytes: &[u8],
    ) -> Result<Thunk<'p>, JsonnetError> {
        let spans = program.span_manager_mut();
        let (context, id) = spans.insert_source_context(bytes.len());
        self.sources.add(id, name, bytes);
        let loaded = program.load_source(context, bytes, true, name);
        loaded.map_err(|error| self.sources.load_error(program, name, &error))
    }

    // Where an import leads: beside the importing file first, then the libraries.
    fn find(
        &self,
        program: &Program<'p>,
        from: SpanId,
        path: &str,
    ) -> Result<String, JsonnetError> {
        let (context, start, _) = program.span_manager().get_span(from);
        let SpanContext::Source(id) = *program.span_manager().get_context(context);
        let importer = self.sources.name(id);
        let place = || self.sources.place(id, start);
        let here = importer
            .rsplit_once('/')
            .map_or("", |(directory, _)| directory);
        if path.starts_with('/') {
            return Err(JsonnetError {
                place: place(),
                problem: format!("couldn't open import {path:?}: it leads out of the repository"),
            });
        }
        for directory in std::iter::once(here).chain(self.library.iter().map(String::as_str)) {
            let Some(full) = model::tree::clean(directory, path) else {
                continue;
            };
            match self.tree.kind(&full) {
                Ok(Some(_)) => return Ok(full),
                Ok(None) => {}
                Err(why) => {
                    return Err(JsonnetError {
                        place: place(),
                        problem: format!("couldn't open import {path:?}: {why}"),
                    });
                }
            }
        }
        Err(JsonnetError {
            place: place(),
            problem: format!(
                "couldn't open import {path:?}: no match locally or in the library paths"
            ),
        })
    }

    fn keep<T>(&mut self, answer: Result<T, JsonnetError>) -> Result<T, ImportError> {
        answer.map_err(|error| {
            self.failed.get_or_insert(error);
            ImportError
        })
    }
}

impl<'p> Callbacks<'p> for World<'_, 'p> {
    fn import(
        &mut self,
        program: &mut Program<'p>,
        from: SpanId,
        path: &str,
    ) -> Result<Thunk<'p>, ImportError> {
        let found = self.find(program, from, path);
        let answer = found.and_then(|found| self.load(program, &found));
        self.keep(answer)
    }

    fn import_str(
        &mut self,
        program: &mut Program<'p>,
        from: SpanId,
        path: &str,
    ) -> Result<String, ImportError> {
        let found = self.find(program, from, path);
        let answer = found.and_then(|found| {
            let bytes = self.bytes(&found)?;
            String::from_utf8(bytes.to_vec()).map_err(|_| at_file(&found, "it is not UTF-8".into()))
        });
        self.keep(answer)
    }

    fn import_bin(
        &mut self,
        program: &mut Program<'p>,
        from: SpanId,
        path: &str,
    ) -> Result<Vec<u8>, ImportError> {
        let found = self.find(program, from, path);
        let answer = found.and_then(|found| self.bytes(&found).map(|bytes| bytes.to_vec()));
        self.keep(answer)
    }

    fn trace(&mut self, _: &mut Program<'p>, _: &str, _: &[EvalStackTraceItem]) {}

    fn native_call(
        &mut self,
        _: &mut Program<'p>,
        _: InternedStr<'p>,
        _: &[Jsonnet<'p>],
    ) -> Result<Jsonnet<'p>, NativeError> {
        Err(NativeError)
    }
}

#[cfg(test)]
mod tests;
