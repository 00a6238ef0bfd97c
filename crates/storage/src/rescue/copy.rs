//! The values of a damaged catalog that prove themselves, in a new one; and the files that they name.

use crate::io::lmdb::Access;
use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::heap_keys;
use crate::lmdb::heap_record::HeapRecord;
use crate::lmdb::index_entries::entry_record;
use crate::lmdb::records::{
    self, SegmentRecord, TableRecord, id_of_key, pair_of_key, sequence_of_key, table_of_contents,
};
use crate::lmdb::verifier::salvage::{Missed, Salvage};
use crate::lmdb::{folder, values};
use crate::maintenance::check_pages::{check_page, schemas};
use crate::model::table::ViewDefinition;
use crate::pages::shapes::PageSchemas;
use crate::segment::SegmentId;
use crate::snapshot::delete_vector::zone_of_key;
use crate::write::load_intent::LoadIntent;
use crate::{Error, Result, TableId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::Path;

/// Bytes of values that are written in one transaction.
const BATCH_BYTES: usize = 4 << 20;

/// What came into the new catalog, and what did not.
#[derive(Default)]
pub(super) struct Copied {
    /// Tables by their numbers.
    pub(super) tables: BTreeMap<TableId, TableRecord>,
    /// Tables whose value can't be read, or is not all of it: what is known of their names, and why.
    pub(super) unreadable: BTreeMap<TableId, Unreadable>,
    /// Tables whose values are not found, though others' values tell of them.
    pub(super) unknown: BTreeSet<TableId>,
    /// The prefix of a load that has not ended.
    pub(super) loading: Option<TableId>,
    /// Entries that the tree of tables has beyond those that were met.
    pub(super) missed_tables: u64,
    /// Views that can't be read: their numbers, or how many there are without one.
    pub(super) lost_views: Vec<u64>,
    pub(super) missed_views: u64,
    /// Records in the pages of heap tables, by prefix and attribute.
    pub(super) page_rows: HashMap<(TableId, u32), u64>,
    /// Entries of indexes, by prefix and number.
    pub(super) entries: HashMap<(TableId, u32), u64>,
    /// Prefixes of heap tables that have pages, long values or maps that can't be read; all, where a page of the tree can't be.
    pub(super) damaged_pages: BTreeSet<TableId>,
    pub(super) pages_missed: Option<String>,
    /// Why values of segments, delta blocks, dictionaries or deleted records are missing.
    pub(super) values_missed: Option<String>,
}

/// A table whose definition may be known, and what else is needed is not.
pub(super) struct Unreadable {
    pub(super) name: Option<String>,
    pub(super) why: String,
}

/// Values on their way into the new catalog.
struct Filler<'e> {
    environment: &'e Environment,
    waiting: Vec<(Name, Vec<u8>, Vec<u8>)>,
    bytes: usize,
}

impl Filler<'_> {
    fn add(&mut self, name: Name, key: &[u8], value: Vec<u8>) -> Result<()> {
        self.bytes += key.len() + value.len();
        self.waiting.push((name, key.to_vec(), value));
        if self.bytes < BATCH_BYTES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let (mut transaction, _shared) = self.environment.write()?;
        for (name, key, value) in self.waiting.drain(..) {
            let put = self.environment.values(name)?.put(&mut transaction, &key, &value);
            put.map_err(self.environment.failed("writing"))?;
        }
        transaction.commit().map_err(self.environment.failed("writing"))
    }
}

/// Makes the catalog `new`, in a folder that is empty, of what is sound.
pub(super) fn copy_catalog(salvage: &Salvage, new: &Path) -> Result<Copied> {
    fs::create_dir(new).map_err(Error::io("creating folder", new))?;
    let environment = Environment::create(new, Access::Scratch)?;
    let mut filler = Filler { environment: &environment, waiting: Vec::new(), bytes: 0 };
    let mut copied = Copied::default();
    copy_definitions(salvage, &mut filler, &mut copied)?;
    for name in [Name::Segments, Name::Dictionaries, Name::Delta, Name::Deleted] {
        copy_values_of_tables(salvage, name, &mut filler, &mut copied)?;
    }
    copy_pages(salvage, &mut filler, &mut copied)?;
    copy_entries(salvage, &mut filler, &mut copied)?;
    filler.flush()?;
    folder::label_both_metas(&environment, salvage.state().clone())?;
    drop(environment);
    let data = new.join("data.mdb");
    File::open(&data).and_then(|file| file.sync_all()).map_err(Error::io("syncing", &data))?;
    Ok(copied)
}

