//! Fields of one column to an Arrow array, a column at a time.
//!
//! Integers, decimals, floats, dates and booleans are parsed here; the rarer types are handed on as text, which the
//! table's own conversion parses. A value that can't be parsed becomes NULL and is reported with its row.

use crate::load::classify::DateFormat;
use crate::load::split::{CsvField, FieldForm};
use crate::temporal::{At, Civil, at_of, days_of};
use crate::{Error, Result};
use arrow::array::{
    ArrayRef, BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int64Builder, StringViewBuilder,
    TimestampMicrosecondBuilder,
};
use gingham_storage::{LogicalType, SqlState};
use std::borrow::Cow;
use std::sync::Arc;

/// How the text of fields is read.
#[derive(Debug, Clone, Default)]
pub(super) struct TextOptions {
    /// Text that stands for NULL, besides an empty field.
    pub(super) null: Option<Vec<u8>>,
    /// Format of dates and timestamps; otherwise ISO.
    pub(super) dates: Option<DateFormat>,
    /// The text is Latin-1, not UTF-8.
    pub(super) latin1: bool,
}

impl TextOptions {
    /// Takes the names that `LoadOptions` has.
    pub(super) fn new(null: Option<&str>, dates: Option<&str>, encoding: Option<&str>) -> Result<Self> {
        let latin1 = match encoding.unwrap_or("utf-8").to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" => false,
            "latin1" | "latin-1" | "iso-8859-1" | "iso8859-1" => true,
            other => {
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!("encoding '{other}' is not known; use utf-8 or latin1"),
                ));
            }
        };
        let dates = dates.map(DateFormat::new).transpose()?;
        Ok(Self { null: null.map(|text| text.as_bytes().to_vec()), dates, latin1 })
    }

    /// Whether a field is NULL for a column that takes text, or for another one.
    pub(super) fn is_null(&self, bytes: &[u8], form: FieldForm, text_column: bool) -> bool {
        let blank = if text_column { bytes.is_empty() } else { bytes.trim_ascii().is_empty() };
        // For text, quotes say that the value is meant as it stands.
        (form == FieldForm::Bare || !text_column) && (blank || self.null.as_deref() == Some(bytes))
    }

    /// The text of a field; `None` when it is not UTF-8.
    pub(super) fn text<'a>(&self, bytes: &'a [u8], form: FieldForm) -> Option<Cow<'a, str>> {
        let text = match self.latin1 && !bytes.is_ascii() {
            true => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
            false => Cow::Borrowed(std::str::from_utf8(bytes).ok()?),
        };
        Some(if form == FieldForm::Escaped { Cow::Owned(text.replace("\"\"", "\"")) } else { text })
    }
}

/// A field that can't be parsed: row among those given, and why, with the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnparsedField {
    pub(super) row: usize,
    pub(super) state: SqlState,
    pub(super) problem: String,
}

