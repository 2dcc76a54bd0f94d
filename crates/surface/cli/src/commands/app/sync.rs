//! `tiphys app sync`: Git to cluster, once, in front of the reader.

use crate::Output;
use crate::commands::render::{self, RenderArgs};
use crate::commands::sandbox::{self, Embedded};
use crate::error::CliError;
use crate::view;
use engine::hook::{self, Role};
use engine::plan::{Pair, Rules, key_of, plan};
use engine::sync::{Limits, Operation, OperationPhase, Policy, Pruning};
use engine::track::{self, Tracking};
use live::Cluster;
use model::{ResourceKey, Timestamp, Value, json, meta};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Bring a cluster to what Git says
///
/// Renders the Application, compares it with the cluster, and applies the difference in phases and waves,
/// with hooks and health checks, as Argo CD does. Says at every moment what it waits for.
#[derive(Debug, clap::Args)]
pub(crate) struct SyncArgs {
    /// File with the Application
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    file: PathBuf,
    /// Sync to this revision instead of the Application's
    #[arg(long, value_name = "REV")]
    revision: Option<String>,
    /// Take the files of every Git source from this directory instead of fetching them
    #[arg(long, value_name = "DIR")]
    local: Option<PathBuf>,
    /// Use an embedded Kubernetes that lives as long as this command
    #[arg(long, conflicts_with = "kubeconfig")]
    embedded: bool,
    /// Keep the embedded Kubernetes in this directory
    #[arg(long, value_name = "DIR", requires = "embedded")]
    data: Option<PathBuf>,
    /// Kubeconfig of the cluster; the usual one when absent
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Print the plan and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Remove what Git no longer has; everything removed is kept as a file first
    #[arg(long)]
    prune: bool,
    /// Where removed objects are kept
    #[arg(long, value_name = "DIR", default_value = "tiphys-removed")]
    dump: PathBuf,
    /// Give up after this many seconds; 0 means never
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    timeout: i64,
}

pub(crate) fn run(args: &SyncArgs, output: Output) -> Result<(), CliError> {
    let app = App::read(args)?;
    let runtime = sandbox::runtime()?;
    runtime.block_on(async {
        let embedded = match args.embedded {
            true => Some(Embedded::start(args.data.clone()).await?),
            false => None,
        };
        let cluster = match &embedded {
            Some(embedded) => Cluster::connect_with(embedded.kubeconfig()).await,
            None => Cluster::connect(args.kubeconfig.as_deref(), args.context.as_deref()).await,
        };
        let done = sync(args, output, &app, &cluster?).await;
        if let Some(embedded) = embedded {
            embedded.stop().await;
        }
        done
    })
}

// An Application as far as a sync needs it, and its manifests.
struct App {
    instance: String,
    destination: String,
    options: BTreeSet<String>,
    revision: String,
    manifests: Vec<model::Manifest>,
}

impl App {
    fn read(args: &SyncArgs) -> Result<Self, CliError> {
        let wanted = RenderArgs::of_application(&args.file, args.revision.clone(), args.local.clone());
        let rendered = render::rendered(&wanted)?;
        let options = meta::entries(&rendered.value, "/spec/syncPolicy/syncOptions");
        Ok(Self {
            instance: rendered.context.app_name.clone(),
            destination: rendered.context.namespace.clone(),
            options: options.filter_map(Value::as_str).map(str::to_owned).collect(),
            revision: rendered.revision,
            manifests: rendered.manifests,
        })
    }

    fn has(&self, option: &str) -> bool {
        self.options.contains(option)
    }
}

async fn sync(args: &SyncArgs, output: Output, app: &App, cluster: &Cluster) -> Result<(), CliError> {
    let now = now();
    let (pairs, hooks) = compare(app, cluster).await?;
    let rules = Rules {
        destination: app.destination.clone(),
        revision: app.revision.clone(),
        started_at: now.seconds(),
        options: app.options.clone(),
        namespace: namespace(app, cluster).await?,
        ..Rules::default()
    };
    let plan = plan(&pairs, &hooks, &rules);
    if args.dry_run {
        match output {
            Output::Json => println!("{}", view::sync::plan_json(&plan)),
            Output::Text | Output::Yaml | Output::Name => print!("{}", view::sync::plan_table(&plan)),
        }
        return Ok(());
    }
    let policy = Policy {
        prune: args.prune,
        prune_by_default: pruning(app),
        out_of_sync_only: app.has("ApplyOutOfSyncOnly=true"),
        limits: Limits {
            operation: (args.timeout > 0).then_some(args.timeout).or(Limits::default().operation),
            ..Limits::default()
        },
        ..Policy::default()
    };
    let mut shown = view::sync::Live::new(output, args.dump.clone());
    let operation = Operation::new(plan, policy, now);
    let server_side = app.has("ServerSideApply=true");
    let operation = live::drive(cluster, operation, server_side, &mut shown).await;
    shown.end(&operation);
    match operation.phase {
        OperationPhase::Succeeded => Ok(()),
        OperationPhase::Running
        | OperationPhase::Terminating
        | OperationPhase::Failed
        | OperationPhase::Error => Err(CliError::Silent),
    }
}

