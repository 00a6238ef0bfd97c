//! Options of COPY with a stream, as PostgreSQL 15 has them: their defaults, and which of them go together.

use crate::files::option_name;
use crate::sql::copy_options::{CopyOption, CopyValue};
use crate::statements::transfer::streams::encoding::StreamEncoding;
use crate::suggest::did_you_mean;
use crate::{Error, Result};
use gingham_storage::SqlState;

/// The names of the options.
const NAMES: &[&str] = &[
    "format",
    "freeze",
    "delimiter",
    "null",
    "header",
    "quote",
    "escape",
    "force_quote",
    "force_not_null",
    "force_null",
    "encoding",
];
/// Characters that follow a backslash in the text format, or may.
const NO_DELIMITERS: &str = "\\.abcdefghijklmnopqrstuvwxyz0123456789";

/// How records stand in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamFormat {
    /// A line a record, with escapes by backslashes.
    Text,
    /// Fields between quotes where they need them.
    Csv,
    /// Tuples of bytes.
    Binary,
}

/// What is done with the names of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderLine {
    /// There are none.
    Absent,
    /// They are the first line.
    Present,
    /// They are the first line, and have to be those of the columns.
    Match,
}

/// Columns that an option is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnChoice {
    /// Every column.
    All,
    /// Those of these names.
    Named(Vec<String>),
}

/// How a stream is read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamOptions {
    pub(crate) format: StreamFormat,
    pub(super) delimiter: u8,
    /// What stands for NULL.
    pub(super) null: String,
    pub(super) header: HeaderLine,
    pub(super) quote: u8,
    pub(super) escape: u8,
    pub(super) force_quote: ColumnChoice,
    pub(super) force_not_null: ColumnChoice,
    pub(super) force_null: ColumnChoice,
    pub(super) encoding: StreamEncoding,
    /// FREEZE was asked for.
    pub(crate) freeze: bool,
}

/// The direction of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// COPY … FROM.
    From,
    /// COPY … TO.
    To,
}

/// The format that a COPY names; `None` for none.
pub(crate) fn named_format(options: &[CopyOption]) -> Option<String> {
    let format = options.iter().find(|option| option.name == "format");
    format.map(|format| format.value.text().to_ascii_lowercase())
}

/// Whether a format is one that is read and written as a whole.
pub(crate) fn is_whole(format: &str) -> bool {
    matches!(format, "json" | "ndjson" | "jsonl" | "parquet" | "arrow")
}

impl StreamOptions {
    /// What the options of a statement say.
    pub(crate) fn of(given: &[CopyOption], direction: Direction) -> Result<Self> {
        let format = match named_format(given).as_deref() {
            None | Some("text") => StreamFormat::Text,
            Some("csv") => StreamFormat::Csv,
            Some("binary") => StreamFormat::Binary,
            Some(whole) if is_whole(whole) => {
                let text = format!(
                    "a stream in pieces is text, csv or binary, not {whole}, which is read and written as a whole: in Rust, Connection::copy_in and copy_out do that"
                );
                return Err(unsupported(text));
            }
            Some(other) => {
                let text = format!("the format '{other}' is not known; a stream is text, csv or binary");
                return Err(wrong(SqlState::InvalidParameterValue, text));
            }
        };
        let nobody = ColumnChoice::Named(Vec::new());
        let mut options = Self {
            format,
            delimiter: if format == StreamFormat::Csv { b',' } else { b'\t' },
            null: if format == StreamFormat::Csv { String::new() } else { "\\N".to_owned() },
            header: HeaderLine::Absent,
            quote: b'"',
            escape: b'"',
            force_quote: nobody.clone(),
            force_not_null: nobody.clone(),
            force_null: nobody,
            encoding: StreamEncoding::UTF8,
            freeze: false,
        };
        let mut escape = None;
        for option in given {
            let own = known_name(&option.name)?;
            options.fits_format(own)?;
            match own {
                "freeze" => options.freeze = truth(option)?,
                "delimiter" => options.delimiter = delimiter(option, format)?,
                "null" => options.null = null(option)?,
                "header" => options.header = header(option, direction)?,
                "quote" => options.quote = byte(option)?,
                "escape" => escape = Some(byte(option)?),
                "force_quote" => options.force_quote = columns(option, direction, Direction::To)?,
                "force_not_null" => options.force_not_null = columns(option, direction, Direction::From)?,
                "force_null" => options.force_null = columns(option, direction, Direction::From)?,
                "encoding" => options.encoding = StreamEncoding::named(&option.value.text())?,
                _ => {}
            }
        }
        options.escape = escape.unwrap_or(options.quote);
        options.check()?;
        Ok(options)
    }

    /// Refuses an option that the format has not.
    fn fits_format(&self, name: &str) -> Result<()> {
        let upper = name.to_ascii_uppercase();
        match (self.format, name) {
            (StreamFormat::Binary, "delimiter" | "null") => {
                Err(wrong(SqlState::SyntaxError, format!("the format binary has no {upper}")))
            }
            (StreamFormat::Binary, "header") => Err(unsupported("the format binary has no HEADER".to_owned())),
            (
                StreamFormat::Text | StreamFormat::Binary,
                "quote" | "escape" | "force_quote" | "force_not_null" | "force_null",
            ) => Err(unsupported(format!("{upper} is an option of the format csv; say FORMAT csv"))),
            _ => Ok(()),
        }
    }

