//! How files are read: the options of `read_csv`, COPY FROM, `load` and Python, each by the name that DuckDB gives it.

use crate::files::encoding::TextEncoding;
use crate::suggest::did_you_mean;
use crate::{Error, Result};
use gingham_storage::SqlState;

/// What a file holds.
///
/// ```
/// use gingham::{Database, StatementHandle, load::{FileFormat, LoadOptions, ReadOptions}};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("fruit.data");
/// std::fs::write(&file, "name,price\nquince,1.20\n")?;
/// // The name does not tell what the file holds, so the options do.
/// let read = ReadOptions { format: Some(FileFormat::Csv), ..Default::default() };
/// let options = LoadOptions { table: "fruit".into(), read, ..Default::default() };
/// let connection = Database::in_memory()?.connect();
/// assert_eq!(connection.load(&[file], &options, &StatementHandle::new())?.rows, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Comma-separated values, or another delimiter.
    Csv,
    /// TPC-H's `|`-terminated fields without a header.
    Tbl,
    /// Parquet.
    Parquet,
    /// Arrow IPC file.
    Arrow,
    /// JSON objects.
    Json,
}

/// How the bytes of a file are packed.
///
/// ```
/// use gingham::load::{Compression, ReadOptions};
///
/// let mut options = ReadOptions::default();
/// assert_eq!(options.compression, Compression::Auto);
/// options.set("compression", &"gzip".into())?;
/// assert_eq!(options.compression, Compression::Gzip);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// As its first bytes say.
    #[default]
    Auto,
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

/// The value of an option.
///
/// ```
/// use gingham::load::OptionValue;
///
/// let types = OptionValue::Map(vec![("price".into(), "DECIMAL(9,2)".into())]);
/// assert_ne!(types, OptionValue::List(vec!["DECIMAL(9,2)".into()]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// A text, a number, or `true` and `false`.
    Text(String),
    /// Several.
    List(Vec<OptionValue>),
    /// Several by name.
    Map(Vec<(String, OptionValue)>),
}

impl From<&str> for OptionValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// How to read files. Of what is not said the file itself tells, as its beginning has it.
///
/// ```
/// use gingham::{Database, StatementHandle, load::{LoadOptions, ReadOptions}};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("fruit.csv");
/// std::fs::write(&file, "quince;1,20\npear;-\n")?;
/// let mut read = ReadOptions { delimiter: Some(b';'), header: Some(false), ..Default::default() };
/// read.set("nullstr", &"-".into())?;
/// read.set("decimal_separator", &",".into())?;
/// let schema = Some("name VARCHAR, price DECIMAL(6,2)".into());
/// let options = LoadOptions { table: "fruit".into(), schema, read, ..Default::default() };
/// let connection = Database::in_memory()?.connect();
/// assert_eq!(connection.load(&[file], &options, &StatementHandle::new())?.rows, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// What the files hold; otherwise their names tell.
    pub format: Option<FileFormat>,
    /// What separates fields.
    pub delimiter: Option<u8>,
    /// What quotes fields; `Some(None)` for nothing.
    pub quote: Option<Option<u8>>,
    /// What stands before a quote within quotes; otherwise another quote.
    pub escape: Option<u8>,
    /// The first record names the columns.
    pub header: Option<bool>,
    /// Names of the first columns, in the place of the header's.
    pub names: Vec<String>,
    /// All columns: names and types.
    pub columns: Vec<(String, String)>,
    /// Types of some columns: by name, or of the first ones in order, where the name is empty.
    pub types: Vec<(String, String)>,
    /// Texts that stand for NULL, besides an empty field.
    pub nulls: Vec<String>,
    /// How dates are written, as strftime has it.
    pub date_format: Option<String>,
    /// How timestamps are written, as strftime has it.
    pub timestamp_format: Option<String>,
    /// What stands before a number's fraction.
    pub decimal_separator: Option<u8>,
    /// What stands between a number's thousands.
    pub thousands: Option<u8>,
    /// Lines before the header, or the first record, that are passed over.
    pub skip: Option<u64>,
    /// What begins a line that is no record.
    pub comment: Option<u8>,
    /// A record with too few fields has NULL in the others.
    pub null_padding: bool,
    /// Records that can't be read are passed over; the table `gingham_rejects` has them.
    pub ignore_errors: bool,
    /// The text's encoding.
    pub encoding: Option<String>,
    /// Records that the types are found by: as many at least; `Some(-1)` for all.
    pub sample_size: Option<i64>,
    /// Every column is text.
    pub all_varchar: bool,
    /// A column `filename` says which file a record is from.
    pub filename: bool,
    /// Columns of several files are matched by name; what a file does not have is NULL.
    pub union_by_name: bool,
    /// Folders called `name=value` are columns.
    pub hive_partitioning: Option<bool>,
    /// How the files are packed.
    pub compression: Compression,
}

