//! Charts fetched from real servers on loopback: files with and without passwords and TLS, and a
//! registry with tokens and pages.

use base64::Engine as _;
use bytes::Bytes;
use charts::{Cache, Charts, ChartsError, Repository, Secret, Tls, digest};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

type Answer = Response<Full<Bytes>>;
type Handler = Arc<dyn Fn(&Asked) -> Answer + Send + Sync>;

// A request as the tests look at it.
#[derive(Clone, Debug)]
struct Asked {
    target: String,
    authorization: String,
    host: String,
}

struct Server {
    address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    async fn start(tls: Option<tokio_rustls::TlsAcceptor>, handler: Handler) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let log = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, handler, log) = (tls.clone(), handler.clone(), log.clone());
                tokio::spawn(async move {
                    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                        let header = |name: &str| {
                            let value = request.headers().get(name);
                            value
                                .and_then(|v| v.to_str().ok())
                                .unwrap_or_default()
                                .to_owned()
                        };
                        let asked = Asked {
                            target: request.uri().to_string(),
                            authorization: header("authorization"),
                            host: header("host"),
                        };
                        let answer = handler(&asked);
                        log.lock().expect("nobody panicked").push(asked);
                        async move { Ok::<_, Infallible>(answer) }
                    });
                    let serve = hyper::server::conn::http1::Builder::new();
                    // A client that hangs up or does not trust us is part of the test.
                    let _ = match tls {
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => {
                                serve.serve_connection(TokioIo::new(stream), service).await
                            }
                            Err(_) => return,
                        },
                        None => serve.serve_connection(TokioIo::new(stream), service).await,
                    };
                });
            }
        });
        Self {
            address: format!("127.0.0.1:{port}"),
            asked,
        }
    }

    fn log(&self) -> Vec<Asked> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

fn answer(status: u16, body: impl Into<Bytes>) -> Answer {
    let body = Full::new(body.into());
    Response::builder()
        .status(status)
        .body(body)
        .expect("it is well formed")
}

const ARCHIVE: &[u8] = b"the bytes of a chart";

fn index(urls: &str, digest: &str) -> String {
    format!(
        "apiVersion: v1\nentries:\n  web:\n  - name: web\n    version: 1.2.3\n    digest: {digest}\n    urls: ['{urls}']\n"
    )
}

fn files(files: BTreeMap<&'static str, Vec<u8>>, user: &'static str) -> Handler {
    Arc::new(move |asked: &Asked| {
        let wanted = base64::engine::general_purpose::STANDARD.encode(user);
        if !user.is_empty() && asked.authorization != format!("Basic {wanted}") {
            return answer(401, "who are you?");
        }
        match files.get(asked.target.as_str()) {
            Some(bytes) => answer(200, bytes.clone()),
            None => answer(404, "nothing here"),
        }
    })
}

fn static_files(digest: &str, user: &'static str) -> Handler {
    let mut content = BTreeMap::new();
    content.insert(
        "/charts/index.yaml",
        index("web-1.2.3.tgz", digest).into_bytes(),
    );
    content.insert("/charts/web-1.2.3.tgz", ARCHIVE.to_vec());
    files(content, user)
}

fn repository(url: String) -> Repository {
    Repository {
        url,
        ..Repository::default()
    }
}

async fn get(repository: &Repository, range: &str) -> Result<Arc<[u8]>, ChartsError> {
    let charts = Charts::new(None);
    let resolved = charts.resolve(repository, "web", range).await?;
    charts.fetch(repository, &resolved).await
}

#[tokio::test]
async fn a_chart_is_found_and_checked() {
    let sound = digest(ARCHIVE);
    let server = Server::start(None, static_files(&sound, "")).await;
    let repository = repository(format!("http://{}/charts", server.address));
    let bytes = get(&repository, "^1.0").await.expect("it is there");
    assert_eq!(&*bytes, ARCHIVE);
    let error = get(&repository, "^2.0").await.expect_err("there is none");
    assert_eq!(error.finding().code, "G07");
    assert!(
        error.to_string().contains("version \"^2.0\" not found"),
        "{error}"
    );
    let versions = Charts::new(None).versions(&repository, "web").await;
    assert_eq!(versions, Ok(vec!["1.2.3".to_owned()]));
}

