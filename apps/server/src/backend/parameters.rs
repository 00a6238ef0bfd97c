//! Values and formats of a Bind.

use crate::errors::{error, of_engine};
use bytes::Bytes;
use gingham::ScalarValue;
use gingham::wire::{WireFormat, parameter};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::extendedquery::Bind;

/// The number of `text`, which a parameter has that nothing tells the type of.
pub(super) const TEXT: u32 = 25;

/// The values of the parameters of these types.
pub(super) fn values(bind: &Bind, types: &[u32]) -> PgWireResult<Vec<ScalarValue>> {
    let given = bind.parameters.len();
    if given != types.len() {
        return Err(wrong_number(given, types.len()));
    }
    let formats = formats(&bind.parameter_format_codes, Some(given))?;
    let value = |(place, bytes): (usize, &Option<Bytes>)| {
        let format = spread_at(&formats, place);
        let value = parameter(types[place], format, bytes.as_deref());
        value.map_err(|error| of_engine(&error.about(format_args!("parameter ${}", place + 1)), None))
    };
    bind.parameters.iter().enumerate().map(value).collect()
}

/// The error of more or fewer values than parameters.
pub(super) fn wrong_number(given: usize, wanted: usize) -> PgWireError {
    error("08P01", format!("the statement has {wanted} parameters, and {given} values are bound"))
}

/// Formats by their codes: none, one for all, or one for each of `count`, where that is known.
pub(super) fn formats(codes: &[i16], count: Option<usize>) -> PgWireResult<Vec<WireFormat>> {
    if let Some(count) = count.filter(|count| codes.len() > 1 && codes.len() != *count) {
        let text = format!("{} format codes are bound, for {count} values or columns", codes.len());
        return Err(error("08P01", text));
    }
    let format = |code: &i16| {
        WireFormat::of_code(*code).ok_or_else(|| error("08P01", format!("there is no format with the code {code}")))
    };
    let formats = codes.iter().map(format).collect::<PgWireResult<Vec<_>>>()?;
    Ok(count.map_or_else(|| formats.clone(), |count| spread(&formats, count)))
}

/// Formats for each of `count` columns: one stands for all, none for texts.
pub(super) fn spread(formats: &[WireFormat], count: usize) -> Vec<WireFormat> {
    (0..count).map(|place| spread_at(formats, place)).collect()
}

fn spread_at(formats: &[WireFormat], place: usize) -> WireFormat {
    match formats {
        [one] => *one,
        formats => formats.get(place).copied().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_spread() {
        use WireFormat::{Binary, Text};
        assert_eq!(formats(&[], Some(2)).unwrap(), [Text, Text]);
        assert_eq!(formats(&[1], Some(2)).unwrap(), [Binary, Binary]);
        assert_eq!(formats(&[1, 0], Some(2)).unwrap(), [Binary, Text]);
        assert!(formats(&[1, 0], Some(3)).is_err());
        assert!(formats(&[2], Some(1)).is_err());
        assert_eq!(spread(&formats(&[1], None).unwrap(), 2), [Binary, Binary]);
    }
}