/// Names of the options.
pub(crate) const NAMES: &[&str] = &[
    "all_varchar",
    "columns",
    "comment",
    "compression",
    "dateformat",
    "decimal_separator",
    "delim",
    "encoding",
    "escape",
    "filename",
    "format",
    "header",
    "hive_partitioning",
    "ignore_errors",
    "names",
    "null_padding",
    "nullstr",
    "quote",
    "sample_size",
    "skip",
    "thousands",
    "timestampformat",
    "types",
    "union_by_name",
];

/// Options that only delimited text has.
const OF_TEXT: &[&str] = &[
    "comment",
    "dateformat",
    "decimal_separator",
    "delim",
    "escape",
    "header",
    "names",
    "null_padding",
    "nullstr",
    "quote",
    "skip",
    "thousands",
    "timestampformat",
];

/// The names by which other systems and older builds know options.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("delimiter", "delim"),
    ("sep", "delim"),
    ("null", "nullstr"),
    ("null_value", "nullstr"),
    ("date_format", "dateformat"),
    ("timestamp_format", "timestampformat"),
    ("decimal", "decimal_separator"),
    ("dtypes", "types"),
    ("column_names", "names"),
    ("column_types", "types"),
    ("has_header", "header"),
];

impl ReadOptions {
    /// Sets the option `name`. `auto_detect`, which asks for what is done anyway, is taken where it says true.
    ///
    /// ```
    /// use gingham::load::ReadOptions;
    ///
    /// let mut options = ReadOptions::default();
    /// options.set("sep", &"tab".into())?;
    /// assert_eq!(options.delimiter, Some(b'\t'));
    /// assert!(options.set("headr", &"true".into()).is_err());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such option, or the value is none of its own.
    pub fn set(&mut self, name: &str, value: &OptionValue) -> Result<()> {
        let given = GivenOption { name, value };
        let lower = name.to_ascii_lowercase();
        match option_name(&lower) {
            "format" => self.format = Some(given.format()?),
            "delim" => self.delimiter = Some(given.byte()?),
            "quote" => self.quote = Some(given.byte_or_none()?),
            "escape" => self.escape = given.byte_or_none()?,
            "header" => self.header = Some(given.truth()?),
            "names" => self.names = given.texts()?,
            "columns" => self.columns = given.pairs(false)?,
            "types" => self.types = given.pairs(true)?,
            "nullstr" => self.nulls = given.texts()?,
            "dateformat" => self.date_format = given.format_of_times()?,
            "timestampformat" => self.timestamp_format = given.format_of_times()?,
            "decimal_separator" => self.decimal_separator = Some(given.byte()?),
            "thousands" => self.thousands = Some(given.byte()?),
            "skip" => self.skip = Some(given.number("a number of lines, 0 or more")?),
            "comment" => self.comment = given.byte_or_none()?,
            "null_padding" => self.null_padding = given.truth()?,
            "ignore_errors" => self.ignore_errors = given.truth()?,
            "encoding" => {
                let name = given.text("the name of an encoding")?;
                TextEncoding::named(name)?;
                self.encoding = Some(name.to_owned());
            }
            "sample_size" => self.sample_size = Some(given.sample()?),
            "all_varchar" => self.all_varchar = given.truth()?,
            "filename" => self.filename = given.truth()?,
            "union_by_name" => self.union_by_name = given.truth()?,
            "hive_partitioning" => self.hive_partitioning = Some(given.truth()?),
            "compression" => self.compression = given.compression()?,
            "auto_detect" | "autodetect" if given.truth()? => {}
            _ => {
                let known = NAMES.iter().chain(OTHER_NAMES.iter().map(|(other, _)| other)).copied();
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!(
                        "there is no option '{name}'; the options are {}{}",
                        NAMES.join(", "),
                        did_you_mean(&lower, known)
                    ),
                ));
            }
        }
        Ok(())
    }

    /// The encoding of the text, where it is said.
    pub(crate) fn text_encoding(&self) -> Result<Option<TextEncoding>> {
        self.encoding.as_deref().map(TextEncoding::named).transpose()
    }

    /// Refuses options that files of `format` do not have.
    pub(crate) fn check(&self, format: FileFormat) -> Result<()> {
        if matches!(format, FileFormat::Csv | FileFormat::Tbl) {
            return self.check_text();
        }
        let empty = Self { format: self.format, ..Self::default() };
        let several = Self { filename: false, union_by_name: false, hive_partitioning: None, ..self.clone() };
        let rest = match format {
            FileFormat::Json => Self {
                compression: Compression::Auto,
                encoding: None,
                ignore_errors: false,
                sample_size: None,
                all_varchar: false,
                columns: Vec::new(),
                types: Vec::new(),
                ..several
            },
            _ => several,
        };
        match rest == empty {
            true => Ok(()),
            false => Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "{} files have an option that only delimited text takes; these are {}",
                    name_of(format),
                    OF_TEXT.join(", ")
                ),
            )),
        }
    }

    fn check_text(&self) -> Result<()> {
        let quote = self.quote.unwrap_or(Some(b'"'));
        let roles = [("delim", self.delimiter), ("quote", quote), ("comment", self.comment)];
        for (at, (name, byte)) in roles.iter().enumerate() {
            let twin = roles[..at].iter().find(|(_, before)| byte.is_some() && before == byte);
            if let (Some((other, _)), Some(byte)) = (twin, byte) {
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!("'{}' is given as both {other} and {name}", char::from(*byte)),
                ));
            }
        }
        let decimal = self.decimal_separator.unwrap_or(b'.');
        if self.thousands == Some(decimal) {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "'{}' stands both between thousands and before a fraction; set decimal_separator and thousands to different ones",
                    char::from(decimal)
                ),
            ));
        }
        let says_some = !self.names.is_empty() || !self.types.is_empty();
        if says_some && !self.columns.is_empty() {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                "columns says names and types of all columns; give it, or names and types, not both".to_owned(),
            ));
        }
        Ok(())
    }
}

