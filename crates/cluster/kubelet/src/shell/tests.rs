//! Scripts in; what they write, how they end and how long they take out.

use super::files::{Files, Mount, Volumes};
use super::{Invocation, Process};
use crate::environment::Variables;
use crate::log::Log;
use crate::tests::Cluster;
use crate::world::World;
use model::{Timestamp, json};

const START: Timestamp = Timestamp::from_seconds(1_780_000_000);

fn invocation(argv: &[&str]) -> Invocation {
    let mut volumes = Volumes::default();
    volumes.add("data");
    volumes.write("conf", "app.conf", "port=80\nname=web\n".into());
    volumes.write(
        "conf",
        "run.sh",
        "#!/bin/sh\necho \"run $1\"; exit 3\n".into(),
    );
    let mount = |path: &str, volume: &str, read_only| Mount {
        path: path.into(),
        volume: volume.into(),
        inside: String::new(),
        read_only,
    };
    Invocation {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        variables: Variables::from([
            ("GREETING".into(), "hello".into()),
            ("EMPTY".into(), String::new()),
        ]),
        files: Files::new(
            volumes.share(),
            vec![mount("/data", "data", false), mount("/conf", "conf", true)],
        ),
        namespace: "n".into(),
        host: "pod-1".into(),
        serves: false,
        directory: String::new(),
        ports: vec![8080],
    }
}

/// Runs to the end, or for an hour; gives the log, the code and the seconds it took.
fn play(world: &dyn World, call: Invocation) -> String {
    play_some(world, call, 10_000)
}

fn play_some(world: &dyn World, call: Invocation, looks: usize) -> String {
    let Some(mut process) = Process::start(call, START) else {
        return "not run".into();
    };
    let mut log = Log::default();
    let mut now = START;
    let end = START.plus_seconds(3_600);
    for _ in 0..looks {
        if let Some((at, code)) = process.advance(world, now, &mut log) {
            let took = (at.micros() - START.micros()) as f64 / 1e6;
            return format!("{}[{code}] {took}s", log.ending(1_000, 100_000));
        }
        match process.wake().filter(|at| *at <= end) {
            Some(at) => now = at,
            None => break,
        }
    }
    format!("{}[runs]", log.ending(1_000, 100_000))
}

fn sh(script: &str) -> String {
    play(&Cluster::default(), invocation(&["/bin/sh", "-c", script]))
}

