//! Fields of one column to an Arrow array, a column at a time.
//!
//! Integers, decimals, floats, dates and booleans are parsed here; the rarer types are handed on as text, which the
//! table's own conversion parses. A value that can't be parsed becomes NULL and is reported with its row.

use crate::Result;
use crate::casts::decimal_of_text;
use crate::files::text::split::{CsvField, Dialect, FieldForm};
use crate::files::values::classify::FieldType;
use crate::files::values::dates::{DayOrder, iso_date, iso_timestamp, ordered_date, ordered_timestamp};
use crate::files::values::format::{DateFormat, TextFormat};
use crate::files::values::typed::{UnparsedField, shown};
use crate::temporal::{At, at_of};
use arrow::array::{
    ArrayRef, BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int64Builder, StringViewBuilder,
    TimestampMicrosecondBuilder,
};
use arrow::datatypes::TimeUnit;
use gingham_storage::{LogicalType, SqlState, Unit};
use std::borrow::Cow;
use std::sync::Arc;

/// How the fields of a file are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldText<'a> {
    pub(crate) dialect: &'a Dialect,
    pub(crate) format: &'a TextFormat,
}

impl FieldText<'_> {
    /// The text of a field; `None` when it is not UTF-8.
    #[inline]
    pub(crate) fn text<'a>(&self, bytes: &'a [u8], form: FieldForm) -> Option<Cow<'a, str>> {
        match form {
            FieldForm::Escaped => String::from_utf8(self.dialect.unescaped(bytes)).ok().map(Cow::Owned),
            FieldForm::Bare | FieldForm::Quoted => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        }
    }
}

/// The fields of a buffer's records: `width` fields each, one record after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferFields<'a> {
    pub(crate) buffer: &'a [u8],
    pub(crate) fields: &'a [CsvField],
    pub(crate) width: usize,
    pub(crate) text: FieldText<'a>,
    /// Numbers of the records that are read, unless it is all of them.
    pub(crate) rows: Option<&'a [usize]>,
}

/// Parses field `column` of each record. The array has the type nearest to `field_type` that a table's conversion takes.
pub(crate) fn column(
    records: &BufferFields<'_>,
    column: usize,
    field_type: &FieldType,
    misfits: &mut Vec<UnparsedField>,
) -> Result<ArrayRef> {
    let (fields, width) = (records.fields, records.width.max(1));
    let (buffer, text) = (records.buffer, records.text);
    match records.rows {
        None => {
            let own = fields[column.min(fields.len())..].iter().step_by(width);
            Column { buffer, fields: own, text }.parsed(fields.len() / width, field_type, misfits)
        }
        Some(rows) => {
            let own = rows.iter().map(|row| &fields[row * width + column]);
            Column { buffer, fields: own, text }.parsed(rows.len(), field_type, misfits)
        }
    }
}

struct Column<'a, F> {
    buffer: &'a [u8],
    fields: F,
    text: FieldText<'a>,
}

