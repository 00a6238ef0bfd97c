//! Options of COPY TO as DataFusion takes them, which writes Parquet and Arrow files.

use crate::{Error, Result};
use datafusion::common::config::{ConfigField, TableParquetOptions};
use datafusion::sql::sqlparser::ast::Value;
use gingham_storage::SqlState;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

/// Names that Postgres and DuckDB give to options, and DataFusion's.
const OPTIONS: &[(&str, &str)] = &[
    ("compression", "format.compression"),
    ("row_group_size", "format.max_row_group_size"),
    ("dictionary", "format.dictionary_enabled"),
];

/// An option's value as DataFusion takes it.
fn write_value(name: &str, value: String, is_parquet: bool) -> String {
    match (name, value.to_ascii_lowercase().as_str()) {
        // Parquet's default levels, which DataFusion wants spelt out.
        ("format.compression", "zstd") if is_parquet => "zstd(1)".into(),
        ("format.compression", "gzip") if is_parquet => "gzip(6)".into(),
        _ => value,
    }
}

/// How a Parquet file is written.
pub(super) fn parquet_properties(
    options: &[(String, String)],
    defaults: TableParquetOptions,
) -> Result<WriterProperties> {
    let mut own = defaults;
    for (name, value) in translated(options, true)? {
        let key = name.strip_prefix("format.").unwrap_or(&name);
        own.set(key, &value.into_string().unwrap_or_default())?;
    }
    // The writer itself adds what Arrow's readers want to know.
    own.global.skip_arrow_metadata = true;
    Ok(WriterPropertiesBuilder::try_from(&own)?.build())
}

/// The options under DataFusion's names.
pub(super) fn translated(options: &[(String, String)], is_parquet: bool) -> Result<Vec<(String, Value)>> {
    let own = |(name, value): &(String, String)| {
        let name = match OPTIONS.iter().find(|(theirs, _)| theirs == name) {
            Some((_, ours)) => (*ours).to_owned(),
            None if name.contains('.') => name.clone(),
            None => {
                let names = OPTIONS.iter().map(|(theirs, _)| *theirs).chain(["format"]);
                let list: Vec<&str> = names.clone().collect();
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!(
                        "COPY TO has no option '{name}' (the options are {} and DataFusion's 'format.…'){}",
                        list.join(", "),
                        crate::suggest::did_you_mean(name, names)
                    ),
                ));
            }
        };
        let value = write_value(&name, value.clone(), is_parquet);
        Ok((name, Value::SingleQuotedString(value)))
    };
    options.iter().map(own).collect()
}
