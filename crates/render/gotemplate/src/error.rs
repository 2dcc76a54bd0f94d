//! Why a template could not be executed, in Go's words and with every template on the way.

use crate::function::Edition;
use crate::quote::quote;
use std::fmt;

/// A limit that the caller set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Steps: nodes, calls, iterations and bytes worked on.
    Steps,
    /// Bytes of output, or of one string.
    Output,
    /// Templates inside templates.
    Depth,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Steps => "the template takes too many steps",
            Self::Output => "the template makes too much text",
            Self::Depth => "the template nests too deep",
        })
    }
}

/// Where an execution failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file that was parsed, or `gotpl` for the text of a `tpl`.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column as Go counts it: bytes from the start of the line, from 0.
    pub column: usize,
    /// The expression, as Go prints it.
    pub node: String,
}

/// Why an execution failed; prints as Go prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecError {
    /// The template that was executing: a file or the name of a definition.
    pub template: String,
    /// Where in it; none when it failed before its first node.
    pub location: Option<Location>,
    /// What failed. Of a call it is `error calling f: ` and what `cause` leaves out.
    pub message: String,
    /// The error of a function that was called.
    pub cause: Option<Box<Cause>>,
}

/// The error under another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A function's own error.
    Text(String),
    /// The error of a template that `include` or `template` ran.
    Exec(ExecError),
    /// The error of a template that `tpl` ran, behind `tpl`'s own words.
    Wrapped(String, ExecError),
    /// A limit of the caller.
    Limit(Limit),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Exec(error) => write!(f, "{error}"),
            Self::Wrapped(lead, error) => write!(f, "{lead}: {error}"),
            Self::Limit(limit) => write!(f, "{limit}"),
        }
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            None => write!(f, "template: {}: ", self.template)?,
            Some(at) => write!(
                f,
                "template: {}:{}:{}: executing {} at <{}>: ",
                at.file,
                at.line,
                at.column,
                quote(self.template.as_bytes()),
                at.node
            )?,
        }
        f.write_str(&self.message)?;
        match &self.cause {
            Some(cause) => crate::deep(|| write!(f, "{cause}")),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ExecError {}

const WARN_START: &str = "HELM_ERR_START";
const WARN_END: &str = "HELM_ERR_END";

/// How Helm marks the message of `required` and `fail`.
pub(crate) fn warn(message: &[u8]) -> String {
    format!("{WARN_START}{}{WARN_END}", String::from_utf8_lossy(message))
}

impl ExecError {
    /// The innermost template error: where it really failed.
    pub fn innermost(&self) -> &Self {
        match self.cause.as_deref() {
            Some(Cause::Exec(inner) | Cause::Wrapped(_, inner)) => inner.innermost(),
            _ => self,
        }
    }

    /// Which limit was reached, if one was.
    pub fn limit(&self) -> Option<Limit> {
        match self.innermost().cause.as_deref() {
            Some(Cause::Limit(limit)) => Some(*limit),
            _ => None,
        }
    }

    /// What `required` or `fail` said, if one of them stopped the execution.
    pub fn demand(&self) -> Option<String> {
        let Some(Cause::Text(text)) = self.innermost().cause.as_deref() else {
            return None;
        };
        let inner = text.strip_prefix(WARN_START)?.strip_suffix(WARN_END)?;
        Some(inner.to_owned())
    }

    /// What `helm template` says after `Error: ` when this happens.
    pub fn helm_text(&self, edition: Edition) -> String {
        let text = self.to_string();
        let parts: Vec<&str> = text.splitn(3, ": ").collect();
        if let [_, place, rest] = parts[..]
            && let (Some(start), Some(end)) = (rest.find(WARN_START), rest.rfind(WARN_END))
            && start + WARN_START.len() <= end
        {
            let message = &rest[start + WARN_START.len()..end];
            return format!("execution error at ({place}): {message}");
        }
        match edition {
            Edition::Helm4 => self.trace().unwrap_or(text),
            Edition::Helm3 | Edition::Plain => text,
        }
    }

    // Helm 4 prints one block for each template on the way, but only when all of the chain is
    // template errors.
    fn trace(&self) -> Option<String> {
        let mut out = String::new();
        let mut error = self;
        loop {
            let at = error.location.as_ref()?;
            let place = format!("{}:{}:{}", at.file, at.line, at.column);
            let name = quote(error.template.as_bytes());
            let message = match error.cause.as_deref() {
                None => error.message.clone(),
                Some(Cause::Exec(_)) => error.message.trim_end().to_owned(),
                // A template that is not there is the end of the chain, told as it is.
                Some(Cause::Text(text)) if text.starts_with("template: no template ") => {
                    format!("{}\n{text}", error.message.trim_end())
                }
                Some(_) => return None,
            };
            out.push_str(&format!(
                "{place}\n  executing {name} at <{}>:\n    {message}\n",
                at.node
            ));
            match error.cause.as_deref() {
                Some(Cause::Exec(inner)) => error = inner,
                _ => return Some(out.trim().to_owned()),
            }
        }
    }
}
