//! A heap table within the write transaction: its pages as they are read and changed, until they are written back.

use crate::SqlState;
use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::heap_keys::{OVERFLOW, is_page, key};
use crate::lmdb::heap_record::{HeapRecord, RecordId};
use crate::lmdb::records::TableRecord;
use crate::lmdb::values;
use crate::model::heap_options::HeapLayout;
use crate::pages::attribute::{AttributeForm, Field, OverflowReference, OwnedField, PageSchema};
use crate::pages::bounds::ColumnBounds;
use crate::pages::field_column::FieldColumn;
use crate::pages::head::{HEAD, Head};
use crate::pages::load::PageLoader;
use crate::pages::nsm::{NsmPage, SLOT};
use crate::pages::page::Page;
use crate::pages::pax::edit::page_bytes;
use crate::pages::shapes::PageSchemas;
use crate::snapshot::heap::pairs::schemas_of_pairs;
use crate::write::heap::indexes::IndexChanges;
use crate::write::heap::space::Space;
use crate::write::transaction::Transaction;
use crate::{ColumnId, Datum, Error, Result, TableDefinition, TableId};
use arrow::array::RecordBatch;
use heed::PutFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

/// Pages that a writer keeps before it writes them back: 8 MiB of the usual size.
const KEPT: usize = 1024;
/// Pages of a transaction that is large: reading them again takes about as long as a sync.
const LARGE: usize = 128;

/// One heap table in a write transaction.
#[derive(Debug)]
pub struct HeapWriter<'t, 'store> {
    pub(crate) transaction: &'t mut Transaction<'store>,
    pub(crate) state: HeapState,
}

/// What a writer knows of its table, which a writer in another transaction may go on with (`suspended.rs`).
#[derive(Debug)]
pub(crate) struct HeapState {
    pub(crate) record: TableRecord,
    pub(crate) heap: HeapRecord,
    pub(crate) schema: Arc<PageSchema>,
    /// NSM and PAX: the schemas of pages of each shape.
    pub(crate) schemas: PageSchemas,
    /// DSM: the schema of each attribute's relation.
    pub(crate) pairs: Vec<Arc<PageSchema>>,
    pub(crate) pages: BTreeMap<(u32, u64), Kept>,
    pub(crate) space: Space,
    /// DSM: the last page of the relations that records were added to.
    pub(crate) tails: BTreeMap<u32, u64>,
    /// DSM: the pages that have lost many pairs, by the places of their attributes.
    pub(crate) emptier: BTreeSet<(usize, u64)>,
    /// Whether pages went, so that there may be none of the last numbers.
    pub(crate) pages_went: bool,
    /// How many pages of a run older pages have room for the records of.
    pub(crate) refills: u64,
    pub(crate) loader: Option<PageLoader>,
    /// Bounds of each attribute's values.
    pub(crate) bounds: Vec<ColumnBounds>,
    /// Whether anything was changed.
    pub(crate) changed: bool,
    /// What changes in the table's indexes.
    pub(crate) indexes: Vec<IndexChanges>,
    /// The first id of a load that is committed in batches (`suspended.rs`).
    pub(crate) first_new: Option<RecordId>,
}

/// A page in memory.
#[derive(Debug)]
pub(crate) struct Kept {
    page: Page<Vec<u8>>,
    changed: bool,
}

impl<'t, 'store> HeapWriter<'t, 'store> {
    /// The table of that number, which must be a heap table.
    pub(crate) fn open(transaction: &'t mut Transaction<'store>, table: TableId) -> Result<Self> {
        let record = transaction.record(table)?;
        Self::of(transaction, record)
    }

