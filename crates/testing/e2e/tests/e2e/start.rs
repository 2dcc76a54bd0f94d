//! Starting and stopping.

use crate::objects::{MAPS, named};
use e2e::{Access, Folder, Options, Sandbox, StartFault, Watch, Wire};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

#[test]
fn it_is_ready_at_once() {
    let sandbox = Sandbox::start();
    let ready = sandbox.client().get("/readyz").unwrap();
    assert_eq!((ready.status, ready.text().as_str()), (200, "ok"));
    println!("ready after {:?}", sandbox.ready_after);
    let limit = if cfg!(debug_assertions) {
        Duration::from_secs(5)
    } else {
        Duration::from_millis(300)
    };
    assert!(sandbox.ready_after < limit, "{:?}", sandbox.ready_after);
}

#[test]
fn the_kubeconfig_is_private_and_names_the_real_port() {
    let sandbox = Sandbox::start();
    let mode = std::fs::metadata(&sandbox.kubeconfig)
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    assert_eq!(sandbox.access.url, sandbox.url);
    assert!(!sandbox.url.ends_with(":0"), "{}", sandbox.url);
    let mut wire = Wire::open(&sandbox.access).unwrap();
    let request = "POST /apis/authentication.k8s.io/v1/selfsubjectreviews HTTP/1.1\r\nHost: x\r\n\
         Connection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    wire.send(request.as_bytes()).unwrap();
    let (answer, ended) = wire.receive_all(Duration::from_secs(10));
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(ended && answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert!(answer.contains("kubernetes-admin"), "{answer}");
    assert!(answer.contains("system:masters"), "{answer}");
}

#[test]
fn a_kubeconfig_of_another_mode_is_made_private() {
    let folder = Folder::new();
    let kubeconfig = folder.join("kubeconfig");
    std::fs::write(&kubeconfig, "old").unwrap();
    std::fs::set_permissions(&kubeconfig, std::fs::Permissions::from_mode(0o644)).unwrap();
    let options = Options {
        kubeconfig: Some(kubeconfig.clone()),
        ..Options::default()
    };
    let _sandbox = Sandbox::start_with(&options).unwrap();
    let mode = std::fs::metadata(&kubeconfig).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn nobody_without_credentials_gets_in() {
    let sandbox = Sandbox::start();
    let nobody = sandbox.client_with(None);
    assert_eq!(nobody.get("/readyz").unwrap().status, 200);
    assert_eq!(nobody.get(MAPS).unwrap().status, 403);
    let liar = sandbox.client_with(Some("wrong"));
    assert_eq!(liar.get(MAPS).unwrap().status, 401);
    // A certificate of another cluster is no certificate here.
    let other = Sandbox::start();
    let mixed = Access {
        url: sandbox.access.url.clone(),
        ca_pem: sandbox.access.ca_pem.clone(),
        ..other.access.clone()
    };
    let request = format!("GET {MAPS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let answer = Wire::open(&mixed).and_then(|mut wire| {
        wire.send(request.as_bytes())?;
        Ok(wire.receive_all(Duration::from_secs(5)).0)
    });
    let answer = String::from_utf8_lossy(&answer.unwrap_or_default()).into_owned();
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_stop_is_quick_and_clean_with_open_connections() {
    let mut sandbox = Sandbox::start();
    named(&sandbox.client(), "seen");
    let mut watches: Vec<Watch> = (0..5)
        .map(|_| Watch::open(&sandbox.access, &format!("{MAPS}?watch=1")).unwrap())
        .collect();
    for watch in &mut watches {
        assert!(watch.next(Duration::from_secs(5)).is_some());
    }
    let _idle = Wire::open(&sandbox.access).unwrap();
    let mut half = Wire::open(&sandbox.access).unwrap();
    half.send(b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")
        .unwrap();
    let _silent = std::net::TcpStream::connect(sandbox.access.address()).unwrap();
    let (status, after) = sandbox.terminate();
    println!("stopped after {after:?}");
    assert_eq!(status.code(), Some(0), "{}", sandbox.words());
    assert!(after < Duration::from_secs(1), "{after:?}");
}

#[test]
fn a_taken_port_is_explained() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let options = Options {
        listen: Some(address.clone()),
        ..Options::default()
    };
    let fault = Sandbox::start_with(&options).unwrap_err();
    let StartFault::Ended { status, words } = fault else {
        panic!("{fault}")
    };
    assert_eq!(status.code(), Some(1), "{words}");
    assert!(words.contains(&address), "{words}");
    assert!(words.contains("--listen"), "{words}");
    assert!(words.contains("in use"), "{words}");
}

#[test]
fn a_bad_address_is_explained() {
    let options = Options {
        listen: Some("nonsense".into()),
        ..Options::default()
    };
    let Err(StartFault::Ended { status, words }) = Sandbox::start_with(&options) else {
        panic!("it started")
    };
    assert_eq!(status.code(), Some(2), "{words}");
    assert!(words.contains("nonsense"), "{words}");
}
