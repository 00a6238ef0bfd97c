//! Experiments as data: factors and their levels, a set-up, what is measured, the oracle that checks every answer, and a
//! paper's claims as predicates over the results.
//!
//! | file | what |
//! |---|---|
//! | `design` | the parts of an experiment |
//! | `settings` | how large, how long, on how many threads |
//! | `run` | set-up, warm-up, interleaved rounds in random order, every answer checked |
//! | `findings` | results: samples and their summaries, found by levels |
//! | `judge` | comparisons that many results must pass, and the verdict on a claim |
//! | `counting` | instructions and cache misses by valgrind, where the processor grants no counters |
//! | `json` | all of it as JSON (docs/formats/lab.md) |

mod counting;
mod design;
mod findings;
mod json;
mod judge;
mod run;
mod settings;
#[cfg(test)]
mod tests;

pub use counting::{Counter, count, simulate};
pub use design::{
    Claim, Design, Experiment, Factor, Figure, FigureKind, Laps, Levels, Subject, Trial, Variant, levels,
};
pub(crate) use findings::metric_name;
pub use findings::{Class, Context, Findings, Measured, Outcome, Point, tally};
pub use json::{document, outcome_document};
pub use judge::{Expectation, Judgement, Verdict, linear_fit};
pub use run::{Progress, run};
pub use settings::{Bench, Mode, Settings, Sizing};

/// Why a run of experiments ends early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A measured variant gave a wrong answer: nothing that it measured counts.
    #[error("{experiment}: wrong answer of {variant}: {detail}")]
    WrongAnswer {
        /// The experiment.
        experiment: &'static str,
        /// The levels of the variant.
        variant: String,
        /// What differs.
        detail: String,
    },
    /// The machine has not the memory that the smallest allowed size takes.
    #[error("{0}")]
    Memory(String),
    /// Data that the experiment reads is missing or damaged.
    #[error("{0}")]
    Data(String),
}
