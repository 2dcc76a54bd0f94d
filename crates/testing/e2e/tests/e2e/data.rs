//! What `--data` keeps, and what it refuses.

use crate::objects::{MAPS, json, merge, named, path, version};
use e2e::{Folder, Options, Sandbox, StartFault, Watch, Wire};
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use testkit::Request;

fn refused(data: &Path) -> String {
    let options = Options {
        data: Some(data.to_owned()),
        ..Options::default()
    };
    match Sandbox::start_with(&options) {
        Err(StartFault::Ended { status, words }) => {
            assert_eq!(status.code(), Some(1), "{words}");
            assert!(words.starts_with("error: "), "{words}");
            assert!(!words.contains("panicked"), "{words}");
            words
        }
        Err(fault) => panic!("{fault}"),
        Ok(_) => panic!("it started on {}", data.display()),
    }
}

#[test]
fn a_restart_keeps_everything() {
    let folder = Folder::new();
    let data = folder.join("data");
    let mut first = Sandbox::start_at(&data);
    let client = first.client();
    let made = named(&client, "kept");
    let changed = merge(&client, "kept", &json!({"data": {"a": "1"}}));
    let token = client
        .send(
            &Request::new(
                "POST",
                "/api/v1/namespaces/default/serviceaccounts/default/token",
            )
            .json(&json!({})),
        )
        .unwrap();
    assert_eq!(token.status, 201, "{}", token.text());
    let token = token.json().unwrap()["status"]["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let old_access = first.access.clone();
    let old_list = json(&client, MAPS);
    let (status, _) = first.terminate();
    assert_eq!(status.code(), Some(0));

    let address = old_access.address().to_owned();
    let options = Options {
        data: Some(data.clone()),
        listen: Some(address),
        ..Options::default()
    };
    let second = Sandbox::start_with(&options).unwrap();
    let client = second.client();
    assert_eq!(json(&client, &path("kept")), changed);
    let list = json(&client, MAPS);
    assert_eq!(list["items"], old_list["items"]);
    assert!(version(&list) >= version(&old_list));
    let next = named(&client, "next");
    assert!(version(&next) > version(&changed), "versions go on");
    assert_ne!(next["metadata"]["uid"], made["metadata"]["uid"]);

    // The old kubeconfig and the old tokens are still good.
    let mut wire = Wire::open(&old_access).unwrap();
    let request = format!("GET {MAPS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    wire.send(request.as_bytes()).unwrap();
    let (answer, _) = wire.receive_all(Duration::from_secs(10));
    assert!(
        answer.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    let account = second.client_with(Some(&token));
    let review =
        Request::new("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews").json(&json!({}));
    let who = account.send(&review).unwrap();
    assert_eq!(who.status, 201, "{}", who.text());
    assert_eq!(
        who.json().unwrap()["status"]["userInfo"]["username"],
        "system:serviceaccount:default:default"
    );
}

#[test]
fn a_watch_over_a_restart_goes_on_or_says_why_not() {
    let folder = Folder::new();
    let mut first = Sandbox::start_at(folder.path());
    let made = named(&first.client(), "one");
    merge(&first.client(), "one", &json!({"data": {"a": "1"}}));
    first.kill();
    let second = Sandbox::start_at(folder.path());
    let from = format!("{MAPS}?watch=1&resourceVersion={}", version(&made));
    let mut watch = Watch::open(&second.access, &from).unwrap();
    let event = watch.next(Duration::from_secs(5)).unwrap();
    match event.kind.as_str() {
        "MODIFIED" => assert_eq!(event.object["data"]["a"], "1"),
        "ERROR" => {
            assert_eq!(event.object["code"], 410, "{event:?}");
            assert_eq!(event.object["reason"], "Expired", "{event:?}");
        }
        _ => panic!("{event:?}"),
    }
    // From now on nothing is missed.
    let list = json(&second.client(), MAPS);
    let from = format!("{MAPS}?watch=1&resourceVersion={}", version(&list));
    let mut watch = Watch::open(&second.access, &from).unwrap();
    named(&second.client(), "two");
    let event = watch.next(Duration::from_secs(5)).unwrap();
    assert_eq!((event.kind.as_str(), event.name()), ("ADDED", "two"));
}

#[test]
fn a_folder_in_use_is_refused() {
    let folder = Folder::new();
    let mut first = Sandbox::start_at(folder.path());
    let words = refused(folder.path());
    println!("{words}");
    assert!(
        words.contains(&folder.path().display().to_string()),
        "{words}"
    );
    first.assert_sound();
    assert_eq!(first.client().get("/readyz").unwrap().status, 200);
}

#[test]
fn a_file_in_the_place_of_the_folder_is_refused() {
    let folder = Folder::new();
    let file = folder.join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let words = refused(&file);
    println!("{words}");
    assert!(words.contains(&file.display().to_string()), "{words}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "not a folder");
}

#[test]
fn somebody_elses_files_are_refused_and_left_alone() {
    let folder = Folder::new();
    let data = folder.join("data");
    // Learn the name of the database from a real start, then put something else there.
    let mut sandbox = Sandbox::start_at(&data);
    sandbox.kill();
    let mut files: Vec<_> = std::fs::read_dir(&data)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.retain(|f| f.is_file() && !f.ends_with("kubeconfig"));
    files.sort_by_key(|f| std::fs::metadata(f).unwrap().len());
    let database = files.pop().unwrap();
    for garbage in [vec![b'x'; 100_000], b"short".to_vec()] {
        std::fs::write(&database, &garbage).unwrap();
        let words = refused(&data);
        println!("{words}");
        assert!(words.contains(&data.display().to_string()), "{words}");
        assert_eq!(std::fs::read(&database).unwrap(), garbage);
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_refused() {
    let words = refused(Path::new("/proc/nowhere/data"));
    println!("{words}");
    assert!(words.contains("/proc/nowhere/data"), "{words}");
}
