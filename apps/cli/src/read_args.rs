//! How `load` reads files: an argument for each option of the engine, by the same name.

use clap::Args;
use gingham::load::{OptionValue, ReadOptions};

/// Options of reading files.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// What the files hold, when their names do not tell: csv, tbl, parquet, arrow or json
    #[arg(long, value_name = "FORMAT", alias = "format")]
    pub format_of_files: Option<String>,

    /// CSV: what separates fields, one character or 'tab' (otherwise found out)
    #[arg(long, value_name = "CHAR", alias = "delimiter", alias = "sep")]
    pub delim: Option<String>,

    /// CSV: what quotes fields (otherwise found out); '' for nothing
    #[arg(long, value_name = "CHAR")]
    pub quote: Option<String>,

    /// CSV: what stands before a quote within quotes (otherwise found out)
    #[arg(long, value_name = "CHAR")]
    pub escape: Option<String>,

    /// CSV: the first line names the columns (otherwise found out)
    #[arg(long, overrides_with = "no_header")]
    pub header: bool,

    /// CSV: the first line is a record
    #[arg(long)]
    pub no_header: bool,

    /// CSV: names of the columns, with commas between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub names: Vec<String>,

    /// CSV: text that stands for NULL, besides an empty field; may be repeated
    #[arg(long, value_name = "TEXT", alias = "null")]
    pub nullstr: Vec<String>,

    /// CSV: format of dates, such as %d.%m.%Y (otherwise ISO, or day and month first where the values tell which)
    #[arg(long, value_name = "FORMAT", alias = "date-format")]
    pub dateformat: Option<String>,

    /// CSV: format of timestamps, such as %d.%m.%Y %H:%M
    #[arg(long, value_name = "FORMAT", alias = "timestamp-format")]
    pub timestampformat: Option<String>,

    /// CSV: what stands before a number's fraction (otherwise found out)
    #[arg(long, value_name = "CHAR", alias = "decimal-separator")]
    pub decimal: Option<String>,

    /// CSV: what stands between a number's thousands
    #[arg(long, value_name = "CHAR")]
    pub thousands: Option<String>,

    /// CSV: lines to pass over before the header
    #[arg(long, value_name = "N")]
    pub skip: Option<u64>,

    /// CSV: what begins a line that is no record
    #[arg(long, value_name = "CHAR")]
    pub comment: Option<String>,

    /// CSV: records with too few fields have NULL in the others
    #[arg(long)]
    pub null_padding: bool,

    /// CSV: every column is text
    #[arg(long)]
    pub all_varchar: bool,

    /// CSV: records that the types of columns are found by, -1 for all
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub sample_size: Option<i64>,

    /// utf-8, utf-16, latin1, windows-1252 and others
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,

    /// Match the columns of several files by name
    #[arg(long)]
    pub union_by_name: bool,

    /// How the files are packed: auto, none, gzip or zstd
    #[arg(long, value_name = "NAME")]
    pub compression: Option<String>,

    /// Pass over every record that can't be read
    #[arg(long)]
    pub ignore_errors: bool,
}

impl ReadArgs {
    /// These arguments as the engine's options. Errors on a value.
    pub fn options(&self) -> gingham::Result<ReadOptions> {
        let mut options = ReadOptions::default();
        let texts = [
            ("format", &self.format_of_files),
            ("delim", &self.delim),
            ("quote", &self.quote),
            ("escape", &self.escape),
            ("dateformat", &self.dateformat),
            ("timestampformat", &self.timestampformat),
            ("decimal_separator", &self.decimal),
            ("thousands", &self.thousands),
            ("comment", &self.comment),
            ("encoding", &self.encoding),
            ("compression", &self.compression),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                options.set(name, &value.as_str().into())?;
            }
        }
        options.names.clone_from(&self.names);
        options.nulls.clone_from(&self.nullstr);
        options.header = if self.header { Some(true) } else { self.no_header.then_some(false) };
        options.skip = self.skip;
        if let Some(sample) = self.sample_size {
            options.set("sample_size", &OptionValue::Text(sample.to_string()))?;
        }
        options.null_padding = self.null_padding;
        options.all_varchar = self.all_varchar;
        options.union_by_name = self.union_by_name;
        options.ignore_errors = self.ignore_errors;
        Ok(options)
    }
}
