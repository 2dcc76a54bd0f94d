//! Helm 3's validator: a flat list of faults, `field: description`.

use super::document::{Document, Draft};
use super::{DEPTH_MAX, count, equal, format, is_of, number, object, pattern, schemas, strings};
use super::{type_of, types};
use model::{Map, Value};

pub(super) fn validate(document: &Document, values: &Value) -> Result<(), String> {
    let mut check = Check {
        document,
        result: Outcome::default(),
        depth: 0,
    };
    check.schema(&document.root, values, "(root)")?;
    if check.result.faults.is_empty() {
        return Ok(());
    }
    Err(check
        .result
        .faults
        .iter()
        .map(|fault| format!("- {fault}\n"))
        .collect())
}

// Faults, and a score that says how close values came; the closest alternative is reported.
#[derive(Default)]
struct Outcome {
    faults: Vec<String>,
    score: i64,
}

struct Check<'a> {
    document: &'a Document,
    result: Outcome,
    depth: usize,
}

type Checked = Result<(), String>;

impl<'a> Check<'a> {
    fn fault(&mut self, context: &str, description: &str) {
        let field = context.strip_prefix("(root).").unwrap_or(context);
        self.result.faults.push(format!("{field}: {description}"));
        self.result.score -= 2;
    }

    // Checks with a result of its own.
    fn apart(&mut self, schema: &'a Value, node: &Value, context: &str) -> Result<Outcome, String> {
        let outer = std::mem::take(&mut self.result);
        let done = self.schema(schema, node, context);
        let inner = std::mem::replace(&mut self.result, outer);
        done.map(|()| inner)
    }

    fn merge(&mut self, other: Outcome) {
        self.result.faults.extend(other.faults);
        self.result.score += other.score;
    }

