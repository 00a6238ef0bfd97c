//! What the catalog's values say: counters, tables, segments, delta blocks, dictionaries, and the keys they lie under.

use crate::SqlState;
use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::heap_record::HeapRecord;
use crate::lmdb::values;
use crate::model::labels::Label;
use crate::model::sequence::SequenceRecord;
use crate::model::table::ViewDefinition;
use crate::segment::SegmentId;
use crate::{ColumnId, Design, Error, Result, TableDefinition, TableId, TableName};
use heed::{RoTxn, RwTxn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Key of the [`DatabaseState`] in the meta database.
pub(crate) const STATE_KEY: &[u8] = b"state";

/// The database as a whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DatabaseState {
    /// Number of this commit.
    pub(crate) commit: u64,
    /// LMDB's number of the transaction that wrote this value. A meta page that names another was damaged.
    pub(crate) transaction: u64,
    /// Next number of a table, and of whatever else has a number of its own: views, sequences, schemas, constraints, indexes.
    pub(crate) next_table: TableId,
    /// Next segment number, also of delta blocks.
    pub(crate) next_segment: SegmentId,
    /// Next view number, of older versions, in which views had a counter of their own: no number below it is one of a view to come.
    pub(crate) next_view: u64,
    /// Schema names.
    pub(crate) schemas: Vec<String>,
    /// Numbers and comments of schemas.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) schema_labels: BTreeMap<String, Label>,
    /// Comments of views, by their numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) view_comments: BTreeMap<u64, String>,
}

impl DatabaseState {
    /// That of an empty database.
    pub(crate) fn first(schemas: Vec<String>) -> Self {
        Self {
            commit: 1,
            transaction: 0,
            next_table: 1,
            next_segment: 1,
            next_view: 1,
            schemas,
            schema_labels: BTreeMap::new(),
            view_comments: BTreeMap::new(),
        }
    }

    /// A number that no table, view or other object has had.
    pub(crate) fn next_number(&mut self) -> u64 {
        let number = self.next_table.max(self.next_view);
        self.next_table = number + 1;
        number
    }
}

/// One table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TableRecord {
    /// Columns, constraints, options.
    pub(crate) definition: TableDefinition,
    /// The commit that last changed the definition or the data. Not in the table's value where that has [`Contents`] beside it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) version: u64,
    /// Number of segments. Their values are found by the table's number in their keys; one that a damaged key hides is
    /// missed by this count.
    pub(crate) segments: u64,
    /// Position that the next segment takes in record order.
    pub(crate) next_position: u64,
    /// Number that the next dictionary version takes; shared by the table's columns.
    pub(crate) next_dictionary: u32,
    /// Delta blocks in record order.
    pub(crate) delta: Vec<DeltaRecord>,
    /// Segments and delta blocks that have deleted records, in the order of their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) deleted: Vec<DeletedRecord>,
    /// The pages of a heap table, whose records lie in them instead of in segments and delta blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) heap: Option<HeapRecord>,
}

impl TableRecord {
    /// What the keys of a heap table's pages begin with.
    pub(crate) fn prefix(&self) -> TableId {
        let own = self.definition.id;
        self.heap.as_ref().map_or(own, |heap| heap.prefix(own))
    }

    /// What there is to know of a heap table's pages. Fails for a table in columns.
    pub(crate) fn pages(&self) -> Result<&HeapRecord> {
        self.heap.as_ref().ok_or_else(|| {
            Error::invalid(
                SqlState::InvalidParameterValue,
                format!("table '{}' is not kept in heap pages", self.definition.name),
            )
        })
    }

    /// A heap table's design names its pages, which it did not before SQL knew of them.
    fn with_design(mut self) -> Self {
        if let Some(heap) = &self.heap {
            self.definition.design = Design::of_pages(heap.options);
        }
        self
    }
}

/// What changes of a heap table's record with its records. It has a value of its own, beside the state, so that a change of a record
/// doesn't write the definition anew: two pages fewer to sync.
#[derive(Serialize, Deserialize)]
struct Contents {
    version: u64,
    heap: HeapRecord,
}

