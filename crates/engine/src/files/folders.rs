//! Columns that are the same for all records of a file: folders called `name=value`, as Hive writes them, and the file's name.

use crate::files::options::ReadOptions;
use crate::files::values::classify::{FieldType, Types};
use crate::files::values::format::TextFormat;
use crate::files::values::typed::typed;
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray};
use arrow::datatypes::{Field, Schema};
use datafusion::catalog::Session;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::Expr;
use gingham_storage::SqlState;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The value that stands for NULL.
pub(crate) const FOLDER_OF_NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The column that says which file a record is from.
const FILE_NAME: &str = "filename";

/// Columns that are the same for all records of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct FolderColumns {
    pub(super) names: Vec<String>,
    types: Vec<FieldType>,
    /// For each column an array of its values, one of each file.
    values: Vec<ArrayRef>,
}

impl FolderColumns {
    /// The folders of `paths`, unless `wanted` says that they are none; all files have to have the same where it says so.
    fn of(paths: &[PathBuf], wanted: Option<bool>) -> Result<Self> {
        if wanted == Some(false) {
            return Ok(Self::default());
        }
        let all: Vec<Vec<Folder>> = paths.iter().map(|path| folders(path)).collect();
        let names = |folders: &[Folder]| folders.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
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
            let texts = || all.iter().map(|folders| folders[column].1.as_deref());
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
    fn remove(&mut self, column: usize) {
        self.names.remove(column);
        self.types.remove(column);
        self.values.remove(column);
    }

    /// The columns of `paths` for files that have the columns `own`, with a column of the files' names where the options want it. What the
    /// files have themselves is meant where a folder is called the same.
    pub(super) fn beside(own: &[&str], paths: &[PathBuf], options: &ReadOptions) -> Result<Self> {
        let mut folders = Self::of(paths, options.hive_partitioning)?;
        while let Some(same) = folders.names.iter().position(|name| own.contains(&name.as_str())) {
            folders.remove(same);
        }
        if options.filename {
            if own.contains(&FILE_NAME) {
                let text =
                    format!("{} has a column '{FILE_NAME}' already, so that none can be added", paths[0].display());
                return Err(Error::invalid(SqlState::DuplicateColumn, text));
            }
            folders.names.push(FILE_NAME.to_owned());
            folders.types.push(Types::TEXT.chosen());
            let names = paths.iter().map(|path| Some(path.display().to_string()));
            folders.values.push(Arc::new(names.collect::<StringViewArray>()));
        }
        Ok(folders)
    }

    /// The columns.
    pub(super) fn fields(&self) -> Vec<Field> {
        let types = self.types.iter().map(|found| found.logical_type.to_arrow());
        self.names.iter().zip(types).map(|(name, own)| Field::new(name, own, true)).collect()
    }

    /// Whether a condition is the same for all records of a file, since it looks at these columns alone.
    pub(super) fn decide(&self, filter: &Expr) -> bool {
        let columns = filter.column_refs();
        let own = |column: &&Column| self.names.contains(&column.name);
        !columns.is_empty() && columns.iter().all(own) && !filter.is_volatile()
    }

    /// Numbers of the files, of `all`, that have records for which conditions on these columns may be true.
    pub(super) fn wanted_files(
        &self,
        state: &dyn Session,
        filters: &[Expr],
        all: usize,
    ) -> DataFusionResult<Vec<usize>> {
        let mut wanted: Vec<usize> = (0..all).collect();
        let filters: Vec<&Expr> = filters.iter().filter(|filter| self.decide(filter)).collect();
        if filters.is_empty() {
            return Ok(wanted);
        }
        let files = RecordBatch::try_new(Arc::new(Schema::new(self.fields())), self.values.clone())?;
        let schema = DFSchema::try_from(files.schema())?;
        for filter in filters {
            // Where a condition can't be evaluated, that is told for the records that there are.
            let Ok(condition) = state.create_physical_expr(filter.clone(), &schema) else { continue };
            let Ok(truths) = condition.evaluate(&files).and_then(|truths| truths.into_array(all)) else { continue };
            let truths = truths.as_boolean();
            wanted.retain(|file| truths.is_valid(*file) && truths.value(*file));
        }
        Ok(wanted)
    }

    /// The values of the columns for a file.
    pub(super) fn values_of(&self, file: usize) -> Result<Vec<ScalarValue>> {
        self.values.iter().map(|values| Ok(ScalarValue::try_from_array(values, file)?)).collect()
    }

    /// The value of a column for all of `rows` records of a file.
    pub(super) fn repeated(&self, column: usize, file: usize, rows: usize) -> Result<ArrayRef> {
        let value = ScalarValue::try_from_array(&self.values[column], file)?;
        Ok(value.to_array_of_size(rows)?)
    }
}

/// The name and the value that a folder says.
type Folder = (String, Option<String>);

/// The folders `name=value` that a file lies in, with `%20` and the like read as what they stand for.
fn folders(path: &Path) -> Vec<Folder> {
    let parents = path.parent().into_iter().flat_map(Path::components);
    let folder = |component: Component<'_>| {
        let Component::Normal(name) = component else { return None };
        let (name, value) = name.to_str()?.split_once('=')?;
        let plain = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        (!name.is_empty()).then(|| (plain(name), (value != FOLDER_OF_NULL).then(|| plain(value))))
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
        assert_eq!(towns.as_ref(), &StringViewArray::from(vec!["New York"; 2]) as &dyn Array);
        let different = paths(&["d/year=2024/a.csv", "d/a.csv"]);
        assert!(FolderColumns::of(&different, None).expect("none").names.is_empty());
        assert!(FolderColumns::of(&different, Some(true)).is_err());
        assert!(FolderColumns::of(&paths(&["year=1/a.csv"]), Some(false)).expect("none").names.is_empty());
    }
}