/// The payload of a value, in words if it has none that can be believed.
fn payload<'v>(name: Name, key: &[u8], value: &'v [u8]) -> Result<&'v [u8], String> {
    values::unseal(name, key, value, || values::describe_key(name, key)).map_err(|error| error.to_string())
}

/// Why something was missed, in words.
fn why(missed: &Missed) -> Option<String> {
    match missed.places.first() {
        Some(place) => Some(place.to_string()),
        None if missed.entries > 0 => Some(format!("{} values are not found", missed.entries)),
        None => None,
    }
}

/// Tables, what of them lies beside the state, and views.
fn copy_definitions(salvage: &Salvage, filler: &mut Filler<'_>, copied: &mut Copied) -> Result<()> {
    let mut contents: HashMap<TableId, Vec<u8>> = HashMap::new();
    let missed_contents = salvage.each(Name::Meta, &mut |key, value| {
        if let Some(load) = LoadIntent::of_value(key, &value) {
            copied.loading = Some(load.prefix);
        } else if sequence_of_key(key).is_some() && payload(Name::Meta, key, &value).is_ok() {
            filler.add(Name::Meta, key, value)?;
        } else if let Some(table) = table_of_contents(key).filter(|_| payload(Name::Meta, key, &value).is_ok()) {
            contents.insert(table, value);
        }
        Ok(())
    })?;
    let mut found = Vec::new();
    let missed = salvage.each(Name::Tables, &mut |key, value| {
        found.push((key.to_vec(), value));
        Ok(())
    })?;
    copied.missed_tables = missed.entries;
    for (key, value) in found {
        let Some(id) = id_of_key(&key) else { continue };
        let rest = contents.get(&id);
        let place = || values::describe_key(Name::Tables, &key);
        let own = payload(Name::Tables, &key, &value);
        let record = own.and_then(|own| {
            let rest = rest.and_then(|rest| rest.get(values::ENVELOPE..));
            records::of_payloads(own, rest, &place).map_err(|error| error.to_string())
        });
        match record {
            Ok(Some(record)) if record.definition.id == id => {
                copied.tables.insert(id, record);
                if let Some(rest) = rest {
                    filler.add(Name::Meta, records::contents_key(id).as_bytes(), rest.clone())?;
                }
                filler.add(Name::Tables, &key, value)?;
            }
            Ok(found) => {
                let name = found.map_or_else(
                    || payload(Name::Tables, &key, &value).ok().and_then(records::name_in),
                    |record| Some(record.definition.name),
                );
                let why = why(&missed_contents).unwrap_or_else(|| "what there is to know of its pages is lost".into());
                copied.unreadable.insert(id, Unreadable { name: name.map(|name| name.to_string()), why });
            }
            Err(why) => drop(copied.unreadable.insert(id, Unreadable { name: None, why })),
        }
    }
    let missed = salvage.each(Name::Views, &mut |key, value| {
        let view = payload(Name::Views, key, &value)
            .and_then(|own| values::parse::<ViewDefinition>(own, String::new).map_err(|error| error.to_string()));
        match view {
            Ok(_) => filler.add(Name::Views, key, value)?,
            Err(_) => copied.lost_views.push(id_of_key(key).unwrap_or(0)),
        }
        Ok(())
    })?;
    copied.missed_views = missed.entries;
    Ok(())
}

/// Values that name their table in their key.
fn copy_values_of_tables(salvage: &Salvage, name: Name, filler: &mut Filler<'_>, copied: &mut Copied) -> Result<()> {
    let missed = salvage.each(name, &mut |key, value| {
        let table = match name {
            Name::Deleted => zone_of_key(key).map(|(table, ..)| table),
            _ => pair_of_key(key).map(|(table, _)| table),
        };
        let Some(table) = table else { return Ok(()) };
        if let Err(detail) = payload(name, key, &value) {
            copied.values_missed.get_or_insert(detail);
            return Ok(());
        }
        if copied.tables.contains_key(&table) {
            return filler.add(name, key, value);
        }
        copied.unknown.insert(table);
        Ok(())
    })?;
    if let Some(why) = why(&missed) {
        copied.values_missed.get_or_insert(why);
    }
    Ok(())
}

