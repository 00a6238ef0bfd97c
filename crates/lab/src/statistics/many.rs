//! Many comparisons at once. At 5 % a test, one of twenty comparisons of equal things finds a difference by chance; Holm's
//! step-down correction (S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979) keeps the chance of
//! even one such error in a family of comparisons at 5 %, without Bonferroni's loss of power.

use super::compare::compare;
use super::summary::{CONFIDENCE, Summary};
use std::cmp::Ordering;

/// Adjusts the probabilities of a family of tests by Holm's method: one is significant when its adjusted value is below
/// 5 %. In the order of `p`.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, place) in order.into_iter().enumerate() {
        largest = largest.max(p[place] * (p.len() - rank) as f64).min(1.0);
        adjusted[place] = largest;
    }
    adjusted
}

/// Those among several variants that can't be told from the best.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BestClass {
    /// The variant of the smallest mean.
    pub best: usize,
    /// All that the paper's rule can't tell from it, and itself, ascending.
    pub members: Vec<usize>,
    /// All that Welch's test with Holm's correction can't tell from it, and itself, ascending.
    pub corrected: Vec<usize>,
}

/// The class of the best, where smaller is better. `None` without variants, or when one was never measured.
pub fn best_class(variants: &[&Summary]) -> Option<BestClass> {
    if variants.iter().any(|variant| variant.mean.is_nan()) {
        return None;
    }
    let best = (0..variants.len()).min_by(|a, b| variants[*a].mean.total_cmp(&variants[*b].mean))?;
    let others: Vec<usize> = (0..variants.len()).filter(|place| *place != best).collect();
    let comparisons: Vec<_> = others.iter().map(|place| compare(variants[best], variants[*place])).collect();
    let adjusted = holm(&comparisons.iter().map(|comparison| comparison.p).collect::<Vec<_>>());
    let with_best = |keep: &dyn Fn(usize) -> bool| {
        let mut class: Vec<usize> = (0..others.len()).filter(|i| keep(*i)).map(|i| others[i]).collect();
        class.push(best);
        class.sort_unstable();
        class
    };
    Some(BestClass {
        best,
        members: with_best(&|i| comparisons[i].order == Ordering::Equal),
        corrected: with_best(&|i| adjusted[i] >= 1.0 - CONFIDENCE),
    })
}
