//! Watchers and the stores they fill.

use crate::{object, start, within};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

async fn make(api: &Api<ConfigMap>, name: &str) -> ConfigMap {
    let map = object(json!({"metadata": {"name": name, "labels": {"own": "yes"}}}));
    within(api.create(&PostParams::default(), &map))
        .await
        .unwrap()
}

async fn touch(api: &Api<ConfigMap>, name: &str, text: &str) {
    let patch = Patch::Merge(json!({"data": {"text": text}}));
    within(api.patch(name, &PatchParams::default(), &patch))
        .await
        .unwrap();
}

// What a watcher shows, as text, while an object comes, changes and goes.
async fn story(client: Client, config: watcher::Config) -> Vec<String> {
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    make(&api, "before").await;
    let mut stream = watcher(api.clone(), config.labels("own=yes")).boxed();
    let mut told = Vec::new();
    while told.len() < 6 {
        let event = within(stream.try_next()).await.unwrap().unwrap();
        told.push(match event {
            watcher::Event::Init => "init".to_owned(),
            watcher::Event::InitApply(o) => format!("found {}", o.name_any()),
            watcher::Event::InitDone => {
                make(&api, "after").await;
                touch(&api, "after", "1").await;
                within(api.delete("before", &DeleteParams::default()))
                    .await
                    .unwrap();
                "listed".to_owned()
            }
            watcher::Event::Apply(o) => format!("applied {}", o.name_any()),
            watcher::Event::Delete(o) => format!("deleted {}", o.name_any()),
        });
    }
    told
}

const STORY: [&str; 6] = [
    "init",
    "found before",
    "listed",
    "applied after",
    "applied after",
    "deleted before",
];

#[tokio::test]
async fn a_watcher_lists_and_follows() {
    let (_sandbox, client) = start().await;
    assert_eq!(story(client, watcher::Config::default()).await, STORY);
}

#[tokio::test]
async fn a_watcher_lists_in_pages() {
    let (_sandbox, client) = start().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    for n in 0..25 {
        make(&api, &format!("page-{n:02}")).await;
    }
    let config = watcher::Config::default().labels("own=yes").page_size(10);
    let mut stream = watcher(api, config).boxed();
    let mut names = Vec::new();
    loop {
        match within(stream.try_next()).await.unwrap().unwrap() {
            watcher::Event::InitApply(o) => names.push(o.name_any()),
            watcher::Event::InitDone => break,
            _ => {}
        }
    }
    let wanted: Vec<String> = (0..25).map(|n| format!("page-{n:02}")).collect();
    assert_eq!(names, wanted);
}

#[tokio::test]
async fn a_watcher_streams_its_list() {
    let (_sandbox, client) = start().await;
    assert_eq!(
        story(client, watcher::Config::default().streaming_lists()).await,
        STORY
    );
}

#[tokio::test]
async fn a_watcher_of_metadata_sees_no_contents() {
    let (_sandbox, client) = start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    make(&maps, "one").await;
    let api: Api<PartialObjectMeta<ConfigMap>> = Api::default_namespaced(client);
    let config = watcher::Config::default().labels("own=yes");
    let mut stream = watcher(api, config).applied_objects().boxed();
    let first = within(stream.try_next()).await.unwrap().unwrap();
    assert_eq!(first.name_any(), "one");
    assert_eq!(first.types.unwrap().kind, "PartialObjectMetadata");
    touch(&maps, "one", "1").await;
    let second = within(stream.try_next()).await.unwrap().unwrap();
    assert!(second.metadata.resource_version > first.metadata.resource_version);
}

#[tokio::test]
async fn a_reflector_mirrors_the_cluster() {
    let (_sandbox, client) = start().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    for n in 0..20 {
        make(&api, &format!("m{n}")).await;
    }
    let (store, writer) = reflector::store::<ConfigMap>();
    let config = watcher::Config::default().labels("own=yes");
    let stream = reflector(writer, watcher(api.clone(), config))
        .default_backoff()
        .touched_objects();
    let follow = tokio::spawn(stream.for_each(|_| std::future::ready(())));
    within(store.wait_until_ready()).await.unwrap();
    assert_eq!(store.len(), 20);
    within(api.delete("m3", &DeleteParams::default()))
        .await
        .unwrap();
    touch(&api, "m4", "changed").await;
    within(async {
        loop {
            let changed = store.find(|o| o.data.as_ref().is_some_and(|d| d.contains_key("text")));
            if changed.is_some() && store.len() == 19 {
                break;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    follow.abort();
}

#[tokio::test]
async fn a_plain_watch_ends_and_can_be_taken_up_again() {
    let (_sandbox, client) = start().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let made = make(&api, "one").await;
    let from = made.resource_version().unwrap();
    touch(&api, "one", "1").await;
    let params = kube::api::WatchParams::default()
        .timeout(1)
        .fields("metadata.name=one");
    let events: Vec<_> = within(async {
        let stream = api.watch(&params, &from).await.unwrap();
        stream.try_collect::<Vec<_>>().await.unwrap()
    })
    .await;
    let kube::core::WatchEvent::Modified(last) = &events[0] else {
        panic!("{events:?}")
    };
    touch(&api, "one", "2").await;
    let from = last.resource_version().unwrap();
    let mut stream = within(api.watch(&params, &from)).await.unwrap().boxed();
    let event = within(stream.try_next()).await.unwrap().unwrap();
    assert!(
        matches!(event, kube::core::WatchEvent::Modified(o) if o.data.as_ref().unwrap()["text"] == "2")
    );
}
