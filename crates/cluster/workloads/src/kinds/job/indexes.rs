//! The numbers of an indexed Job's Pods: `0-3,5` and back, and what a Pod gets of its number.

use super::INDEX;
use model::{Value, json, meta};
use std::collections::BTreeSet;

/// Reads `0-3,5`.
pub(super) fn parse(text: &str) -> BTreeSet<i64> {
    let mut found = BTreeSet::new();
    for part in text.split(',').filter(|p| !p.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
            found.extend(first..=last.min(first + 100_000));
        }
    }
    found
}

/// Writes `0-3,5`; two in a row stand side by side.
pub(super) fn write(indexes: &BTreeSet<i64>) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for index in indexes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let shown: Vec<String> = runs
        .iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first},{last}"),
            _ => format!("{first}-{last}"),
        })
        .collect();
    shown.join(",")
}

/// A Pod with its number.
pub(super) fn at_index(mut pod: Value, job: &Value, index: i64) -> Value {
    let name = meta::name(job);
    meta::set_text(&mut pod, "generateName", &format!("{name}-{index}-"));
    for field in ["annotations", "labels"] {
        let map = meta::metadata_mut(&mut pod)
            .entry(field)
            .or_insert_with(|| json!({}));
        map[INDEX] = index.to_string().into();
    }
    pod["spec"]["hostname"] = format!("{name}-{index}").into();
    let variable = json!({
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": format!("metadata.labels['{INDEX}']")}},
    });
    for list in ["initContainers", "containers"] {
        let containers = pod["spec"].get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let Some(map) = container.as_object_mut() else {
                continue;
            };
            let env = map.entry("env").or_insert_with(|| json!([]));
            if let Some(env) = env.as_array_mut()
                && !env.iter().any(|e| e["name"] == "JOB_COMPLETION_INDEX")
            {
                env.push(variable.clone());
            }
        }
    }
    pod
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_written_short() {
        for text in ["", "0", "0,1", "0-2", "0-3,5,7,8", "3,9-12"] {
            assert_eq!(write(&parse(text)), text);
        }
    }
}