    /// The table of that record.
    pub(crate) fn of(transaction: &'t mut Transaction<'store>, record: TableRecord) -> Result<Self> {
        let heap = record.pages()?.clone();
        let schemas = PageSchemas::of(&record.definition, &heap.shapes);
        let schema = Arc::clone(schemas.current());
        let pairs = schemas_of_pairs(&schema, heap.options.layout);
        let environment = transaction.environment;
        let space = Space::open(environment, &transaction.transaction, record.prefix(), heap.options.page_bytes)?;
        let (pages, tails) = (BTreeMap::new(), BTreeMap::new());
        let bounds = schema.attributes().iter().map(|own| heap.bounds(own)).collect();
        let indexes = record.definition.indexes.iter();
        let indexes = indexes.map(|index| IndexChanges::new(index, schema.attributes())).collect();
        let state = HeapState {
            record,
            heap,
            schema,
            schemas,
            pairs,
            pages,
            space,
            tails,
            emptier: BTreeSet::new(),
            pages_went: false,
            refills: 0,
            loader: None,
            bounds,
            changed: false,
            indexes,
            first_new: None,
        };
        Ok(Self { transaction, state })
    }

    /// Records of the table, with this transaction's changes.
    pub fn rows(&self) -> u64 {
        self.state.heap.rows
    }

