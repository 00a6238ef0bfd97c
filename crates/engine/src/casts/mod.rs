//! Casts as PostgreSQL has them, where DataFusion's read, round or write otherwise: dates and times from text and as text,
//! floats as text, bytes from text and as text, fractions to integers, floats and texts to decimals.
//!
//! | file | what |
//! |---|---|
//! | `rule` | puts these casts in the place of DataFusion's |
//! | `convert` | one array to another type |
//! | `temporal`, `numbers`, `bytes` | the loops |
//! | `decimals` | a text as a decimal |
//! | `untyped` | texts without a type, by what they stand beside |
//! | `nested` | records as text |
//! | `arrays` | arrays from text and as text |

mod arrays;
mod bytes;
mod convert;
mod decimals;
mod nested;
mod numbers;
mod rule;
mod temporal;
mod untyped;

pub(crate) use arrays::{Element, depth_of, elements_of};
pub(crate) use bytes::{bytes_of, hex, unescaped, unhexed};
pub(crate) use convert::{Failing, convert};
pub(crate) use decimals::decimal_of_text;
pub(crate) use rule::{CAST, OwnCasts};
pub(crate) use untyped::{UntypedTexts, align_queries, align_rows, number, value_of_text, with_typed_texts};
