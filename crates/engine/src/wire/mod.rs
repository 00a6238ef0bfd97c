//! Values in PostgreSQL's protocol: the numbers of their types, and their forms as text and as bytes, in both directions. A server
//! sends rows so and reads parameters, and COPY reads and writes tuples.
//!
//! | file | what |
//! |---|---|
//! | `column_type` | the type that a column has for a client |
//! | `format` | texts and bytes |
//! | `epoch` | where times begin |
//! | `rows` | batches as rows of bytes |
//! | `texts` | columns as texts, as PostgreSQL prints them |
//! | `binary` | columns as bytes |
//! | `numeric` | decimals as bytes |
//! | `values` | what columns and parameters read alike |
//! | `parameters` | values from texts and from bytes |
//! | `columns` | columns from the bytes of their values |
//!
//! The forms are those of PostgreSQL's functions `…send`, `…recv`, `…out` and `…in` (its manual, "Frontend/Backend Protocol").

mod binary;
mod column_type;
mod columns;
mod epoch;
mod format;
mod numeric;
mod parameters;
mod rows;
mod texts;
mod values;

pub use column_type::{WireType, field_type, wire_type};
pub(crate) use columns::{column_of_bytes, form_of};
pub use format::WireFormat;
pub use parameters::{parameter, parameter_type};
pub use rows::{RowEncoder, WireRows};
pub(crate) use texts::texts;
