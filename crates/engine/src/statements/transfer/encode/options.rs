//! How COPY TO writes text.

use crate::files::{Compression, FileFormat, GivenOption, OptionValue, option_name};
use crate::suggest::did_you_mean;
use crate::{Error, Result};
use gingham_storage::SqlState;
use std::path::Path;

/// Options of text, by the names that COPY has for them.
const NAMES: &[&str] = &[
    "array",
    "compression",
    "dateformat",
    "delim",
    "escape",
    "force_quote",
    "format",
    "header",
    "nullstr",
    "quote",
    "timestampformat",
];

/// How text is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WriteOptions {
    pub(super) header: bool,
    pub(super) delimiter: u8,
    pub(super) quote: u8,
    pub(super) escape: u8,
    /// What stands for NULL.
    pub(super) null: String,
    /// Columns whose values stand between quotes always; `*` for all.
    pub(super) force_quote: Vec<String>,
    pub(super) dates: Option<String>,
    pub(super) timestamps: Option<String>,
    /// JSON as one array.
    pub(super) array: bool,
    pub(crate) compression: Compression,
}

impl WriteOptions {
    /// What a file is written with by its name, and by the options of the statement.
    pub(crate) fn new(file: &str, format: FileFormat, given: &[(String, String)]) -> Result<Self> {
        let ending = |ending: &str| file.to_ascii_lowercase().ends_with(ending);
        let compression = match () {
            () if ending(".gz") => Compression::Gzip,
            () if ending(".zst") => Compression::Zstd,
            () => Compression::None,
        };
        let is_tabbed = Path::new(file.trim_end_matches(".gz").trim_end_matches(".zst"))
            .extension()
            .is_some_and(|own| own == "tsv");
        let mut options = Self {
            header: true,
            delimiter: if is_tabbed { b'\t' } else { b',' },
            quote: b'"',
            escape: b'"',
            null: String::new(),
            force_quote: Vec::new(),
            dates: None,
            timestamps: None,
            array: false,
            compression,
        };
        let mut escape = None;
        for (name, value) in given {
            let name = name.strip_prefix("format.").unwrap_or(name);
            let own = option_name(name);
            let value_given = OptionValue::Text(value.clone());
            let option = GivenOption { name, value: &value_given };
            let is_json = format == FileFormat::Json;
            let of_csv = !matches!(own, "array" | "compression" | "dateformat" | "timestampformat" | "format");
            if is_json && of_csv && NAMES.contains(&own) {
                return Err(wrong(format!("option '{name}' is one of CSV, not of JSON")));
            }
            match own {
                "header" => options.header = option.truth().map_err(about)?,
                "delim" => options.delimiter = option.byte().map_err(about)?,
                "quote" => options.quote = option.byte().map_err(about)?,
                "escape" => escape = Some(option.byte().map_err(about)?),
                "nullstr" => options.null.clone_from(value),
                "force_quote" => options.force_quote = value.split(',').map(|name| name.trim().to_owned()).collect(),
                "dateformat" => options.dates = Some(time_format(name, value)?),
                "timestampformat" => options.timestamps = Some(time_format(name, value)?),
                "array" if is_json => options.array = option.truth().map_err(about)?,
                "compression" => options.compression = compression_of(value)?,
                "format" => {}
                _ => {
                    return Err(wrong(format!(
                        "there is no option '{name}'; the options of text are {}{}",
                        NAMES.join(", "),
                        did_you_mean(name, NAMES.iter().copied())
                    )));
                }
            }
        }
        options.escape = escape.unwrap_or(options.quote);
        if options.delimiter == options.quote {
            return Err(wrong(format!("'{}' is both delim and quote", char::from(options.quote))));
        }
        if options.null.bytes().any(|byte| byte == options.delimiter || byte == b'\n' || byte == b'\r') {
            return Err(wrong("what stands for NULL has neither the delimiter nor a line's end in it".to_owned()));
        }
        Ok(options)
    }
}

fn about(error: Error) -> Error {
    error.about("COPY TO")
}

fn wrong(text: String) -> Error {
    Error::invalid(SqlState::InvalidParameterValue, format!("COPY TO: {text}"))
}

fn compression_of(value: &str) -> Result<Compression> {
    match value.to_ascii_lowercase().as_str() {
        "none" | "uncompressed" => Ok(Compression::None),
        "gzip" | "gz" => Ok(Compression::Gzip),
        "zstd" | "zst" => Ok(Compression::Zstd),
        _ => Err(wrong(format!("option 'compression' is none, gzip or zstd, not '{value}'"))),
    }
}

/// A format that chrono can write.
fn time_format(name: &str, value: &str) -> Result<String> {
    use chrono::format::{Item, StrftimeItems};
    let is_wrong = StrftimeItems::new(value).any(|item| item == Item::Error);
    match is_wrong || !value.contains('%') {
        true => Err(wrong(format!("option '{name}' is a format as strftime has it, such as %d.%m.%Y, not '{value}'"))),
        false => Ok(value.to_owned()),
    }
}
