//! Every function an expression may call, with the types it takes and gives.
//!
//! The table is text: `string.contains(string) bool` is a method, `size(list(A)) int` a function;
//! `A`, `B` stand for any type, the same one wherever the letter is.

use crate::types::Type;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One way to call a function.
#[derive(Clone, Debug)]
pub(crate) struct Overload {
    pub(crate) method: bool,
    pub(crate) args: Vec<Type>,
    pub(crate) result: Type,
}

/// The overloads of a function, `None` when there is no such function.
pub(crate) fn overloads(name: &str) -> Option<&'static [Overload]> {
    static TABLE: OnceLock<BTreeMap<&'static str, Vec<Overload>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: BTreeMap<&'static str, Vec<Overload>> = BTreeMap::new();
        for line in DECLARATIONS.lines().map(str::trim) {
            if let Some((name, overload)) = Reader::new(line).declaration() {
                table.entry(name).or_default().push(overload);
            }
        }
        table
    });
    table.get(name).map(Vec::as_slice)
}

const DECLARATIONS: &str = "
    _==_(A, A) bool
    _!=_(A, A) bool
    @in(A, list(A)) bool
    @in(A, map(A, B)) bool
    !_(bool) bool
    -_(int) int
    -_(double) double
    _?_:_(bool, A, A) A
    _[_](list(A), int) A
    _[_](map(A, B), A) B
    _[_](optional(list(A)), int) optional(A)
    _[_](optional(map(A, B)), A) optional(B)
    _[?_](list(A), int) optional(A)
    _[?_](map(A, B), A) optional(B)
    _[?_](optional(list(A)), int) optional(A)
    _[?_](optional(map(A, B)), A) optional(B)
    _+_(int, int) int
    _+_(uint, uint) uint
    _+_(double, double) double
    _+_(string, string) string
    _+_(bytes, bytes) bytes
    _+_(list(A), list(A)) list(A)
    _+_(timestamp, duration) timestamp
    _+_(duration, timestamp) timestamp
    _+_(duration, duration) duration
    _-_(int, int) int
    _-_(uint, uint) uint
    _-_(double, double) double
    _-_(timestamp, timestamp) duration
    _-_(timestamp, duration) timestamp
    _-_(duration, duration) duration
    _*_(int, int) int
    _*_(uint, uint) uint
    _*_(double, double) double
    _/_(int, int) int
    _/_(uint, uint) uint
    _/_(double, double) double
    _%_(int, int) int
    _%_(uint, uint) uint
    size(string) int
    size(bytes) int
    size(list(A)) int
    size(map(A, B)) int
    string.size() int
    bytes.size() int
    list(A).size() int
    map(A, B).size() int
    string.contains(string) bool
    string.startsWith(string) bool
    string.endsWith(string) bool
    string.matches(string) bool
    matches(string, string) bool
    bool(bool) bool
    bool(string) bool
    bytes(bytes) bytes
    bytes(string) bytes
    double(double) double
    double(int) double
    double(uint) double
    double(string) double
    int(int) int
    int(uint) int
    int(double) int
    int(string) int
    int(timestamp) int
    int(duration) int
    uint(uint) uint
    uint(int) uint
    uint(double) uint
    uint(string) uint
    string(string) string
    string(bool) string
    string(int) string
    string(uint) string
    string(double) string
    string(bytes) string
    string(timestamp) string
    string(duration) string
    string(net.IP) string
    string(net.CIDR) string
    duration(duration) duration
    duration(string) duration
    duration(int) duration
    timestamp(timestamp) timestamp
    timestamp(string) timestamp
    timestamp(int) timestamp
    dyn(A) dyn
    type(A) type
    timestamp.getFullYear() int
    timestamp.getFullYear(string) int
    timestamp.getMonth() int
    timestamp.getMonth(string) int
    timestamp.getDayOfYear() int
    timestamp.getDayOfYear(string) int
    timestamp.getDayOfMonth() int
    timestamp.getDayOfMonth(string) int
    timestamp.getDate() int
    timestamp.getDate(string) int
    timestamp.getDayOfWeek() int
    timestamp.getDayOfWeek(string) int
    timestamp.getHours() int
    timestamp.getHours(string) int
    timestamp.getMinutes() int
    timestamp.getMinutes(string) int
    timestamp.getSeconds() int
    timestamp.getSeconds(string) int
    timestamp.getMilliseconds() int
    timestamp.getMilliseconds(string) int
    duration.getHours() int
    duration.getMinutes() int
    duration.getSeconds() int
    duration.getMilliseconds() int
    string.charAt(int) string
    string.indexOf(string) int
    string.indexOf(string, int) int
    string.lastIndexOf(string) int
    string.lastIndexOf(string, int) int
    string.lowerAscii() string
    string.upperAscii() string
    string.replace(string, string) string
    string.replace(string, string, int) string
    string.split(string) list(string)
    string.split(string, int) list(string)
    string.substring(int) string
    string.substring(int, int) string
    string.trim() string
    string.format(list(dyn)) string
    strings.quote(string) string
    list(string).join() string
    list(string).join(string) string
    string.find(string) string
    string.findAll(string) list(string)
    string.findAll(string, int) list(string)
    list(A).isSorted() bool
    list(A).sum() A
    list(A).min() A
    list(A).max() A
    list(A).indexOf(A) int
    list(A).lastIndexOf(A) int
    list(A).slice(int, int) list(A)
    list(A).flatten() list(dyn)
    list(A).flatten(int) list(dyn)
    list(A).sort() list(A)
    list(A).distinct() list(A)
    list(A).reverse() list(A)
    list(A).first() optional(A)
    list(A).last() optional(A)
    lists.range(int) list(int)
    sets.contains(list(A), list(A)) bool
    sets.equivalent(list(A), list(A)) bool
    sets.intersects(list(A), list(A)) bool
    optional.of(A) optional(A)
    optional.ofNonZeroValue(A) optional(A)
    optional.none() optional(A)
    optional(A).hasValue() bool
    optional(A).value() A
    optional(A).or(optional(A)) optional(A)
    optional(A).orValue(A) A
    url(string) kubernetes.URL
    isURL(string) bool
    kubernetes.URL.getScheme() string
    kubernetes.URL.getHost() string
    kubernetes.URL.getHostname() string
    kubernetes.URL.getPort() string
    kubernetes.URL.getEscapedPath() string
    kubernetes.URL.getQuery() map(string, list(string))
    ip(string) net.IP
    isIP(string) bool
    ip.isCanonical(string) bool
    net.IP.family() int
    net.IP.isUnspecified() bool
    net.IP.isLoopback() bool
    net.IP.isLinkLocalMulticast() bool
    net.IP.isLinkLocalUnicast() bool
    net.IP.isGlobalUnicast() bool
    cidr(string) net.CIDR
    isCIDR(string) bool
    net.CIDR.containsIP(string) bool
    net.CIDR.containsIP(net.IP) bool
    net.CIDR.containsCIDR(string) bool
    net.CIDR.containsCIDR(net.CIDR) bool
    net.CIDR.ip() net.IP
    net.CIDR.prefixLength() int
    net.CIDR.masked() net.CIDR
    quantity(string) kubernetes.Quantity
    isQuantity(string) bool
    kubernetes.Quantity.sign() int
    kubernetes.Quantity.isInteger() bool
    kubernetes.Quantity.asInteger() int
    kubernetes.Quantity.asApproximateFloat() double
    kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) bool
    kubernetes.Quantity.isLessThan(kubernetes.Quantity) bool
    kubernetes.Quantity.compareTo(kubernetes.Quantity) int
    kubernetes.Quantity.add(kubernetes.Quantity) kubernetes.Quantity
    kubernetes.Quantity.add(int) kubernetes.Quantity
    kubernetes.Quantity.sub(kubernetes.Quantity) kubernetes.Quantity
    kubernetes.Quantity.sub(int) kubernetes.Quantity
    semver(string) kubernetes.Semver
    semver(string, bool) kubernetes.Semver
    isSemver(string) bool
    isSemver(string, bool) bool
    kubernetes.Semver.major() int
    kubernetes.Semver.minor() int
    kubernetes.Semver.patch() int
    kubernetes.Semver.isGreaterThan(kubernetes.Semver) bool
    kubernetes.Semver.isLessThan(kubernetes.Semver) bool
    kubernetes.Semver.compareTo(kubernetes.Semver) int
    format.named(string) optional(kubernetes.NamedFormat)
    kubernetes.NamedFormat.validate(string) optional(list(string))
    format.dns1123Label() kubernetes.NamedFormat
    format.dns1123Subdomain() kubernetes.NamedFormat
    format.dns1035Label() kubernetes.NamedFormat
    format.qualifiedName() kubernetes.NamedFormat
    format.dns1123LabelPrefix() kubernetes.NamedFormat
    format.dns1123SubdomainPrefix() kubernetes.NamedFormat
    format.dns1035LabelPrefix() kubernetes.NamedFormat
    format.labelValue() kubernetes.NamedFormat
    format.uri() kubernetes.NamedFormat
    format.uuid() kubernetes.NamedFormat
    format.byte() kubernetes.NamedFormat
    format.date() kubernetes.NamedFormat
    format.datetime() kubernetes.NamedFormat