/// Scripts that any `sh` runs the same way, with what it prints and how it ends.
pub(crate) const PORTABLE: &[(&str, &str)] = &[
    ("echo hi; exit 3", "hi\n[3]"),
    ("true && echo a || echo b; false || echo c", "a\nc\n[0]"),
    ("x=1; y=\"$x 2\"; echo $y '$x' \"$y\"", "1 2 $x 1 2\n[0]"),
    (
        "for i in 1 2 3; do echo \"n $i\"; done",
        "n 1\nn 2\nn 3\n[0]",
    ),
    (
        "for i in $(seq 1 3); do printf '%s-' $i; done; echo",
        "1-2-3-\n[0]",
    ),
    (
        "i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i; done",
        "1\n2\n3\n[0]",
    ),
    (
        "i=5; until test $i -le 3; do i=$((i - 1)); done; echo $i",
        "3\n[0]",
    ),
    (
        "if [ -n \"$EMPTY\" ]; then echo y; elif [ a = b ]; then echo z; else echo n; fi",
        "n\n[0]",
    ),
    (
        "case abc in x*) echo x;; a*|b) echo a;; *) echo other;; esac",
        "a\n[0]",
    ),
    ("case \"$GREETING\" in hello) echo hi;; esac", "hi\n[0]"),
    (
        "f() { echo \"in $1\"; return 4; }; f one; echo $?",
        "in one\n4\n[0]",
    ),
    ("set -e; false; echo never", "[1]"),
    (
        "set -e; if false; then :; fi; false || true; ! true; echo ok",
        "ok\n[0]",
    ),
    ("set -e; x=$(false); echo never", "[1]"),
    (
        "set -eu; echo ${NOPE:-default}; echo \"${GREETING#he}\" ${GREETING%lo} ${#GREETING}",
        "default\nllo hel 5\n[0]",
    ),
    ("(exit 5); echo $?; (x=2); echo \"[$x]\"", "5\n[]\n[0]"),
    ("echo a b c | wc -w", "3\n[0]"),
    ("printf 'b\\na\\n' | sort | head -n 1", "a\n[0]"),
    (
        "echo one two | while read a b; do echo \"$b $a\"; done",
        "two one\n[0]",
    ),
    ("echo error >&2; echo out > /dev/null", "error\n[0]"),
    (
        "cat <<EOF\nhi $GREETING\n$((1+1)) $(echo sub)\nEOF\ncat <<'EOF'\n$raw\nEOF",
        "hi hello\n2 sub\n$raw\n[0]",
    ),
    (
        "x=$(cat <<EOF\ninner\nEOF\n); echo \"<$x>\"",
        "<inner>\n[0]",
    ),
    ("printf '%05d|%-4s|%s\\n' 42 ab c", "00042|ab  |c\n[0]"),
    ("printf '%s,' a b c; echo", "a,b,c,\n[0]"),
    ("echo \"a\\\"b\" 'c d' e\\ f", "a\"b c d e f\n[0]"),
    (
        "set -- a 'b c'; for x in \"$@\"; do echo \"<$x>\"; done; echo $#; shift; echo $1",
        "<a>\n<b c>\n2\nb c\n[0]",
    ),
    ("trap 'echo bye' EXIT; echo hi; exit 2", "hi\nbye\n[2]"),
    (
        "echo foo | grep -q foo && echo found; echo foo | grep bar; echo $?",
        "found\n1\n[0]",
    ),
    ("x='a  b'; echo $x; echo \"$x\"", "a b\na  b\n[0]"),
    (
        "while true; do break; done; for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done",
        "1\n3\n[0]",
    ),
    ("echo $((2 * (3 + 4) % 5)) $((10 > 3))", "4 1\n[0]"),
    ("a=1 b=2; c=$a$b; echo ${c}x", "12x\n[0]"),
    ("! false && echo yes", "yes\n[0]"),
    ("{ echo a; echo b; } | tr 'a-z' 'A-Z'", "A\nB\n[0]"),
    ("exit", "[0]"),
    ("false; exit", "[1]"),
    ("test -f /nowhere/at/all; echo $?", "1\n[0]"),
    ("x=; echo \"${x:-a}${x-b}${x:+c}${y+d}\"", "a\n[0]"),
    (
        "echo 'k=v' | cut -d= -f2; echo a.b.c | sed 's/\\./-/g'",
        "v\na-b-c\n[0]",
    ),
    (
        "echo \"one\ntwo\" | awk '{print $1}' | tail -n 1",
        "two\n[0]",
    ),
    (
        "eval 'echo $((1+2))'; echo ${GREETING%%l*} ${GREETING##*l}",
        "3\nhe o\n[0]",
    ),
    (
        "VAR=x sh -c 'echo $VAR $0 $1' name arg; echo \"[$VAR]\"",
        "x name arg\n[]\n[0]",
    ),
    (
        "echo start # a comment\n\n# another\necho end",
        "start\nend\n[0]",
    ),
    ("echo a \\\n  b", "a b\n[0]"),
    ("if ! echo x | grep -q y; then echo none; fi", "none\n[0]"),
    (
        "n=3; for i in $(seq $n -1 1); do echo -n $i; done; echo",
        "321\n[0]",
    ),
    ("cd /tmp && pwd", "/tmp\n[0]"),
];

#[test]
fn portable_scripts() {
    for (script, expected) in PORTABLE {
        let told = sh(script);
        let (told, _) = told.rsplit_once(' ').unwrap_or((&told, ""));
        assert_eq!(told, *expected, "{script}");
    }
}

