//! An answer on its way out: whole, item by item, or event by event.

use crate::cluster::Cluster;
use crate::logs::{self, Following};
use apiserver::{ListReply, Reply, WatchReply};
use bytes::Bytes;
use http::{HeaderValue, Response as HttpResponse};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How much of a list is written at once.
const CHUNK_BYTES: usize = 64 << 10;
/// How often a watcher that wants bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// The longest a watch lasts: so long that nobody sees it end, and that no sum overflows.
const WATCH_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// How long before its end a watch sends a last bookmark.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// The body type of every answer.
pub(crate) type AnswerBody = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

/// One answer.
#[derive(Debug)]
pub struct Answer {
    cluster: Cluster,
    reply: Reply,
    /// What is sent after the reply, as it comes.
    follows: Option<Following>,
}

impl Answer {
    pub(crate) fn new(cluster: Cluster, reply: Reply) -> Self {
        Self {
            cluster,
            reply,
            follows: None,
        }
    }

    pub(crate) fn followed(mut self, following: Following) -> Self {
        self.follows = Some(following);
        self
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match &self.reply {
            Reply::Full(response) => response.status,
            Reply::List(_) | Reply::Watch(_) | Reply::Log(_) => 200,
        }
    }

    /// The body of an answer that is ready; empty for others.
    pub(crate) fn body(&self) -> &[u8] {
        match &self.reply {
            Reply::Full(response) => &response.body,
            Reply::List(_) | Reply::Watch(_) | Reply::Log(_) => &[],
        }
    }

    /// The whole body; empty for a watch, which has no end.
    pub fn bytes(&self) -> Vec<u8> {
        match &self.reply {
            Reply::Full(response) => response.body.clone(),
            Reply::List(list) => list.to_bytes(),
            Reply::Watch(_) | Reply::Log(_) => Vec::new(),
        }
    }

    /// The answer as HTTP; a watch starts a task that lives as long as its reader.
    pub(crate) fn into_http(self) -> HttpResponse<AnswerBody> {
        match self.reply {
            Reply::Log(ask) => self.cluster.log_answer(*ask).into_http(),
            Reply::Full(response) if self.follows.is_some() => {
                let (sender, receiver) = mpsc::channel(4);
                if let Some(following) = self.follows {
                    tokio::spawn(logs::send(self.cluster, response.body, following, sender));
                }
                let body = ChannelBody { receiver }.boxed_unsync();
                with_headers(200, &response.content_type, &response.headers, body)
            }
            Reply::Full(response) => {
                let body = Full::new(Bytes::from(response.body)).boxed_unsync();
                with_headers(
                    response.status,
                    &response.content_type,
                    &response.headers,
                    body,
                )
            }
            Reply::List(mut list) => {
                let headers = std::mem::take(&mut list.headers);
                let body = ListBody {
                    list,
                    next: 0,
                    stage: Stage::Head,
                };
                with_headers(200, "application/json", &headers, body.boxed_unsync())
            }
            Reply::Watch(watch) => {
                let headers = watch.headers.clone();
                let content_type = watch.content_type();
                let (sender, receiver) = mpsc::channel(4);
                tokio::spawn(follow(self.cluster, *watch, sender));
                with_headers(
                    200,
                    content_type,
                    &headers,
                    ChannelBody { receiver }.boxed_unsync(),
                )
            }
        }
    }
}

fn with_headers(
    status: u16,
    content_type: &str,
    headers: &[(&'static str, String)],
    body: AnswerBody,
) -> HttpResponse<AnswerBody> {
    let mut response = HttpResponse::new(body);
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    let map = response.headers_mut();
    let add = |map: &mut http::HeaderMap, name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            map.append(name, value);
        }
    };
    if !content_type.is_empty() {
        add(map, "content-type", content_type);
    }
    add(map, "cache-control", "no-cache, private");
    for (name, value) in headers {
        add(map, name, value);
    }
    response
}

enum Stage {
    Head,
    Items,
    Done,
}

/// Writes a list in chunks, so that a list of everything is never held as text at once.
struct ListBody {
    list: ListReply,
    next: usize,
    stage: Stage,
}

impl Body for ListBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut out = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8);
        match self.stage {
            Stage::Done => return Poll::Ready(None),
            Stage::Head => {
                out.extend_from_slice(&self.list.head);
                self.stage = Stage::Items;
            }
            Stage::Items => {}
        }
        let this = &mut *self;
        this.next = this.list.write_some(this.next, CHUNK_BYTES, &mut out);
        if this.next >= this.list.items.len() {
            out.extend_from_slice(&this.list.tail);
            this.list.items = Vec::new();
            this.stage = Stage::Done;
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(out)))))
    }
}

struct ChannelBody {
    receiver: mpsc::Receiver<Bytes>,
}

impl Body for ChannelBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver
            .poll_recv(context)
            .map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
    }
}

// Sends a watch's events until its time is over, its reader is gone or it fell too far behind.
async fn follow(cluster: Cluster, mut watch: WatchReply, sender: mpsc::Sender<Bytes>) {
    let mut changed = cluster.shared.subscribe(watch.storage());
    let start = Instant::now();
    let lasts = Duration::from_secs(watch.timeout_seconds).min(WATCH_MAX);
    let end = start + lasts;
    let mut bookmark_at = next_bookmark(start, end);
    let mut out = watch.open(cluster.now());
    loop {
        changed.borrow_and_update();
        let durable = cluster.shared.durable();
        let over = watch
            .advance(
                &cluster.shared.read().memory,
                durable,
                cluster.now(),
                &mut out,
            )
            .is_err();
        if !out.is_empty()
            && sender
                .send(Bytes::from(std::mem::take(&mut out)))
                .await
                .is_err()
        {
            return;
        }
        if over || watch.is_over() {
            return;
        }
        tokio::select! {
            () = sender.closed() => return,
            () = cluster.shared.stopped() => return,
            () = tokio::time::sleep_until(end) => return,
            () = tokio::time::sleep_until(bookmark_at), if watch.bookmarks => {
                watch.bookmark(&mut out, false);
                bookmark_at = next_bookmark(bookmark_at, end);
            }
            moved = changed.changed() => if moved.is_err() { return },
        }
    }
}

// Once a minute, and once shortly before the end.
fn next_bookmark(after: Instant, end: Instant) -> Instant {
    let last = end - BOOKMARK_BEFORE_END;
    let regular = after + BOOKMARK_EVERY;
    if after < last && last < regular {
        last
    } else {
        regular
    }
}