impl Contents {
    /// Key in the meta database.
    fn key(table: TableId) -> String {
        format!("{CONTENTS}{table}")
    }

    /// The record of a table with its own value's rest.
    fn complete(self, record: TableRecord) -> TableRecord {
        let Self { version, heap } = self;
        TableRecord { version, heap: Some(heap), ..record }.with_design()
    }
}

/// A table's record of the payloads of its values; `None` where the second is needed and is not there.
pub(crate) fn of_payloads(
    record: &[u8],
    contents: Option<&[u8]>,
    place: &dyn Fn() -> String,
) -> Result<Option<TableRecord>> {
    let record: TableRecord = values::parse(record, place)?;
    if record.version != 0 {
        return Ok(Some(record.with_design()));
    }
    let contents = contents.map(|contents| values::parse::<Contents>(contents, place)).transpose()?;
    Ok(contents.map(|contents| contents.complete(record)))
}

/// Key of a heap table's contents in the meta database.
pub(crate) fn contents_key(table: TableId) -> String {
    Contents::key(table)
}

/// The name in the payload of a table's value.
pub(crate) fn name_in(payload: &[u8]) -> Option<TableName> {
    serde_json::from_slice::<TableRecord>(payload).ok().map(|record| record.definition.name)
}

const CONTENTS: &str = "contents ";

/// The table in the key of a heap table's contents in the meta database.
pub(crate) fn table_of_contents(key: &[u8]) -> Option<TableId> {
    std::str::from_utf8(key).ok()?.strip_prefix(CONTENTS)?.parse().ok()
}

/// For serde, which passes a reference.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One delta block; its image is a value of the delta database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeltaRecord {
    /// Number, of the segments' sequence: a block that is rewritten gets another.
    pub(crate) id: SegmentId,
    /// Records.
    pub(crate) rows: u64,
    /// Length of the image.
    pub(crate) bytes: u64,
}

/// The deleted records of one segment or delta block; the values of the deleted database say which they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeletedRecord {
    /// The segment or delta block.
    pub(crate) segment: SegmentId,
    /// Deleted records.
    pub(crate) rows: u64,
    /// Number of their bits, of the segments' sequence: bits that change get another.
    pub(crate) number: u64,
}

/// One segment file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentRecord {
    /// Number, which names the file.
    pub(crate) id: SegmentId,
    /// Records.
    pub(crate) rows: u64,
    /// Length of the file.
    pub(crate) bytes: u64,
    /// Checksum of the file's directory.
    pub(crate) directory_checksum: u32,
    /// Version of each column that is encoded by dictionary.
    pub(crate) dictionaries: Vec<(ColumnId, u32)>,
    /// Files of segments that had the same records before, which have the columns that this one's own file lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<PartRecord>,
}

/// The file of an earlier segment, of which some columns are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartRecord {
    /// Number, which names the file.
    pub(crate) id: SegmentId,
    /// Length of the file.
    pub(crate) bytes: u64,
    /// Checksum of the file's directory.
    pub(crate) directory_checksum: u32,
    /// The columns, at least one.
    pub(crate) columns: Vec<ColumnId>,
}

impl SegmentRecord {
    /// Its files with the checksums of their directories.
    pub(crate) fn checksums(&self) -> impl Iterator<Item = (SegmentId, u32)> {
        let parts = self.parts.iter().map(|part| (part.id, part.directory_checksum));
        std::iter::once((self.id, self.directory_checksum)).chain(parts)
    }

    /// The numbers of its files.
    pub(crate) fn files(&self) -> impl Iterator<Item = SegmentId> {
        std::iter::once(self.id).chain(self.parts.iter().map(|part| part.id))
    }
}

/// Key of a table's value, or of a view's.
pub(crate) fn id_key(id: u64) -> [u8; 8] {
    id.to_be_bytes()
}

/// Key of a segment's value: table and position in record order; of a delta image: table and block.
pub(crate) fn pair_key(table: TableId, second: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&table.to_be_bytes());
    key[8..].copy_from_slice(&second.to_be_bytes());
    key
}

