//! Faults of an expression's text, shown with the line and a caret below the place.

/// One fault at a place in the source, counted in characters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }
}

/// Shows faults as the CEL compiler does, in the order of their places.
pub(crate) fn render(source: &str, faults: &[Fault]) -> String {
    let mut sorted: Vec<&Fault> = faults.iter().collect();
    sorted.sort_by_key(|fault| fault.at);
    let shown: Vec<String> = sorted.into_iter().map(|f| render_one(source, f)).collect();
    shown.join("\n")
}

fn render_one(source: &str, fault: &Fault) -> String {
    let before: String = source.chars().take(fault.at).collect();
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or("").chars().count();
    let text = source.split('\n').nth(line).unwrap_or_default();
    format!(
        "ERROR: <input>:{}:{}: {}\n | {text}\n | {}^",
        line + 1,
        column + 1,
        fault.message,
        ".".repeat(column),
    )
}
