//! Values in PostgreSQL's protocol: the numbers of their types, and their forms as text and as bytes, in both directions. A server
//! sends rows so and reads parameters, and COPY reads and writes tuples.
//!
//! | file | what |
//! |---|---|
//! | `column_type` | the type that a column has for a client |
//! | `rows` | batches as rows of bytes |
//! | `texts` | columns as texts, as PostgreSQL prints them |
//! | `binary` | columns as bytes |
//! | `arrays` | arrays as bytes |
//! | `numeric` | decimals as bytes |
//! | `parameters` | values from texts and from bytes |
//!
//! The forms are those of PostgreSQL's functions `…send`, `…recv`, `…out` and `…in` (its manual, "Frontend/Backend Protocol").

mod arrays;
mod binary;
mod column_type;
mod numeric;
mod parameters;
mod rows;
mod texts;

pub use column_type::{WireType, field_type, wire_type};
pub use parameters::{parameter, parameter_type};
pub use rows::{EncodedRows, RowEncoder};

/// Microseconds from 1970-01-01, where Arrow's times begin, to 2000-01-01, where PostgreSQL's do.
const EPOCH_MICROSECONDS: i64 = 946_684_800_000_000;
/// Days from 1970-01-01 to 2000-01-01.
const EPOCH_DAYS: i32 = 10_957;

/// The form of a value in the protocol.
///
/// ```
/// use gingham::wire::WireFormat;
///
/// assert_eq!(WireFormat::of_code(1), Some(WireFormat::Binary));
/// assert_eq!(WireFormat::Text.code(), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WireFormat {
    /// A text, as PostgreSQL prints and reads it.
    #[default]
    Text,
    /// Bytes, the most significant first.
    Binary,
}

impl WireFormat {
    /// The format of a format code; `None` for a code that there is not.
    ///
    /// ```
    /// assert_eq!(gingham::wire::WireFormat::of_code(2), None);
    /// ```
    pub fn of_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Text),
            1 => Some(Self::Binary),
            _ => None,
        }
    }

    /// Its format code.
    ///
    /// ```
    /// assert_eq!(gingham::wire::WireFormat::Binary.code(), 1);
    /// ```
    pub fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}
