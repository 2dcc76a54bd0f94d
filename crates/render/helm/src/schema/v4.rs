//! Helm 4's validator: a tree of faults, `- at '/image': got string, want object`.

use super::document::{Document, Draft};
use super::{DEPTH_MAX, TYPES, count, equal, format, is_of, number, object, pattern, schemas};
use super::{strings, type_of, types};
use model::{Map, Value};
use std::collections::BTreeSet;

pub(super) fn validate(document: &Document, values: &Value) -> Result<(), String> {
    let check = Check {
        document,
        draft: match document.draft {
            Draft::Unknown => Draft::D2020,
            draft => draft,
        },
    };
    let place = Place::default();
    match check.schema(&document.root, values, &place, 0) {
        Ok(_) => Ok(()),
        Err(Stop::Broken(message)) => Err(message),
        Err(Stop::Fault(fault)) => {
            let causes = if fault.is_group {
                fault.causes
            } else {
                vec![fault]
            };
            let mut text = String::new();
            for cause in &causes {
                cause.print(1, &mut text);
            }
            Err(format!("{}\n", text.trim_start_matches('\n')))
        }
    }
}

#[derive(Debug)]
struct Fault {
    at: String,
    message: String,
    causes: Vec<Fault>,
    is_group: bool,
    is_reference: bool,
}

#[derive(Debug)]
enum Stop {
    Fault(Fault),
    // The schema itself is wrong.
    Broken(String),
}

impl Fault {
    fn print(&self, indent: usize, out: &mut String) {
        let silent = self.is_reference && self.causes.len() == 1;
        let mut inner = indent;
        if !silent {
            out.push('\n');
            out.push_str(&"  ".repeat(indent - 1));
            out.push_str(&format!("- at {}: {}", quote(&self.at), self.message));
            inner += 1;
        }
        for cause in &self.causes {
            cause.print(inner, out);
        }
    }
}

// Where a value stands, and which schemas look at it already.
#[derive(Clone, Default)]
struct Place {
    pointer: String,
    visited: Vec<usize>,
}

impl Place {
    fn inner(&self, key: &str) -> Self {
        let key = key.replace('~', "~0").replace('/', "~1");
        Self {
            pointer: format!("{}/{key}", self.pointer),
            visited: Vec::new(),
        }
    }
}

// Properties and items that some schema has looked at.
#[derive(Default)]
struct Seen {
    keys: BTreeSet<String>,
    items: BTreeSet<usize>,
}

impl Seen {
    fn merge(&mut self, other: Self) {
        self.keys.extend(other.keys);
        self.items.extend(other.items);
    }
}

struct Check<'a> {
    document: &'a Document,
    draft: Draft,
}

struct Job<'a, 'b> {
    schema: &'a Map<String, Value>,
    place: &'b Place,
    depth: usize,
    faults: Vec<Fault>,
    seen: Seen,
}

impl Job<'_, '_> {
    fn fault(&mut self, message: impl Into<String>) {
        let fault = self.one(message);
        self.faults.push(fault);
    }

    fn one(&self, message: impl Into<String>) -> Fault {
        Fault {
            at: self.place.pointer.clone(),
            message: message.into(),
            causes: Vec::new(),
            is_group: false,
            is_reference: false,
        }
    }
}

// Keeps a fault among others; a broken schema ends everything.
fn keep(result: Result<Seen, Stop>, faults: &mut Vec<Fault>) -> Result<Option<Seen>, Stop> {
    match result {
        Ok(seen) => Ok(Some(seen)),
        Err(Stop::Fault(fault)) => {
            faults.push(fault);
            Ok(None)
        }
        Err(broken) => Err(broken),
    }
}

