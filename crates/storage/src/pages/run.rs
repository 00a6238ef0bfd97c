//! A run of pages that a load fills outside of any transaction, in a file of its own: so threads fill pages side by side, and
//! the writer's lock is held only while they are copied into the catalog. The file is never synced, and goes with its run.

use crate::model::heap_options::HeapOptions;
use crate::pages::attribute::PageSchema;
use crate::pages::bounds::ColumnBounds;
use crate::pages::field_column::FieldColumn;
use crate::pages::load::PageLoader;
use crate::pages::page::Page;
use crate::{ColumnId, Error, Result, TableDefinition};
use arrow::array::RecordBatch;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that are written and read at once.
const BUFFER: usize = 1 << 20;

/// Fills the pages of a run.
#[derive(Debug)]
pub(crate) struct RunWriter {
    schema: Arc<PageSchema>,
    loader: PageLoader,
    file: BufWriter<File>,
    run: PageRun,
}

/// A run of pages: numbered from 0, of table 0, until a table takes them.
#[derive(Debug)]
pub(crate) struct PageRun {
    path: PathBuf,
    /// What the pages are like.
    pub options: HeapOptions,
    /// The columns of the records, and whether they may be NULL.
    columns: Vec<(ColumnId, bool)>,
    pages: u64,
    /// Records in them.
    pub rows: u64,
    /// Bounds of each attribute's values.
    pub bounds: Vec<ColumnBounds>,
}

impl RunWriter {
    /// A run of pages of `definition`, in a new file.
    pub(crate) fn create(path: PathBuf, definition: &TableDefinition, options: HeapOptions) -> Result<Self> {
        let schema = Arc::new(PageSchema::new(definition));
        let file = BufWriter::with_capacity(BUFFER, File::create(&path).map_err(Error::io("creating", &path))?);
        let bounds = schema.attributes().iter().map(ColumnBounds::empty).collect();
        let loader = PageLoader::new(options, &schema, 0, 0);
        let columns = columns_of(definition);
        let run = PageRun { path, options, columns, pages: 0, rows: 0, bounds };
        Ok(Self { schema, loader, file, run })
    }

    /// Adds the records of a batch, or none of them and gives false: when there is one that may not fit a page as it is.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<bool> {
        let Self { schema, loader, file, run } = self;
        let columns = FieldColumn::of_batch(schema.attributes(), batch.columns())?;
        let rows = batch.num_rows();
        if !(0..rows).all(|row| FieldColumn::surely_fits(&columns, row, schema, &run.options)) {
            return Ok(false);
        }
        run.bounds.iter_mut().zip(&columns).for_each(|(bounds, column)| column.add_to(bounds));
        if run.rows == 0 {
            loader.expect_rows(&columns, rows);
        }
        loader.push_rows(&columns, 0..rows, &mut |_, mut page| put(file, run, &mut page))?;
        run.rows += rows as u64;
        Ok(true)
    }

    /// Ends the run, the last page as it is.
    pub(crate) fn finish(self) -> Result<PageRun> {
        let Self { mut loader, mut file, mut run, .. } = self;
        loader.finish(&mut |_, mut page| put(&mut file, &mut run, &mut page))?;
        file.flush().map_err(Error::io("writing", &run.path))?;
        Ok(run)
    }
}

fn put(file: &mut BufWriter<File>, run: &mut PageRun, page: &mut Page<Vec<u8>>) -> Result<()> {
    run.pages += 1;
    file.write_all(page.seal(0)).map_err(Error::io("writing", &run.path))
}

/// The columns of a table as pages depend on them.
fn columns_of(definition: &TableDefinition) -> Vec<(ColumnId, bool)> {
    definition.columns.iter().map(|column| (column.id, column.nullable)).collect()
}

impl PageRun {
    /// Whether the pages are as those of a table are that has pages of these options.
    pub(crate) fn fits(&self, definition: &TableDefinition, options: HeapOptions) -> bool {
        self.options == options && self.columns == columns_of(definition)
    }

    /// Bytes of its pages.
    pub(crate) fn bytes(&self) -> u64 {
        self.pages * self.options.page_bytes as u64
    }

    /// Refuses what was read when the pages had other than `records` records.
    pub(crate) fn require_records(&self, records: u64) -> Result<()> {
        if records == self.rows {
            return Ok(());
        }
        let place = self.path.display().to_string();
        Err(Error::corrupt(place, format!("{records} records are found, {} were written", self.rows)))
    }

    /// Calls `visit` with the bytes of each page, in order, and with what names it in errors.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&mut [u8], &dyn Fn() -> String) -> Result<()>) -> Result<()> {
        let failed = || Error::io("reading", &self.path);
        let file = File::open(&self.path).map_err(failed())?;
        let (bytes, page) = (file.metadata().map_err(failed())?.len(), self.options.page_bytes as u64);
        if !bytes.is_multiple_of(page) {
            let place = self.path.display().to_string();
            return Err(Error::corrupt(place, format!("{bytes} bytes are no whole pages of {page} bytes")));
        }
        let pages = bytes / page;
        let mut file = BufReader::with_capacity(BUFFER, file);
        let mut page = vec![0; self.options.page_bytes];
        for number in 0..pages {
            file.read_exact(&mut page).map_err(failed())?;
            visit(&mut page, &|| format!("{}, page {number}", self.path.display()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::heap_options::HeapLayout;
    use crate::{ColumnDefinition, LogicalType, TableName};

    #[test]
    fn a_run_fits_the_options_and_columns_that_it_was_made_for() {
        let column = ColumnDefinition::new(1, "a", LogicalType::Int(32));
        let name = TableName { schema: "public".into(), table: "t".into() };
        let definition = TableDefinition::new(name, vec![column]);
        let [nsm, pax] = [HeapLayout::Nsm, HeapLayout::Pax].map(HeapOptions::new);
        let folder = tempfile::tempdir().unwrap();
        let writer = RunWriter::create(folder.path().join("1.pages"), &definition, nsm).unwrap();
        let run = writer.finish().unwrap();
        let change = |change: fn(&mut ColumnDefinition)| {
            let mut changed = definition.clone();
            change(&mut changed.columns[0]);
            changed
        };
        assert!(run.fits(&definition, nsm) && run.fits(&change(|column| column.name = "b".into()), nsm));
        assert!(!run.fits(&definition, pax));
        assert!(!run.fits(&change(|column| column.nullable = false), nsm));
        assert!(!run.fits(&change(|column| column.id = 2), nsm));
        assert!(!run.fits(&TableDefinition { columns: Vec::new(), ..definition.clone() }, nsm));
    }
}