impl<'a, F: Iterator<Item = &'a CsvField>> Column<'a, F> {
    /// Parses `rows` fields.
    fn parsed(self, rows: usize, field_type: &FieldType, misfits: &mut Vec<UnparsedField>) -> Result<ArrayRef> {
        let format = self.text.format;
        let numbers = format.numbers;
        let (logical_type, order) = (&field_type.logical_type, field_type.order);
        let parsed = match logical_type {
            LogicalType::Boolean => {
                let mut builder = BooleanBuilder::with_capacity(rows);
                self.each(logical_type, misfits, boolean, |value| builder.append_option(value));
                Arc::new(builder.finish()) as ArrayRef
            }
            LogicalType::Int(_) | LogicalType::UInt(8 | 16 | 32) => {
                let mut builder = Int64Builder::with_capacity(rows);
                let parse = |text: &[u8]| integer(&numbers.plain(text)?);
                self.each(logical_type, misfits, parse, |value| builder.append_option(value));
                Arc::new(builder.finish())
            }
            LogicalType::Float64 | LogicalType::Float32 => {
                let mut builder = Float64Builder::with_capacity(rows);
                let parse = |text: &[u8]| float(&numbers.plain(text)?);
                self.each(logical_type, misfits, parse, |value| builder.append_option(value));
                Arc::new(builder.finish())
            }
            LogicalType::Decimal { precision, scale } if *scale >= 0 => {
                let mut builder =
                    Decimal128Builder::with_capacity(rows).with_precision_and_scale(*precision, *scale)?;
                let parse = |text: &[u8]| decimal(&numbers.plain(text)?, *precision, *scale);
                self.each(logical_type, misfits, parse, |value| builder.append_option(value));
                Arc::new(builder.finish())
            }
            LogicalType::Date => {
                let mut builder = Date32Builder::with_capacity(rows);
                let parse = |text: &[u8]| date(text, format.dates.as_ref(), order);
                self.each(logical_type, misfits, parse, |value| builder.append_option(value));
                Arc::new(builder.finish())
            }
            LogicalType::Timestamp(unit, None)
                if *unit == Unit::Microsecond || format.timestamps.is_some() || order.is_some() =>
            {
                let mut builder = TimestampMicrosecondBuilder::with_capacity(rows);
                let parse = |text: &[u8]| timestamp(text, format.timestamps.as_ref(), order);
                self.each(logical_type, misfits, parse, |value| builder.append_option(value));
                Arc::new(builder.finish())
            }
            other => {
                let is_text = other.is_string() || *other == LogicalType::Binary;
                Arc::new(self.texts(rows, is_text, misfits))
            }
        };
        Ok(parsed)
    }

    /// Parses every field that is not NULL, blanks round it trimmed.
    fn each<T>(
        self,
        logical_type: &LogicalType,
        misfits: &mut Vec<UnparsedField>,
        parse: impl Fn(&[u8]) -> Option<T>,
        mut push: impl FnMut(Option<T>),
    ) {
        for (row, field) in self.fields.enumerate() {
            let bytes = field.of(self.buffer);
            if self.text.format.is_null(bytes, field.form != FieldForm::Bare, false) {
                push(None);
                continue;
            }
            let value = parse(bytes.trim_ascii());
            if value.is_none() {
                let shown = shown(&String::from_utf8_lossy(bytes));
                let state = match logical_type {
                    LogicalType::Date | LogicalType::Timestamp(..) => SqlState::InvalidDatetimeFormat,
                    _ => SqlState::InvalidTextRepresentation,
                };
                let problem = format!("value {shown} is not a valid {logical_type}");
                misfits.push(UnparsedField { row, state, problem });
            }
            push(value);
        }
    }

    fn texts(self, rows: usize, is_text: bool, misfits: &mut Vec<UnparsedField>) -> arrow::array::StringViewArray {
        let mut builder = StringViewBuilder::with_capacity(rows);
        for (row, field) in self.fields.enumerate() {
            let bytes = field.of(self.buffer);
            if self.text.format.is_null(bytes, field.form != FieldForm::Bare, is_text) {
                builder.append_null();
                continue;
            }
            match self.text.text(bytes, field.form) {
                Some(text) if is_text => builder.append_value(text),
                Some(text) => builder.append_value(text.trim()),
                None => {
                    let shown = shown(&String::from_utf8_lossy(bytes));
                    let encoding = crate::files::encoding::likely(bytes);
                    let problem = format!(
                        "value {shown} is not UTF-8; perhaps the file's encoding is {encoding}: say it (encoding)"
                    );
                    misfits.push(UnparsedField { row, state: SqlState::CharacterNotInRepertoire, problem });
                    builder.append_null();
                }
            }
        }
        builder.finish()
    }
}

fn boolean(text: &[u8]) -> Option<bool> {
    const TRUE: [&[u8]; 5] = [b"true", b"t", b"yes", b"y", b"1"];
    const FALSE: [&[u8]; 5] = [b"false", b"f", b"no", b"n", b"0"];
    let is = |words: [&[u8]; 5]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is(TRUE) { Some(true) } else { is(FALSE).then_some(false) }
}

fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() || digits.len() > 19 {
        return if digits.is_empty() { None } else { std::str::from_utf8(text).ok()?.parse().ok() };
    }
    let mut value: u64 = 0;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(byte - b'0');
    }
    if negative { 0_i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    }
}

/// Powers of ten that a DOUBLE holds exactly, as far as they are needed.
const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// A float of at most 15 digits without an exponent. Its digits are a whole number and its fraction a power of ten that a DOUBLE holds
/// exactly, so that their quotient is rounded once (W. D. Clinger, How to Read Floating Point Numbers Accurately, 1990).
fn short_float(text: &[u8]) -> Option<f64> {
    let (negative, digits) = sign(text);
    if digits.len() > 16 {
        return None;
    }
    let (mut value, mut seen, mut point) = (0_u64, 0, None);
    for (place, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => (value, seen) = (value * 10 + u64::from(byte - b'0'), seen + 1),
            b'.' if point.is_none() => point = Some(place + 1),
            _ => return None,
        }
    }
    if seen == 0 || seen > 15 {
        return None;
    }
    let behind = point.map_or(0, |point| digits.len() - point);
    let value = value as f64 / POWERS[behind];
    Some(if negative { -value } else { value })
}

/// A float. A number too large for one is none; an infinity is written as a word.
fn float(text: &[u8]) -> Option<f64> {
    if let Some(value) = short_float(text) {
        return Some(value);
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (value.is_finite() || !text.iter().any(u8::is_ascii_digit)).then_some(value)
}

/// A decimal as an integer of its scale. More digits behind the point than the scale has are rounded, as a cast does.
fn decimal(text: &[u8], precision: u8, scale: i8) -> Option<i128> {
    let (negative, digits) = sign(text);
    let (mut value, mut seen, mut behind) = (0_i128, 0, None);
    for byte in digits {
        match (byte, behind) {
            (b'0'..=b'9', _) => {
                value = value * 10 + i128::from(byte - b'0');
                seen += 1;
                behind = behind.map(|digits: i8| digits + 1);
            }
            (b'.', None) => behind = Some(0),
            _ => return rare(text, precision, scale),
        }
        if seen > 37 || behind.is_some_and(|behind| behind > scale) {
            return rare(text, precision, scale);
        }
    }
    if seen == 0 {
        return None;
    }
    let missing = (scale - behind.unwrap_or(0)).unsigned_abs();
    let value = value.checked_mul(10_i128.checked_pow(missing.into())?)?;
    let fits = value < 10_i128.checked_pow(precision.into())?;
    fits.then_some(if negative { -value } else { value })
}

/// The rare decimals: exponents, digits to round, 38 digits.
fn rare(text: &[u8], precision: u8, scale: i8) -> Option<i128> {
    decimal_of_text(std::str::from_utf8(text).ok()?, precision, scale).ok()
}

fn date(text: &[u8], format: Option<&DateFormat>, order: Option<DayOrder>) -> Option<i32> {
    if let Some(format) = format {
        return format.date(std::str::from_utf8(text).ok()?);
    }
    if let Some(days) = order.and_then(|order| ordered_date(text, order)) {
        return Some(days);
    }
    // What is not ISO 8601 is read as a cast reads it.
    iso_date(text).or_else(|| {
        let days = at_of(std::str::from_utf8(text).ok()?, At::Day, "DATE").ok()?;
        i32::try_from(days).ok()
    })
}

/// Microseconds since 1970.
fn timestamp(text: &[u8], format: Option<&DateFormat>, order: Option<DayOrder>) -> Option<i64> {
    if let Some(format) = format {
        return format.timestamp(std::str::from_utf8(text).ok()?);
    }
    if let Some(order) = order {
        return ordered_timestamp(text, order);
    }
    iso_timestamp(text)
        .or_else(|| at_of(std::str::from_utf8(text).ok()?, At::Local(TimeUnit::Microsecond), "TIMESTAMP").ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_are_those_of_the_standard_library(text in "[+-]?[0-9]{0,21}") {
            prop_assert_eq!(integer(text.as_bytes()), text.parse().ok());
        }

        #[test]
        fn floats_are_those_of_the_standard_library(text in "[+-]?[0-9]{0,9}[.]?[0-9]{0,9}(e[0-9])?") {
            let expected = text.parse::<f64>().ok();
            prop_assert_eq!(float(text.as_bytes()).map(f64::to_bits), expected.map(f64::to_bits));
        }

        #[test]
        fn decimals_are_read_by_either(text in "-?[0-9]{1,7}(\\.[0-9]{1,5})?", scale in 0_i8..4) {
            prop_assert_eq!(decimal(text.as_bytes(), 9, scale), rare(text.as_bytes(), 9, scale));
        }
    }

    #[test]
    fn odd_floats() {
        assert_eq!(float(b"-1e3"), Some(-1000.0));
        assert_eq!(float(b"-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(float(b"Infinity"), Some(f64::INFINITY));
        assert_eq!(float(b"1e400"), None);
    }

    #[test]
    fn odd_decimals() {
        assert_eq!(decimal(b"1e3", 9, 2), Some(100_000));
        assert_eq!(decimal(b".5", 9, 2), Some(50));
        assert_eq!(decimal(b"1.005", 9, 2), Some(101));
        assert_eq!(decimal(b"12345678.00", 9, 2), None);
        assert_eq!(decimal(b".", 9, 2), None);
        assert_eq!(decimal(b"1.2.3", 9, 2), None);
        assert_eq!(decimal(b"99999999999999999999999999999999999999", 38, 0), Some(10_i128.pow(38) - 1));
    }

    fn parsed(
        texts: &[(&str, FieldForm)],
        logical_type: &LogicalType,
        format: &TextFormat,
    ) -> (ArrayRef, Vec<UnparsedField>) {
        let buffer: String = texts.iter().map(|(text, _)| *text).collect();
        let mut start = 0;
        let field = |(text, form): &(&str, FieldForm)| {
            start += text.len() as u32;
            CsvField { start: start - text.len() as u32, end: start, form: *form }
        };
        let fields: Vec<CsvField> = texts.iter().map(field).collect();
        let mut misfits = Vec::new();
        let dialect = Dialect::of(b',', Some(b'"'));
        let text = FieldText { dialect: &dialect, format };
        let records = BufferFields { buffer: buffer.as_bytes(), fields: &fields, width: 1, text, rows: None };
        let field_type = FieldType { logical_type: logical_type.clone(), order: None };
        let array = column(&records, 0, &field_type, &mut misfits).expect("a column");
        (array, misfits)
    }

    #[test]
    fn null_is_empty_and_the_empty_string_quoted() {
        use FieldForm::{Bare, Escaped, Quoted};
        let format = TextFormat { nulls: vec![b"NA".to_vec()], ..TextFormat::default() };
        let texts = [("", Bare), ("", Quoted), ("NA", Bare), ("NA", Quoted), ("a\"\"b", Escaped)];
        let (array, misfits) = parsed(&texts, &LogicalType::Varchar(None), &format);
        let expected = arrow::array::StringViewArray::from(vec![None, Some(""), None, Some("NA"), Some("a\"b")]);
        assert_eq!((&array, misfits.len()), (&(Arc::new(expected) as ArrayRef), 0));
        let numbers = [("", Quoted), ("NA", Quoted), (" ", Bare), (" 7 ", Quoted)];
        let (array, misfits) = parsed(&numbers, &LogicalType::Int(32), &format);
        assert_eq!(&array, &(Arc::new(arrow::array::Int64Array::from(vec![None, None, None, Some(7)])) as ArrayRef));
        assert!(misfits.is_empty());
    }

    #[test]
    fn misfits_name_row_and_value() {
        let (_, misfits) =
            parsed(&[("1", FieldForm::Bare), ("x", FieldForm::Bare)], &LogicalType::Int(64), &TextFormat::default());
        let problem = "value 'x' is not a valid BIGINT".into();
        assert_eq!(misfits, [UnparsedField { row: 1, state: SqlState::InvalidTextRepresentation, problem }]);
    }
}
