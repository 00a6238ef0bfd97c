//! What the parts of a predicate really let through, zone by zone, against what was expected; and the new order when the
//! estimate was wrong.
//!
//! A few zones are looked at closely: each part's answer is counted among the records that were undecided before it,
//! which costs a population count per part. Where the model says that another order would be cheaper by a good margin
//! under what was seen, estimates are corrected, in every segment by as much as they were off (in log-odds, so that
//! a segment whose metadata says something else keeps saying so), and segments are arranged anew when they are next
//! read. Answers never depend on any of it.

use crate::model::view::Format;
use crate::scan::code::CodePredicate;
use crate::scan::costs;
use crate::scan::costs::Costs;
use crate::scan::rank::Model;
use gingham_kernels::Isa;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The first zones are all looked at closely, later ones now and then.
const FIRST: u64 = 3;
const THEN_EVERY: u64 = 8;
/// A share is believed when it was seen among so many records.
const ENOUGH: u64 = 4096;
/// Another order must save this share of the modelled work: less would only go to and fro.
const WORTH_CHANGING: f64 = 0.1;
/// Shares are kept this far from 0 and 1, so that one zone without a match does not say "never".
const LEAST: f64 = 1e-4;

/// Counts of one node of the predicate.
#[derive(Debug, Default)]
struct Count {
    /// Records that were undecided when it was evaluated.
    looked: AtomicU64,
    /// Those of them that qualified.
    passed: AtomicU64,
    /// Those that were expected to.
    expected: AtomicU64,
}

/// The counts of a scan, by the nodes' numbers; shared by its threads.
#[derive(Debug)]
pub(super) struct Tally(Vec<Count>);

impl Tally {
    /// A tally for nodes numbered below `nodes`.
    pub(super) fn new(nodes: usize) -> Self {
        Self((0..nodes).map(|_| Count::default()).collect())
    }

    /// Adds what node number `node` let through.
    pub(super) fn add(&self, node: usize, looked: usize, passed: usize, expected: f64) {
        let Some(count) = self.0.get(node) else { return };
        count.looked.fetch_add(looked as u64, Ordering::Relaxed);
        count.passed.fetch_add(passed as u64, Ordering::Relaxed);
        count.expected.fetch_add((looked as f64 * expected) as u64, Ordering::Relaxed);
    }

    fn read(&self) -> Vec<[u64; 3]> {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        self.0.iter().map(|count| [read(&count.looked), read(&count.passed), read(&count.expected)]).collect()
    }
}

/// What a scan has learnt.
#[derive(Debug)]
pub(super) struct Observed {
    /// What codes of a format cost: [`costs::costs`], but in tests, which must not depend on the machine.
    costs: fn(Isa, Format) -> Costs,
    tally: Tally,
    zones: AtomicU64,
    /// Changes whenever corrections do.
    version: AtomicU64,
    /// Log-odds to add to the estimate of each node.
    corrections: RwLock<Vec<f64>>,
    judged: Mutex<Judged>,
}

/// What was seen up to the last comparison.
#[derive(Debug)]
struct Judged {
    /// The counts then.
    counts: Vec<[u64; 3]>,
    /// What each node's estimate was found to be off by, whether or not it was worth another order.
    corrections: Vec<f64>,
}

/// A predicate of one segment, arranged by what was known at a version.
#[derive(Debug)]
pub(super) struct Arranged(RwLock<(u64, Arc<CodePredicate>)>);

impl Arranged {
    /// Not yet arranged.
    pub(super) fn new(predicate: CodePredicate) -> Self {
        Self(RwLock::new((u64::MAX, Arc::new(predicate))))
    }

    /// This predicate, arranged by nothing that was seen.
    pub(super) fn fresh(&self) -> Self {
        Self(RwLock::new((u64::MAX, self.last())))
    }

    /// The predicate as it was last arranged.
    pub(super) fn last(&self) -> Arc<CodePredicate> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).1)
    }
}

impl Observed {
    /// Observations for a predicate with nodes numbered below `nodes`.
    pub(super) fn new(nodes: usize) -> Self {
        Self::with_costs(nodes, costs::costs)
    }

