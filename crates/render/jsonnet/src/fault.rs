//! What the evaluator says, in words, with the place.

use crate::JsonnetError;
use model::Place;
use rsjsonnet_lang::lexer::LexError;
use rsjsonnet_lang::parser::ParseError;
use rsjsonnet_lang::program::{
    AnalyzeError, EvalError, EvalErrorKind, EvalStackTraceItem, LoadError, Program,
};
use rsjsonnet_lang::span::{SourceId, SpanContext, SpanId};

/// The texts that were read, to show places in them.
#[derive(Default)]
pub(crate) struct Sources(Vec<(SourceId, String, String)>);

impl Sources {
    pub(crate) fn add(&mut self, id: SourceId, name: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.0.push((id, name.to_owned(), text));
    }

    pub(crate) fn first(&self) -> String {
        let file = self.0.iter().find(|(_, name, _)| !name.starts_with('<'));
        file.map(|(_, name, _)| name.clone()).unwrap_or_default()
    }

    pub(crate) fn name(&self, id: SourceId) -> &str {
        self.0
            .iter()
            .find(|source| source.0 == id)
            .map_or("", |source| source.1.as_str())
    }

    pub(crate) fn place(&self, id: SourceId, offset: usize) -> Place {
        let Some((_, name, text)) = self.0.iter().find(|source| source.0 == id) else {
            return Place::default();
        };
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        Place::in_text(name, text, line, before[start..].chars().count() + 1)
    }

    // The place of a span in one of our texts; the standard library is none of them.
    fn locate(&self, program: &Program<'_>, span: SpanId) -> Option<Place> {
        let (context, start, _) = program.span_manager().get_span(span);
        let SpanContext::Source(id) = *program.span_manager().get_context(context);
        let known = self.0.iter().any(|source| source.0 == id);
        known.then(|| self.place(id, start))
    }

    pub(crate) fn load_error(
        &self,
        program: &Program<'_>,
        file: &str,
        error: &LoadError,
    ) -> JsonnetError {
        let (span, problem) = match error {
            LoadError::Lex(error) => (lex_span(error), words(&format!("{error:?}"))),
            LoadError::Parse(error) => parse(error),
            LoadError::Analyze(error) => analyze(error),
        };
        self.error(program, file, Some(span), problem)
    }

    pub(crate) fn eval_error(
        &self,
        program: &Program<'_>,
        file: &str,
        error: &EvalError,
    ) -> JsonnetError {
        let own = span_of(&error.kind).and_then(|span| self.locate(program, span));
        let called = || {
            let spans = error.stack_trace.iter().rev().filter_map(frame_span);
            spans.filter_map(|span| self.locate(program, span)).next()
        };
        let place = own.or_else(called).unwrap_or_else(|| Place {
            file: file.to_owned(),
            ..Place::default()
        });
        JsonnetError {
            place,
            problem: problem(&error.kind),
        }
    }

    fn error(
        &self,
        program: &Program<'_>,
        file: &str,
        span: Option<SpanId>,
        problem: String,
    ) -> JsonnetError {
        let place = span.and_then(|span| self.locate(program, span));
        JsonnetError {
            place: place.unwrap_or_else(|| Place {
                file: file.to_owned(),
                ..Place::default()
            }),
            problem,
        }
    }
}

fn lex_span(error: &LexError) -> SpanId {
    match error {
        LexError::InvalidChar { span, .. }
        | LexError::InvalidUtf8 { span, .. }
        | LexError::UnfinishedMultilineComment { span }
        | LexError::LeadingZeroInNumber { span }
        | LexError::MissingFracDigits { span }
        | LexError::MissingExpDigits { span }
        | LexError::MissingDigitAfterUnderscore { span }
        | LexError::ExpOverflow { span }
        | LexError::InvalidEscapeInString { span, .. }
        | LexError::IncompleteUnicodeEscape { span }
        | LexError::InvalidUtf16EscapeSequence { span, .. }
        | LexError::UnfinishedString { span }
        | LexError::MissingLineBreakAfterTextBlockStart { span }
        | LexError::MissingWhitespaceTextBlockStart { span }
        | LexError::InvalidTextBlockTermination { span } => *span,
    }
}

fn parse(error: &ParseError) -> (SpanId, String) {
    let ParseError::Expected {
        span,
        expected,
        instead,
    } = error;
    let wanted: Vec<String> = expected
        .iter()
        .map(|token| token_word(&format!("{token:?}")))
        .collect();
    let found = token_word(&format!("{instead:?}"));
    let text = format!("expected {}, not {found}", wanted.join(" or "));
    (*span, text)
}

// `Simple(RightBrace)` to `right brace`, `Ident("x")` to `x`.
fn token_word(debug: &str) -> String {
    match debug.split_once('(') {
        Some((_, inner)) => {
            let inner = inner.trim_end_matches(')');
            match inner.strip_prefix('"') {
                Some(text) => format!("`{}`", text.trim_end_matches('"')),
                None => words(inner),
            }
        }
        None => words(debug),
    }
}

