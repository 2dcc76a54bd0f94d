//! Columns of a table, and the short text in which the built-in ones are written down.

use model::{Value, json};

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Heading, as in `Cluster-IP`.
    pub name: String,
    /// OpenAPI type of the cells, or `date`.
    pub ty: String,
    /// OpenAPI format; `name` marks the object's own name.
    pub format: String,
    /// 0 shows always, higher only in the wide view.
    pub priority: i32,
    /// What the column means; may be empty.
    pub description: String,
}

impl Column {
    /// An entry of `columnDefinitions`.
    pub fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.ty,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }

    /// The object's name, the first column of nearly every table.
    pub(crate) fn object_name() -> Self {
        Self::read("Name:name")
    }

    /// Reads `Name:name|Ready|Replicas:i|Node+`: heading, then `:i` integer, `:b` boolean, `:d` date or
    /// `:name`, then `+` for the wide view.
    pub(crate) fn read_all(text: &str) -> Vec<Self> {
        text.split('|').map(Self::read).collect()
    }

    /// Reads one column.
    pub(crate) fn read(text: &str) -> Self {
        let (text, priority) = match text.strip_suffix('+') {
            Some(rest) => (rest, 1),
            None => (text, 0),
        };
        let (name, mark) = text.rsplit_once(':').unwrap_or((text, ""));
        let (ty, format) = match mark {
            "i" => ("integer", ""),
            "b" => ("boolean", ""),
            "d" => ("date", ""),
            "name" => ("string", "name"),
            _ => ("string", ""),
        };
        Self {
            name: name.into(),
            ty: ty.into(),
            format: format.into(),
            priority,
            description: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_says_it_all() {
        let columns = Column::read_all("Name:name|Port(s)|Replicas:i|Seen:d|Node+");
        let shown: Vec<String> = columns
            .iter()
            .map(|c| format!("{} {} {:?} {}", c.name, c.ty, c.format, c.priority))
            .collect();
        assert_eq!(
            shown,
            [
                "Name string \"name\" 0",
                "Port(s) string \"\" 0",
                "Replicas integer \"\" 0",
                "Seen date \"\" 0",
                "Node string \"\" 1",
            ]
        );
    }
}
