//! The state of a store's VACUUMs: whether one is under way, and when the next may be.

use crate::{Error, Result};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Part of the time that copies may take, of which nobody asked for.
const ONE_IN: u32 = 20;
/// Pause after one that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

/// What is known of VACUUMs of a store.
#[derive(Debug, Default)]
pub(crate) struct Vacuums {
    /// Whether a thread is about to do one that nobody asked for.
    pub(crate) under_way: AtomicBool,
    /// When the next one of those may be.
    pub(crate) not_before: Mutex<Option<Instant>>,
    /// Whether the exchange of the last one may be undone by a power loss.
    pub(crate) unsettled: AtomicBool,
}

impl Vacuums {
    pub(crate) fn not_before(&self) -> MutexGuard<'_, Option<Instant>> {
        self.not_before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_due(&self) -> bool {
        !self.under_way.load(Ordering::Acquire) && self.not_before().is_none_or(|time| Instant::now() >= time)
    }

    /// One that nobody asked for took so long, or failed.
    pub(crate) fn ended(&self, vacuumed: &Result<Duration>, database: &Path) {
        let pause = match vacuumed {
            Ok(took) => took.saturating_mul(ONE_IN - 1),
            Err(error) => {
                tracing::warn!("{}: VACUUM failed: {error}", database.display());
                if matches!(error, Error::Unsupported(_)) {
                    // It would be in vain each time: one is under way for ever.
                    return;
                }
                AFTER_FAILURE
            }
        };
        *self.not_before() = Instant::now().checked_add(pause);
        self.under_way.store(false, Ordering::Release);
    }
}
