//! Functions and operators of BINARY (BYTEA), as PostgreSQL has them.
//!
//! | file | what |
//! |---|---|
//! | `arguments` | arrays of arguments |
//! | `either` | a function of DataFusion's for texts, and one of ours for bytes, by one name |
//! | `bits` | single bits, trim, convert_from and convert_to |
//! | `parts` | lengths, parts and single bytes |
//! | `encodings` | encode and decode |
//! | `like` | LIKE |
//! | `types` | the types' names |
//! | `operators` | `\|\|`, SUBSTRING, POSITION and OVERLAY as they are written, LIKE in the place of DataFusion's |

mod arguments;
mod bits;
mod either;
mod encodings;
mod like;
mod operators;
mod parts;
mod types;

pub(crate) use operators::{BytesLike, BytesOperators};
pub(crate) use types::BytesTypes;

use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// All functions of bytes that have names.
pub(crate) fn all() -> Vec<Arc<ScalarUDF>> {
    let mut all = parts::all();
    all.extend(encodings::all());
    all.extend(bits::all());
    all
}
