//! Overflow of integers and decimals is an error, never a wrapped value.
//!
//! DataFusion's `+`, `-` and `*` wrap. An analyzer rule puts functions of ours in their place once the types are known,
//! before any constant is folded, and `sum` is replaced by one that adds in 128 bits and checks the end. Where floats and
//! decimals meet, floats win.
//!
//! | file | what |
//! |---|---|
//! | `approximate`, `sets`, `times`, `timestamps` | floats with decimals are floats; times and timestamps of different units compare |
//! | `rule` | which operators are replaced |
//! | `function` | the checked operators as DataFusion functions |
//! | `integer`, `decimal`, `quotient` | the loops |
//! | `average` | AVG of decimals |
//! | `extreme` | MIN and MAX of floats |
//! | `reals` | REALs beside integers |
//! | `decimals` | quotients, and literals beside decimals |
//! | `constant` | the values of constants before they are folded |
//! | `counted` | different values, of SUM and AVG with DISTINCT |
//! | `rounding` | round, trunc, ceil and floor |
//! | `spread` | VAR and STDDEV of integers and decimals |
//! | `sum/` | SUM |

mod approximate;
mod average;
mod constant;
mod counted;
mod decimal;
mod decimals;
mod extreme;
mod function;
mod integer;
mod quotient;
mod reals;
mod rounding;
mod rule;
mod sets;
mod spread;
mod sum;
mod times;
mod timestamps;

pub(crate) use approximate::ApproximateWins;
pub(crate) use average::exact_average;
pub(crate) use extreme::extremes;
pub(crate) use rounding::roundings;
pub(crate) use rule::CheckedArithmetic;
pub(crate) use spread::exact_spreads;
pub(crate) use sum::{IntegerColumns, checked_sum, with_sums_of_integers};
pub(crate) use times::TimeComparison;
