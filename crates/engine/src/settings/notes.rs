//! Notes of a statement's plans: texts for EXPLAIN, and the operators that they leave to DataFusion.

use datafusion::physical_plan::{ExecutionPlan, displayable};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names and texts that EXPLAIN tells besides a plan.
#[derive(Debug, Default)]
pub(crate) struct PlanNotes(Mutex<Vec<(String, String)>>);

impl PlanNotes {
    /// An operator that pipelines leave to DataFusion, and why: a line of one text; in the place of the last one with that reason
    /// when it is the cause of that.
    pub(crate) fn left(&self, plan: &Arc<dyn ExecutionPlan>, why: &impl Display, is_cause: bool) {
        let text = displayable(plan.as_ref()).one_line().to_string();
        let line = format!("{}: {why}", text.trim_end());
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, lines)) = notes.iter_mut().find(|(name, _)| name == LEFT) else {
            notes.push((LEFT.to_owned(), line));
            return;
        };
        let end = format!(": {why}");
        let mut all: Vec<&str> = lines.split('\n').collect();
        match all.iter_mut().rev().find(|known| is_cause && known.ends_with(&end)) {
            Some(known) => *known = &line,
            None => all.push(&line),
        }
        *lines = all.join("\n");
    }

    /// A plan of rows that are shared.
    pub(crate) fn shared(&self, name: &str, plan: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match notes.iter_mut().find(|(own, _)| own == name) {
            Some((_, text)) => *text = format!("{text}\n{}", plan.trim_end()),
            None => notes.push((name.to_owned(), plan.trim_end().to_owned())),
        }
    }

    /// The code of a pipeline.
    pub(crate) fn code(&self, pipeline: usize, text: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push((format!("code_of_pipeline_{pipeline}"), text.to_owned()));
    }

    /// All of them, which are told once.
    pub(crate) fn take(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The name of what pipelines leave.
const LEFT: &str = "left_to_datafusion";

/// Different fallbacks that are counted, at most: texts of expressions are part of reasons.
const MOST_COUNTED: usize = 1000;

/// An operator that is left to DataFusion, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fallback {
    /// The operator's name, such as `HashJoinExec`.
    pub(crate) operator: String,
    /// Why pipelines don't do it.
    pub(crate) reason: String,
}

/// The operators that the plans of one statement leave to DataFusion, in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct PlanFallbacks(Mutex<(Vec<Fallback>, usize)>);

impl PlanFallbacks {
    /// Adds an operator that is left, and why; in the place of the last one with that reason when it is the cause of that.
    pub(crate) fn add(&self, plan: &Arc<dyn ExecutionPlan>, why: &impl Display, is_cause: bool) {
        let fallback = Fallback { operator: plan.name().to_owned(), reason: why.to_string() };
        let all = &mut self.lock().0;
        match all.iter_mut().rev().find(|known| is_cause && known.reason == fallback.reason) {
            Some(known) => *known = fallback,
            None => all.push(fallback),
        }
    }

    /// Those that were added since this was called last: a statement may run several plans, each counted once.
    pub(crate) fn take_new(&self) -> Vec<Fallback> {
        let (all, counted) = &mut *self.lock();
        let new = all[*counted..].to_vec();
        *counted = all.len();
        new
    }

    /// All of them, for a plan that is run again.
    pub(crate) fn all(&self) -> Arc<[Fallback]> {
        self.lock().0.as_slice().into()
    }

    fn lock(&self) -> MutexGuard<'_, (Vec<Fallback>, usize)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often plans that were run left an operator to DataFusion, by operator and reason, since the database was opened.
#[derive(Debug, Default)]
pub(crate) struct FallbackCounts(Mutex<BTreeMap<Fallback, u64>>);

impl FallbackCounts {
    /// Counts one run of a plan. Past [`MOST_COUNTED`] different ones, the rest are counted as `other` together.
    pub(crate) fn count(&self, fallbacks: &[Fallback]) {
        if fallbacks.is_empty() {
            return;
        }
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for fallback in fallbacks {
            let is_full = counts.len() >= MOST_COUNTED;
            match counts.get_mut(fallback) {
                Some(count) => *count += 1,
                None if is_full => {
                    let other = Fallback { operator: "other".to_owned(), reason: "other reasons".to_owned() };
                    *counts.entry(other).or_default() += 1;
                }
                None => {
                    counts.insert(fallback.clone(), 1);
                }
            }
        }
    }

    /// All counts, by operator and reason.
    pub(crate) fn all(&self) -> Vec<(Fallback, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(fallback, count)| (fallback.clone(), *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fallback(number: usize) -> Fallback {
        Fallback { operator: "FilterExec".to_owned(), reason: format!("reason {number}") }
    }

    #[test]
    fn counts_are_kept_apart_until_there_are_too_many() {
        let counts = FallbackCounts::default();
        (0..MOST_COUNTED + 5).for_each(|number| counts.count(&[fallback(number), fallback(0)]));
        let all = counts.all();
        assert_eq!(all.len(), MOST_COUNTED + 1);
        let of = |reason: &str| all.iter().find(|(known, _)| known.reason == reason).map(|(_, count)| *count);
        assert_eq!(of("reason 0"), Some(MOST_COUNTED as u64 + 6));
        assert_eq!(of("reason 1"), Some(1));
        assert_eq!(of("other reasons"), Some(5));
    }
}