/// The name of an option that `name`, in small letters, is another name of; itself where it is none.
pub(crate) fn option_name(name: &str) -> &str {
    OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, own)| own)
}

/// What messages call a format.
pub(crate) fn name_of(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Csv => "CSV",
        FileFormat::Tbl => "tbl",
        FileFormat::Parquet => "Parquet",
        FileFormat::Arrow => "Arrow IPC",
        FileFormat::Json => "JSON",
    }
}

/// An option that is given.
pub(crate) struct GivenOption<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a OptionValue,
}

impl GivenOption<'_> {
    fn wrong(&self, expected: &str) -> Error {
        let shown = match self.value {
            OptionValue::Text(text) => format!("'{text}'"),
            OptionValue::List(_) => "a list".to_owned(),
            OptionValue::Map(_) => "a list of names and values".to_owned(),
        };
        let text = format!("option '{}' is {expected}, not {shown}", self.name);
        Error::invalid(SqlState::InvalidParameterValue, text)
    }

    fn text(&self, expected: &str) -> Result<&str> {
        match self.value {
            OptionValue::Text(text) => Ok(text),
            _ => Err(self.wrong(expected)),
        }
    }

    /// A truth.
    pub(crate) fn truth(&self) -> Result<bool> {
        const EXPECTED: &str = "true or false";
        match self.text(EXPECTED)?.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" | "yes" => Ok(true),
            "false" | "off" | "0" | "no" => Ok(false),
            _ => Err(self.wrong(EXPECTED)),
        }
    }

    /// A character of one byte.
    pub(crate) fn byte(&self) -> Result<u8> {
        const EXPECTED: &str = "one character of ASCII";
        match self.text(EXPECTED)? {
            "\\t" | "tab" => Ok(b'\t'),
            text => match text.as_bytes() {
                [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
                _ => Err(self.wrong(EXPECTED)),
            },
        }
    }

    fn byte_or_none(&self) -> Result<Option<u8>> {
        match self.value {
            OptionValue::Text(text) if text.is_empty() || text == "\\0" => Ok(None),
            _ => self.byte().map(Some),
        }
    }

    fn number(&self, expected: &str) -> Result<u64> {
        self.text(expected)?.parse().map_err(|_| self.wrong(expected))
    }

    fn sample(&self) -> Result<i64> {
        const EXPECTED: &str = "a number of records, or -1 for all";
        match self.text(EXPECTED)?.parse() {
            Ok(number) if number == -1 || number > 0 => Ok(number),
            _ => Err(self.wrong(EXPECTED)),
        }
    }

    fn texts(&self) -> Result<Vec<String>> {
        const EXPECTED: &str = "a text or a list of texts";
        match self.value {
            OptionValue::Text(text) => Ok(vec![text.clone()]),
            OptionValue::List(values) => {
                let own = |value: &OptionValue| match value {
                    OptionValue::Text(text) => Ok(text.clone()),
                    _ => Err(self.wrong(EXPECTED)),
                };
                values.iter().map(own).collect()
            }
            OptionValue::Map(_) => Err(self.wrong(EXPECTED)),
        }
    }

    /// Names and values; or values alone, where a `list` is taken.
    fn pairs(&self, list: bool) -> Result<Vec<(String, String)>> {
        let expected = match list {
            true => "a list of types, or of names and types such as {'price': 'DECIMAL(9,2)'}",
            false => "a list of names and types such as {'name': 'VARCHAR', 'price': 'DECIMAL(9,2)'}",
        };
        match self.value {
            OptionValue::Map(pairs) => {
                let own = |(name, value): &(String, OptionValue)| match value {
                    OptionValue::Text(text) => Ok((name.clone(), text.clone())),
                    _ => Err(self.wrong(expected)),
                };
                pairs.iter().map(own).collect()
            }
            OptionValue::List(_) if list => Ok(self.texts()?.into_iter().map(|text| (String::new(), text)).collect()),
            _ => Err(self.wrong(expected)),
        }
    }

    fn format_of_times(&self) -> Result<Option<String>> {
        let text = self.text("a format such as %d.%m.%Y")?;
        Ok((!text.is_empty() && !text.eq_ignore_ascii_case("auto")).then(|| text.to_owned()))
    }

    fn format(&self) -> Result<FileFormat> {
        const EXPECTED: &str = "csv, tbl, parquet, arrow or json";
        match self.text(EXPECTED)?.to_ascii_lowercase().as_str() {
            "csv" | "text" => Ok(FileFormat::Csv),
            "tbl" => Ok(FileFormat::Tbl),
            "parquet" => Ok(FileFormat::Parquet),
            "arrow" => Ok(FileFormat::Arrow),
            "json" | "ndjson" | "jsonl" => Ok(FileFormat::Json),
            _ => Err(self.wrong(EXPECTED)),
        }
    }

    fn compression(&self) -> Result<Compression> {
        const EXPECTED: &str = "auto, none, gzip or zstd";
        match self.text(EXPECTED)?.to_ascii_lowercase().as_str() {
            "auto" | "auto_detect" => Ok(Compression::Auto),
            "none" | "uncompressed" => Ok(Compression::None),
            "gzip" | "gz" => Ok(Compression::Gzip),
            "zstd" | "zst" => Ok(Compression::Zstd),
            _ => Err(self.wrong(EXPECTED)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, value: OptionValue) -> String {
        ReadOptions::default().set(name, &value).expect_err("a mistake").to_string()
    }

    #[test]
    fn options_have_duckdbs_names_and_older_ones() {
        let mut options = ReadOptions::default();
        for (name, value) in
            [("sep", "\\t"), ("QUOTE", ""), ("null_value", "NA"), ("auto_detect", "true"), ("skip", "3")]
        {
            options.set(name, &value.into()).expect("an option");
        }
        assert_eq!((options.delimiter, options.quote, options.skip), (Some(b'\t'), Some(None), Some(3)));
        assert_eq!(options.nulls, ["NA"]);
        options.set("types", &OptionValue::List(vec!["INT".into()])).expect("types in order");
        assert_eq!(options.types, [(String::new(), "INT".to_owned())]);
    }

    #[test]
    fn mistakes_are_named() {
        let unknown = refused("headr", "true".into());
        assert!(unknown.starts_with("there is no option 'headr'; the options are "), "{unknown}");
        assert!(unknown.ends_with("; did you mean 'header'?"), "{unknown}");
        assert_eq!(refused("header", "maybe".into()), "option 'header' is true or false, not 'maybe'");
        assert_eq!(refused("delim", "||".into()), "option 'delim' is one character of ASCII, not '||'");
        assert!(refused("columns", OptionValue::List(Vec::new())).ends_with("not a list"));
        let both = ReadOptions { delimiter: Some(b';'), comment: Some(b';'), ..Default::default() };
        assert_eq!(both.check(FileFormat::Csv).unwrap_err().to_string(), "';' is given as both delim and comment");
        let skipping = ReadOptions { skip: Some(1), ..Default::default() };
        assert!(
            skipping
                .check(FileFormat::Parquet)
                .unwrap_err()
                .to_string()
                .starts_with("Parquet files have an option that only")
        );
        let several = ReadOptions { filename: true, format: Some(FileFormat::Parquet), ..Default::default() };
        assert!(several.check(FileFormat::Parquet).is_ok());
    }
}
