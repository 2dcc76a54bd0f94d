//! Control planes as recordings and replays need them.

use conformance::Target;
use realkube::{ControlPlane, Options, RealError};

/// A plain one, and one that cannot stream lists.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) plain: ControlPlane,
    no_watch_list: ControlPlane,
}

impl Pair {
    pub(crate) fn start() -> Result<Self, RealError> {
        Ok(Self {
            plain: basic()?,
            no_watch_list: ControlPlane::start(&Options {
                modules: Some(crate::root().join("tools")),
                apiserver_flags: vec!["--feature-gates=WatchList=false".into()],
                ..Options::default()
            })?,
        })
    }

    pub(crate) fn target(&self) -> Target {
        let mut target = target(&self.plain);
        let other = self::target(&self.no_watch_list);
        target.variants.insert("no-watch-list".into(), other);
        target
    }
}

/// One with the controllers that need no workloads.
pub(crate) fn basic() -> Result<ControlPlane, RealError> {
    ControlPlane::start(&Options {
        modules: Some(crate::root().join("tools")),
        ..Options::with_basic_controllers()
    })
}

/// One with every controller and the scheduler.
pub(crate) fn with_workloads() -> Result<ControlPlane, RealError> {
    ControlPlane::start(&Options {
        modules: Some(crate::root().join("tools")),
        ..Options::with_workloads()
    })
}

fn target(plane: &ControlPlane) -> Target {
    Target {
        url: plane.url.clone(),
        ca_pem: plane.ca_pem.clone(),
        admin_token: plane.admin_token.clone(),
        user_token: plane.user_token.clone(),
        ..Target::default()
    }
}
