//! Sweeping: manifests that were not the newest for some time, and objects that no manifest names which is left.
//!
//! A publication that is under way has objects at the place that no manifest names yet. It puts a manifest no later than [`REUSED_FOR`]
//! after it began, and takes none for its own that is older, but those of the newest manifest; nothing is swept that is not twice as old.

use crate::published::newest::latest;
use crate::published::place::{FoundObject, ObjectPlace};
use crate::published::threads;
use crate::{Error, Result};
use chrono::Utc;
use gingham_storage::SqlState;
use gingham_storage::published::Manifest;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// How long a publication may take, and how old an object may be that it takes for its own without a manifest.
pub(super) const REUSED_FOR: Duration = Duration::from_secs(12 * 3600);
/// The age that an object has at least that is swept.
const SWEPT_FROM: Duration = REUSED_FOR.saturating_mul(2);

/// What a sweep has removed, or would remove.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let url = format!("file://{}", folder.path().display());
/// gingham::Database::in_memory()?.publish(&url, &gingham::PublishOptions::new())?;
/// let report = gingham::Database::sweep(&url, std::time::Duration::ZERO, false)?;
/// assert_eq!((report.manifests.len(), report.objects.len(), report.left), (0, 0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct SweepReport {
    /// Numbers of manifests.
    pub manifests: Vec<u64>,
    /// Names of the objects that no manifest needs.
    pub objects: Vec<String>,
    /// Bytes of those.
    pub bytes: u64,
    /// Manifests that are left.
    pub left: usize,
}

/// Removes at `url` what no manifest needs that was the newest within `keep`; says only what it would remove when `dry_run`.
pub(crate) fn sweep(url: &str, keep: Duration, dry_run: bool) -> Result<SweepReport> {
    let place = ObjectPlace::of(url)?;
    threads::wait(async move { sweep_place(&place, keep, dry_run).await })
}

/// [`sweep`] at a place.
pub(super) async fn sweep_place(place: &ObjectPlace, keep: Duration, dry_run: bool) -> Result<SweepReport> {
    sweep_older(place, keep, SWEPT_FROM, dry_run).await
}

/// Sweeps objects of some age.
pub(super) async fn sweep_older(
    place: &ObjectPlace,
    keep: Duration,
    age: Duration,
    dry_run: bool,
) -> Result<SweepReport> {
    // Before manifests are read: what one names that comes later is younger than any that is swept.
    let mut objects = place.list("segments").await?;
    objects.extend(place.list("catalogs").await?);
    let manifests: BTreeMap<u64, FoundObject> = place
        .list("manifests")
        .await?
        .into_iter()
        .filter_map(|found| Some((found.name.rsplit('/').next()?.parse().ok()?, found)))
        .collect();
    let Some(latest) = latest(place).await? else {
        return Err(Error::invalid(
            SqlState::InvalidDatabase,
            format!("there is no published database at {}: nothing is swept", place.url()),
        ));
    };
    let mut report = SweepReport::default();
    let (mut needed, mut gone) = (HashSet::new(), Vec::new());
    needed.extend(latest.objects());
    for (number, found) in &manifests {
        // It was the newest until the next one came.
        let next = manifests.range(number + 1..).next().filter(|_| *number < latest.number);
        if next.is_some_and(|(_, next)| is_older(next, keep)) {
            report.manifests.push(*number);
            gone.push(found.name.clone());
            continue;
        }
        report.left += 1;
        let bytes = place.get(&found.name).await?.ok_or_else(|| {
            Error::Io(format!("{} is gone: somebody else sweeps; do it again", place.show(&found.name)))
        })?;
        needed.extend(Manifest::parse(&bytes, &place.show(&found.name))?.objects());
    }
    for object in objects.iter().filter(|object| !needed.contains(&object.name) && is_older(object, age)) {
        report.bytes += object.length;
        report.objects.push(object.name.clone());
    }
    if !dry_run {
        // First what leads to objects that will be missing.
        place.remove(&gone).await?;
        place.remove(&report.objects).await?;
    }
    Ok(report)
}

/// Whether an object was put longer ago than some time.
fn is_older(object: &FoundObject, age: Duration) -> bool {
    (Utc::now() - object.put).to_std().is_ok_and(|own| own >= age)
}
