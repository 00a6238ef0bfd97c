//! Operators of DataFusion's that hear that their statement was cancelled while they work on one batch.
//!
//! Who cancels a statement hears at once; its tasks are dropped at their next pause. But one batch of a join's input may become
//! millions of rows, or be compared with millions of which none fits, and one partition of a window may be computed for
//! minutes: there is no pause. So such operators stand below a [`StoppableExec`], and what they call for each batch of pairs or each
//! frame asks whether the statement goes on.
//!
//! | file | what |
//! |---|---|
//! | `signal` | what tells it: a part of a run's context, and of the thread while an operator is at work |
//! | `exec` | the operator that lets the one below it know, and pauses |
//! | `filter` | conditions of joins, which ask |
//! | `window` | aggregates over frames, which ask, and the rule for them |
//! | `rule` | the rule for operators |

mod exec;
mod filter;
mod rule;
mod signal;
mod window;

pub(crate) use exec::StoppableExec;
pub(crate) use rule::StoppableOperators;
pub(crate) use signal::StopSignal;
pub(crate) use window::AskingWindows;
