//! Scalar functions of ours, which take the place of DataFusion's of the same name.
//!
//! | file | what |
//! |---|---|
//! | `characters` | chr |
//! | `catalog` | PostgreSQL's functions about the catalog and the session |
//! | `arrays` | PostgreSQL's functions of arrays that DataFusion lacks |
//! | `quoting` | quote_ident, quote_literal, format |
//! | `degrees`, `exact` | trigonometry in degrees; functions of exact numbers |
//! | `digest`, `escapes`, `nulls` | md5; unistr; num_nulls |
//! | `matches` | regexp_split_to_array, regexp_matches, regexp_substr, regexp_instr, regexp_count |
//! | `fixed` | casts to CHAR(n) and VARCHAR(n) |
//! | `function` | a function over arrays, for DataFusion |
//! | `names` | what columns of their results are called |
//! | `numbers` | power, sign |
//! | `like` | patterns of LIKE that end too early, have another escape, or are several |
//! | `regular` | regular expressions, regexp_replace |
//! | `sampled` | which records TABLESAMPLE gives |
//! | `sequences` | nextval and its kin |
//! | `similar` | patterns of SIMILAR TO |
//! | `substring` | what of a text a pattern finds |
//! | `version` | version() |
//! | `waiting` | waiting within a function |

mod arrays;
mod catalog;
mod characters;
mod degrees;
mod digest;
mod escapes;
mod exact;
mod fixed;
mod function;
mod keywords;
pub(crate) mod like;
mod matches;
pub(crate) mod names;
mod nulls;
mod numbers;
mod quoting;
pub(crate) mod regular;
mod rows;
pub(crate) mod sampled;
mod sequences;
mod similar;
mod substring;
mod version;
mod waiting;

pub(crate) use arrays::{COMPARE_ALL, COMPARE_ANY};
pub(crate) use catalog::{REGISTERED, REGISTERED_NAME, REGISTERED_OR_NULL, asks_catalog, started};
pub(crate) use exact::BITS_INVERTED;
pub(crate) use like::{LIKE_EACH, LIKE_ESCAPE};
pub(crate) use matches::EACH_MATCH;
pub(crate) use similar::SIMILAR_PATTERN;
pub(crate) use substring::{SUBSTRING_OF, SUBSTRING_SIMILAR};

pub(crate) use fixed::{TO_CHAR, TO_VARCHAR, padded};
pub(crate) use keywords::KEYWORDS;
pub(crate) use quoting::quoted;
pub(crate) use rows::{EXPANDED, SUBSCRIPTS};
pub use version::built_from;
pub(crate) use version::version;
pub(crate) use waiting::waiting;

pub(crate) use function::{Compute, PureFunction, over_arrays, typed};

use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// Aggregates whose value tells the order of their input.
pub(crate) const ORDERED_AGGREGATES: [&str; 5] = ["array_agg", "string_agg", "first_value", "last_value", "nth_value"];

/// Functions that stand for what has no name in SQL: nobody calls them.
const INTERNAL: &[&str] = &[
    REGISTERED,
    REGISTERED_NAME,
    REGISTERED_OR_NULL,
    COMPARE_ALL,
    COMPARE_ANY,
    SIMILAR_PATTERN,
    BITS_INVERTED,
    EACH_MATCH,
    EXPANDED,
    KEYWORDS,
    SUBSCRIPTS,
    TO_CHAR,
    TO_VARCHAR,
    names::ADD,
    names::SUBTRACT,
    names::MULTIPLY,
    names::NEGATE,
    names::DIVIDE,
];

/// Whether a function stands for what has no name in SQL.
pub(crate) fn is_internal(name: &str) -> bool {
    INTERNAL.contains(&name)
}

/// All of them.
pub(crate) fn all() -> Vec<Arc<ScalarUDF>> {
    let mut all = sequences::all();
    all.extend([
        numbers::power(),
        numbers::sign(),
        like::like_escape(),
        like::like_each(),
        characters::chr(),
        similar::similar_pattern(),
        substring::substring_of(),
        substring::substring_similar(),
        regular::regexp_replace(),
        digest::md5(),
        escapes::unistr(),
        version(false),
        fixed::to_char(),
        fixed::to_varchar(),
    ]);
    all.extend(
        catalog::all().into_iter().chain(arrays::all()).chain(rows::all()).chain(keywords::all()).chain(quoting::all()),
    );
    all.extend(degrees::all().into_iter().chain(exact::all()).chain(matches::all()).chain(nulls::all()));
    all
}
