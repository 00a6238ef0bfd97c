//! Scans of heap tables: the same predicates on the same codes, page by page, of which only the minipages are touched that a
//! predicate or the projection needs (the paper's section 4.3).

use crate::decode::arrays::{Selection, values};
use crate::lmdb::heap_record::RecordId;
use crate::pages::attribute::{Attribute, AttributeForm};
use crate::scan::code::{CodePredicate, Reach};
use crate::scan::evaluate::EvaluatedZone;
use crate::scan::projected;
use crate::scan::translate::{Facts, Prepared, translate};
use crate::snapshot::heap::reader::{HeapReader, HeapZone};
use crate::{ColumnDefinition, ColumnId, Datum, Error, Predicate, Result};
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use gingham_kernels::{Isa, bits};
use std::sync::Arc;

/// A prepared scan of a heap table at one commit.
#[derive(Debug)]
pub struct HeapScan {
    reader: Arc<HeapReader>,
    /// Attributes of the output.
    projection: Vec<usize>,
    schema: SchemaRef,
    predicate: CodePredicate,
    isa: Isa,
}

impl HeapScan {
    /// Prepares a scan: `predicate` is translated once, since the codes of all pages mean the same. Fails for a column that
    /// the table does not have, for a constant of another class than the column's, and when a test fails.
    pub fn new(reader: Arc<HeapReader>, projection: Vec<ColumnId>, predicate: &Predicate, isa: Isa) -> Result<Self> {
        let definition = reader.definition();
        let (columns, schema) = projected(definition, projection)?;
        let projection = columns.iter().map(|column| attribute(&reader, column)).collect::<Result<Vec<_>>>()?;
        let mut prepared = Prepared::new(predicate, definition, &mut 0)?;
        // The keys of a set are made bits once for all pages, however many records these have.
        let predicate = translate(&mut prepared, usize::MAX, &|column| {
            Ok(facts(&reader.schema().attributes()[attribute(&reader, column)?]))
        })?;
        Ok(Self { reader, projection, schema, predicate, isa })
    }

    /// Schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Zones to read: a page each, in DSM a run of record ids.
    pub fn zones(&self) -> u64 {
        self.reader.zones()
    }

    /// The ids of the records of a zone that match, in the order of their slots.
    pub fn matches(&self, zone: u64) -> Result<Vec<RecordId>> {
        let zone = self.reader.zone(zone)?;
        Ok(self.rows(&zone)?.into_iter().map(|row| zone.id_of_row(row as usize)).collect())
    }

    /// The records of a zone that match, as the projection asks for them; a batch without rows when none does.
    pub fn read(&self, zone: u64) -> Result<RecordBatch> {
        let zone = self.reader.zone(zone)?;
        let rows = self.rows(&zone)?;
        if rows.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let selection = if rows.len() == zone.rows() { Selection::Run(0..rows.len()) } else { Selection::Tids(&rows) };
        let column = |attribute: &usize| values(&zone.view(*attribute)?, &selection, self.isa);
        let columns = self.projection.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    /// The rows of a zone that are records and match, ascending.
    fn rows(&self, zone: &HeapZone<'_>) -> Result<Vec<u32>> {
        let rows = zone.rows();
        let mut tids = Vec::new();
        if rows == 0 {
            return Ok(tids);
        }
        let live = zone.live_rows();
        let evaluation = EvaluatedZone {
            rows,
            isa: self.isa,
            view: &|column| zone.view(attribute(&self.reader, column)?),
            zone_map: &|_| None,
            tally: None,
        };
        let mut result = evaluation.evaluate(&self.predicate, live.as_deref())?;
        if let Some(live) = live {
            bits::and(&mut result, &live);
        }
        bits::to_tids(self.isa, &result, 0, &mut tids);
        Ok(tids)
    }
}

/// The attribute that a column is.
fn attribute(reader: &HeapReader, column: &ColumnDefinition) -> Result<usize> {
    let found = reader.schema().attributes().iter().position(|own| own.column == column.id);
    found.ok_or_else(|| Error::Internal(format!("the pages of the table have no column '{}'", column.name)))
}

/// What all pages of a table say of an attribute.
fn facts(own: &Attribute) -> Facts {
    match own.kind {
        AttributeForm::Fixed(width @ ..=8) => {
            Facts::Coded { meaning: own.meaning(), max_code: own.max_code(), reach: Reach::Native(width as u8) }
        }
        _ => Facts::Values { min: Datum::Null, max: Datum::Null },
    }
}
