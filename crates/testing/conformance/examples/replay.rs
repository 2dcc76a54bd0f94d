//! Replays the recordings against a running server: URL CA-FILE.
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let target = conformance::Target { url: args[1].clone(), ca_pem: std::fs::read_to_string(&args[2]).unwrap(), admin_token: "admin-token".into(), user_token: "alice-token".into(), ..Default::default() };
    let (fixtures, allowed) = conformance::committed().unwrap();
    println!("{}", conformance::replay(&target, &fixtures, &allowed).unwrap());
}
