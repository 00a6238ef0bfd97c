//! Transactions that stand still are rolled back: after `gingham.idle_in_transaction_timeout`, and those that keep others from
//! writing after `gingham.idle_writer_timeout`.

use crate::session::{Session, Slot, blocking};
use crate::{Error, Result};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long a transaction may stand still, by the settings of its session.
#[derive(Debug, Clone, Copy)]
struct IdleLimits {
    any: Option<Duration>,
    /// As `any`, where the transaction has the turn to write.
    writer: Option<Duration>,
}

impl IdleLimits {
    fn of(session: &Session) -> Self {
        session.with_settings(|settings| Self { any: settings.idle_timeout, writer: settings.idle_writer_timeout })
    }

    fn shortest(self) -> Option<Duration> {
        self.any.into_iter().chain(self.writer).min()
    }

    /// The limit of a transaction, and the setting that says so.
    fn for_one(self, writes: bool) -> Option<(Duration, &'static str)> {
        let any = self.any.map(|limit| (limit, "idle_in_transaction_timeout"));
        let writer = self.writer.filter(|_| writes).map(|limit| (limit, "idle_writer_timeout"));
        any.into_iter().chain(writer).min_by_key(|(limit, _)| *limit)
    }
}

/// What a look at a session gave.
enum IdleLook {
    /// The transaction may stand still for that long yet.
    Wait(Duration),
    /// There is nothing to look after any more.
    Nothing,
    /// The transaction was rolled back; dropping it undoes what it has changed, which may block.
    Ended(Slot),
}

impl Session {
    /// Lets somebody look after the transaction that is open, where a setting says how long it may stand still.
    pub(crate) fn watch_idle(self: &Arc<Self>) -> Result<()> {
        let Some(limit) = IdleLimits::of(self).shortest() else { return Ok(()) };
        let at = Instant::now() + limit;
        let mut looks_at = self.idle_watch.looks_at();
        match *looks_at {
            Some(known) if known <= at => return Ok(()),
            Some(_) => self.idle_watch.earlier.notify_one(),
            None => {
                let (session, earlier) = (Arc::downgrade(self), Arc::clone(&self.idle_watch.earlier));
                self.engine.handle()?.spawn(watch(session, earlier));
            }
        }
        *looks_at = Some(at);
        Ok(())
    }

    /// Rolls back a transaction that has stood still for too long; else tells when to look again.
    fn look_after_idle(&self) -> IdleLook {
        let mut looks_at = self.idle_watch.looks_at();
        let looked = self.end_idle();
        *looks_at = match &looked {
            IdleLook::Wait(wait) => Some(Instant::now() + *wait),
            IdleLook::Nothing | IdleLook::Ended(_) => None,
        };
        looked
    }

    fn end_idle(&self) -> IdleLook {
        let limits = IdleLimits::of(self);
        let Some(shortest) = limits.shortest() else { return IdleLook::Nothing };
        let mut slot = self.slot();
        let Slot::Open(transaction) = &*slot else { return IdleLook::Nothing };
        // One that has not got the turn gets it by a statement, after which it is not idle.
        let Some((limit, setting)) = limits.for_one(transaction.writes()) else { return IdleLook::Wait(shortest) };
        if let Some(left) = limit.checked_sub(transaction.idle()).filter(|left| !left.is_zero()) {
            return IdleLook::Wait(left.min(shortest));
        }
        let settings = transaction.settings().rolled_back();
        let why = Error::IdleTimeout(format!(
            "the transaction was rolled back: no statement came for {} s (gingham.{setting}); ROLLBACK, then begin anew",
            limit.as_secs_f64()
        ));
        let ended = std::mem::replace(&mut *slot, Slot::RolledBack(why));
        drop(slot);
        // Nobody is there to be told.
        drop(self.give_back(settings));
        IdleLook::Ended(ended)
    }
}

/// Looks after the transactions of a session, until there is none.
async fn watch(session: Weak<Session>, earlier: Arc<Notify>) {
    loop {
        let Some(looked) = session.upgrade().map(|session| session.look_after_idle()) else { return };
        match looked {
            IdleLook::Wait(wait) => {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = earlier.notified() => {}
                }
            }
            IdleLook::Nothing => return,
            IdleLook::Ended(slot) => {
                let ended = blocking(move || {
                    drop(slot);
                    Ok(())
                });
                drop(ended.await);
                return;
            }
        }
    }
}
