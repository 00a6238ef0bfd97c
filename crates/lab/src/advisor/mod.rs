//! The advisor: which design of each table suits a workload, and how sure that is. Candidates come from the engine
//! (`gingham::advisor`); here they are built side by side in a scratch database, measured, and told apart as far as the
//! measurements allow.
//!
//! | file | what |
//! |---|---|
//! | `advise` | the run: which tables, which designs, how long |
//! | `scratch` | designs as tables in a scratch database |
//! | `trial` | statements timed on designs, every answer compared |
//! | `whole` | two answers compared row by row |
//! | `looks` | rounds of measurements, and what they tell at five looks |
//! | `answer` | what a statement answered, in a few numbers |
//! | `advice` | what was found |
//! | `why` | the reasons in words |
//! | `text`, `html` | that as lines of text, and as a page |
//! | `apply` | giving tables the designs that were advised, and making sure |
//! | `stop` | ending early |

mod advice;
mod advise;
mod answer;
mod apply;
mod html;
pub mod looks;
pub(crate) mod scratch;
mod stop;
#[cfg(test)]
mod tests;
mod text;
pub(crate) mod trial;
mod whole;
mod why;

pub use advice::{Advice, Answered, MeasuredDesign, StatementFacts, TableAdvice};
pub use advise::{Request, Watch, advise};
pub use answer::AnswerDigest;
pub use apply::{Applied, apply};
pub use html::{html, section};
pub use stop::Stop;