#[test]
fn time_files_and_errors() {
    let table = [
        ("sleep 5; echo done", "done\n[0] 5s"),
        ("for i in 1 2 3; do sleep 0.5; done; exit 7", "[7] 1.5s"),
        (
            "sleep 2 & sleep 1; echo first; wait; echo second",
            "first\nsecond\n[0] 2s",
        ),
        ("timeout 3 sleep 10; echo $?", "124\n[0] 3s"),
        (
            "echo x > /data/f; echo y >> /data/f; cat /data/f; test -s /data/f && ls /data",
            "x\ny\nf\n[0] 0s",
        ),
        (
            "cat /conf/app.conf | grep name | cut -d= -f2",
            "web\n[0] 0s",
        ),
        (
            "echo x > /conf/f || echo no",
            "sh: can't create /conf/f: Read-only file system\nno\n[0] 0s",
        ),
        ("/conf/run.sh now; echo $?", "run now\n3\n[0] 0s"),
        (". /conf/app.conf; echo $name:$port", "web:80\n[0] 0s"),
        (
            "cat /missing",
            "cat: /missing: No such file or directory\n[1] 0s",
        ),
        (
            "mkdir -p /tmp/a/b && touch /tmp/a/b/c && rm -rf /tmp/a && ls /tmp/a",
            "ls: /tmp/a: No such file or directory\n[1] 0s",
        ),
        (
            "set -u; echo $NOPE; echo never",
            "sh: NOPE: parameter not set\n[2] 0s",
        ),
        ("set -x; X=1 echo \"a b\"", "+ X=1 echo 'a b'\na b\n[0] 0s"),
        (
            "date -u +%Y-%m-%dT%H:%M:%SZ; hostname",
            "2026-05-28T20:26:40Z\npod-1\n[0] 0s",
        ),
        (
            "migrate -path /m up",
            "simulated: migrate -path /m up\n[0] 1s",
        ),
        ("/scripts/nope.sh", "simulated: /scripts/nope.sh\n[0] 1s"),
        ("/conf/nope.sh", "sh: /conf/nope.sh: not found\n[127] 0s"),
        (
            "if true; then echo x",
            "sh: 1: Syntax error: end of file unexpected (expecting \"fi\")\n[2] 0s",
        ),
        ("while :; do :; done & sleep 4", "[0] 4s"),
        ("set -euo pipefail; false | true; echo never", "[1] 0s"),
        (
            "[[ $GREETING == hel* && 3 -gt 2 ]] && echo bash; (( 2 > 1 )) && echo sum",
            "bash\nsum\n[0] 0s",
        ),
        (
            "for ((i=0;i<3;i++)); do echo -n $i; done; echo ${GREETING^^} ${GREETING:1:2} ${GREETING/l/L}",
            "012HELLO el heLlo\n[0] 0s",
        ),
        ("echo -e 'a\\tb'; echo $'x\\ny'", "a\tb\nx\ny\n[0] 0s"),
    ];
    for (script, expected) in table {
        assert_eq!(sh(script), expected, "{script}");
    }
}

#[test]
fn nothing_stands_still() {
    for script in [
        "while true; do :; done",
        "f() { f; }; f",
        "while true; do echo x; done | cat",
        "x=a; while true; do x=$x$x; done",
        ":(){ :|:& };:",
        "eval \"$(printf '(%.0s' $(seq 500))\"",
    ] {
        let call = invocation(&["sh", "-c", script]);
        let told = play_some(&Cluster::default(), call, 3);
        assert!(told.len() < 1_000_000, "{script}: {}", told.len());
    }
}

fn shop() -> Cluster {
    let slice = |ready: bool, name: &str| {
        json!({
            "metadata": {"labels": {"kubernetes.io/service-name": name}},
            "endpoints": [{"addresses": ["10.244.0.5"], "conditions": {"ready": ready}, "hostname": "db-0"}],
            "ports": [{"name": "web", "port": 8080}],
        })
    };
    let service = |ip: &str| json!({"spec": {"clusterIP": ip, "ports": [{"name": "web", "port": 80, "targetPort": 8080}]}});
    Cluster::with(&[
        ("services/n/up", service("10.0.0.1")),
        ("endpointslices/n/up-1", slice(true, "up")),
        ("services/n/down", service("10.0.0.2")),
        ("endpointslices/n/down-1", slice(false, "down")),
        ("services/n/db", service("None")),
        ("endpointslices/n/db-1", slice(true, "db")),
        ("services/other/far", service("10.0.0.3")),
        ("endpointslices/other/far-1", slice(true, "far")),
    ])
}

