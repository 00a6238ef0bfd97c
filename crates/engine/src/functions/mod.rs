//! Scalar functions of ours, which take the place of DataFusion's of the same name.
//!
//! | file | what |
//! |---|---|
//! | `fixed` | casts to CHAR(n) and VARCHAR(n) |
//! | `function` | a function over arrays, for DataFusion |
//! | `names` | what columns of their results are called |
//! | `numbers` | power, sign |
//! | `like` | patterns of LIKE that end too early |
//! | `regular` | regular expressions, regexp_replace |
//! | `sequences` | nextval and its kin |
//! | `similar` | patterns of SIMILAR TO |
//! | `version` | version() |

mod fixed;
mod function;
pub(crate) mod like;
pub(crate) mod names;
mod numbers;
pub(crate) mod regular;
mod sequences;
mod similar;
mod version;

pub(crate) use fixed::{TO_CHAR, TO_VARCHAR, padded};
pub use version::built_from;

pub(crate) use function::{Compute, PureFunction, over_arrays, typed};

use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// Aggregates whose value tells the order of their input.
pub(crate) const ORDERED_AGGREGATES: [&str; 5] = ["array_agg", "string_agg", "first_value", "last_value", "nth_value"];

/// The function that makes a regular expression of a pattern of SIMILAR TO.
pub(crate) const SIMILAR_PATTERN: &str = "similar_pattern";

/// All of them.
pub(crate) fn all() -> Vec<Arc<ScalarUDF>> {
    let mut all = sequences::all();
    all.extend([
        numbers::power(),
        numbers::sign(),
        similar::similar_pattern(),
        regular::regexp_replace(),
        version::version(),
        fixed::to_char(),
        fixed::to_varchar(),
    ]);
    all
}
