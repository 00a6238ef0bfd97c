//! Scalar functions of ours, which take the place of DataFusion's of the same name.
//!
//! | file | what |
//! |---|---|
//! | `characters` | chr |
//! | `fixed` | casts to CHAR(n) and VARCHAR(n) |
//! | `function` | a function over arrays, for DataFusion |
//! | `names` | what columns of their results are called |
//! | `numbers` | power, sign |
//! | `like` | patterns of LIKE that end too early, have another escape, or are several |
//! | `regular` | regular expressions, regexp_replace |
//! | `sampled` | which records TABLESAMPLE gives |
//! | `similar` | patterns of SIMILAR TO |
//! | `substring` | what of a text a pattern finds |
//! | `version` | version() |

mod characters;
mod fixed;
mod function;
pub(crate) mod like;
pub(crate) mod names;
mod numbers;
pub(crate) mod regular;
pub(crate) mod sampled;
mod similar;
mod substring;
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

/// The function that gives a pattern of LIKE the backslash as its escape.
pub(crate) const LIKE_ESCAPE: &str = "like_escape";
/// The function that LIKE ANY of a list is.
pub(crate) const LIKE_EACH: &str = "like_each";
/// The function that `substring(text FROM pattern)` is.
pub(crate) const SUBSTRING_OF: &str = "substring_of";
/// The function that `substring(text SIMILAR pattern ESCAPE escape)` is.
pub(crate) const SUBSTRING_SIMILAR: &str = "substring_similar";

/// All of them.
pub(crate) fn all() -> Vec<Arc<ScalarUDF>> {
    vec![
        numbers::power(),
        numbers::sign(),
        like::like_escape(),
        like::like_each(),
        characters::chr(),
        similar::similar_pattern(),
        substring::substring_of(),
        substring::substring_similar(),
        regular::regexp_replace(),
        version::version(),
        fixed::to_char(),
        fixed::to_varchar(),
    ]
}
