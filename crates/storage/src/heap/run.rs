//! A run of pages that a load fills outside of any transaction, in a file of its own: so threads fill pages side by side, and
//! the writer's lock is held only while they are copied into the catalog. The file is never synced, and goes with its run.

use super::attribute::PageSchema;
use super::bounds::ColumnBounds;
use super::field_column::FieldColumn;
use super::load::{HeapOptions, PageLoader};
use super::page::Page;
use crate::{Error, Result, TableDefinition};
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
        Ok(Self { schema, loader, file, run: PageRun { path, options, rows: 0, bounds } })
    }

    /// Adds the records of a batch, or none of them and gives false: when there is one that may not fit a page as it is.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<bool> {
        let Self { schema, loader, file, run } = self;
        let columns = FieldColumn::of_batch(schema.attributes(), batch.columns())?;
        let (rows, bytes) = (batch.num_rows(), run.options.page_bytes);
        if !(0..rows).all(|row| FieldColumn::surely_fits(&columns, row, schema, bytes)) {
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
        let Self { mut loader, mut file, run, .. } = self;
        loader.finish(&mut |_, mut page| put(&mut file, &run, &mut page))?;
        file.flush().map_err(Error::io("writing", &run.path))?;
        Ok(run)
    }
}

fn put(file: &mut BufWriter<File>, run: &PageRun, page: &mut Page<Vec<u8>>) -> Result<()> {
    file.write_all(page.seal(0)).map_err(Error::io("writing", &run.path))
}

impl PageRun {
    /// Calls `visit` with the bytes of each page, in order, and with what names it in errors.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&mut [u8], &dyn Fn() -> String) -> Result<()>) -> Result<()> {
        let failed = || Error::io("reading", &self.path);
        let file = File::open(&self.path).map_err(failed())?;
        let pages = file.metadata().map_err(failed())?.len() / self.options.page_bytes as u64;
        let mut file = BufReader::with_capacity(BUFFER, file);
        let mut page = vec![0; self.options.page_bytes];
        for number in 0..pages {
            file.read_exact(&mut page).map_err(failed())?;
            visit(&mut page, &|| format!("{}, page {number}", self.path.display()))?;
        }
        Ok(())
    }
}