    /// Observations under other costs of kernels.
    pub(super) fn with_costs(nodes: usize, costs: fn(Isa, Format) -> Costs) -> Self {
        Self {
            costs,
            tally: Tally::new(nodes),
            zones: AtomicU64::new(0),
            version: AtomicU64::new(0),
            corrections: RwLock::new(vec![0.0; nodes]),
            judged: Mutex::new(Judged { counts: vec![[0; 3]; nodes], corrections: vec![0.0; nodes] }),
        }
    }

    /// Nothing seen yet, but corrected as this one is, of a predicate with more nodes.
    pub(super) fn extended(&self, nodes: usize) -> Self {
        let mut corrections = self.corrections();
        corrections.resize(nodes, 0.0);
        let judged = Judged { counts: vec![[0; 3]; nodes], corrections: corrections.clone() };
        Self {
            corrections: RwLock::new(corrections),
            judged: Mutex::new(judged),
            ..Self::with_costs(nodes, self.costs)
        }
    }

    /// The tally, when the next zone is one to look at closely.
    pub(super) fn look(&self) -> Option<&Tally> {
        let zone = self.zones.fetch_add(1, Ordering::Relaxed);
        (zone < FIRST || zone.is_multiple_of(THEN_EVERY)).then_some(&self.tally)
    }

    /// A segment's predicate in the order that is best by what is known now.
    pub(super) fn arranged(&self, isa: Isa, arranged: &Arranged) -> Arc<CodePredicate> {
        let version = self.version.load(Ordering::Acquire);
        {
            let known = arranged.0.read().unwrap_or_else(PoisonError::into_inner);
            if known.0 == version || !matches!(*known.1, CodePredicate::Junction(_)) {
                return Arc::clone(&known.1);
            }
        }
        let corrections = self.corrections();
        let mut known = arranged.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut predicate = CodePredicate::clone(&known.1);
        self.model(isa, &corrections, |model| model.arrange(&mut predicate));
        *known = (version, Arc::new(predicate));
        Arc::clone(&known.1)
    }

    /// Compares what was seen with what is believed; corrects estimates when that is worth another order. Called after
    /// a zone that was looked at, with the segment's predicate as it was evaluated.
    pub(super) fn recheck(&self, isa: Isa, predicate: &CodePredicate) {
        let CodePredicate::Junction(_) = predicate else { return };
        // Another thread is at it.
        let Ok(mut judged) = self.judged.try_lock() else { return };
        let Judged { counts, corrections } = &mut *judged;
        for ((now, before), correction) in self.tally.read().iter().zip(counts).zip(corrections) {
            let [looked, passed, expected] = [now[0] - before[0], now[1] - before[1], now[2] - before[2]];
            if looked >= ENOUGH {
                let share = |records: u64| records as f64 / looked as f64;
                *correction = log_odds(share(passed)) - log_odds(share(expected));
                *before = *now;
            }
        }
        let mut better = predicate.clone();
        let worth = self.model(isa, &judged.corrections, |model| {
            model.arrange(&mut better);
            model.cost(&better, 1.0) < model.cost(predicate, 1.0) * (1.0 - WORTH_CHANGING)
        });
        if worth {
            self.corrections.write().unwrap_or_else(PoisonError::into_inner).clone_from(&judged.corrections);
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    /// How often the order was changed.
    pub(super) fn changes(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// The share of records that a node let through, of those at which it looked; `None` when it did not look yet.
    pub(super) fn seen(&self, node: usize) -> Option<f64> {
        let [looked, passed, _] = *self.tally.read().get(node)?;
        (looked > 0).then(|| passed as f64 / looked as f64)
    }

    /// The model under corrected estimates.
    fn model<T>(&self, isa: Isa, corrections: &[f64], with: impl FnOnce(&Model<'_>) -> T) -> T {
        let corrected = |node: usize, expected: f64| match corrections.get(node) {
            Some(correction) if *correction != 0.0 => 1.0 / (1.0 + (-(log_odds(expected) + correction)).exp()),
            _ => expected,
        };
        with(&Model { costs: &|format| (self.costs)(isa, format), share: &corrected })
    }

    fn corrections(&self) -> Vec<f64> {
        self.corrections.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn log_odds(share: f64) -> f64 {
    let share = share.clamp(LEAST, 1.0 - LEAST);
    (share / (1.0 - share)).ln()
}
