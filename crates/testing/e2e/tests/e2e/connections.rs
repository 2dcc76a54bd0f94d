//! Connections that misbehave below HTTP's good manners.

use crate::objects::MAPS;
use e2e::{Sandbox, Wire};
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How long a client may take to say what it wants before the server hangs up.
const PATIENCE_MAX: Duration = Duration::from_secs(40);

fn is_well(sandbox: &mut Sandbox) {
    let begin = Instant::now();
    assert_eq!(sandbox.client().get("/readyz").unwrap().status, 200);
    assert!(
        begin.elapsed() < Duration::from_secs(3),
        "{:?}",
        begin.elapsed()
    );
    sandbox.assert_sound();
}

// Sends raw bytes on a connection of their own; gives the status the server answers, if any.
fn status(sandbox: &Sandbox, bytes: &[u8]) -> Option<u16> {
    let mut wire = Wire::open(&sandbox.access).unwrap();
    // The server may hang up while we still write.
    let _ = wire.send(bytes);
    let until = Instant::now() + Duration::from_secs(10);
    let mut head = Vec::new();
    while head.len() < 12 {
        match wire.receive(until.saturating_duration_since(Instant::now())) {
            Ok(Some(part)) => head.extend(part),
            Ok(None) => return None,
            Err(error) => panic!("neither an answer nor an end: {error}"),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    head.split(' ').nth(1).and_then(|code| code.parse().ok())
}

#[test]
fn silent_connections_do_not_keep_others_out() {
    let mut sandbox = Sandbox::start();
    let address = sandbox.access.address().to_owned();
    let bare: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    let shaken: Vec<Wire> = (0..50)
        .map(|_| Wire::open(&sandbox.access).unwrap())
        .collect();
    let waiting: Vec<Wire> = (0..50)
        .map(|_| {
            let mut wire = Wire::open(&sandbox.access).unwrap();
            let head =
                format!("POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{{");
            wire.send(head.as_bytes()).unwrap();
            wire
        })
        .collect();
    is_well(&mut sandbox);
    drop((bare, shaken, waiting));
    is_well(&mut sandbox);
}

#[test]
fn garbage_instead_of_tls_is_dropped() {
    let mut sandbox = Sandbox::start();
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 5000],
        b"\x16\x03\x01\xff\xff",
        b"\0",
    ] {
        let mut stream = TcpStream::connect(sandbox.access.address()).unwrap();
        let _ = stream.write_all(garbage);
    }
    is_well(&mut sandbox);
}

#[test]
fn broken_http_is_answered_or_hung_up_on() {
    let mut sandbox = Sandbox::start();
    let many = format!(
        "GET /readyz HTTP/1.1\r\nHost: x\r\n{}\r\n",
        "X-A: b\r\n".repeat(5_000)
    );
    let long = format!(
        "GET /readyz HTTP/1.1\r\nHost: x\r\nX-A: {}\r\n\r\n",
        "b".repeat(3 << 20)
    );
    let target = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "b".repeat(200_000));
    let cases: [(&str, &[u8], &[u16]); 12] = [
        ("nonsense", b"NONSENSE\r\n\r\n", &[400]),
        ("binary", &[0xfe; 400], &[400]),
        ("version", b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", &[400, 505]),
        ("header without colon", b"GET /readyz HTTP/1.1\r\nHost x\r\n\r\n", &[400]),
        ("nul in header", b"GET /readyz HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n", &[400]),
        ("negative length", b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", &[400]),
        ("two lengths", b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", &[400]),
        ("huge length", b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", &[400]),
        ("bad chunk", b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", &[400]),
        ("many headers", many.as_bytes(), &[200, 431]),
        ("long header", long.as_bytes(), &[431]),
        ("long target", target.as_bytes(), &[403, 404, 414]),
    ];
    for (name, bytes, allowed) in cases {
        let answer = status(&sandbox, bytes);
        println!("{name}: {answer:?}");
        assert!(
            answer.is_none_or(|s| allowed.contains(&s)),
            "{name}: {answer:?}"
        );
        is_well(&mut sandbox);
    }
}

#[test]
fn a_body_that_says_it_is_too_large_is_refused_before_it_comes() {
    let sandbox = Sandbox::start();
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{{"
    );
    assert_eq!(status(&sandbox, head.as_bytes()), Some(413));
}

#[test]
fn a_client_that_dawdles_is_hung_up_on() {
    let mut sandbox = Sandbox::start();
    let mut head = Wire::open(&sandbox.access).unwrap();
    head.send(b"GET /readyz HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        .unwrap();
    let mut nothing = Wire::open(&sandbox.access).unwrap();
    let begin = Instant::now();
    let (mut head_ended, mut nothing_ended) = (None, None);
    while begin.elapsed() < PATIENCE_MAX && (head_ended.is_none() || nothing_ended.is_none()) {
        // One more letter each time: the connection is never idle, only endless.
        if head_ended.is_none() {
            let sent = head.send(b"a");
            if sent.is_err() || matches!(head.receive(Duration::from_millis(100)), Ok(None)) {
                head_ended = Some(begin.elapsed());
            }
        }
        if nothing_ended.is_none()
            && matches!(nothing.receive(Duration::from_millis(100)), Ok(None))
        {
            nothing_ended = Some(begin.elapsed());
        }
    }
    println!("slow head ended after {head_ended:?}, nothing at all after {nothing_ended:?}");
    assert!(head_ended.is_some(), "a head that never ends");
    assert!(nothing_ended.is_some(), "a connection that never speaks");
    is_well(&mut sandbox);
}

#[test]
fn one_connection_serves_many_requests_and_waits_between_them() {
    let sandbox = Sandbox::start();
    let mut wire = Wire::open(&sandbox.access).unwrap();
    for pause_ms in [0, 0, 50, 500] {
        std::thread::sleep(Duration::from_millis(pause_ms));
        wire.send(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
            .unwrap();
        let part = wire.receive(Duration::from_secs(5)).unwrap().unwrap();
        assert!(
            part.starts_with(b"HTTP/1.1 200"),
            "{}",
            String::from_utf8_lossy(&part)
        );
    }
    // Requests sent before the answers are read are answered in order.
    wire.send(&b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20))
        .unwrap();
    let begin = Instant::now();
    let mut text = String::new();
    while text.matches("HTTP/1.1 200").count() < 20 && begin.elapsed() < Duration::from_secs(10) {
        let part = wire.receive(Duration::from_secs(5)).unwrap().unwrap();
        text.push_str(&String::from_utf8_lossy(&part));
    }
    assert_eq!(text.matches("HTTP/1.1 200").count(), 20);
}