/// Parses field `column` of each record; `fields` holds the `width` fields of each record, one record after the other.
pub(super) fn column(
    buffer: &[u8],
    fields: &[CsvField],
    (column, width): (usize, usize),
    logical_type: &LogicalType,
    options: &TextOptions,
    misfits: &mut Vec<UnparsedField>,
) -> Result<ArrayRef> {
    let rows = fields.len() / width.max(1);
    let parser = Column { buffer, fields: fields[column.min(fields.len())..].iter().step_by(width.max(1)), options };
    let parsed = match logical_type {
        LogicalType::Boolean => {
            let mut builder = BooleanBuilder::with_capacity(rows);
            parser.each(logical_type, misfits, boolean, |value| builder.append_option(value));
            Arc::new(builder.finish()) as ArrayRef
        }
        LogicalType::Int(_) | LogicalType::UInt(8 | 16 | 32) => {
            let mut builder = Int64Builder::with_capacity(rows);
            parser.each(logical_type, misfits, integer, |value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        LogicalType::Float64 | LogicalType::Float32 => {
            let mut builder = Float64Builder::with_capacity(rows);
            parser.each(logical_type, misfits, float, |value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        LogicalType::Decimal { precision, scale } if *scale >= 0 => {
            let mut builder = Decimal128Builder::with_capacity(rows).with_precision_and_scale(*precision, *scale)?;
            let parse = |text: &[u8]| decimal(text, *precision, *scale);
            parser.each(logical_type, misfits, parse, |value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        LogicalType::Date => {
            let mut builder = Date32Builder::with_capacity(rows);
            let parse = |text: &[u8]| date(text, options.dates.as_ref());
            parser.each(logical_type, misfits, parse, |value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        LogicalType::Timestamp(_, None) if options.dates.is_some() => {
            let mut builder = TimestampMicrosecondBuilder::with_capacity(rows);
            let format = options.dates.as_ref();
            let parse = |text: &[u8]| format.and_then(|format| format.timestamp(std::str::from_utf8(text).ok()?));
            parser.each(logical_type, misfits, parse, |value| builder.append_option(value));
            Arc::new(builder.finish())
        }
        other => {
            let is_text = other.is_string() || *other == LogicalType::Binary;
            Arc::new(parser.texts(rows, is_text, misfits))
        }
    };
    Ok(parsed)
}

struct Column<'a, F> {
    buffer: &'a [u8],
    fields: F,
    options: &'a TextOptions,
}

impl<'a, F: Iterator<Item = &'a CsvField>> Column<'a, F> {
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
            if self.options.is_null(bytes, field.form, false) {
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
            if self.options.is_null(bytes, field.form, is_text) {
                builder.append_null();
                continue;
            }
            match self.options.text(bytes, field.form) {
                Some(text) if is_text => builder.append_value(text),
                Some(text) => builder.append_value(text.trim()),
                None => {
                    let shown = shown(&String::from_utf8_lossy(bytes));
                    let problem = format!("value {shown} is not UTF-8; if the file is in Latin-1, load it as latin1");
                    misfits.push(UnparsedField { row, state: SqlState::CharacterNotInRepertoire, problem });
                    builder.append_null();
                }
            }
        }
        builder.finish()
    }
}

/// A value between quotes, cut when it is long.
fn shown(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => format!("'{text}'"),
        Some((end, _)) => format!("'{}…'", &text[..end]),
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

/// A float. A number too large for one is none; an infinity is written as a word.
fn float(text: &[u8]) -> Option<f64> {
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
    crate::casts::decimal_of_text(std::str::from_utf8(text).ok()?, precision, scale).ok()
}

fn date(text: &[u8], format: Option<&DateFormat>) -> Option<i32> {
    match format {
        Some(format) => format.date(std::str::from_utf8(text).ok()?),
        // What is not ISO 8601 is read as a cast reads it.
        None => iso_date(text).or_else(|| {
            let days = at_of(std::str::from_utf8(text).ok()?, At::Day, "DATE").ok()?;
            i32::try_from(days).ok()
        }),
    }
}

/// Days since 1970 of `YYYY-MM-DD`; month and day may have one digit.
pub(super) fn iso_date(text: &[u8]) -> Option<i32> {
    let mut parts = text.split(|byte| *byte == b'-');
    let mut part = |least: usize, most: usize| -> Option<i64> {
        let digits = parts.next()?;
        if digits.len() < least || digits.len() > most {
            return None;
        }
        digits.iter().try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
    };
    let (year, month, day) = (part(4, 4)?, part(1, 2)?, part(1, 2)?);
    if parts.next().is_some() || year == 0 || !(1..=12).contains(&month) || day == 0 || day > days_of(year, month) {
        return None;
    }
    i32::try_from(Civil { year, month, day }.days()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn dates_are_those_of_the_calendar(offset in -719_162_i32..2_932_896) {
            let date = chrono::NaiveDate::default() + chrono::TimeDelta::days(offset.into());
            prop_assert_eq!(iso_date(date.to_string().as_bytes()), Some(offset));
        }

        #[test]
        fn dates_are_refused_as_the_calendar_does(year in 1_u32..9999, month in 0_u32..14, day in 0_u32..33) {
            let expected = chrono::NaiveDate::from_ymd_opt(year as i32, month, day).is_some();
            prop_assert_eq!(iso_date(format!("{year:04}-{month:02}-{day:02}").as_bytes()).is_some(), expected);
        }

        #[test]
        fn integers_are_those_of_the_standard_library(text in "[+-]?[0-9]{0,21}") {
            prop_assert_eq!(integer(text.as_bytes()), text.parse().ok());
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
        options: &TextOptions,
    ) -> (ArrayRef, Vec<UnparsedField>) {
        let buffer: String = texts.iter().map(|(text, _)| *text).collect();
        let mut start = 0;
        let field = |(text, form): &(&str, FieldForm)| {
            start += text.len() as u32;
            CsvField { start: start - text.len() as u32, end: start, form: *form }
        };
        let fields: Vec<CsvField> = texts.iter().map(field).collect();
        let mut misfits = Vec::new();
        let array = column(buffer.as_bytes(), &fields, (0, 1), logical_type, options, &mut misfits).expect("a column");
        (array, misfits)
    }

    #[test]
    fn null_is_empty_and_the_empty_string_quoted() {
        use FieldForm::{Bare, Escaped, Quoted};
        let options = TextOptions::new(Some("NA"), None, None).expect("options");
        let texts = [("", Bare), ("", Quoted), ("NA", Bare), ("NA", Quoted), ("a\"\"b", Escaped)];
        let (array, misfits) = parsed(&texts, &LogicalType::Varchar(None), &options);
        let expected = arrow::array::StringViewArray::from(vec![None, Some(""), None, Some("NA"), Some("a\"b")]);
        assert_eq!((&array, misfits.len()), (&(Arc::new(expected) as ArrayRef), 0));
        let numbers = [("", Quoted), ("NA", Quoted), (" ", Bare), (" 7 ", Quoted)];
        let (array, misfits) = parsed(&numbers, &LogicalType::Int(32), &options);
        assert_eq!(&array, &(Arc::new(arrow::array::Int64Array::from(vec![None, None, None, Some(7)])) as ArrayRef));
        assert!(misfits.is_empty());
    }

    #[test]
    fn misfits_name_row_and_value() {
        let (_, misfits) =
            parsed(&[("1", FieldForm::Bare), ("x", FieldForm::Bare)], &LogicalType::Int(64), &TextOptions::default());
        let problem = "value 'x' is not a valid BIGINT".into();
        assert_eq!(misfits, [UnparsedField { row: 1, state: SqlState::InvalidTextRepresentation, problem }]);
    }

    #[test]
    fn latin1_is_an_option() {
        let options = TextOptions::new(None, None, Some("latin1")).expect("options");
        assert_eq!(options.text(b"caf\xe9", FieldForm::Bare).as_deref(), Some("café"));
        assert_eq!(TextOptions::default().text(b"caf\xe9", FieldForm::Bare), None);
        assert!(TextOptions::new(None, None, Some("utf-16")).is_err());
    }
}
