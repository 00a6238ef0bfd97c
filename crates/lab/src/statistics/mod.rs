//! What repeated measurements say, and what they can't say: the method of section 3 of the runtime-fragility paper
//! (Palatinus, Dittrich: "Runtime Fragility in Main Memory").
//!
//! | file | what |
//! |---|---|
//! | `summary` | means, medians, Student-t intervals |
//! | `outlier` | Grubbs' test, with the paper's second condition |
//! | `compare` | two samples: different or not to be told apart; Welch's t-test |
//! | `paired` | ratios of times that were measured in pairs |
//! | `many` | many comparisons at once: Holm's correction, the class of the best |

mod compare;
mod many;
mod outlier;
mod paired;
mod summary;
#[cfg(test)]
mod tests;

pub use compare::{Comparison, Rule, Welch, compare, welch};
pub use many::{BestClass, best_class, holm};
pub use outlier::{Grubbs, OUTLIER_MARGIN, grubbs};
pub use paired::PairedRatio;
pub use summary::{CONFIDENCE, Interval, Quartiles, Summary, geometric_mean, mean, median, standard_deviation};