/// Key of a dictionary version's value.
pub(crate) fn dictionary_key(table: TableId, column: ColumnId, version: u32) -> [u8; 16] {
    pair_key(table, u64::from(column) << 32 | u64::from(version))
}

/// The number in the key of a table or view.
pub(crate) fn id_of_key(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.try_into().ok()?))
}

/// The two numbers in the key of a segment, delta block or dictionary.
pub(crate) fn pair_of_key(key: &[u8]) -> Option<(TableId, u64)> {
    let (table, second) = key.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*table), u64::from_be_bytes(second.try_into().ok()?)))
}

/// Reads the state.
pub(crate) fn state(environment: &Environment, transaction: &RoTxn<'_>) -> Result<DatabaseState> {
    values::get_json(environment, transaction, Name::Meta, STATE_KEY)?.ok_or_else(|| {
        let place = environment.folder().join("data.mdb").display().to_string();
        Error::corrupt(place, "the meta value 'state' is missing; restore a backup")
    })
}

/// Writes the state.
pub(crate) fn put_state(environment: &Environment, transaction: &mut RwTxn<'_>, state: &DatabaseState) -> Result<()> {
    values::put_json(environment, transaction, Name::Meta, STATE_KEY, state)
}

/// Reads one table.
pub(crate) fn table(environment: &Environment, transaction: &RoTxn<'_>, id: TableId) -> Result<Option<TableRecord>> {
    let record = values::get_json(environment, transaction, Name::Tables, &id_key(id))?;
    record.map(|record| with_contents(environment, transaction, record)).transpose()
}

/// A table's record with what its own value does not say.
fn with_contents(environment: &Environment, transaction: &RoTxn<'_>, record: TableRecord) -> Result<TableRecord> {
    if record.version != 0 {
        return Ok(record.with_design());
    }
    let key = Contents::key(record.definition.id);
    let contents: Option<Contents> = values::get_json(environment, transaction, Name::Meta, key.as_bytes())?;
    let Some(contents) = contents else {
        let place = environment.folder().join("data.mdb").display().to_string();
        return Err(Error::corrupt(place, format!("the meta value '{key}' is missing; restore a backup")));
    };
    Ok(contents.complete(record))
}

/// Reads one table that there has to be.
pub(crate) fn existing(environment: &Environment, transaction: &RoTxn<'_>, id: TableId) -> Result<TableRecord> {
    table(environment, transaction, id)?.ok_or_else(|| {
        Error::invalid(SqlState::InvalidParameterValue, format!("table number {id} does not exist (any more)"))
    })
}

/// Writes one table.
pub(crate) fn put_table(environment: &Environment, transaction: &mut RwTxn<'_>, record: &TableRecord) -> Result<()> {
    let (key, contents_key) = (id_key(record.definition.id), Contents::key(record.definition.id));
    let Some(heap) = &record.heap else {
        values::delete(environment, transaction, Name::Meta, contents_key.as_bytes())?;
        return values::put_json(environment, transaction, Name::Tables, &key, record);
    };
    let contents = Contents { version: record.version, heap: heap.clone() };
    values::put_json(environment, transaction, Name::Meta, contents_key.as_bytes(), &contents)?;
    let record = TableRecord { version: 0, heap: None, ..record.clone() };
    values::put_changed_json(environment, transaction, Name::Tables, &key, &record)
}

/// Removes one table.
pub(crate) fn remove_table(environment: &Environment, transaction: &mut RwTxn<'_>, id: TableId) -> Result<()> {
    values::delete(environment, transaction, Name::Meta, Contents::key(id).as_bytes())?;
    values::delete(environment, transaction, Name::Tables, &id_key(id))
}

/// All tables.
pub(crate) fn tables(environment: &Environment, transaction: &RoTxn<'_>) -> Result<Vec<TableRecord>> {
    let mut tables = Vec::new();
    values::each(environment, transaction, Name::Tables, &[], |key, payload| {
        let record: TableRecord = values::parse_at(environment, Name::Tables, key, payload)?;
        tables.push(with_contents(environment, transaction, record)?);
        Ok(())
    })?;
    Ok(tables)
}

