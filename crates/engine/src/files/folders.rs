//! Folders called `name=value` as columns of the files in them, as Hive writes them.

use crate::files::values::classify::{FieldType, Types};
use crate::files::values::format::TextFormat;
use crate::files::values::typed::typed;
use crate::{Error, Result};
use arrow::array::{ArrayRef, StringViewArray};
use gingham_storage::SqlState;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The value that stands for NULL.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Columns that are folders.
#[derive(Debug, Clone, Default)]
pub(super) struct FolderColumns {
    pub(super) names: Vec<String>,
    pub(super) types: Vec<FieldType>,
    /// For each column an array of its values, one of each file.
    values: Vec<ArrayRef>,
}

impl FolderColumns {
    /// The folders of `paths`, unless `wanted` says that they are none; all files have to have the same where it says so.
    pub(super) fn of(paths: &[PathBuf], wanted: Option<bool>) -> Result<Self> {
        if wanted == Some(false) {
            return Ok(Self::default());
        }
        let all: Vec<Vec<(String, String)>> = paths.iter().map(|path| folders(path)).collect();
        let names = |folders: &[(String, String)]| folders.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let own = all.first().map(|first| names(first)).unwrap_or_default();
        if let Some(other) = all.iter().position(|folders| names(folders) != own) {
            if wanted == Some(true) {
                let text = format!(
                    "{} and {} do not lie in folders of the same names",
                    paths[0].display(),
                    paths[other].display()
                );
                return Err(Error::invalid(SqlState::InvalidParameterValue, text));
            }
            return Ok(Self::default());
        }
        let (mut types, mut values) = (Vec::new(), Vec::new());
        for column in 0..own.len() {
            let texts = || all.iter().map(|folders| Some(folders[column].1.as_str()).filter(|text| *text != NULL));
            let found = texts()
                .flatten()
                .fold(Types::ANY, |found, text| found.and(Types::of(text.as_bytes(), &TextFormat::default())));
            // Dates whose day comes first are none in the names of folders.
            let found = Some(found.chosen()).filter(|found| found.order.is_none());
            let found = found.unwrap_or_else(|| Types::TEXT.chosen());
            let array: ArrayRef = Arc::new(texts().collect::<StringViewArray>());
            values.push(typed(array, &found.logical_type, &mut Vec::new())?);
            types.push(found);
        }
        Ok(Self { names: own, types, values })
    }

    /// Without the column of that number.
    pub(super) fn remove(&mut self, column: usize) {
        self.names.remove(column);
        self.types.remove(column);
        self.values.remove(column);
    }

    /// The value of a column for all of `rows` records of a file.
    pub(super) fn repeated(&self, column: usize, file: usize, rows: usize) -> Result<ArrayRef> {
        let value = datafusion::common::ScalarValue::try_from_array(&self.values[column], file)?;
        Ok(value.to_array_of_size(rows)?)
    }
}

/// The folders `name=value` that a file lies in, with `%20` and the like read as what they stand for.
fn folders(path: &Path) -> Vec<(String, String)> {
    let parents = path.parent().into_iter().flat_map(Path::components);
    let folder = |component: Component<'_>| {
        let Component::Normal(name) = component else { return None };
        let (name, value) = name.to_str()?.split_once('=')?;
        let plain = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        (!name.is_empty()).then(|| (plain(name), plain(value)))
    };
    parents.filter_map(folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_columns_where_all_files_have_them() {
        let paths = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
        let own =
            FolderColumns::of(&paths(&["d/year=2024/town=New%20York/a.csv", "d/year=2025/town=Oslo/a=b.csv"]), None);
        let own = own.expect("columns");
        assert_eq!(own.names, ["year", "town"]);
        let types: Vec<String> = own.types.iter().map(|found| found.logical_type.to_string()).collect();
        assert_eq!(types, ["BIGINT", "VARCHAR"]);
        let towns = own.repeated(1, 0, 2).expect("values");
        assert_eq!(towns.as_ref(), &StringViewArray::from(vec!["New York"; 2]) as &dyn arrow::array::Array);
        let different = paths(&["d/year=2024/a.csv", "d/a.csv"]);
        assert!(FolderColumns::of(&different, None).expect("none").names.is_empty());
        assert!(FolderColumns::of(&different, Some(true)).is_err());
        assert!(FolderColumns::of(&paths(&["year=1/a.csv"]), Some(false)).expect("none").names.is_empty());
    }
}