/// Heap pages, long values and maps of free space.
fn copy_pages(salvage: &Salvage, filler: &mut Filler<'_>, copied: &mut Copied) -> Result<()> {
    let tables: HashMap<TableId, (TableRecord, PageSchemas)> = copied
        .tables
        .values()
        .filter(|record| record.heap.is_some())
        .map(|record| (record.prefix(), (record.clone(), schemas(record))))
        .collect();
    let missed = salvage.each(Name::Heap, &mut |key, value| {
        let Some((prefix, attribute, number)) = heap_keys::parse(key) else { return Ok(()) };
        let Some((record, schemas)) = tables.get(&prefix) else {
            if copied.loading != Some(prefix) {
                copied.unknown.insert(prefix);
            }
            return Ok(());
        };
        if record.heap.as_ref().is_none_or(|heap| number >= heap.end(attribute) && attribute != heap_keys::SPACE) {
            // Of a load that has not ended.
            return Ok(());
        }
        let rows = if heap_keys::is_page(attribute) {
            let place = || values::describe_key(Name::Heap, key);
            check_page(record, schemas, attribute, number, &value, &place).ok()
        } else {
            payload(Name::Heap, key, &value).is_ok().then_some(0)
        };
        let Some(rows) = rows else {
            copied.damaged_pages.insert(prefix);
            return Ok(());
        };
        *copied.page_rows.entry((prefix, attribute)).or_default() += rows;
        filler.add(Name::Heap, key, value)
    })?;
    copied.pages_missed = why(&missed);
    Ok(())
}

/// Entries of indexes.
fn copy_entries(salvage: &Salvage, filler: &mut Filler<'_>, copied: &mut Copied) -> Result<()> {
    let tables: HashMap<TableId, TableRecord> = copied
        .tables
        .values()
        .filter(|record| record.heap.is_some())
        .map(|record| (record.prefix(), record.clone()))
        .collect();
    salvage.each(Name::Indexes, &mut |key, value| {
        let (Some((prefix, rest)), Ok(payload)) = (key.split_first_chunk::<8>(), payload(Name::Indexes, key, &value))
        else {
            return Ok(());
        };
        let (prefix, number) = (u64::from_be_bytes(*prefix), rest.first_chunk::<4>().copied().map(u32::from_be_bytes));
        let Some((record, number)) = tables.get(&prefix).zip(number) else { return Ok(()) };
        let is_known = record.definition.indexes.iter().any(|index| index.number == number);
        let is_beyond = |heap: &HeapRecord| entry_record(key, payload).is_none_or(|id| id >= heap.first_new());
        if !is_known || record.heap.as_ref().is_none_or(is_beyond) {
            return Ok(());
        }
        *copied.entries.entry((prefix, number)).or_default() += 1;
        filler.add(Name::Indexes, key, value)
    })?;
    Ok(())
}

/// Links the segment files that the new catalog names into the database `to`, or copies them where they can't be linked. One that is
/// not there is left out.
pub(super) fn bring_files(from: &Path, to: &Path, copied: &Copied) -> Result<()> {
    let root = folder::segments(to);
    fs::create_dir(&root).map_err(Error::io("creating folder", &root))?;
    for (table, segment) in named_files(to, copied)? {
        let (source, target) = (folder::segment_file(from, table, segment), folder::segment_file(to, table, segment));
        let parent = folder::table_segments(to, table);
        fs::create_dir_all(&parent).map_err(Error::io("creating folder", &parent))?;
        if !fs::symlink_metadata(&source).is_ok_and(|known| known.is_file()) || fs::hard_link(&source, &target).is_ok()
        {
            continue;
        }
        // A file that can't be read is as good as lost; one that can't be written is not.
        let Ok(mut source) = File::open(&source) else { continue };
        let mut file = File::create(&target).map_err(Error::io("creating", &target))?;
        match std::io::copy(&mut source, &mut file) {
            Ok(_) => file.sync_all().map_err(Error::io("syncing", &target))?,
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
                return Err(Error::io("writing", &target)(error));
            }
            Err(_) => fs::remove_file(&target).map_err(Error::io("removing", &target))?,
        }
    }
    for table in copied.tables.keys() {
        let folder = folder::table_segments(to, *table);
        if folder.is_dir() {
            folder::sync_folder(&folder)?;
        }
    }
    folder::sync_folder(&root)
}

/// The segment files that the new catalog of the database `to` names.
fn named_files(to: &Path, copied: &Copied) -> Result<BTreeSet<(TableId, SegmentId)>> {
    let environment = Environment::open(&folder::new_catalog(to), Access::Scratch)?;
    let mut named = BTreeSet::new();
    environment.read(|transaction| {
        values::each(&environment, transaction, Name::Segments, &[], |key, payload| {
            let segment: Result<SegmentRecord> = values::parse_at(&environment, Name::Segments, key, payload);
            if let (Some((table, _)), Ok(segment)) = (pair_of_key(key), segment)
                && copied.tables.contains_key(&table)
            {
                named.extend(segment.files().map(|file| (table, file)));
            }
            Ok(())
        })
    })?;
    Ok(named)
}