    /// Adds a record: a value for each column, in order. Returns its id.
    pub fn insert(&mut self, record: &[Datum]) -> Result<RecordId> {
        self.end_load()?;
        if record.len() != self.state.schema.attributes().len() {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "table {} has {} columns, the record {}",
                    self.state.schema.table,
                    self.state.schema.attributes().len(),
                    record.len()
                ),
            ));
        }
        let schema = Arc::clone(&self.state.schema);
        let fields = schema.attributes().iter().zip(record).map(|(own, value)| Ok(own.field(value)?.into()));
        self.insert_owned(fields.collect::<Result<Vec<OwnedField>>>()?)
    }

    /// Adds the records of a batch, whose columns are the table's, where there is room: for few of them. A load of many has
    /// pages of its own.
    pub fn insert_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        self.end_load()?;
        let columns = self.field_columns(batch)?;
        for row in 0..batch.num_rows() {
            self.insert_owned(columns.iter().map(|column| column.field(row).into()).collect())?;
        }
        Ok(())
    }

    pub(crate) fn insert_owned(&mut self, mut fields: Vec<OwnedField>) -> Result<RecordId> {
        self.state.changed = true;
        self.state.bounds.iter_mut().zip(&fields).for_each(|(bounds, field)| bounds.add(&field.field()));
        let keys = self.index_keys(|at| fields[at].field());
        self.spill(&mut fields)?;
        let id = match self.state.heap.options.layout {
            HeapLayout::Dsm => self.insert_pairs(&fields)?,
            HeapLayout::Nsm | HeapLayout::Pax => self.insert_record(&fields)?,
        };
        self.index_added(keys, id);
        self.state.heap.rows += 1;
        Ok(id)
    }

    /// The columns of a batch as fields. Fails when they are not the table's.
    pub(crate) fn field_columns(&self, batch: &RecordBatch) -> Result<Vec<FieldColumn>> {
        let schema = &self.state.schema;
        if batch.num_columns() != schema.attributes().len() {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "{} columns can't be stored in table '{}', which has {}",
                    batch.num_columns(),
                    schema.table,
                    schema.attributes().len()
                ),
            ));
        }
        FieldColumn::of_batch(schema.attributes(), batch.columns())
    }

    /// Changes columns of a record. Returns the id that it has now, another one when it had to move; `None` when there is no
    /// such record.
    pub fn update(&mut self, id: RecordId, changes: &[(ColumnId, Datum)]) -> Result<Option<RecordId>> {
        self.end_load()?;
        let schema = Arc::clone(&self.state.schema);
        let mut fields: Vec<(usize, OwnedField)> = Vec::with_capacity(changes.len());
        for (column, value) in changes {
            let at = schema.attributes().iter().position(|own| own.column == *column).ok_or_else(|| {
                Error::invalid(
                    SqlState::UndefinedColumn,
                    format!("table {} has no column of number {column}", schema.table),
                )
            })?;
            if fields.iter().any(|(other, _)| *other == at) {
                let name = &schema.attributes()[at].name;
                return Err(Error::invalid(
                    SqlState::DuplicateColumn,
                    format!("column '{name}' of table {} is changed twice", schema.table),
                ));
            }
            let field = schema.attributes()[at].field(value)?;
            self.state.bounds[at].add(&field);
            fields.push((at, field.into()));
        }
        self.update_fields(id, fields)
    }

    fn update_fields(&mut self, id: RecordId, fields: Vec<(usize, OwnedField)>) -> Result<Option<RecordId>> {
        self.state.changed = true;
        if !self.is_indexed(fields.iter().map(|(at, _)| *at)) {
            let now = self.update_pages(id, fields)?;
            if let Some(now) = now.filter(|now| *now != id && self.has_indexes()) {
                let record = self.fields_of(now)?.ok_or_else(|| self.gone(now))?;
                let keys = self.index_keys_of(&record)?;
                self.index_changed((keys.clone(), id), (keys, now));
            }
            return Ok(now);
        }
        let Some(mut record) = self.fields_of(id)? else { return Ok(None) };
        let before = self.index_keys_of(&record)?;
        fields.iter().for_each(|(at, field)| record[*at] = field.clone());
        let after = self.index_keys_of(&record)?;
        let now = self.update_pages(id, fields)?;
        if let Some(now) = now {
            self.index_changed((before, id), (after, now));
        }
        Ok(now)
    }

    fn update_pages(&mut self, id: RecordId, fields: Vec<(usize, OwnedField)>) -> Result<Option<RecordId>> {
        match self.state.heap.options.layout {
            HeapLayout::Dsm => self.update_pairs(id, fields),
            HeapLayout::Nsm | HeapLayout::Pax => self.update_record(id, fields),
        }
    }

    /// The ids of all records.
    pub fn record_ids(&mut self) -> Result<Vec<RecordId>> {
        self.end_load()?;
        match self.state.heap.options.layout {
            HeapLayout::Dsm => self.ids_of_pairs(),
            HeapLayout::Nsm | HeapLayout::Pax => self.ids_of_pages(),
        }
    }

    /// All fields of a record, as they lie in its pages.
    pub(crate) fn fields_of(&mut self, id: RecordId) -> Result<Option<Vec<OwnedField>>> {
        let all: Vec<usize> = self.state.schema.places().collect();
        self.fields_at(id, &all)
    }

    fn fields_at(&mut self, id: RecordId, places: &[usize]) -> Result<Option<Vec<OwnedField>>> {
        match self.state.heap.options.layout {
            HeapLayout::Dsm => self.pairs_of(id, places),
            HeapLayout::Nsm | HeapLayout::Pax => self.record_of(id, places),
        }
    }

    /// Changes columns of records: `values` has their new values, column by column, a row for each id. Fails when there is no
    /// record of some id.
    pub fn update_all(&mut self, ids: &[RecordId], columns: &[ColumnId], values: &RecordBatch) -> Result<()> {
        self.end_load()?;
        let schema = Arc::clone(&self.state.schema);
        let place = |column: &ColumnId| schema.attributes().iter().position(|own| own.column == *column);
        let mut changed = Vec::with_capacity(columns.len());
        for (column, array) in columns.iter().zip(values.columns()) {
            let at = place(column).ok_or_else(|| {
                Error::invalid(
                    SqlState::UndefinedColumn,
                    format!("table {} has no column of number {column}", schema.table),
                )
            })?;
            let fields = FieldColumn::new(&schema.attributes()[at], array)?;
            fields.add_to(&mut self.state.bounds[at]);
            changed.push((at, fields));
        }
        let fixed = changed.iter().all(|(at, _)| schema.attributes()[*at].kind != AttributeForm::Variable);
        let is_paged = self.state.heap.options.layout != HeapLayout::Dsm && self.state.schemas.is_plain();
        if fixed && is_paged && !self.has_indexes() {
            self.state.changed = true;
            return self.update_fixed(ids, &changed);
        }
        for (row, id) in ids.iter().enumerate() {
            let fields = changed.iter().map(|(at, fields)| (*at, fields.field(row).into())).collect();
            self.update_fields(*id, fields)?.ok_or_else(|| self.gone(*id))?;
        }
        Ok(())
    }

    /// Deletes records. Fails when there is none of some id.
    pub fn delete_all(&mut self, ids: &[RecordId]) -> Result<()> {
        for id in ids {
            if !self.delete(*id)? {
                return Err(self.gone(*id));
            }
        }
        Ok(())
    }

    pub(crate) fn gone(&self, id: RecordId) -> Error {
        Error::invalid(SqlState::InvalidParameterValue, format!("table {} has no record {id}", self.state.schema.table))
    }

    /// Deletes a record; false when there is none of that id.
    pub fn delete(&mut self, id: RecordId) -> Result<bool> {
        self.state.changed = true;
        self.end_load()?;
        let record = if self.has_indexes() { self.fields_of(id)? } else { None };
        let keys = record.map(|record| self.index_keys_of(&record)).transpose()?;
        let found = match self.state.heap.options.layout {
            HeapLayout::Dsm => self.delete_pairs(id)?,
            HeapLayout::Nsm | HeapLayout::Pax => self.delete_record(id)?,
        };
        if let Some(keys) = keys {
            self.index_removed(keys, id);
            self.index_some()?;
        }
        self.state.heap.rows -= u64::from(found);
        Ok(found)
    }

    /// The values of a record, in the order of the columns; `None` when there is none of that id.
    pub fn get(&mut self, id: RecordId) -> Result<Option<Vec<Datum>>> {
        let all: Vec<usize> = self.state.schema.places().collect();
        self.values(id, &all)
    }

    /// The values that a record has of the columns at these places among the table's; `None` when there is no record of that id.
    pub fn values(&mut self, id: RecordId, places: &[usize]) -> Result<Option<Vec<Datum>>> {
        self.end_load()?;
        let Some(fields) = self.fields_at(id, places)? else { return Ok(None) };
        let mut values = Vec::with_capacity(fields.len());
        for (at, field) in places.iter().zip(fields) {
            let own = &self.state.schema.attributes()[*at];
            values.push(match field {
                OwnedField::Overflow(reference) => own.datum(&Field::Bytes(&self.fetch(reference)?))?,
                field => own.datum(&field.field())?,
            });
        }
        Ok(Some(values))
    }

    /// Moves values out of a record until it fits a page: those longer than a quarter of a page, then the longest first.
    pub(crate) fn spill(&mut self, fields: &mut [OwnedField]) -> Result<()> {
        loop {
            let list: Vec<Field<'_>> = fields.iter().map(OwnedField::field).collect();
            let bytes = match self.state.heap.options.layout {
                HeapLayout::Pax => page_bytes(&self.state.schema, &list),
                HeapLayout::Nsm => HEAD + SLOT + NsmPage::record_bytes(&self.state.schema, &list),
                HeapLayout::Dsm => 0,
            };
            let inline = |field: &OwnedField| match field {
                OwnedField::Bytes(bytes) => bytes.len(),
                _ => 0,
            };
            let longest = (0..fields.len()).max_by_key(|at| inline(&fields[*at])).unwrap_or(0);
            let length = fields.get(longest).map_or(0, inline);
            if length <= self.state.heap.options.longest_value() && bytes <= self.state.heap.options.page_bytes {
                return Ok(());
            }
            let OwnedField::Bytes(value) = &fields[longest] else { return Err(self.too_large()) };
            if length <= OverflowReference::BYTES {
                return Err(self.too_large());
            }
            fields[longest] = OwnedField::Overflow(self.store(value)?);
        }
    }

    /// Moves the values out that are longer than a quarter of a page.
    pub(crate) fn spill_values(&mut self, fields: &mut [OwnedField]) -> Result<()> {
        for field in fields {
            if let OwnedField::Bytes(value) = field
                && value.len() > self.state.heap.options.longest_value()
            {
                *field = OwnedField::Overflow(self.store(value)?);
            }
        }
        Ok(())
    }

    /// The error for a record that fits no page.
    pub(crate) fn too_large(&self) -> Error {
        Error::invalid(
            SqlState::ProgramLimitExceeded,
            format!(
                "a record of table {} does not fit a page of {} bytes; choose a larger page_size",
                self.state.schema.table, self.state.heap.options.page_bytes
            ),
        )
    }

    /// Keeps a value that is too long for a page.
    fn store(&mut self, value: &[u8]) -> Result<OverflowReference> {
        let length = u32::try_from(value.len()).map_err(|_| {
            Error::invalid(
                SqlState::ProgramLimitExceeded,
                format!("a value of {} bytes is too long for table {}", value.len(), self.state.schema.table),
            )
        })?;
        let reference = OverflowReference { number: self.state.heap.next_overflow, length };
        self.state.heap.next_overflow += 1;
        self.note_written(OVERFLOW, reference.number, value.len())?;
        let key = key(self.table(), OVERFLOW, reference.number);
        values::put(self.transaction.environment, &mut self.transaction.transaction, Name::Heap, &key, value)?;
        Ok(reference)
    }

    /// A value that is too long for a page.
    pub(crate) fn fetch(&self, reference: OverflowReference) -> Result<Vec<u8>> {
        let environment = self.transaction.environment;
        crate::snapshot::heap::page_source::long_value(
            environment,
            &self.transaction.transaction,
            &self.state.schema.table,
            self.table(),
            reference,
        )
    }

    /// Removes the long values among fields that are no longer a record's.
    pub(crate) fn forget(&mut self, fields: &[OwnedField]) -> Result<()> {
        for field in fields {
            if let OwnedField::Overflow(reference) = field {
                self.note(OVERFLOW, reference.number);
                let key = key(self.table(), OVERFLOW, reference.number);
                values::delete(self.transaction.environment, &mut self.transaction.transaction, Name::Heap, &key)?;
            }
        }
        Ok(())
    }

    /// Tells the transaction of a page or long value that its queries have to read anew.
    fn note(&mut self, attribute: u32, number: u64) -> bool {
        let table = self.table();
        self.transaction.heap.pages.note(table, attribute, number)
    }

    /// Notes that a page is written.
    fn note_written(&mut self, attribute: u32, number: u64, bytes: usize) -> Result<()> {
        if self.note(attribute, number) { self.transaction.heap.dirty.add_value(bytes) } else { Ok(()) }
    }

    /// The table.
    pub fn definition(&self) -> &TableDefinition {
        &self.state.record.definition
    }

    /// What the keys of the table's pages begin with.
    pub(crate) fn table(&self) -> TableId {
        self.state.heap.prefix(self.state.record.definition.id)
    }

    /// A page as this transaction has changed it. The caller knows that it is there.
    pub(crate) fn page(&mut self, attribute: u32, number: u64) -> Result<&Page<Vec<u8>>> {
        Ok(&self.kept(attribute, number)?.page)
    }

    /// A page, to be changed.
    pub(crate) fn page_mut(&mut self, attribute: u32, number: u64) -> Result<&mut Page<Vec<u8>>> {
        let kept = self.kept(attribute, number)?;
        kept.changed = true;
        Ok(&mut kept.page)
    }

    fn kept(&mut self, attribute: u32, number: u64) -> Result<&mut Kept> {
        if self.state.pages.len() >= KEPT && !self.state.pages.contains_key(&(attribute, number)) {
            self.write_back()?;
            self.state.pages.clear();
        }
        if !self.state.pages.contains_key(&(attribute, number)) {
            let page = self.read_page(attribute, number)?;
            self.state.pages.insert((attribute, number), Kept { page, changed: false });
        }
        self.state
            .pages
            .get_mut(&(attribute, number))
            .ok_or_else(|| Error::Internal("a page that was just read".into()))
    }

    fn read_page(&self, attribute: u32, number: u64) -> Result<Page<Vec<u8>>> {
        let (environment, layout) = (self.transaction.environment, self.state.heap.options.layout);
        let place = || crate::snapshot::heap::reader::place(environment, &self.state.schema, attribute, number);
        let key = key(self.table(), attribute, number);
        let bytes = values::get_raw(environment, &self.transaction.transaction, Name::Heap, &key)?;
        let bytes = bytes.ok_or_else(|| Error::corrupt(place(), "the page is missing"))?.to_vec();
        let schema = match layout {
            HeapLayout::Dsm => self.schema_of(attribute),
            HeapLayout::Nsm | HeapLayout::Pax => self.state.schemas.of_page(&Head::parse(&bytes, &place)?, &place)?,
        };
        let page = Page::open(layout, bytes, schema, true, &place)?;
        if let Page::Pax(page) = &page {
            page.schema.places().try_for_each(|at| page.verify(at, &place))?;
        }
        Ok(page)
    }

    /// The schema of the pages of an attribute's relation.
    fn schema_of(&self, attribute: u32) -> &Arc<PageSchema> {
        let at = self.state.schema.attributes().iter().position(|own| own.column == attribute);
        at.and_then(|at| self.state.pairs.get(at)).unwrap_or(&self.state.schema)
    }

    /// Takes a new page into the transaction; it is written at once, so that its key can be found.
    pub(crate) fn add_page(&mut self, attribute: u32, number: u64, mut page: Page<Vec<u8>>) -> Result<()> {
        self.put_page(attribute, number, &mut page)?;
        self.state.pages.insert((attribute, number), Kept { page, changed: false });
        Ok(())
    }

    /// Removes a page.
    pub(crate) fn remove_page(&mut self, attribute: u32, number: u64) -> Result<()> {
        self.state.pages.remove(&(attribute, number));
        self.note(attribute, number);
        let key = key(self.table(), attribute, number);
        values::delete(self.transaction.environment, &mut self.transaction.transaction, Name::Heap, &key)
    }

    /// Writes a page.
    pub(crate) fn put_page(&mut self, attribute: u32, number: u64, page: &mut Page<Vec<u8>>) -> Result<()> {
        let commit = self.transaction.state.commit;
        self.put_bytes(attribute, number, page.seal(commit))
    }

    /// Writes a page's bytes: behind all others of the database without a search, else into room that LMDB gives.
    pub(crate) fn put_bytes(&mut self, attribute: u32, number: u64, bytes: &[u8]) -> Result<()> {
        debug_assert!(is_page(attribute), "attribute {attribute} has no pages");
        self.note_written(attribute, number, bytes.len())?;
        let key = key(self.table(), attribute, number);
        let environment = self.transaction.environment;
        let (heap, transaction) = (environment.values(Name::Heap)?, &mut self.transaction.transaction);
        let failed = environment.failed("writing");
        let last = heap.last(transaction).map_err(&failed)?.is_none_or(|(last, _)| last < &key[..]);
        if last {
            return heap.put_with_flags(transaction, PutFlags::APPEND, &key, bytes).map_err(failed);
        }
        heap.put_reserved(transaction, &key, bytes.len(), |room| room.write_all(bytes)).map_err(failed)
    }

    /// Writes all changed pages.
    pub(crate) fn write_back(&mut self) -> Result<()> {
        let mut pages = std::mem::take(&mut self.state.pages);
        for ((attribute, number), kept) in pages.iter_mut().filter(|(_, kept)| kept.changed) {
            self.put_page(*attribute, *number, &mut kept.page)?;
            kept.changed = false;
        }
        self.state.pages = pages;
        Ok(())
    }

    /// Writes all that has changed, so that the transaction's commit makes it visible.
    pub(crate) fn finish(mut self) -> Result<()> {
        if !self.state.changed {
            return Ok(());
        }
        self.end_load()?;
        self.finish_indexes()?;
        self.join_pages_of_pairs()?;
        self.cut_numbers()?;
        self.write_back()?;
        let environment: &Environment = self.transaction.environment;
        self.state.space.flush(environment, &mut self.transaction.transaction)?;
        self.transaction.changes.is_large |= self.transaction.heap.pages.len() > LARGE;
        // Of no record nothing is known.
        self.state.heap.columns = if self.state.heap.rows == 0 { Vec::new() } else { self.state.bounds };
        self.state.record.heap = Some(self.state.heap);
        self.transaction.put_record(self.state.record)
    }
}