fn pruning(app: &App) -> Pruning {
    match (app.has("Prune=false"), app.has("Prune=confirm")) {
        (true, _) => Pruning::Forbidden,
        (_, true) => Pruning::Confirm,
        _ => Pruning::Allowed,
    }
}

// The destination's namespace, when it has to be made.
async fn namespace(app: &App, cluster: &Cluster) -> Result<Option<Value>, CliError> {
    if !app.has("CreateNamespace=true") || app.destination.is_empty() {
        return Ok(None);
    }
    let gvk = model::GroupVersionKind::new("", "v1", "Namespace");
    if cluster.find(&gvk, "", &app.destination).await?.is_some() {
        return Ok(None);
    }
    let metadata = json!({"name": app.destination});
    Ok(Some(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})))
}

type Compared = (Vec<Pair>, Vec<(Value, Option<Value>)>);

// What Git wants beside what the cluster has.
async fn compare(app: &App, cluster: &Cluster) -> Result<Compared, CliError> {
    let tracking = Tracking::default();
    let mut targets: BTreeMap<ResourceKey, Value> = BTreeMap::new();
    let mut hooks = Vec::new();
    for manifest in &app.manifests {
        let target = placed(app, cluster, &manifest.object, &tracking).await;
        if let Role::Hook(_) = hook::role(&target) {
            let live = found(cluster, &target).await?;
            hooks.push((target, live));
        } else if let Some(key) = key_of(&target) {
            targets.insert(key, target);
        }
    }
    let (tracked, faults) = cluster
        .all(|live| track::owner(live, &tracking) == app.instance)
        .await?;
    for fault in faults {
        tracing::warn!("{fault}; objects of that kind that Git no longer has are not seen");
    }
    let mut pairs = Vec::new();
    let mut live_keys = BTreeSet::new();
    for (key, target) in targets {
        let live = found(cluster, &target).await?;
        let modified = live.as_ref().is_none_or(|live| live::change(&target, live).is_some());
        let own = live.as_ref().is_none_or(|live| track::is_own_id(live, Some(&key), &tracking));
        live_keys.insert(key);
        pairs.push(Pair {
            target: Some(target),
            live,
            modified,
            own,
        });
    }
    for live in tracked {
        let known = key_of(&live).is_some_and(|key| live_keys.contains(&key));
        if !known {
            pairs.push(Pair {
                own: track::is_own_id(&live, None, &tracking),
                live: Some(live),
                ..Pair::default()
            });
        }
    }
    Ok((pairs, hooks))
}

async fn found(cluster: &Cluster, target: &Value) -> Result<Option<Value>, CliError> {
    let Some(gvk) = meta::gvk(target).filter(|_| !meta::name(target).is_empty()) else {
        return Ok(None);
    };
    let live = cluster.find(&gvk, meta::namespace(target), meta::name(target)).await?;
    Ok(live)
}

// A manifest in its namespace, marked as ours.
async fn placed(app: &App, cluster: &Cluster, object: &Value, tracking: &Tracking) -> Value {
    let mut target = object.clone();
    let namespaced = match meta::gvk(object) {
        Some(gvk) => cluster.is_namespaced(&gvk).await,
        None => None,
    };
    if namespaced == Some(false) {
        meta::metadata_mut(&mut target).remove("namespace");
    } else if meta::namespace(&target).is_empty() && !app.destination.is_empty() {
        meta::set_text(&mut target, "namespace", &app.destination);
    }
    track::mark(&mut target, &app.instance, &app.destination, tracking);
    target
}

/// The time.
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp::from_micros(since.map_or(0, |d| d.as_micros() as i64))
}