";

/// The operators `<`, `<=`, `>` and `>=` by their names.
pub(crate) fn is_ordering(name: &str) -> bool {
    matches!(name, "_<_" | "_<=_" | "_>_" | "_>=_")
}

/// Whether two types can be put in order: equal ones that have an order, and any two numbers.
pub(crate) fn are_ordered(a: &Type, b: &Type) -> bool {
    use Type::{Bool, Bytes, Double, Duration, Dyn, Error, Int, Text, Timestamp, Uint};
    matches!(
        (a, b),
        (Dyn | Error, _)
            | (_, Dyn | Error)
            | (Int | Uint | Double, Int | Uint | Double)
            | (Bool, Bool)
            | (Text, Text)
            | (Bytes, Bytes)
            | (Timestamp, Timestamp)
            | (Duration, Duration)
    )
}

struct Reader {
    rest: &'static str,
}

impl Reader {
    fn new(rest: &'static str) -> Self {
        Self { rest }
    }

    // `[receiver.]name(args) result`; a receiver is everything before the last dot, unless that is
    // the name of a library.
    fn declaration(mut self) -> Option<(&'static str, Overload)> {
        let (head, receiver) = self.head()?;
        let mut args: Vec<Type> = receiver.into_iter().collect();
        let method = !args.is_empty();
        self.eat("(");
        while !self.eat(")") {
            if !args.is_empty() {
                self.eat(", ");
            }
            args.push(self.ty()?);
        }
        self.rest = self.rest.trim_start();
        let result = self.ty()?;
        let overload = Overload {
            method,
            args,
            result,
        };
        Some((head, overload))
    }

