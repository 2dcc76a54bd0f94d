//! The logs of containers: read once, or followed for as long as the container runs.

use crate::answer::Answer;
use crate::cluster::Cluster;
use ::kubelet::{LogChunk, LogCursor, LogOptions};
use apiserver::{LogReply, Reply, Response};
use bytes::Bytes;
use model::ApiError;
use tokio::sync::mpsc;

/// A log whose reader wants to see what comes.
#[derive(Debug)]
pub(crate) struct Following {
    namespace: String,
    pod: String,
    cursor: LogCursor,
}

impl Cluster {
    /// Answers a request for a log.
    pub(crate) fn log_answer(&self, ask: LogReply) -> Answer {
        match self.first_piece(&ask) {
            Err(error) => Answer::new(self.clone(), Reply::Full(Response::error(&error))),
            Ok(chunk) => {
                let response = Response {
                    status: 200,
                    content_type: "text/plain".into(),
                    headers: Vec::new(),
                    body: chunk.text.into_bytes(),
                };
                let answer = Answer::new(self.clone(), Reply::Full(response));
                match chunk.next.filter(|_| ask.follow) {
                    None => answer,
                    Some(cursor) => answer.followed(Following {
                        namespace: ask.namespace,
                        pod: ask.pod,
                        cursor,
                    }),
                }
            }
        }
    }

    fn first_piece(&self, ask: &LogReply) -> Result<LogChunk, ApiError> {
        if self.shared.desk().is_none() {
            return Err(ask.unserved.clone());
        }
        let options = LogOptions {
            tail: ask.tail,
            since: ask.since,
            timestamps: ask.timestamps,
            limit: ask.limit,
            previous: ask.previous,
        };
        let found = self.with_life(&ask.namespace, &ask.pod, |life| {
            life.log(&ask.pod, &ask.container, &options)
        });
        // A Pod that was bound a moment ago has not been looked at.
        let found = found.unwrap_or_else(|| {
            Err(format!(
                "container {:?} in pod {:?} is waiting to start: ContainerCreating",
                ask.container, ask.pod
            ))
        });
        found.map_err(ApiError::bad_request)
    }

    fn next_piece(&self, following: &Following) -> LogChunk {
        let life = self.with_life(&following.namespace, &following.pod, |life| {
            life.log_after(&following.cursor)
        });
        life.unwrap_or_default()
    }
}

/// Sends what comes until the container ends, its Pod is gone, or nobody reads.
pub(crate) async fn send(
    cluster: Cluster,
    first: Vec<u8>,
    mut following: Following,
    sender: mpsc::Sender<Bytes>,
) {
    let mut written = cluster.log_changes();
    // Something may have come since the first piece was read.
    written.mark_changed();
    let mut piece = first;
    loop {
        if !piece.is_empty() && sender.send(Bytes::from(piece)).await.is_err() {
            return;
        }
        tokio::select! {
            () = sender.closed() => return,
            () = cluster.shared.stopped() => return,
            moved = written.changed() => if moved.is_err() { return },
        }
        let chunk = cluster.next_piece(&following);
        piece = chunk.text.into_bytes();
        let Some(cursor) = chunk.next else {
            // The last words; a reader that is gone misses nothing.
            let _ = sender.send(Bytes::from(piece)).await;
            return;
        };
        following.cursor = cursor;
    }
}
