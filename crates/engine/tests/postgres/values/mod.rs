//! Values: random expressions of every type under every operator that both sides have, as constants, over columns, in
//! conditions, groups, orders and aggregates.
//!
//! ```text
//! GINGHAM_POSTGRES=2000 cargo test --test postgres values -- --nocapture       so many new ones
//! GINGHAM_POSTGRES=2000 GINGHAM_POSTGRES_BLESS=1 cargo test --test postgres values   stores them in values-*.txt
//! ```
//!
//! | file | what |
//! |---|---|
//! | `kind` | types and their values |
//! | `expression` | expressions of a type |
//! | `form` | statements in which they stand |
//! | `ask` | asking both sides |

mod ask;
mod expression;
mod form;
mod kind;
