//! `.Files`: the files of a chart that are no templates, as templates read them.

use crate::chart::Chart;
use crate::{Flavour, gopath};
use base64::Engine as _;
use gotemplate::{Element, Entries, List, Map, Method, Named, Type, Value};
use pattern::Glob;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Files by path; the bytes are shared with the chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    files: Rc<BTreeMap<String, Arc<[u8]>>>,
}

impl Files {
    /// `.Files` of a chart.
    pub(crate) fn of(chart: &Chart, _flavour: Flavour) -> Value {
        let files = chart
            .files
            .iter()
            .map(|file| (file.name.clone(), file.data.clone()));
        let files = Self {
            files: Rc::new(files.collect()),
        };
        files.value()
    }

    // The same files as templates see them: a map with methods.
    fn value(self) -> Value {
        let entry = |(name, data): (&String, &Arc<[u8]>)| {
            (
                name.as_str().into(),
                Value::List(List::shared_bytes(data.clone())),
            )
        };
        let entries: Entries = self.files.iter().map(entry).collect();
        let named = Rc::new(Named {
            name: "engine.files".into(),
            methods: self.methods(),
        });
        Value::Map(Map::named(named, Element::Bytes, entries))
    }

    fn methods(&self) -> Vec<Method> {
        let by_name = |name: &'static str, answer: fn(&Self, &str) -> Value| {
            let files = self.clone();
            Method::new(name, vec![Type::String], move |arguments| {
                let argument = arguments.first().and_then(Value::as_text);
                let argument = argument.map(|text| text.lossy().into_owned());
                Ok(answer(&files, &argument.unwrap_or_default()))
            })
        };
        let whole = |name: &'static str, answer: fn(&Self) -> String| {
            let files = self.clone();
            Method::new(name, Vec::new(), move |_| Ok(Value::from(answer(&files))))
        };
        vec![
            by_name("Get", Self::get),
            by_name("GetBytes", Self::get_bytes),
            by_name("Glob", Self::glob),
            by_name("Lines", Self::lines),
            whole("AsConfig", Self::as_config),
            whole("AsSecrets", Self::as_secrets),
        ]
    }

    fn get(&self, name: &str) -> Value {
        match self.files.get(name) {
            Some(data) => Value::from(data.to_vec()),
            None => Value::from(""),
        }
    }

    fn get_bytes(&self, name: &str) -> Value {
        match self.files.get(name) {
            Some(data) => Value::List(List::shared_bytes(data.clone())),
            None => Value::List(List::bytes(&[])),
        }
    }

    fn glob(&self, pattern: &str) -> Value {
        let matcher = Glob::separated(pattern, &['/']).or_else(|_| Glob::free("**"));
        let matches = |name: &str| matcher.as_ref().is_ok_and(|glob| glob.matches(name));
        let found = self.files.iter().filter(|(name, _)| matches(name));
        let files = found
            .map(|(name, data)| (name.clone(), data.clone()))
            .collect();
        Self {
            files: Rc::new(files),
        }
        .value()
    }

    fn lines(&self, name: &str) -> Value {
        let Some(data) = self.files.get(name).filter(|data| !data.is_empty()) else {
            return Value::List(List::strings(Vec::<&str>::new()));
        };
        let data = data.strip_suffix(b"\n").unwrap_or(data);
        let lines = data.split(|byte| *byte == b'\n');
        Value::List(List::strings(lines.map(<[u8]>::to_vec)))
    }

    fn as_config(&self) -> String {
        self.as_yaml(|data| String::from_utf8_lossy(data).into_owned())
    }

    fn as_secrets(&self) -> String {
        self.as_yaml(|data| base64::engine::general_purpose::STANDARD.encode(data))
    }

    fn as_yaml(&self, encode: impl Fn(&[u8]) -> String) -> String {
        let entry = |(name, data): (&String, &Arc<[u8]>)| {
            (
                gopath::base(name).to_owned(),
                model::Value::String(encode(data)),
            )
        };
        let map: model::Map<String, model::Value> = self.files.iter().map(entry).collect();
        let text = yaml::to_string(&model::Value::Object(map));
        text.strip_suffix('\n').unwrap_or(&text).to_owned()
    }
}
