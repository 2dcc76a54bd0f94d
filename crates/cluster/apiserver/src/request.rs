//! What a client sends, as data.

use std::borrow::Cow;

/// An HTTP method, as far as the API knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD, answered as GET without a body.
    Head,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
    /// Anything else.
    Other,
}

impl Method {
    /// The lower-case word that authorization of non-resource paths uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Head => "head",
            Self::Post => "post",
            Self::Put => "put",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Other => "options",
        }
    }
}

/// What the connection and the headers say of who asks.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The subject of a verified client certificate.
    pub certificate: Option<Certificate>,
}

/// Whom a client certificate names.
#[derive(Clone, Debug, Default)]
pub struct Certificate {
    /// Common name: the user.
    pub common_name: String,
    /// Organizations: the groups.
    pub organizations: Vec<String>,
    /// SHA-256 of the certificate in hex, empty when unknown.
    pub fingerprint: String,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Method.
    pub method: Method,
    /// Path, percent-encoded as sent.
    pub path: String,
    /// Query without the question mark.
    pub query: String,
    /// Headers, names in lower case, in order.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// Who asks.
    pub credentials: Credentials,
}

impl Request {
    /// The first header of a name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// All headers of a name.
    pub fn headers_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers
            .iter()
            .filter(move |(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// The content type without parameters, in lower case.
    pub fn content_type(&self) -> String {
        let value = self.header("content-type").unwrap_or("");
        value
            .split(';')
            .next()
            .unwrap_or("")
            .trim()
            .to_ascii_lowercase()
    }

    /// The field manager that a write is recorded under when the client names none: the first
    /// word of its user agent.
    pub fn default_manager(&self) -> &str {
        let agent = self.header("user-agent").unwrap_or("");
        let name = agent.split('/').next().unwrap_or("");
        if name.is_empty() { "unknown" } else { name }
    }
}
