//! Manifests as text: whole, as data, or by name; with or without their origins.

use model::{Manifest, Origin, Value, json};

/// Whether origins are printed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origins {
    Hide,
    Show,
}

/// All manifests as one file of YAML.
pub(crate) fn yaml(manifests: &[Manifest], origins: Origins) -> String {
    let mut out = String::new();
    for (index, manifest) in manifests.iter().enumerate() {
        if index > 0 {
            out.push_str("---\n");
        }
        if origins == Origins::Show {
            for text in origin_lines(&manifest.origin) {
                out.push_str(&format!("# {text}\n"));
            }
        }
        out.push_str(&yaml::to_string(&manifest.object));
    }
    out
}

/// All manifests as one JSON list; with origins each entry is an object and its origin.
pub(crate) fn data(manifests: &[Manifest], origins: Origins) -> Value {
    let one = |manifest: &Manifest| match origins {
        Origins::Hide => manifest.object.clone(),
        Origins::Show => {
            json!({"object": manifest.object, "origin": origin_data(&manifest.origin)})
        }
    };
    manifests.iter().map(one).collect()
}

/// One line per manifest, as `kubectl -o name` calls it.
pub(crate) fn names(manifests: &[Manifest], origins: Origins) -> String {
    let mut out = String::new();
    for manifest in manifests {
        out.push_str(&name(&manifest.object));
        if origins == Origins::Show {
            out.push_str(&format!("  {}", place(&manifest.origin)));
        }
        out.push('\n');
    }
    out
}

fn name(object: &Value) -> String {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or("")
    };
    let kind = text("/kind").to_lowercase();
    let group = text("/apiVersion")
        .rsplit_once('/')
        .map_or("", |(group, _)| group);
    let dot = if group.is_empty() { "" } else { "." };
    let named = match text("/metadata/name") {
        "" => format!("{}*", text("/metadata/generateName")),
        name => name.to_owned(),
    };
    format!("{kind}{dot}{group}/{named}")
}

fn place(origin: &Origin) -> String {
    if origin.line == 0 {
        origin.file.clone()
    } else {
        format!("{}:{}", origin.file, origin.line)
    }
}

fn origin_lines(origin: &Origin) -> Vec<String> {
    let mut lines = vec![format!(
        "{} (document {})",
        place(origin),
        origin.document + 1
    )];
    for touch in &origin.touched {
        let at = if touch.line == 0 {
            touch.file.clone()
        } else {
            format!("{}:{}", touch.file, touch.line)
        };
        let fields = if touch.fields.is_empty() {
            String::new()
        } else {
            format!(": {}", touch.fields.join(", "))
        };
        lines.push(format!("{} {at}{fields}", touch.by));
    }
    lines
}

fn origin_data(origin: &Origin) -> Value {
    let touched = origin.touched.iter().map(|touch| {
        json!({"by": touch.by, "file": touch.file, "line": touch.line, "fields": touch.fields})
    });
    let lines = origin
        .lines
        .iter()
        .map(|(pointer, line)| (pointer.clone(), json!(line)));
    json!({
        "file": origin.file,
        "document": origin.document,
        "line": origin.line,
        "lines": Value::Object(lines.collect()),
        "touched": touched.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Touch;

    fn manifests() -> Vec<Manifest> {
        vec![
            Manifest {
                object: json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}),
                origin: Origin {
                    touched: vec![Touch {
                        by: "patch".into(),
                        file: "kustomization.yaml".into(),
                        line: 7,
                        fields: vec!["/spec/replicas".into()],
                    }],
                    ..Origin::new("web.yaml", 1, 4)
                },
            },
            Manifest {
                object: json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}}),
                origin: Origin::new("pod.jsonnet", 0, 0),
            },
        ]
    }

    #[test]
    fn origins_stand_above_the_object() {
        assert_eq!(
            yaml(&manifests(), Origins::Show),
            "# web.yaml:4 (document 2)\n# patch kustomization.yaml:7: /spec/replicas\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n---\n# pod.jsonnet (document 1)\napiVersion: v1\nkind: Pod\nmetadata:\n  generateName: p-\n"
        );
        assert_eq!(
            names(&manifests(), Origins::Show),
            "deployment.apps/web  web.yaml:4\npod/p-*  pod.jsonnet\n"
        );
        assert_eq!(
            names(&manifests(), Origins::Hide),
            "deployment.apps/web\npod/p-*\n"
        );
    }
}