    fn schema(&mut self, schema: &'a Value, node: &Value, context: &str) -> Checked {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!(
                "schemas lead into each other deeper than {DEPTH_MAX} levels"
            ));
        }
        let done = self.schema_inner(schema, node, context);
        self.depth -= 1;
        done
    }

    fn schema_inner(&mut self, schema: &'a Value, node: &Value, context: &str) -> Checked {
        let schema = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Bool(false) => {
                self.fault(context, "False always fails validation");
                return Ok(());
            }
            Value::Object(map) => map,
            _ => return Err("Expected: valid schema, given: Invalid JSON".into()),
        };
        if let Some(Value::String(reference)) = schema.get("$ref") {
            let (target, _) = self.document.resolve(reference).map_err(|dangling| {
                if dangling.remote {
                    format!("`$ref` to `{}` is not fetched", dangling.reference)
                } else {
                    format!("Object has no key '{}'", last_part(&dangling.reference))
                }
            })?;
            return self.schema(target, node, context);
        }
        let kinds = types(schema);
        if !kinds.is_empty() && !is_of(node, &kinds) {
            let given = match type_of(node) {
                "number" if number::is_whole(node) => "integer",
                other => other,
            };
            let expected = match kinds.as_slice() {
                [one] => (*one).to_owned(),
                many => format!("[{}]", many.join(",")),
            };
            self.fault(
                context,
                &format!("Invalid type. Expected: {expected}, given: {given}"),
            );
            return Ok(());
        }
        self.combined(schema, node, context)?;
        match node {
            Value::Object(map) => self.object(schema, map, context)?,
            Value::Array(items) => self.array(schema, items, context)?,
            Value::Number(_) => self.number(schema, node, context),
            _ => {}
        }
        self.common(schema, node, context);
        match node {
            Value::String(text) => self.string(schema, text, context),
            Value::Object(map) => self.properties(schema, map, context)?,
            _ => {}
        }
        self.result.score += 1;
        Ok(())
    }

    fn combined(&mut self, schema: &'a Map<String, Value>, node: &Value, context: &str) -> Checked {
        self.any_of(schema, node, context)?;
        self.one_of(schema, node, context)?;
        let all = schemas(schema, "allOf");
        let mut failed = false;
        for inner in all {
            let outcome = self.apart(inner, node, context)?;
            failed |= !outcome.faults.is_empty();
            self.merge(outcome);
        }
        if failed {
            self.fault(context, "Must validate all the schemas (allOf)");
        }
        if let Some(not) = schema.get("not")
            && self.apart(not, node, context)?.faults.is_empty()
        {
            self.fault(context, "Must not validate the schema (not)");
        }
        self.dependencies(schema, node, context)?;
        self.condition(schema, node, context)?;
        self.result.score += 1;
        Ok(())
    }

    fn any_of(&mut self, schema: &'a Map<String, Value>, node: &Value, context: &str) -> Checked {
        let mut best: Option<Outcome> = None;
        for inner in schemas(schema, "anyOf") {
            let outcome = self.apart(inner, node, context)?;
            if outcome.faults.is_empty() {
                return Ok(());
            }
            if best.as_ref().is_none_or(|best| outcome.score > best.score) {
                best = Some(outcome);
            }
        }
        if let Some(best) = best {
            self.fault(context, "Must validate at least one schema (anyOf)");
            self.merge(best);
        }
        Ok(())
    }

    fn one_of(&mut self, schema: &'a Map<String, Value>, node: &Value, context: &str) -> Checked {
        let alternatives = schemas(schema, "oneOf");
        let mut matched = 0;
        let mut best: Option<Outcome> = None;
        for inner in alternatives {
            let outcome = self.apart(inner, node, context)?;
            if outcome.faults.is_empty() {
                matched += 1;
            } else if matched == 0 && best.as_ref().is_none_or(|best| outcome.score > best.score) {
                best = Some(outcome);
            }
        }
        if !alternatives.is_empty() && matched != 1 {
            self.fault(context, "Must validate one and only one schema (oneOf)");
            if let (0, Some(best)) = (matched, best) {
                self.merge(best);
            }
        }
        Ok(())
    }

    fn dependencies(
        &mut self,
        schema: &'a Map<String, Value>,
        node: &Value,
        context: &str,
    ) -> Checked {
        let (Some(dependencies), Value::Object(map)) = (object(schema, "dependencies"), node)
        else {
            return Ok(());
        };
        for (key, dependency) in dependencies
            .iter()
            .filter(|(key, _)| map.contains_key(*key))
        {
            match dependency {
                Value::Array(_) => {
                    for needed in strings(dependencies, key) {
                        if !map.contains_key(needed) {
                            self.fault(context, &format!("Has a dependency on {needed}"));
                        }
                    }
                }
                inner => self.schema(inner, node, context)?,
            }
        }
        Ok(())
    }

    fn condition(
        &mut self,
        schema: &'a Map<String, Value>,
        node: &Value,
        context: &str,
    ) -> Checked {
        let draft = self.document.draft;
        let Some(condition) = schema.get("if").filter(|_| draft >= Draft::D7) else {
            return Ok(());
        };
        let holds = self.apart(condition, node, context)?.faults.is_empty();
        let (branch, description) = if holds {
            ("then", "Must validate \"then\" as \"if\" was valid")
        } else {
            ("else", "Must validate \"else\" as \"if\" was not valid")
        };
        if let Some(inner) = schema.get(branch) {
            let outcome = self.apart(inner, node, context)?;
            if !outcome.faults.is_empty() {
                self.fault(context, description);
                self.merge(outcome);
            }
        }
        Ok(())
    }

    fn common(&mut self, schema: &Map<String, Value>, node: &Value, context: &str) {
        let field = context.strip_prefix("(root).").unwrap_or(context);
        if let Some(allowed) = schema
            .get("const")
            .filter(|_| self.document.draft >= Draft::D6)
            && !equal(allowed, node)
        {
            self.fault(
                context,
                &format!("{field} does not match: {}", compact(allowed)),
            );
        }
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.is_empty()
            && !allowed.iter().any(|value| equal(value, node))
        {
            let allowed: Vec<String> = allowed.iter().map(compact).collect();
            let allowed = allowed.join(", ");
            self.fault(
                context,
                &format!("{field} must be one of the following: {allowed}"),
            );
        }
        self.result.score += 1;
    }

    fn array(&mut self, schema: &'a Map<String, Value>, items: &[Value], context: &str) -> Checked {
        let mut positional = 0;
        match schema.get("items") {
            Some(Value::Array(list)) => {
                for (at, (inner, item)) in list.iter().zip(items).enumerate() {
                    let outcome = self.apart(inner, item, &format!("{context}.{at}"))?;
                    self.merge(outcome);
                }
                positional = list.len();
            }
            Some(inner) => {
                for (at, item) in items.iter().enumerate() {
                    let outcome = self.apart(inner, item, &format!("{context}.{at}"))?;
                    self.merge(outcome);
                }
            }
            None => {}
        }
        if positional > 0 && positional < items.len() {
            match schema.get("additionalItems") {
                Some(Value::Bool(false)) => {
                    self.fault(context, "No additional items allowed on array");
                }
                Some(inner @ Value::Object(_)) => {
                    for (at, item) in items.iter().enumerate().skip(positional) {
                        let outcome = self.apart(inner, item, &format!("{context}.{at}"))?;
                        self.merge(outcome);
                    }
                }
                _ => {}
            }
        }
        if let Some(min) = count(schema, "minItems").filter(|min| items.len() < *min) {
            self.fault(context, &format!("Array must have at least {min} items"));
        }
        if let Some(max) = count(schema, "maxItems").filter(|max| items.len() > *max) {
            self.fault(context, &format!("Array must have at most {max} items"));
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            for j in 1..items.len() {
                if let Some(i) = (0..j).rev().find(|i| equal(&items[*i], &items[j])) {
                    self.fault(context, &format!("array items[{i},{j}] must be unique"));
                }
            }
        }
        self.contains(schema, items, context)?;
        self.result.score += 1;
        Ok(())
    }

    fn contains(
        &mut self,
        schema: &'a Map<String, Value>,
        items: &[Value],
        context: &str,
    ) -> Checked {
        let draft = self.document.draft;
        let Some(inner) = schema.get("contains").filter(|_| draft >= Draft::D6) else {
            return Ok(());
        };
        let mut best: Option<Outcome> = None;
        for (at, item) in items.iter().enumerate() {
            let outcome = self.apart(inner, item, &format!("{context}.{at}"))?;
            if outcome.faults.is_empty() {
                return Ok(());
            }
            if best.as_ref().is_none_or(|best| outcome.score > best.score) {
                best = Some(outcome);
            }
        }
        self.fault(context, "At least one of the items must match");
        if let Some(best) = best {
            self.merge(best);
        }
        Ok(())
    }

    fn object(
        &mut self,
        schema: &'a Map<String, Value>,
        map: &Map<String, Value>,
        context: &str,
    ) -> Checked {
        if let Some(min) = count(schema, "minProperties").filter(|min| map.len() < *min) {
            self.fault(context, &format!("Must have at least {min} properties"));
        }
        if let Some(max) = count(schema, "maxProperties").filter(|max| map.len() > *max) {
            self.fault(context, &format!("Must have at most {max} properties"));
        }
        for name in strings(schema, "required") {
            if map.contains_key(name) {
                self.result.score += 1;
            } else {
                self.fault(context, &format!("{name} is required"));
            }
        }
        let known = object(schema, "properties");
        let mut patterns = Vec::new();
        for (text, inner) in object(schema, "patternProperties").into_iter().flatten() {
            let compiled =
                pattern(text).ok_or_else(|| format!("Invalid regex pattern '{text}'"))?;
            patterns.push((compiled, inner));
        }
        for (key, value) in map {
            let mut described = known.is_some_and(|known| known.contains_key(key));
            let mut by_pattern = false;
            for (compiled, inner) in &patterns {
                if compiled.is_match(key) {
                    by_pattern = true;
                    let outcome = self.apart(inner, value, &format!("{context}.{key}"))?;
                    self.merge(outcome);
                }
            }
            self.result.score += i64::from(by_pattern);
            described |= by_pattern;
            if described {
                continue;
            }
            match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => {
                    self.fault(
                        context,
                        &format!("Additional property {key} is not allowed"),
                    );
                }
                Some(inner @ Value::Object(_)) => {
                    let outcome = self.apart(inner, value, &format!("{context}.{key}"))?;
                    self.merge(outcome);
                }
                _ => {}
            }
        }
        if let Some(inner) = schema.get("propertyNames")
            && self.document.draft >= Draft::D6
        {
            for key in map.keys() {
                let outcome = self.apart(inner, &Value::String(key.clone()), context)?;
                if !outcome.faults.is_empty() {
                    self.fault(
                        context,
                        &format!("Property name of \"{key}\" does not match"),
                    );
                    self.merge(outcome);
                }
            }
        }
        self.result.score += 1;
        Ok(())
    }

    fn properties(
        &mut self,
        schema: &'a Map<String, Value>,
        map: &Map<String, Value>,
        context: &str,
    ) -> Checked {
        for (key, inner) in object(schema, "properties").into_iter().flatten() {
            if let Some(value) = map.get(key) {
                self.schema(inner, value, &format!("{context}.{key}"))?;
            }
        }
        Ok(())
    }

    fn string(&mut self, schema: &Map<String, Value>, text: &str, context: &str) {
        let length = text.chars().count();
        if let Some(min) = count(schema, "minLength").filter(|min| length < *min) {
            self.fault(
                context,
                &format!("String length must be greater than or equal to {min}"),
            );
        }
        if let Some(max) = count(schema, "maxLength").filter(|max| length > *max) {
            self.fault(
                context,
                &format!("String length must be less than or equal to {max}"),
            );
        }
        if let Some(Value::String(wanted)) = schema.get("pattern")
            && pattern(wanted).is_some_and(|compiled| !compiled.is_match(text))
        {
            self.fault(context, &format!("Does not match pattern '{wanted}'"));
        }
        if let Some(Value::String(wanted)) = schema.get("format")
            && !format::follows(wanted, text)
        {
            self.fault(context, &format!("Does not match format '{wanted}'"));
        }
        self.result.score += 1;
    }

    fn number(&mut self, schema: &Map<String, Value>, node: &Value, context: &str) {
        let bound = |key: &str| schema.get(key).filter(|bound| bound.is_number());
        if let Some(of) = bound("multipleOf").filter(|of| !number::is_multiple(node, of)) {
            self.fault(
                context,
                &format!("Must be a multiple of {}", number::brief(of)),
            );
        }
        let exclusive = |key: &str| schema.get(key) == Some(&Value::Bool(true));
        let above = |bound: &Value| number::compare(node, bound);
        let (max, over) = (bound("maximum"), exclusive("exclusiveMaximum"));
        if let Some(max) = max.filter(|max| !over && above(max).is_gt()) {
            self.fault(
                context,
                &format!("Must be less than or equal to {}", number::brief(max)),
            );
        }
        let strict = if over { max } else { bound("exclusiveMaximum") };
        if let Some(max) = strict.filter(|max| above(max).is_ge()) {
            self.fault(
                context,
                &format!("Must be less than {}", number::brief(max)),
            );
        }
        let (min, under) = (bound("minimum"), exclusive("exclusiveMinimum"));
        if let Some(min) = min.filter(|min| !under && above(min).is_lt()) {
            self.fault(
                context,
                &format!("Must be greater than or equal to {}", number::brief(min)),
            );
        }
        let strict = if under {
            min
        } else {
            bound("exclusiveMinimum")
        };
        if let Some(min) = strict.filter(|min| above(min).is_le()) {
            self.fault(
                context,
                &format!("Must be greater than {}", number::brief(min)),
            );
        }
        self.result.score += 1;
    }
}

fn last_part(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

// JSON without spaces, as Go writes it.
fn compact(value: &Value) -> String {
    let bytes = json::write::to_vec(value, json::write::Layout::Compact);
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}
