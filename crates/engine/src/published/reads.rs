//! Ranges of objects for the storage, which knows no connection: each request is tried again with longer and longer pauses.

use crate::published::place::ObjectPlace;
use crate::published::threads;
use bytes::Bytes;
use datafusion::object_store::Error as StoreError;
use gingham_storage::io::{RangeEnded, RangedReads};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How often a request is tried; the pauses between add up to six seconds, and the store's client has its own.
const ATTEMPTS: u32 = 7;
/// The first pause; each is twice the one before.
const PAUSE: Duration = Duration::from_millis(100);
/// How long one attempt may take: 4 MiB over a link of 140 KB/s.
const LIMIT: Duration = Duration::from_secs(30);

/// The objects of a place, read by ranges.
#[derive(Debug)]
pub(super) struct ObjectReads(pub(super) Arc<ObjectPlace>);

impl RangedReads for ObjectReads {
    fn read(&self, name: &str, range: Range<u64>, ended: RangeEnded) {
        let (place, name) = (Arc::clone(&self.0), name.to_owned());
        let started = threads::spawn(async move {
            let came = patiently(&place, &name, range).await;
            // What is done with them blocks.
            drop(tokio::task::spawn_blocking(move || ended(came)));
        });
        if let Err(error) = started {
            // Who waits is told when `ended` is dropped.
            tracing::error!("{error}");
        }
    }

    fn place(&self, name: &str) -> String {
        self.0.show(name)
    }
}

async fn patiently(place: &ObjectPlace, name: &str, range: Range<u64>) -> io::Result<Bytes> {
    let mut pause = PAUSE;
    for attempt in 1.. {
        let text = match timeout(LIMIT, place.range(name, range.clone())).await {
            Ok(Ok(bytes)) => return Ok(bytes),
            Ok(Err(StoreError::NotFound { .. })) => return Err(io::ErrorKind::NotFound.into()),
            Ok(Err(error @ (StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. }))) => {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, error.to_string()));
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer in {} s", LIMIT.as_secs()),
        };
        if attempt == 1
            && let Ok(Some(found)) = place.look(name).await
            && found.length < range.end
        {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if attempt == ATTEMPTS {
            return Err(io::Error::other(format!("{text} (tried {ATTEMPTS} times)")));
        }
        tracing::info!("{}: {text}; it is tried again", place.show(name));
        sleep(pause).await;
        pause *= 2;
    }
    Err(io::Error::other("not tried"))
}
