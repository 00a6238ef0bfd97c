//! COPY with a stream of the program, in the formats of PostgreSQL. Bytes come and go piece by piece, and no more than a few batches
//! are in memory.
//!
//! | file | what |
//! |---|---|
//! | `options` | how a stream is read and written |
//! | `encoding` | encodings other than UTF-8 |
//! | `cut` | bytes cut into records |
//! | `fields` | records split into fields |
//! | `columns` | fields to columns of their types |
//! | `tuples` | the same of the binary format |
//! | `reader` | pieces to batches |
//! | `input` | running COPY … FROM STDIN |
//! | `writer` | batches to pieces |
//! | `piece` | pieces, and the records in them |
//! | `output` | the rows of COPY … TO STDOUT |

mod columns;
mod cut;
mod encoding;
mod fields;
pub(crate) mod input;
pub(crate) mod options;
pub(crate) mod output;
pub(crate) mod piece;
mod reader;
mod tuples;
pub(crate) mod writer;