    fn check(&self) -> Result<()> {
        let is_csv = self.format == StreamFormat::Csv;
        let shown = char::from(self.delimiter);
        if is_csv && self.delimiter == self.quote {
            return Err(wrong(
                SqlState::InvalidParameterValue,
                format!("'{shown}' is both the delimiter and the quote"),
            ));
        }
        let has = |byte: u8| self.format != StreamFormat::Binary && self.null.bytes().any(|own| own == byte);
        if has(self.delimiter) {
            return Err(unsupported(format!(
                "the delimiter '{shown}' is a part of what stands for NULL; choose another"
            )));
        }
        if is_csv && has(self.quote) {
            return Err(unsupported("the quote is a part of what stands for NULL; choose another".to_owned()));
        }
        Ok(())
    }
}

/// The name of an option that DuckDB may call otherwise.
fn known_name(name: &str) -> Result<&'static str> {
    let plain = name.strip_prefix("format.").unwrap_or(name);
    let own = match option_name(plain) {
        "delim" => "delimiter",
        "nullstr" => "null",
        other => other,
    };
    let found = NAMES.iter().find(|known| **known == own || **known == plain);
    found.copied().ok_or_else(|| {
        let suggestion = did_you_mean(plain, NAMES.iter().copied());
        let text = format!("a stream has no option '{name}'; the options are {}{suggestion}", NAMES.join(", "));
        wrong(SqlState::SyntaxError, text)
    })
}

fn wrong(state: SqlState, text: String) -> Error {
    Error::invalid(state, format!("COPY: {text}"))
}

fn unsupported(text: String) -> Error {
    Error::Unsupported(format!("COPY: {text}"))
}

fn truth(option: &CopyOption) -> Result<bool> {
    truth_of(&option.value.text()).ok_or_else(|| {
        let text = format!("{} is true or false, not '{}'", option.name, option.value.text());
        wrong(SqlState::SyntaxError, text)
    })
}

fn truth_of(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Some(true),
        "false" | "off" | "0" => Some(false),
        _ => None,
    }
}

fn header(option: &CopyOption, direction: Direction) -> Result<HeaderLine> {
    let text = option.value.text();
    match truth_of(&text) {
        Some(true) => Ok(HeaderLine::Present),
        Some(false) => Ok(HeaderLine::Absent),
        None if text.eq_ignore_ascii_case("match") && direction == Direction::From => Ok(HeaderLine::Match),
        None if text.eq_ignore_ascii_case("match") => {
            Err(unsupported("HEADER match is for COPY … FROM, whose first line it compares".to_owned()))
        }
        None => Err(wrong(SqlState::SyntaxError, format!("header is true, false or match, not '{text}'"))),
    }
}

/// A character of one byte.
fn byte(option: &CopyOption) -> Result<u8> {
    let text = option.value.text();
    match (&option.value, text.as_bytes()) {
        (CopyValue::Text(_), [byte]) if *byte != 0 => Ok(*byte),
        _ => Err(unsupported(format!("{} is one character of one byte, not '{text}'", option.name))),
    }
}

fn delimiter(option: &CopyOption, format: StreamFormat) -> Result<u8> {
    let byte = byte(option)?;
    if matches!(byte, b'\n' | b'\r') {
        return Err(wrong(SqlState::InvalidParameterValue, "the delimiter can't be a line's end".to_owned()));
    }
    if format == StreamFormat::Text && NO_DELIMITERS.bytes().any(|own| own == byte) {
        let text = format!("'{}' can't be a delimiter of the format text", char::from(byte));
        return Err(wrong(SqlState::InvalidParameterValue, text));
    }
    Ok(byte)
}

fn null(option: &CopyOption) -> Result<String> {
    let text = option.value.text();
    if text.contains(['\n', '\r']) {
        let text = "what stands for NULL can't have a line's end in it".to_owned();
        return Err(wrong(SqlState::InvalidParameterValue, text));
    }
    Ok(text)
}

fn columns(option: &CopyOption, direction: Direction, of: Direction) -> Result<ColumnChoice> {
    let (name, value) = (option.name.to_ascii_uppercase(), &option.value);
    if direction != of {
        let of = if of == Direction::From { "FROM" } else { "TO" };
        return Err(unsupported(format!("{name} is an option of COPY … {of}")));
    }
    match value {
        CopyValue::Text(text) if text == "*" && of == Direction::To => Ok(ColumnChoice::All),
        CopyValue::List(names) => Ok(ColumnChoice::Named(names.clone())),
        _ => {
            Err(wrong(SqlState::InvalidParameterValue, format!("{name} takes columns between brackets: {name} (a, b)")))
        }
    }
}

impl ColumnChoice {
    /// For each of the columns whether it is meant; names that are none of theirs are errors of `option`. `others` are those of
    /// the table that are not copied.
    pub(super) fn among<'n>(
        &self,
        columns: impl Iterator<Item = &'n str> + Clone,
        others: &[String],
        option: &str,
    ) -> Result<Vec<bool>> {
        let Self::Named(names) = self else { return Ok(columns.map(|_| true).collect()) };
        let mut meant = vec![false; columns.clone().count()];
        for name in names {
            let exact = columns.clone().position(|column| column == name);
            let found = exact.or_else(|| columns.clone().position(|column| column.eq_ignore_ascii_case(name)));
            match found.and_then(|at| meant.get_mut(at)) {
                Some(own) => *own = true,
                None => {
                    let suggestion = did_you_mean(name, columns);
                    let is_other = others.iter().any(|other| other.eq_ignore_ascii_case(name));
                    let state = if is_other { SqlState::InvalidColumnReference } else { SqlState::UndefinedColumn };
                    let text = format!("{option}: column '{name}' is none of those that are copied{suggestion}");
                    return Err(wrong(state, text));
                }
            }
        }
        Ok(meant)
    }
}