#[tokio::test]
async fn bytes_that_were_replaced_are_refused() {
    let other = digest(b"something else");
    let server = Server::start(None, static_files(&other, "")).await;
    let repository = repository(format!("http://{}/charts", server.address));
    let error = get(&repository, "")
        .await
        .expect_err("the digest is another");
    assert!(matches!(error, ChartsError::Digest { .. }), "{error}");
}

#[tokio::test]
async fn passwords_are_sent_and_their_lack_is_named() {
    let server = Server::start(None, static_files(&digest(ARCHIVE), "me:secret")).await;
    let url = format!("http://{}/charts", server.address);
    let error = get(&repository(url.clone()), "")
        .await
        .expect_err("nobody may read it");
    assert!(
        matches!(error, ChartsError::Refused { status: 401, .. }),
        "{error}"
    );
    let known = Repository {
        username: "me".into(),
        password: Secret("secret".into()),
        ..repository(url)
    };
    assert!(get(&known, "").await.is_ok());
    assert!(!format!("{known:?}").contains("secret"));
}

#[tokio::test]
async fn passwords_stay_with_their_host() {
    let elsewhere = Server::start(None, static_files(&digest(ARCHIVE), "")).await;
    let far = format!("http://{}/charts/web-1.2.3.tgz", elsewhere.address);
    let mut content = BTreeMap::new();
    content.insert("/index.yaml", index(&far, "").into_bytes());
    let server = Server::start(None, files(content, "me:secret")).await;
    let mut known = Repository {
        username: "me".into(),
        password: Secret("secret".into()),
        ..repository(format!("http://{}", server.address))
    };
    get(&known, "")
        .await
        .expect("the archive needs no password");
    assert_eq!(elsewhere.log()[0].authorization, "");
    known.pass_credentials = true;
    get(&known, "")
        .await
        .expect("the archive needs no password");
    assert!(elsewhere.log()[1].authorization.starts_with("Basic "));
}

#[tokio::test]
async fn what_was_fetched_once_is_kept() {
    let server = Server::start(None, static_files(&digest(ARCHIVE), "")).await;
    let repository = repository(format!("http://{}/charts", server.address));
    let directory = std::env::temp_dir().join(format!("tiphys-charts-kept-{}", std::process::id()));
    let cache = Cache::open(&directory, 1 << 20).expect("it opens");
    let charts = Charts::new(Some(Arc::new(cache)));
    let resolved = charts
        .resolve(&repository, "web", "")
        .await
        .expect("it is there");
    for _ in 0..3 {
        let bytes = charts
            .fetch(&repository, &resolved)
            .await
            .expect("it is there");
        assert_eq!(&*bytes, ARCHIVE);
    }
    let fetched = server
        .log()
        .iter()
        .filter(|asked| {
            std::path::Path::new(&asked.target)
                .extension()
                .is_some_and(|e| e == "tgz")
        })
        .count();
    assert_eq!(fetched, 1);
    std::fs::remove_dir_all(&directory).expect("it was made");
}

fn certificate() -> (String, tokio_rustls::TlsAcceptor) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).expect("it is made");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der())
        .expect("the key is sound");
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("there are versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("the certificate is sound");
    (
        made.cert.pem(),
        tokio_rustls::TlsAcceptor::from(Arc::new(config)),
    )
}

