//! Charts as generators: what is asked for goes to the [`World`](crate::World), what comes back is
//! read like any file.

use crate::error::KustomizeError;
use crate::fault::Fault;
use crate::kustomization::{HelmChart, HelmGlobals};
use crate::loader::Loader;
use crate::target::objects;
use crate::work::{Author, List, Result, Work};
use crate::{ChartRequest, read, resource, strategic, write};
use model::Value;

/// Inflates a chart.
pub(crate) fn inflate(
    work: &mut Work<'_>,
    loader: &Loader,
    chart: &HelmChart,
    globals: &HelmGlobals,
    author: &Author,
) -> Result<List> {
    let refuse = |why: &str| KustomizeError::Helm {
        at: author.at.clone(),
        chart: chart.name.clone(),
        why: why.to_owned(),
    };
    if !work.options.enable_helm {
        return Err(refuse("must specify --enable-helm"));
    }
    if chart.name.is_empty() {
        return Err(refuse("chart name cannot be empty"));
    }
    let merge = match chart.values_merge.as_str() {
        "" | "override" => Merge::Override,
        "merge" => Merge::Merge,
        "replace" => Merge::Replace,
        _ => {
            return Err(refuse(
                "valuesMerge must be one of [merge override replace]",
            ));
        }
    };
    let mut request = request(work, loader, chart, globals, author)?;
    let here = matches!(
        loader.tree.kind(&request.path),
        Ok(Some(model::tree::EntryKind::Directory))
    );
    if !here && chart.repo.is_empty() {
        return Err(refuse(&format!(
            "no repo specified for pull, no chart found at '{}'",
            request.path
        )));
    }
    request
        .values
        .push(values(work, loader, chart, &request, merge, author)?);
    for path in &chart.additional_values_files {
        let (bytes, _) = loader.load(path, work, &author.at)?;
        request
            .values
            .push(Some(String::from_utf8_lossy(&bytes).into_owned()));
    }
    let text = work
        .world
        .chart(&loader.tree, &request)
        .map_err(|why| refuse(&why))?;
    let name = format!("{} (chart {})", author.at.file, chart.name);
    let list = objects(work, text.as_bytes(), &name)?;
    for &at in &list {
        if let Some(root) = work.root(at) {
            resource::annotate(&mut work.arena, root, resource::HELM_GENERATED, "true")
                .map_err(|fault| author.blame(fault))?;
        }
        work.touch(at, author, Vec::new());
    }
    Ok(list)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Merge {
    Override,
    Merge,
    Replace,
}

fn request(
    work: &Work<'_>,
    loader: &Loader,
    chart: &HelmChart,
    globals: &HelmGlobals,
    author: &Author,
) -> Result<ChartRequest> {
    let home = if globals.chart_home.is_empty() {
        "charts"
    } else {
        &globals.chart_home
    };
    let mut path = loader.resolve(home, work, &author.at)?;
    if !chart.version.is_empty() && !chart.repo.is_empty() {
        path = format!("{path}/{}-{}", chart.name, chart.version);
    }
    let options = work.options;
    let or = |flag: &String, own: &String| {
        if flag.is_empty() {
            own.clone()
        } else {
            flag.clone()
        }
    };
    Ok(ChartRequest {
        name: chart.name.clone(),
        repository: chart.repo.clone(),
        version: chart.version.clone(),
        devel: chart.devel,
        path: format!("{path}/{}", chart.name),
        release: chart.release_name.clone(),
        name_template: chart.name_template.clone(),
        namespace: chart.namespace.clone(),
        values: Vec::new(),
        include_crds: chart.include_crds,
        skip_tests: chart.skip_tests,
        skip_hooks: chart.skip_hooks,
        // What the file says wins over the flag, as the file is read later.
        kube_version: or(&chart.kube_version, &options.helm_kube_version),
        api_versions: if chart.api_versions.is_empty() {
            options.helm_api_versions.clone()
        } else {
            chart.api_versions.clone()
        },
    })
}

// The first values: those of the file, with the inline ones merged in.
fn values(
    work: &mut Work<'_>,
    loader: &Loader,
    chart: &HelmChart,
    request: &ChartRequest,
    merge: Merge,
    author: &Author,
) -> Result<Option<String>> {
    let inline = chart.values_inline.as_ref();
    let inline = inline.filter(|value| value.as_object().is_some_and(|map| !map.is_empty()));
    let from_file = |work: &Work<'_>| -> Result<Option<String>> {
        if chart.values_file.is_empty() {
            return Ok(None);
        }
        let (bytes, _) = loader.load(&chart.values_file, work, &author.at)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    };
    let Some(inline) = inline else {
        return from_file(work);
    };
    if merge == Merge::Replace {
        return Ok(Some(yaml::to_string(inline)));
    }
    let text = match from_file(work)? {
        Some(text) => text,
        None => work
            .world
            .chart_values(&loader.tree, request)
            .map_err(|why| KustomizeError::Helm {
                at: author.at.clone(),
                chart: chart.name.clone(),
                why,
            })?,
    };
    merged(work, &text, inline, merge)
        .map(Some)
        .map_err(|fault| author.blame(fault))
}

fn merged(
    work: &mut Work<'_>,
    text: &str,
    inline: &Value,
    merge: Merge,
) -> crate::fault::Outcome<String> {
    let arena = &mut work.arena;
    let file = read::parse(arena, text, 0, 1)
        .map_err(|fault| Fault::text(format!("could not parse values file: {}", fault.message)))?;
    let own = write::from_value(arena, inline, write::Numbers::Exact, (0, 0));
    let Some(file) = file.filter(|id| !arena.is_null(*id)) else {
        return Ok(yaml::to_string(inline));
    };
    let (object, patch) = if merge == Merge::Override {
        (file, own)
    } else {
        (own, file)
    };
    match strategic::merge_data(arena, &work.schemas, object, patch)? {
        Some(id) => Ok(yaml::to_string(&write::to_value(arena, id, true)?)),
        None => Ok(String::new()),
    }
}
