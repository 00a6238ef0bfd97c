//! Data that experiments are fed with.
//!
//! | file | what |
//! |---|---|
//! | `codes` | columns of codes in their native width; selections on them by plain loops, the oracle |
//! | `wide` | wide tables: TPC-H joined, files |
//! | `zipf` | numbers of a Zipf distribution |
//! | `column` | a column in one packing |

mod codes;
mod column;
pub mod wide;
mod zipf;

pub use codes::Codes;
pub use column::PackedColumn;
pub use zipf::Zipf;