#[tokio::test]
async fn servers_are_trusted_by_their_authority() {
    let (pem, acceptor) = certificate();
    let server = Server::start(Some(acceptor), static_files(&digest(ARCHIVE), "")).await;
    let url = format!("https://{}/charts", server.address);
    let error = get(&repository(url.clone()), "")
        .await
        .expect_err("nobody knows it");
    assert!(
        matches!(error, ChartsError::Unreachable { stage: "tls", .. }),
        "{error}"
    );
    for tls in [
        Tls {
            ca: pem,
            ..Tls::default()
        },
        Tls {
            insecure: true,
            ..Tls::default()
        },
    ] {
        let trusting = Repository {
            tls,
            ..repository(url.clone())
        };
        assert!(get(&trusting, "").await.is_ok());
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_the_stage() {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let error = get(&repository(format!("http://{address}")), "")
        .await
        .expect_err("nobody answers");
    assert!(
        matches!(error, ChartsError::Unreachable { stage: "tcp", .. }),
        "{error}"
    );
    assert!(error.is_transient());
}

#[tokio::test]
async fn redirects_are_followed_but_not_in_circles() {
    let handler: Handler = Arc::new(|asked: &Asked| {
        let to = match asked.target.as_str() {
            "/old/index.yaml" => format!("http://{}/new/index.yaml", asked.host),
            "/new/index.yaml" => return answer(200, index("/new/web-1.2.3.tgz", "")),
            "/new/web-1.2.3.tgz" => return answer(200, ARCHIVE),
            _ => format!("http://{}/round/index.yaml", asked.host),
        };
        let body = Full::new(Bytes::new());
        let moved = Response::builder().status(302).header("location", to);
        moved.body(body).expect("it is well formed")
    });
    let server = Server::start(None, handler).await;
    let moved = repository(format!("http://{}/old", server.address));
    assert_eq!(get(&moved, "").await.as_deref(), Ok(ARCHIVE));
    let round = repository(format!("http://{}/round", server.address));
    assert!(matches!(
        get(&round, "").await,
        Err(ChartsError::Unreachable { .. })
    ));
}

// A registry with a token service, two pages of tags and one chart.
fn registry() -> Handler {
    Arc::new(|asked: &Asked| {
        if asked.target.starts_with("/token") {
            assert!(
                asked.target.contains("scope=repository%3Aorg%2Fweb%3Apull"),
                "{asked:?}"
            );
            return if asked.authorization.starts_with("Basic ") {
                answer(200, "{\"token\":\"good\"}")
            } else {
                answer(401, "{}")
            };
        }
        if asked.authorization != "Bearer good" {
            let realm = format!("Bearer realm=\"http://{}/token\",service=\"s\"", asked.host);
            let body = Full::new(Bytes::new());
            let refused = Response::builder()
                .status(401)
                .header("www-authenticate", realm);
            return refused.body(body).expect("it is well formed");
        }
        let manifest = format!(
            "{{\"layers\":[{{\"mediaType\":\"application/vnd.cncf.helm.chart.content.v1.tar+gzip\",\"digest\":\"{}\"}}]}}",
            digest(ARCHIVE)
        );
        let blob = format!("/v2/org/web/blobs/{}", digest(ARCHIVE));
        match asked.target.as_str() {
            "/v2/org/web/tags/list?n=1000" => {
                let body = Full::new(Bytes::from("{\"tags\":[\"1.0.0\",\"latest\"]}"));
                let link = "</v2/org/web/tags/list?n=1000&last=latest>; rel=\"next\"";
                let page = Response::builder().header("link", link);
                page.body(body).expect("it is well formed")
            }
            "/v2/org/web/tags/list?n=1000&last=latest" => {
                answer(200, "{\"tags\":[\"1.1.0_build.5\",\"2.0.0-rc1\"]}")
            }
            "/v2/org/web/manifests/1.1.0_build.5" | "/v2/org/web/manifests/1.0.0" => {
                answer(200, manifest)
            }
            target if target == blob => answer(200, ARCHIVE),
            _ => answer(404, "{}"),
        }
    })
}

#[tokio::test]
async fn registries_give_tokens_tags_and_layers() {
    let server = Server::start(None, registry()).await;
    let known = Repository {
        username: "me".into(),
        password: Secret("secret".into()),
        ..repository(format!("oci://{}/org", server.address))
    };
    let charts = Charts::new(None);
    let resolved = charts
        .resolve(&known, "web", "^1")
        .await
        .expect("it is there");
    assert_eq!(
        (resolved.version.as_str(), resolved.name.as_str()),
        ("1.1.0+build.5", "web")
    );
    assert_eq!(
        charts.fetch(&known, &resolved).await.as_deref(),
        Ok(ARCHIVE)
    );
    let exact = charts
        .resolve(&known, "web", "1.0.0")
        .await
        .expect("it is there");
    assert_eq!(exact.version, "1.0.0");
    let error = charts
        .resolve(&known, "web", "9.9.9")
        .await
        .expect_err("there is none");
    assert!(matches!(error, ChartsError::NoVersion { .. }), "{error}");
    let stranger = repository(known.url.clone());
    let error = charts
        .resolve(&stranger, "web", "^1")
        .await
        .expect_err("nobody may read it");
    assert!(matches!(error, ChartsError::Refused { .. }), "{error}");
}
