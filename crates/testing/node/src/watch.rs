//! Lists and watches, for as long as the node lives.

use crate::api;
use futures::{StreamExt, pin_mut};
use http::{Method, Request};
use kube::Client;
use kube::core::WatchEvent;
use model::{Value, meta};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// How long to wait after a failure.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the server keeps a watch open.
const LASTS: u32 = 290;

/// What became of a watched resource.
#[derive(Debug)]
pub(crate) enum News {
    /// All of it.
    All(&'static str, Vec<Value>),
    /// One object is new or changed.
    Changed(&'static str, Value),
    /// One object is gone.
    Gone(&'static str, Value),
}

/// Follows one resource; `selector` is a field selector or empty.
pub(crate) async fn follow(
    client: Client,
    (group, version, resource): (&'static str, &'static str, &'static str),
    selector: String,
    news: UnboundedSender<News>,
) {
    let root = if group.is_empty() {
        format!("/api/{version}/{resource}")
    } else {
        format!("/apis/{group}/{version}/{resource}")
    };
    let filter = if selector.is_empty() {
        String::new()
    } else {
        format!("&fieldSelector={selector}")
    };
    loop {
        let listed = api::send(&client, Method::GET, &format!("{root}?{filter}"), None).await;
        let Ok(list) = listed else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let mut version = meta::resource_version(&list).to_owned();
        let items = meta::entries(&list, "/items").cloned().collect();
        if news.send(News::All(resource, items)).is_err() {
            return;
        }
        while watch(&client, &root, &filter, resource, &mut version, &news).await {}
        tokio::time::sleep(PAUSE).await;
    }
}

// One watch; true when the next can go on from the version reached.
async fn watch(
    client: &Client,
    root: &str,
    filter: &str,
    resource: &'static str,
    version: &mut String,
    news: &UnboundedSender<News>,
) -> bool {
    let path = format!(
        "{root}?watch=true&allowWatchBookmarks=true&timeoutSeconds={LASTS}&resourceVersion={version}{filter}"
    );
    let Ok(request) = Request::get(path).body(Vec::new()) else {
        return false;
    };
    let Ok(events) = client.request_events::<Value>(request).await else {
        return false;
    };
    pin_mut!(events);
    while let Some(event) = events.next().await {
        let (object, gone) = match event {
            Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => (object, false),
            Ok(WatchEvent::Deleted(object)) => (object, true),
            Ok(WatchEvent::Bookmark(mark)) => {
                *version = mark.metadata.resource_version;
                continue;
            }
            Ok(WatchEvent::Error(_)) | Err(_) => return false,
        };
        meta::resource_version(&object).clone_into(version);
        let item = if gone {
            News::Gone(resource, object)
        } else {
            News::Changed(resource, object)
        };
        if news.send(item).is_err() {
            return false;
        }
    }
    true
}
