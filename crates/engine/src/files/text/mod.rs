//! Delimited text: CSV and TPC-H's `.tbl`.
//!
//! | file | what |
//! |---|---|
//! | `delimited` | files of one shape |
//! | `sniff` | what a file looks like, and the types that its values allow |
//! | `boundaries` | where records begin in the middle of a file |
//! | `chunks`, `split`, `parse` | parts of a file, records and fields, values |
//! | `lane`, `columns` | records of parts as arrays, buffer by buffer, and those alone that a filter wants |

mod boundaries;
mod chunks;
mod columns;
mod delimited;
mod lane;
mod parse;
mod sniff;
mod split;

pub(crate) use chunks::lines;
pub(crate) use delimited::DelimitedText;
pub(crate) use lane::TextLane;