impl<'a> Check<'a> {
    fn schema(
        &self,
        schema: &'a Value,
        value: &Value,
        place: &Place,
        depth: usize,
    ) -> Result<Seen, Stop> {
        if depth > DEPTH_MAX {
            let message = format!("schemas lead into each other deeper than {DEPTH_MAX} levels");
            return Err(Stop::Broken(message));
        }
        let map = match schema {
            Value::Bool(true) => return Ok(Seen::default()),
            Value::Object(map) => map,
            _ => {
                return Err(Stop::Fault(Fault {
                    at: place.pointer.clone(),
                    message: "false schema".into(),
                    causes: Vec::new(),
                    is_group: false,
                    is_reference: false,
                }));
            }
        };
        let id = std::ptr::from_ref(map) as usize;
        let mut place = place.clone();
        if place.visited.contains(&id) {
            return Err(Stop::Broken("a schema refers to itself without end".into()));
        }
        place.visited.push(id);
        let mut job = Job {
            schema: map,
            place: &place,
            depth: depth + 1,
            faults: Vec::new(),
            seen: Seen::default(),
        };
        if let Some(fault) = self.plain(&job, value) {
            return Err(Stop::Fault(fault));
        }
        if let Some(Value::String(reference)) = map.get("$ref") {
            let done = self.reference(reference, value, &job);
            if self.draft < Draft::D2019 {
                return done;
            }
            if let Some(seen) = keep(done, &mut job.faults)? {
                job.seen.merge(seen);
            }
        }
        match value {
            Value::Object(map) => self.object(&mut job, map, value)?,
            Value::Array(items) => self.array(&mut job, items)?,
            Value::String(text) => self.string(&mut job, text),
            Value::Number(_) => self.number(&mut job, value),
            Value::Null | Value::Bool(_) => {}
        }
        for key in ["$recursiveRef", "$dynamicRef"] {
            if let Some(Value::String(reference)) = map.get(key)
                && self.draft >= Draft::D2019
            {
                let done = self.reference(reference, value, &job);
                if let Some(seen) = keep(done, &mut job.faults)? {
                    job.seen.merge(seen);
                }
            }
        }
        self.combined(&mut job, value)?;
        self.unevaluated(&mut job, value)?;
        match job.faults.len() {
            0 => Ok(job.seen),
            1 => Err(Stop::Fault(job.faults.remove(0))),
            _ => {
                let mut group = job.one("validation failed");
                group.is_group = true;
                group.causes = job.faults;
                Err(Stop::Fault(group))
            }
        }
    }

    // Type, const, enum and format end the check at once.
    fn plain(&self, job: &Job<'_, '_>, value: &Value) -> Option<Fault> {
        let schema = job.schema;
        let kinds = types(schema);
        if !kinds.is_empty() && !is_of(value, &kinds) {
            let want: Vec<&str> = TYPES
                .iter()
                .copied()
                .filter(|t| kinds.contains(t))
                .collect();
            let want = want.join(" or ");
            return Some(job.one(format!("got {}, want {want}", type_of(value))));
        }
        if let Some(wanted) = schema.get("const").filter(|_| self.draft >= Draft::D6)
            && !equal(wanted, value)
        {
            return Some(job.one(match wanted {
                Value::Array(_) | Value::Object(_) => "'const' failed".into(),
                wanted => format!("value must be {}", display(wanted)),
            }));
        }
        if let Some(wanted) = schema.get("enum").and_then(Value::as_array)
            && !wanted.iter().any(|wanted| equal(wanted, value))
        {
            let plain = |v: &Value| !matches!(v, Value::Array(_) | Value::Object(_));
            return Some(job.one(match wanted.as_slice() {
                [one] if plain(one) => format!("value must be {}", display(one)),
                many if many.iter().all(plain) => {
                    let many: Vec<String> = many.iter().map(display).collect();
                    format!("value must be one of {}", many.join(", "))
                }
                _ => "'enum' failed".into(),
            }));
        }
        if let (Some(Value::String(wanted)), Value::String(text)) = (schema.get("format"), value)
            && self.draft <= Draft::D7
            && !format::follows(wanted, text)
        {
            let text = quote(text);
            return Some(job.one(format!(
                "{text} is not valid {wanted}: {}",
                format::why(wanted)
            )));
        }
        None
    }

