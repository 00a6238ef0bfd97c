//! The two forms of values.

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
