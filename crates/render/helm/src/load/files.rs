//! The files of a chart, each to its place: metadata, values, templates, subcharts, the rest.

use super::directory::join;
use super::{CHART_DEPTH_MAX, Found, archive, metadata};
use crate::chart::{API_V1, Chart, File};
use crate::{Flavour, HelmError, gopath};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Makes a chart of its files; `root` is where they stand in the repository.
pub(crate) fn assemble(
    found: Vec<Found>,
    root: &str,
    flavour: Flavour,
    depth: usize,
) -> Result<Chart, HelmError> {
    if depth > CHART_DEPTH_MAX {
        return Err(HelmError::chart(format!(
            "charts lie inside charts deeper than {CHART_DEPTH_MAX} levels"
        )));
    }
    let mut assembly = Assembly {
        chart: Chart {
            root: root.to_owned(),
            ..Chart::default()
        },
        flavour,
        has_metadata: false,
        subcharts: BTreeMap::new(),
    };
    for (name, data) in &found {
        if name == "Chart.yaml" {
            assembly.chart_yaml(data)?;
        }
    }
    for (name, data) in found {
        assembly.place(name, data)?;
    }
    assembly.finish(depth)
}

struct Assembly {
    chart: Chart,
    flavour: Flavour,
    has_metadata: bool,
    // Files below charts/, by the first name of their path.
    subcharts: BTreeMap<String, Vec<Found>>,
}

impl Assembly {
    fn chart_yaml(&mut self, data: &[u8]) -> Result<(), HelmError> {
        self.has_metadata = true;
        let text = String::from_utf8_lossy(data);
        metadata::read(&text, &mut self.chart.metadata, self.flavour)
            .map_err(|message| self.load_fault("Chart.yaml", message, &text))?;
        if self.chart.metadata.api_version.is_empty() {
            API_V1.clone_into(&mut self.chart.metadata.api_version);
        }
        let known = [API_V1, crate::chart::API_V2];
        if self.flavour == Flavour::V4 && !known.contains(&&*self.chart.metadata.api_version) {
            return Err(self.fault("Chart.yaml", "invalid chart apiVersion".into(), 0));
        }
        Ok(())
    }

    fn place(&mut self, name: String, data: Arc<[u8]>) -> Result<(), HelmError> {
        match name.as_str() {
            "Chart.yaml" => {}
            "Chart.lock" => self.lock(&name, &data)?,
            "values.yaml" => {
                let text = String::from_utf8_lossy(&data);
                self.chart.values = metadata::read_values(&text, self.flavour)
                    .map_err(|message| self.load_fault(&name, message, &text))?;
            }
            "values.schema.json" => self.chart.schema = Some(data),
            "requirements.yaml" => {
                let text = String::from_utf8_lossy(&data);
                self.has_metadata = true;
                metadata::warn_of_old_file(
                    &mut self.chart,
                    "Dependencies are handled",
                    "Chart.yaml",
                );
                metadata::read(&text, &mut self.chart.metadata, self.flavour)
                    .map_err(|message| self.load_fault(&name, message, &text))?;
                self.keep_old(name, data);
            }
            "requirements.lock" => {
                self.lock(&name, &data)?;
                self.has_metadata = true;
                let what = "Dependency locking is handled";
                metadata::warn_of_old_file(&mut self.chart, what, "Chart.lock");
                self.keep_old(name, data);
            }
            _ if name.starts_with("templates/") => self.chart.templates.push(File { name, data }),
            _ => match name.strip_prefix("charts/") {
                Some(inner) if gopath::extension(&name) != ".prov" => {
                    let first = inner.split('/').next().unwrap_or(inner).to_owned();
                    let files = self.subcharts.entry(first).or_default();
                    files.push((inner.to_owned(), data));
                }
                _ => self.chart.files.push(File { name, data }),
            },
        }
        Ok(())
    }

    fn lock(&mut self, name: &str, data: &[u8]) -> Result<(), HelmError> {
        let text = String::from_utf8_lossy(data);
        self.chart.lock = metadata::read_lock(&text, self.flavour)
            .map_err(|message| self.load_fault(name, message, &text))?;
        Ok(())
    }

    // Templates of old charts may read their requirements as files.
    fn keep_old(&mut self, name: String, data: Arc<[u8]>) {
        if self.chart.metadata.api_version == API_V1 {
            self.chart.files.push(File { name, data });
        }
    }

    fn finish(mut self, depth: usize) -> Result<Chart, HelmError> {
        if !self.has_metadata {
            return Err(self.fault("Chart.yaml", "Chart.yaml file is missing".into(), 0));
        }
        metadata::validate(&mut self.chart.metadata, self.flavour)
            .map_err(|message| self.fault("Chart.yaml", message, 0))?;
        for (name, files) in std::mem::take(&mut self.subcharts) {
            if name.starts_with(['_', '.']) {
                continue;
            }
            let subchart = self.subchart(&name, files, depth).map_err(|error| {
                let parent = self.chart.name();
                error.within(&format!("error unpacking subchart {name} in {parent}: "))
            })?;
            self.chart.dependencies.push(Arc::new(subchart));
        }
        Ok(self.chart)
    }

    fn subchart(&self, name: &str, files: Vec<Found>, depth: usize) -> Result<Chart, HelmError> {
        let root = join(&self.chart.root, &format!("charts/{name}"));
        if gopath::extension(name) != ".tgz" {
            let inner = |(path, data): Found| {
                let (_, rest) = path.split_once('/')?;
                Some((rest.to_owned(), data))
            };
            let files = files.into_iter().filter_map(inner).collect();
            return assemble(files, &root, self.flavour, depth + 1);
        }
        let (path, data) = &files[0];
        if path != name {
            let parent = self.chart.name();
            return Err(HelmError::chart(format!(
                "error unpacking subchart tar in {parent}: expected {name}, got {path}"
            )));
        }
        archive::load(data, &root, self.flavour, depth + 1)
    }

    fn load_fault(&self, name: &str, message: String, text: &str) -> HelmError {
        let line = yaml::parse(text).err().map_or(0, |error| error.line);
        // What is checked behind the decoder speaks for itself.
        let message = if message.starts_with("validation: ") {
            message
        } else {
            format!("cannot load {name}: {message}")
        };
        self.fault(name, message, line)
    }

    fn fault(&self, name: &str, message: String, line: usize) -> HelmError {
        HelmError::Chart {
            message,
            file: self.chart.place_of(name),
            line,
        }
    }
}
