//! What Go's scanner, parser and converter say of text that is not right.

use crate::{Stage, YamlError};
use granit_parser::{ErrorKind, Event, ScanError, Span};

pub(crate) fn compose(message: impl Into<String>) -> YamlError {
    YamlError {
        stage: Stage::Compose,
        line: 0,
        column: 0,
        message: message.into(),
        first: None,
    }
}

pub(crate) fn convert(message: String) -> YamlError {
    YamlError {
        stage: Stage::Convert,
        ..compose(message)
    }
}

pub(crate) fn unexpected(event: &Event<'_>, span: Span) -> YamlError {
    match event {
        Event::UnresolvedAlias(name) => compose(format!("unknown anchor '{name}' referenced")),
        _ => YamlError {
            stage: Stage::Parse,
            line: span.start.line(),
            column: span.start.col() + 1,
            message: "did not find expected node content".into(),
            first: None,
        },
    }
}

// Our scanner takes a tab for indentation at the very start; Go's does not.
pub(crate) fn check_first_line(text: &str) -> Result<(), YamlError> {
    let mut lines = text.lines().enumerate();
    let first = lines.find(|(_, line)| !line.trim().is_empty() && !line.trim().starts_with('#'));
    match first {
        Some((number, line)) if line.starts_with('\t') => Err(YamlError {
            stage: Stage::Scan,
            line: number + 1,
            column: 1,
            message: "found character that cannot start any token".into(),
            first: None,
        }),
        _ => Ok(()),
    }
}

// YAML 1.1 has neither `\/` nor pairs of surrogates.
pub(crate) fn check_escapes(raw: &str, span: Span) -> Result<(), YamlError> {
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at + 1..];
        let message = match escape.as_bytes() {
            [b'/', ..] => "found unknown escape character",
            [
                b'u',
                b'd' | b'D',
                b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F',
                ..,
            ] => "found invalid Unicode character escape code",
            _ => {
                let step = escape.chars().next().map_or(0, char::len_utf8);
                rest = &escape[step..];
                continue;
            }
        };
        return Err(YamlError {
            stage: Stage::Scan,
            line: span.start.line(),
            column: span.start.col() + 1,
            message: message.into(),
            first: None,
        });
    }
    Ok(())
}

// The fault in the words of Go's scanner and parser.
pub(crate) fn explain(error: &ScanError) -> YamlError {
    let (stage, message) = match error.kind() {
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            (Stage::Parse, "did not find expected key")
        }
        ErrorKind::ExpectedNodeContent
        | ErrorKind::MisplacedFlowCollectionEnd
        | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            (Stage::Parse, "did not find expected node content")
        }
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnclosedFlowCollection { open: '{' } => {
            (Stage::Parse, "did not find expected ',' or '}'")
        }
        ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnclosedFlowCollection { .. } => {
            (Stage::Parse, "did not find expected ',' or ']'")
        }
        ErrorKind::ExpectedBlockSequenceEntry => {
            (Stage::Parse, "did not find expected '-' indicator")
        }
        ErrorKind::ExpectedDocumentStart => {
            (Stage::Parse, "did not find expected <document start>")
        }
        ErrorKind::UndeclaredTagHandle => (Stage::Parse, "found undefined tag handle"),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            (Stage::Scan, "could not find expected ':'")
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => (
            Stage::Scan,
            "mapping values are not allowed in this context",
        ),
        ErrorKind::MappingKeyNotAllowed => {
            (Stage::Scan, "mapping keys are not allowed in this context")
        }
        ErrorKind::BlockSequenceEntryNotAllowed => (
            Stage::Scan,
            "block sequence entries are not allowed in this context",
        ),
        ErrorKind::UnexpectedCharacter { .. }
        | ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation => {
            (Stage::Scan, "found character that cannot start any token")
        }
        ErrorKind::TabInIndentation | ErrorKind::TabInPlainScalar => (
            Stage::Scan,
            "found a tab character that violates indentation",
        ),
        ErrorKind::TabAtBlockScalarStart => (
            Stage::Scan,
            "found a tab character where an indentation space is expected",
        ),
        ErrorKind::UnclosedQuotedScalar => (Stage::Scan, "found unexpected end of stream"),
        ErrorKind::DocumentIndicatorInQuotedScalar => {
            (Stage::Scan, "found unexpected document indicator")
        }
        ErrorKind::UnknownQuotedScalarEscape => (Stage::Scan, "found unknown escape character"),
        ErrorKind::InvalidQuotedScalarHexEscape => {
            (Stage::Scan, "did not find expected hexdecimal number")
        }
        ErrorKind::MissingAnchorOrAliasName => (
            Stage::Scan,
            "did not find expected alphabetic or numeric character",
        ),
        ErrorKind::InvalidDirectiveName => {
            (Stage::Scan, "found unexpected non-alphabetical character")
        }
        _ => (Stage::Scan, ""),
    };
    YamlError {
        stage,
        line: error.marker().line(),
        column: error.marker().col() + 1,
        message: if message.is_empty() {
            error.info()
        } else {
            message.to_owned()
        },
        first: None,
    }
}