fn analyze(error: &AnalyzeError) -> (SpanId, String) {
    match error {
        AnalyzeError::UnknownVariable { span, name } => {
            (*span, format!("unknown variable: {name}"))
        }
        AnalyzeError::SelfOutsideObject { self_span } => {
            (*self_span, "can't use self outside of an object".into())
        }
        AnalyzeError::SuperOutsideObject { super_span } => {
            (*super_span, "can't use super outside of an object".into())
        }
        AnalyzeError::DollarOutsideObject { dollar_span } => {
            (*dollar_span, "no top-level object found for `$`".into())
        }
        AnalyzeError::RepeatedLocalName {
            repeated_span,
            name,
            ..
        } => (*repeated_span, format!("duplicate local: {name}")),
        AnalyzeError::RepeatedFieldName {
            repeated_span,
            name,
            ..
        } => (*repeated_span, format!("duplicate field: {name}")),
        AnalyzeError::RepeatedParamName {
            repeated_span,
            name,
            ..
        } => (*repeated_span, format!("duplicate parameter: {name}")),
        AnalyzeError::PositionalArgAfterNamed { arg_span } => {
            (*arg_span, "positional argument after a named one".into())
        }
        AnalyzeError::TextBlockAsImportPath { span } => {
            (*span, "an import needs a plain text as its path".into())
        }
        AnalyzeError::ComputedImportPath { span } => {
            (*span, "computed imports are not allowed".into())
        }
    }
}

fn frame_span(frame: &EvalStackTraceItem) -> Option<SpanId> {
    match frame {
        EvalStackTraceItem::Expr { span }
        | EvalStackTraceItem::Variable { span, .. }
        | EvalStackTraceItem::Import { span } => Some(*span),
        EvalStackTraceItem::Call { span, .. }
        | EvalStackTraceItem::ArrayItem { span, .. }
        | EvalStackTraceItem::ObjectField { span, .. } => *span,
        EvalStackTraceItem::CompareArrayItem { .. }
        | EvalStackTraceItem::CompareObjectField { .. }
        | EvalStackTraceItem::ManifestArrayItem { .. }
        | EvalStackTraceItem::ManifestObjectField { .. } => None,
    }
}

fn span_of(kind: &EvalErrorKind) -> Option<SpanId> {
    match kind {
        EvalErrorKind::InvalidIndexedType { span, .. }
        | EvalErrorKind::UnknownObjectField { span, .. }
        | EvalErrorKind::FieldOfNonObject { span }
        | EvalErrorKind::CondIsNotBool { span, .. }
        | EvalErrorKind::AssertFailed { span, .. }
        | EvalErrorKind::ExplicitError { span, .. }
        | EvalErrorKind::NumericIndexOutOfRange { span, .. }
        | EvalErrorKind::ImportFailed { span, .. } => Some(*span),
        EvalErrorKind::CalleeIsNotFunction { span, .. }
        | EvalErrorKind::TooManyCallArgs { span, .. }
        | EvalErrorKind::UnknownCallParam { span, .. }
        | EvalErrorKind::CallParamNotBound { span, .. }
        | EvalErrorKind::InvalidBinaryOpTypes { span, .. }
        | EvalErrorKind::DivByZero { span }
        | EvalErrorKind::Other { span, .. } => *span,
        _ => None,
    }
}

fn problem(kind: &EvalErrorKind) -> String {
    match kind {
        EvalErrorKind::StackOverflow => {
            format!(
                "max stack frames exceeded: calls nest deeper than {}",
                crate::STACK_MAX
            )
        }
        EvalErrorKind::UnknownObjectField { field_name, .. } => {
            format!("field does not exist: {field_name}")
        }
        EvalErrorKind::AssertFailed { message, .. } => match message {
            Some(message) => format!("assertion failed: {message}"),
            None => "assertion failed".into(),
        },
        EvalErrorKind::AssertEqualFailed { lhs, rhs } => {
            format!("assertion failed: {lhs} != {rhs}")
        }
        EvalErrorKind::ExplicitError { message, .. } | EvalErrorKind::Other { message, .. } => {
            message.clone()
        }
        EvalErrorKind::UnknownExtVar { name } => {
            format!("undefined external variable: {name}: add it to `directory.jsonnet.extVars`")
        }
        EvalErrorKind::ImportFailed { path, .. } => format!("couldn't open import {path:?}"),
        EvalErrorKind::CallParamNotBound { param_name, .. } => {
            format!("missing argument: {param_name}: add it to `directory.jsonnet.tlas`")
        }
        EvalErrorKind::UnknownCallParam { param_name, .. } => {
            format!("function has no parameter {param_name}")
        }
        EvalErrorKind::ManifestFunction => "couldn't manifest function as JSON".into(),
        other => words(&format!("{other:?}")),
    }
}

// `DivByZero { span: .. }` to `div by zero`.
fn words(debug: &str) -> String {
    let name: String = debug
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric())
        .collect();
    let mut out = String::new();
    for (index, c) in name.chars().enumerate() {
        if c.is_ascii_uppercase() && index > 0 {
            out.push(' ');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