/// All views with their numbers.
pub(crate) fn views(environment: &Environment, transaction: &RoTxn<'_>) -> Result<Vec<(u64, ViewDefinition)>> {
    let mut views = Vec::new();
    values::each(environment, transaction, Name::Views, &[], |key, payload| {
        let id = id_of_key(key).unwrap_or_default();
        views.push((id, values::parse_at(environment, Name::Views, key, payload)?));
        Ok(())
    })?;
    Ok(views)
}

/// What the keys of sequences in the meta database begin with.
const SEQUENCE: &str = "sequence ";

/// Key of a sequence in the meta database.
fn sequence_key(number: u64) -> String {
    format!("{SEQUENCE}{number}")
}

/// The number in the key of a sequence in the meta database.
pub(crate) fn sequence_of_key(key: &[u8]) -> Option<u64> {
    std::str::from_utf8(key).ok()?.strip_prefix(SEQUENCE)?.parse().ok()
}

/// Reads one sequence.
pub(crate) fn sequence(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    number: u64,
) -> Result<Option<SequenceRecord>> {
    values::get_json(environment, transaction, Name::Meta, sequence_key(number).as_bytes())
}

/// All sequences.
pub(crate) fn sequences(environment: &Environment, transaction: &RoTxn<'_>) -> Result<Vec<SequenceRecord>> {
    let mut sequences = Vec::new();
    values::each(environment, transaction, Name::Meta, SEQUENCE.as_bytes(), |key, payload| {
        sequences.push(values::parse_at(environment, Name::Meta, key, payload)?);
        Ok(())
    })?;
    Ok(sequences)
}

/// Writes a sequence.
pub(crate) fn put_sequence(
    environment: &Environment,
    transaction: &mut RwTxn<'_>,
    record: &SequenceRecord,
) -> Result<()> {
    let key = sequence_key(record.definition.number);
    values::put_json(environment, transaction, Name::Meta, key.as_bytes(), record)
}

/// Removes a sequence.
pub(crate) fn remove_sequence(environment: &Environment, transaction: &mut RwTxn<'_>, number: u64) -> Result<()> {
    values::delete(environment, transaction, Name::Meta, sequence_key(number).as_bytes())
}

/// A table's segments with their positions, in record order.
pub(crate) fn segments(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    table: &TableRecord,
) -> Result<Vec<(u64, SegmentRecord)>> {
    let mut segments = Vec::new();
    values::each(environment, transaction, Name::Segments, &id_key(table.definition.id), |key, payload| {
        let position = pair_of_key(key).map_or(0, |(_, position)| position);
        segments.push((position, values::parse_at(environment, Name::Segments, key, payload)?));
        Ok(())
    })?;
    if segments.len() as u64 == table.segments {
        return Ok(segments);
    }
    Err(Error::corrupt(
        format!("{}, segments of table {}", environment.folder().join("data.mdb").display(), table.definition.name),
        format!("{} are found, the table has {}", segments.len(), table.segments),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_definitions_survive_json() {
        use crate::{Datum, FloatBits};
        for value in [
            Datum::Null,
            Datum::Integer(i128::MIN),
            Datum::Integer(i128::MAX),
            Datum::Float(FloatBits::new(-0.0)),
            Datum::Float(FloatBits(u64::MAX)),
            Datum::Bytes([0, 255].into()),
        ] {
            let text = serde_json::to_vec(&value).unwrap();
            assert_eq!(serde_json::from_slice::<Datum>(&text).unwrap(), value);
        }
    }

    #[test]
    fn keys_order_as_their_numbers_do() {
        assert!(pair_key(1, 255) < pair_key(1, 256));
        assert!(pair_key(1, u64::MAX) < pair_key(2, 0));
        assert!(dictionary_key(1, 2, u32::MAX) < dictionary_key(1, 3, 0));
        assert_eq!(pair_of_key(&pair_key(3, 4)), Some((3, 4)));
        assert_eq!(id_of_key(&id_key(9)), Some(9));
        assert_eq!(id_of_key(&[1, 2]), None);
    }
}
