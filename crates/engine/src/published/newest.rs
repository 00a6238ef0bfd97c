//! Which manifest is the newest: readers go by the object `latest`, which is a copy of it; who publishes looks behind it, too, since one
//! who was stopped in between has left a newer one.

use crate::published::place::ObjectPlace;
use crate::{Error, Result};
use gingham_storage::SqlState;
use gingham_storage::published::{Manifest, manifest_name};

/// The object that is overwritten with each publication.
pub(super) const LATEST: &str = "latest";

/// The manifest that readers go by; `None` when nothing was published.
pub(super) async fn latest(place: &ObjectPlace) -> Result<Option<Manifest>> {
    read(place, LATEST).await
}

/// The manifest of a number; `None` when there is none.
pub(super) async fn numbered(place: &ObjectPlace, number: u64) -> Result<Option<Manifest>> {
    read(place, &manifest_name(number)).await
}

async fn read(place: &ObjectPlace, name: &str) -> Result<Option<Manifest>> {
    let Some(bytes) = place.get(name).await? else { return Ok(None) };
    Ok(Some(Manifest::parse(&bytes, &place.show(name))?))
}

/// The manifest after which the next one comes.
pub(super) async fn newest(place: &ObjectPlace) -> Result<Option<Manifest>> {
    let mut newest = latest(place).await?;
    loop {
        let next = newest.as_ref().map_or(1, |manifest| manifest.number + 1);
        match numbered(place, next).await? {
            Some(manifest) => newest = Some(manifest),
            None => return Ok(newest),
        }
    }
}

/// The manifest of a number, or else the one that readers go by. Fails when it is missing.
pub(super) async fn wanted(place: &ObjectPlace, number: Option<u64>) -> Result<Manifest> {
    let missing = |text: String| Error::invalid(SqlState::InvalidDatabase, text);
    match number {
        None => {
            latest(place).await?.ok_or_else(|| missing(format!("there is no published database at {}", place.url())))
        }
        Some(number) => numbered(place, number).await?.ok_or_else(|| {
            missing(format!("{} has no manifest {number}: it was never published, or was swept since", place.url()))
        }),
    }
}
