//! A guard guards: what CASE, COALESCE, AND, OR and FILTER keep from rows can't fail for them.
//!
//! DataFusion turns CASE into AND and OR, and computes both sides of these, and the arguments of an aggregate with FILTER,
//! for all rows of a batch, so that `CASE WHEN y <> 0 THEN 10 / y > 4 ELSE false END` divides by zero. Computing only
//! what is asked for would slow every such expression down. So expressions are evaluated as DataFusion does, and only if
//! that fails are they evaluated again, with conditions first and the rest for the rows that they let through. So a row's answer,
//! or its error, is the same whatever rows are in its batch.
//!
//! | file | what |
//! |---|---|
//! | `rule` | which expressions of a plan are guarded |
//! | `guarded` | an expression with a second, careful evaluation |
//! | `careful` | that evaluation |
//! | `windows` | what windows are over, computed where a guard can be |

mod careful;
mod guarded;
mod rule;
mod windows;

pub(crate) use rule::{GuardExpressions, guarded_alone};
pub(crate) use windows::GuardedWindows;