    fn reference(&self, reference: &str, value: &Value, job: &Job<'_, '_>) -> Result<Seen, Stop> {
        let found = self.document.resolve(reference);
        let (target, _) = found.map_err(|dangling| {
            let reference = &dangling.reference;
            Stop::Broken(if dangling.remote {
                format!("failing loading {reference:?}: remote schemas are not fetched")
            } else {
                format!("{reference:?} not found in \"file:///values.schema.json\"")
            })
        })?;
        match self.schema(target, value, job.place, job.depth) {
            Err(Stop::Fault(fault)) => {
                let mut outer = job.one("validation failed");
                outer.is_reference = true;
                outer.causes = if fault.is_group {
                    fault.causes
                } else {
                    vec![fault]
                };
                Err(Stop::Fault(outer))
            }
            other => other,
        }
    }

    fn inner(
        &self,
        job: &Job<'a, '_>,
        schema: &'a Value,
        value: &Value,
        key: &str,
    ) -> Result<Seen, Stop> {
        self.schema(schema, value, &job.place.inner(key), job.depth)
    }

    fn object(
        &self,
        job: &mut Job<'a, '_>,
        map: &Map<String, Value>,
        value: &Value,
    ) -> Result<(), Stop> {
        let schema = job.schema;
        if let Some(min) = count(schema, "minProperties").filter(|min| map.len() < *min) {
            job.fault(format!("minProperties: got {}, want {min}", map.len()));
        }
        if let Some(max) = count(schema, "maxProperties").filter(|max| map.len() > *max) {
            job.fault(format!("maxProperties: got {}, want {max}", map.len()));
        }
        let missing = missing(map, &strings(schema, "required"));
        match missing.as_slice() {
            [] => {}
            [one] => job.fault(format!("missing property {}", quote(one))),
            many => job.fault(format!("missing properties {}", quoted(many))),
        }
        for (key, dependency) in object(schema, "dependencies").into_iter().flatten() {
            if map.contains_key(key) && self.draft <= Draft::D7 {
                self.dependency(job, map, value, key, dependency)?;
            }
        }
        self.properties(job, map)?;
        if self.draft >= Draft::D6 {
            self.property_names(job, map)?;
        }
        if self.draft >= Draft::D2019 {
            for keyword in ["dependentSchemas", "dependentRequired"] {
                for (key, dependency) in object(schema, keyword).into_iter().flatten() {
                    if map.contains_key(key) {
                        self.dependency(job, map, value, key, dependency)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn dependency(
        &self,
        job: &mut Job<'a, '_>,
        map: &Map<String, Value>,
        value: &Value,
        key: &str,
        dependency: &'a Value,
    ) -> Result<(), Stop> {
        if let Value::Array(needed) = dependency {
            let needed: Vec<&str> = needed.iter().filter_map(Value::as_str).collect();
            let missing = missing(map, &needed);
            if !missing.is_empty() {
                let missing = quoted(&missing);
                job.fault(format!(
                    "properties {missing} required, if {} exists",
                    quote(key)
                ));
            }
            return Ok(());
        }
        let done = self.schema(dependency, value, job.place, job.depth);
        if let Some(seen) = keep(done, &mut job.faults)? {
            job.seen.merge(seen);
        }
        Ok(())
    }

    fn properties(&self, job: &mut Job<'a, '_>, map: &Map<String, Value>) -> Result<(), Stop> {
        let schema = job.schema;
        let known = object(schema, "properties");
        let mut patterns = Vec::new();
        for (text, inner) in object(schema, "patternProperties").into_iter().flatten() {
            let compiled = pattern(text).ok_or_else(|| {
                Stop::Broken(format!(
                    "patternProperties: {text:?} is not a valid pattern"
                ))
            })?;
            patterns.push((compiled, inner));
        }
        let mut additional = Vec::new();
        for (key, value) in map {
            let mut evaluated = false;
            if let Some(inner) = known.and_then(|known| known.get(key)) {
                evaluated = true;
                keep(self.inner(job, inner, value, key), &mut job.faults)?;
            }
            for (compiled, inner) in &patterns {
                if compiled.is_match(key) {
                    evaluated = true;
                    keep(self.inner(job, inner, value, key), &mut job.faults)?;
                }
            }
            if !evaluated && let Some(rest) = schema.get("additionalProperties") {
                evaluated = true;
                match rest {
                    Value::Bool(false) => additional.push(key.as_str()),
                    Value::Bool(true) => {}
                    inner => {
                        keep(self.inner(job, inner, value, key), &mut job.faults)?;
                    }
                }
            }
            if evaluated {
                job.seen.keys.insert(key.clone());
            }
        }
        if !additional.is_empty() {
            job.fault(format!(
                "additional properties {} not allowed",
                quoted(&additional)
            ));
        }
        Ok(())
    }

    fn property_names(&self, job: &mut Job<'a, '_>, map: &Map<String, Value>) -> Result<(), Stop> {
        let Some(inner) = job.schema.get("propertyNames") else {
            return Ok(());
        };
        for key in map.keys() {
            let name = Value::String(key.clone());
            match self.schema(inner, &name, &Place::default(), job.depth) {
                Err(Stop::Fault(fault)) => {
                    let mut outer = job.one(format!("invalid propertyName {}", quote(key)));
                    outer.at = String::new();
                    outer.causes = if fault.is_group {
                        fault.causes
                    } else {
                        vec![fault]
                    };
                    job.faults.push(outer);
                }
                Err(broken) => return Err(broken),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    fn array(&self, job: &mut Job<'a, '_>, items: &[Value]) -> Result<(), Stop> {
        let schema = job.schema;
        if let Some(min) = count(schema, "minItems").filter(|min| items.len() < *min) {
            job.fault(format!("minItems: got {}, want {min}", items.len()));
        }
        if let Some(max) = count(schema, "maxItems").filter(|max| items.len() > *max) {
            job.fault(format!("maxItems: got {}, want {max}", items.len()));
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            let pair = (0..items.len())
                .flat_map(|i| (i + 1..items.len()).map(move |j| (i, j)))
                .find(|(i, j)| equal(&items[*i], &items[*j]));
            if let Some((i, j)) = pair {
                job.fault(format!("items at {i} and {j} are equal"));
            }
        }
        let (positional, rest) = if self.draft >= Draft::D2020 {
            (schemas(schema, "prefixItems"), schema.get("items"))
        } else {
            match schema.get("items") {
                Some(Value::Array(list)) => (list.as_slice(), schema.get("additionalItems")),
                single => (&[][..], single),
            }
        };
        for (at, (inner, item)) in positional.iter().zip(items).enumerate() {
            keep(
                self.inner(job, inner, item, &at.to_string()),
                &mut job.faults,
            )?;
            job.seen.items.insert(at);
        }
        let more = items.len().saturating_sub(positional.len());
        match rest {
            None => {}
            Some(Value::Bool(false))
                if self.draft < Draft::D2020 && !positional.is_empty() && more > 0 =>
            {
                job.fault(format!("last {more} additionalItem(s) not allowed"));
            }
            Some(inner) => {
                for (at, item) in items.iter().skip(positional.len()).enumerate() {
                    keep(
                        self.inner(job, inner, item, &at.to_string()),
                        &mut job.faults,
                    )?;
                }
                job.seen.items.extend(0..items.len());
            }
        }
        if self.draft >= Draft::D6 {
            self.contains(job, items)?;
        }
        Ok(())
    }

    fn contains(&self, job: &mut Job<'a, '_>, items: &[Value]) -> Result<(), Stop> {
        let Some(inner) = job.schema.get("contains") else {
            return Ok(());
        };
        let (mut faults, mut matched) = (Vec::new(), Vec::new());
        for (at, item) in items.iter().enumerate() {
            if keep(self.inner(job, inner, item, &at.to_string()), &mut faults)?.is_some() {
                matched.push(at);
                if self.draft >= Draft::D2020 {
                    job.seen.items.insert(at);
                }
            }
        }
        let places: Vec<String> = matched.iter().map(usize::to_string).collect();
        let (got, places) = (matched.len(), places.join(" "));
        match count(job.schema, "minContains").filter(|_| self.draft >= Draft::D2019) {
            Some(min) if got < min => {
                let mut fault = job.one(if got == 0 {
                    format!("min {min} items required to match contains schema, but none matched")
                } else {
                    format!("min {min} items required to match contains schema, but matched {got} items at {places}")
                });
                fault.causes = faults;
                job.faults.push(fault);
            }
            None if got == 0 => {
                let mut fault = job.one("no items match contains schema");
                fault.causes = faults;
                job.faults.push(fault);
            }
            _ => {}
        }
        if let Some(max) = count(job.schema, "maxContains").filter(|max| got > *max) {
            job.fault(format!(
                "max {max} items required to match contains schema, but matched {got} items at {places}"
            ));
        }
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "all checks are called alike")]
    fn string(&self, job: &mut Job<'a, '_>, text: &str) {
        let length = text.chars().count();
        if let Some(min) = count(job.schema, "minLength").filter(|min| length < *min) {
            job.fault(format!("minLength: got {length}, want {min}"));
        }
        if let Some(max) = count(job.schema, "maxLength").filter(|max| length > *max) {
            job.fault(format!("maxLength: got {length}, want {max}"));
        }
        if let Some(Value::String(wanted)) = job.schema.get("pattern")
            && pattern(wanted).is_some_and(|compiled| !compiled.is_match(text))
        {
            job.fault(format!(
                "{} does not match pattern {}",
                quote(text),
                quote(wanted)
            ));
        }
    }

    fn number(&self, job: &mut Job<'a, '_>, value: &Value) {
        let schema = job.schema;
        let bound = |key: &str| schema.get(key).filter(|bound| bound.is_number());
        let old =
            |key: &str| self.draft == Draft::D4 && schema.get(key) == Some(&Value::Bool(true));
        let against = |bound: &Value| number::compare(value, bound);
        let mut faults = Vec::new();
        let mut check = |word: &str, bound: Option<&Value>, fails: &dyn Fn(&Value) -> bool| {
            if let Some(bound) = bound.filter(|bound| fails(bound)) {
                let (got, want) = (number::english(value), number::english(bound));
                faults.push(format!("{word}: got {got}, want {want}"));
            }
        };
        let (min, max) = (bound("minimum"), bound("maximum"));
        let (under, over) = (old("exclusiveMinimum"), old("exclusiveMaximum"));
        check("minimum", min.filter(|_| !under), &|b| against(b).is_lt());
        check("maximum", max.filter(|_| !over), &|b| against(b).is_gt());
        let strict = if under {
            min
        } else {
            bound("exclusiveMinimum")
        };
        check("exclusiveMinimum", strict, &|b| against(b).is_le());
        let strict = if over { max } else { bound("exclusiveMaximum") };
        check("exclusiveMaximum", strict, &|b| against(b).is_ge());
        check("multipleOf", bound("multipleOf"), &|b| {
            !number::is_multiple(value, b)
        });
        for fault in faults {
            job.fault(fault);
        }
    }

    fn combined(&self, job: &mut Job<'a, '_>, value: &Value) -> Result<(), Stop> {
        let schema = job.schema;
        let same =
            |inner: &'a Value, job: &Job<'a, '_>| self.schema(inner, value, job.place, job.depth);
        if let Some(not) = schema.get("not")
            && keep(same(not, job), &mut Vec::new())?.is_some()
        {
            job.fault("'not' failed");
        }
        let mut faults = Vec::new();
        for inner in schemas(schema, "allOf") {
            if let Some(seen) = keep(same(inner, job), &mut faults)? {
                job.seen.merge(seen);
            }
        }
        if !faults.is_empty() {
            let mut fault = job.one("'allOf' failed");
            fault.causes = faults;
            job.faults.push(fault);
        }
        let any = schemas(schema, "anyOf");
        let (mut faults, mut matched) = (Vec::new(), any.is_empty());
        for inner in any {
            if let Some(seen) = keep(same(inner, job), &mut faults)? {
                job.seen.merge(seen);
                matched = true;
            }
        }
        if !matched {
            let mut fault = job.one("'anyOf' failed");
            fault.causes = faults;
            job.faults.push(fault);
        }
        self.one_of(job, value)?;
        if self.draft < Draft::D7 {
            return Ok(());
        }
        if let Some(condition) = schema.get("if") {
            let holds = keep(same(condition, job), &mut Vec::new())?;
            let branch = if holds.is_some() { "then" } else { "else" };
            if let Some(seen) = holds {
                job.seen.merge(seen);
            }
            if let Some(inner) = schema.get(branch)
                && let Some(seen) = keep(same(inner, job), &mut job.faults)?
            {
                job.seen.merge(seen);
            }
        }
        Ok(())
    }

    fn one_of(&self, job: &mut Job<'a, '_>, value: &Value) -> Result<(), Stop> {
        let alternatives = schemas(job.schema, "oneOf");
        let (mut faults, mut matched) = (Vec::new(), None);
        for (at, inner) in alternatives.iter().enumerate() {
            let done = self.schema(inner, value, job.place, job.depth);
            if let Some(seen) = keep(done, &mut faults)? {
                job.seen.merge(seen);
                match matched {
                    None => matched = Some(at),
                    Some(first) => {
                        job.fault(format!("'oneOf' failed, subschemas {first}, {at} matched"));
                        return Ok(());
                    }
                }
            }
        }
        if matched.is_none() && !alternatives.is_empty() {
            let mut fault = job.one("'oneOf' failed, none matched");
            fault.causes = faults;
            job.faults.push(fault);
        }
        Ok(())
    }

    fn unevaluated(&self, job: &mut Job<'a, '_>, value: &Value) -> Result<(), Stop> {
        if self.draft < Draft::D2019 {
            return Ok(());
        }
        if let (Some(inner), Value::Object(map)) = (job.schema.get("unevaluatedProperties"), value)
        {
            for (key, value) in map {
                if !job.seen.keys.contains(key) {
                    keep(self.inner(job, inner, value, key), &mut job.faults)?;
                }
            }
            job.seen.keys.extend(map.keys().cloned());
        }
        if let (Some(inner), Value::Array(items)) = (job.schema.get("unevaluatedItems"), value) {
            for (at, item) in items.iter().enumerate() {
                if !job.seen.items.contains(&at) {
                    keep(
                        self.inner(job, inner, item, &at.to_string()),
                        &mut job.faults,
                    )?;
                }
            }
            job.seen.items.extend(0..items.len());
        }
        Ok(())
    }
}

fn missing<'n>(map: &Map<String, Value>, names: &[&'n str]) -> Vec<&'n str> {
    names
        .iter()
        .copied()
        .filter(|name| !map.contains_key(*name))
        .collect()
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
    names.join(", ")
}

fn quote(text: &str) -> String {
    let escaped = format!("{text:?}").replace("\\\"", "\"");
    let escaped = escaped.replace("\\'", "'").replace('\'', "\\'");
    format!("'{}'", &escaped[1..escaped.len() - 1])
}

fn display(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Null => "<nil>".into(),
        other => other.to_string(),
    }
}