    fn head(&mut self) -> Option<(&'static str, Option<Type>)> {
        let end = self.rest.rfind(") ").or(self.rest.rfind(')'))?;
        let open = matching_open(&self.rest[..=end])?;
        let (name, rest) = self.rest.split_at(open);
        self.rest = rest;
        let library = ["strings.", "lists.", "sets.", "optional.", "ip.", "format."];
        if library.iter().any(|l| name.starts_with(l)) && !name.contains(')') {
            return Some((name, None));
        }
        match name.rsplit_once('.') {
            Some((receiver, method)) => Some((method, Self::new(receiver).ty())),
            None => Some((name, None)),
        }
    }

    fn eat(&mut self, sign: &str) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn ty(&mut self) -> Option<Type> {
        let end = self
            .rest
            .find(['(', ')', ',', ' '])
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        let mut inner = || {
            self.eat("(");
            let ty = self.ty();
            self.eat(")");
            ty
        };
        Some(match word {
            "dyn" => Type::Dyn,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::Text,
            "bytes" => Type::Bytes,
            "timestamp" => Type::Timestamp,
            "duration" => Type::Duration,
            "type" => Type::Kind,
            "A" => Type::Param(0),
            "B" => Type::Param(1),
            "list" => Type::list(inner()?),
            "optional" => Type::optional(inner()?),
            "map" => {
                self.eat("(");
                let key = self.ty()?;
                self.eat(", ");
                let value = self.ty()?;
                self.eat(")");
                Type::map(key, value)
            }
            other => Type::Opaque(other),
        })
    }
}

// The parenthesis that opens the argument list ending at the last character.
fn matching_open(text: &str) -> Option<usize> {
    // The result may hold parentheses too: the list of arguments is the first balanced group that
    // is followed by a space.
    let mut depth = 0;
    let mut start = None;
    for (i, c) in text.char_indices() {
        match c {
            '(' => {
                if depth == 0 {
                    start = Some(i);
                }
                depth += 1;
            }
            ')' => {
                depth -= 1;
                let next = text.get(i + 1..i + 2);
                if depth == 0 && next.is_none_or(|next| next == " ") {
                    return start;
                }
            }
            _ => {}
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(name: &str) -> Vec<String> {
        let one = |o: &Overload| {
            let args: Vec<String> = o.args.iter().map(ToString::to_string).collect();
            format!(
                "{}{} -> {}",
                if o.method { "." } else { "" },
                args.join(" "),
                o.result
            )
        };
        overloads(name)
            .unwrap_or_default()
            .iter()
            .map(one)
            .collect()
    }

    #[test]
    fn declarations_are_read() {
        assert_eq!(
            show("size")[2..5],
            ["list(A) -> int", "map(A, B) -> int", ".string -> int"]
        );
        assert_eq!(show("_?_:_"), ["bool A A -> A"]);
        assert_eq!(show("sets.contains"), ["list(A) list(A) -> bool"]);
        assert_eq!(show("optional.none"), [" -> optional_type(A)"]);
        assert_eq!(show("orValue"), [".optional_type(A) A -> A"]);
        assert_eq!(
            show("validate"),
            [".kubernetes.NamedFormat string -> optional_type(list(string))"]
        );
        assert_eq!(show("ip.isCanonical"), ["string -> bool"]);
        assert_eq!(show("ip"), ["string -> net.IP", ".net.CIDR -> net.IP"]);
        assert_eq!(show("string").len(), 10);
        assert!(overloads("nosuch").is_none());
    }
}