#[test]
fn services_answer_when_they_are_ready() {
    let world = shop();
    let table = [
        ("curl -fsS http://up/healthz", "ok\n[0] 0s"),
        (
            "curl -s -o /dev/null -w '%{http_code}\\n' http://up",
            "200\n[0] 0s",
        ),
        (
            "curl http://down:80/",
            "curl: (7) Failed to connect to down port 80 after 0 ms: Could not connect to server\n[7] 0s",
        ),
        (
            "curl up:81",
            "curl: (7) Failed to connect to up port 81 after 0 ms: Could not connect to server\n[7] 0s",
        ),
        ("curl -s nowhere", "[6] 0s"),
        (
            "curl -sS http://nowhere.n.svc.cluster.local",
            "curl: (6) Could not resolve host: nowhere.n.svc.cluster.local\n[6] 0s",
        ),
        ("curl -s http://far.other.svc:80", "ok\n[0] 0s"),
        ("curl -s http://far.other", "ok\n[0] 0s"),
        (
            "curl -s --retry 3 --retry-delay 2 --retry-connrefused http://down",
            "[7] 6s",
        ),
        ("curl -s https://example.com/hook -d '{}'", "ok\n[0] 0s"),
        ("curl -s localhost:8080; curl -s localhost:9", "ok\n[7] 0s"),
        (
            "curl -s http://10.0.0.1; curl -s http://10.0.0.2",
            "ok\n[7] 0s",
        ),
        (
            "wget -qO- http://up; wget -q http://down",
            "ok\nwget: can't connect to remote host (10.0.0.2): Connection refused\n[1] 0s",
        ),
        (
            "nc -z up 80 && echo yes; nc -zv down 80",
            "yes\nnc: down (10.0.0.2:80): Connection refused\n[1] 0s",
        ),
        (
            "nslookup nowhere >/dev/null || echo no; getent hosts up",
            "no\n10.0.0.1  up\n[0] 0s",
        ),
        ("pg_isready -h down -p 80", "down:80 - no response\n[2] 0s"),
        (
            "PGHOST=db PGPORT=8080 psql -c 'select 1'",
            "simulated: psql -c select 1\n[0] 1s",
        ),
        (
            "curl -s db-0.db:8080 && echo > /dev/tcp/up/80 && echo open",
            "ok\nopen\n[0] 0s",
        ),
        (
            "timeout 5 sh -c 'until nc -z down 80; do echo waiting; sleep 2; done'; echo $?",
            "waiting\nwaiting\nwaiting\n124\n[0] 5s",
        ),
    ];
    for (script, expected) in table {
        let told = play(&world, invocation(&["sh", "-c", script]));
        assert_eq!(told, expected, "{script}");
    }
}

#[test]
fn words_without_a_shell() {
    let world = Cluster::default();
    let table: [(&[&str], &str); 6] = [
        (&["sleep", "3"], "[0] 3s"),
        (&["/bin/echo", "a", "b"], "a b\n[0] 0s"),
        (
            &["/usr/bin/tini", "--", "sh", "-ec", "false; echo no"],
            "[1] 0s",
        ),
        (&["bash", "/conf/run.sh", "x"], "run x\n[3] 0s"),
        (
            &["bash", "-euo", "pipefail", "-c", "false | true; echo no"],
            "[1] 0s",
        ),
        (&["server", "--port", "80"], "not run"),
    ];
    for (argv, expected) in table {
        assert_eq!(play(&world, invocation(argv)), expected, "{argv:?}");
    }
}

#[test]
fn signals() {
    let stopped = |script: &str, serves: bool| {
        let mut call = invocation(&["sh", "-c", script]);
        call.serves = serves;
        let mut process = Process::start(call, START).unwrap();
        let (world, mut log) = (Cluster::default(), Log::default());
        process.advance(&world, START.plus_seconds(3), &mut log);
        process.terminate(START.plus_seconds(3));
        let exit = process.advance(&world, START.plus_seconds(10), &mut log);
        let exit = exit.map(|(at, code)| (at.seconds() - START.seconds(), code));
        format!("{}{exit:?}", log.ending(10, 1_000))
    };
    assert_eq!(stopped("sleep 100", false), "None");
    assert_eq!(
        stopped(
            "trap 'echo bye; exit 0' TERM; while true; do sleep 1; done",
            false
        ),
        "bye\nSome((4, 0))"
    );
    assert_eq!(
        stopped("trap 'exit 5' TERM; sleep 100 & wait", false),
        "Some((3, 5))"
    );
    assert_eq!(
        stopped("echo up; exec ./server", true),
        "up\nsimulated: ./server\nSome((3, 0))"
    );
}

#[test]
fn probes_see_the_files() {
    let script = "touch /tmp/healthy; sleep 30; rm /tmp/healthy; sleep 600";
    let mut process = Process::start(invocation(&["sh", "-c", script]), START).unwrap();
    let (world, mut log) = (Cluster::default(), Log::default());
    let argv = ["cat".to_owned(), "/tmp/healthy".to_owned()];
    process.advance(&world, START, &mut log);
    assert_eq!(process.exec(&world, &argv, START).code, 0);
    process.advance(&world, START.plus_seconds(31), &mut log);
    let done = process.exec(&world, &argv, START.plus_seconds(31));
    assert_eq!(
        done.output,
        "cat: /tmp/healthy: No such file or directory\n"
    );
    let slow = ["sleep".to_owned(), "2".to_owned()];
    assert_eq!(
        process.exec(&world, &slow, START.plus_seconds(31)).took,
        2_000_000
    );
}
