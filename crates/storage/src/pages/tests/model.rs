//! Pages against a plain map: random records come, change and go; after each step a page must be whole, and say what the
//! map does.

use super::*;
use crate::model::heap_options::{Deletes, HeapLayout};
use crate::pages::nsm::SLOT;

/// How values that are too long lie in the model: some byte strings of 12 bytes are taken for references.
fn fields<'v>(schema: &PageSchema, record: &'v [Datum]) -> Vec<Field<'v>> {
    schema.attributes().iter().zip(record).map(|(own, value)| field(own, value)).collect()
}

fn field<'v>(own: &Attribute, value: &'v Datum) -> Field<'v> {
    match own.field(value).unwrap() {
        Field::Bytes(bytes) if bytes.len() == OverflowReference::BYTES && bytes[0] % 2 == 0 => {
            Field::Overflow(OverflowReference::parse(bytes).unwrap())
        }
        field => field,
    }
}

/// Reads a page's bytes again as a reader does, and holds every record against the model.
fn verify(layout: HeapLayout, bytes: &[u8], schema: &Arc<PageSchema>, model: &BTreeMap<usize, Vec<Datum>>) {
    let page = Page::open(layout, bytes, schema, true, &place).unwrap();
    if let Page::Pax(page) = &page {
        (0..schema.attributes().len()).for_each(|attribute| page.verify(attribute, &place).unwrap());
    }
    assert_eq!(page.records(), model.len());
    for slot in 0..page.slots() {
        assert_eq!(page.is_live(slot), model.contains_key(&slot), "slot {slot}");
    }
    for (slot, record) in model {
        for (attribute, own) in schema.attributes().iter().enumerate() {
            assert_eq!(page.field(*slot, attribute), field(own, &record[attribute]), "slot {slot}, {}", own.name);
        }
    }
}

/// Makes a byte string of a record so long that the record takes what the page has, or a byte or two more or less.
fn to_the_edge(random: &mut Random, page: &Page<Vec<u8>>, schema: &PageSchema, record: &mut [Datum]) {
    let variable: Vec<usize> =
        (0..record.len()).filter(|at| schema.attributes()[*at].kind == AttributeForm::Variable).collect();
    if variable.is_empty() {
        return;
    }
    let at = variable[random.below(variable.len())];
    record[at] = Datum::Bytes([].into());
    let others = NsmPage::record_bytes(schema, &fields(schema, record)) + SLOT * random.below(2);
    let length = (page.free() + random.below(6)).saturating_sub(others + random.below(6));
    record[at] = Datum::Bytes(vec![b'e'; length].into());
}

/// A page refuses a record only when the record's bytes have no room in it, wherever they are free.
fn refused_for_good_reason(page: &Page<Vec<u8>>, schema: &PageSchema, record: &[Datum]) {
    // Codes are aligned to at most 16 bytes, a presence bit may begin a byte, and the bitmap of records a word.
    let lost = SLOT + 8 + schema.attributes().len() * 16;
    let bytes = NsmPage::record_bytes(schema, &fields(schema, record));
    assert!(page.free() < bytes + lost, "{} bytes are free, a record of {bytes} was refused", page.free());
}

/// Random steps on one page.
fn drive(layout: HeapLayout, deletes: Deletes, length: usize, schema: &Arc<PageSchema>, seed: u64, steps: usize) {
    let mut random = Random(seed);
    let mut page = empty(layout, deletes, length, schema);
    let mut model: BTreeMap<usize, Vec<Datum>> = BTreeMap::new();
    let (mut full, mut outgrown) = (0, 0);
    // What comes more often changes from time to time, so that pages fill up and get empty.
    let mut mood = 6;
    for step in 0..steps {
        if step % 256 == 0 {
            mood = [2, 4, 6, 8][random.below(4)];
        }
        let longest = [4, 20, 60, 300][random.below(4)];
        let picked = (!model.is_empty()).then(|| *model.keys().nth(random.below(model.len())).unwrap());
        match (random.below(12), picked) {
            (at, Some(slot)) if at >= mood && at % 2 == 0 => {
                page.delete(slot);
                model.remove(&slot);
            }
            (at, Some(slot)) if at >= mood => {
                let count = 1 + random.below(3);
                let mut changes: BTreeMap<usize, Datum> = BTreeMap::new();
                for _ in 0..count {
                    let attribute = random.below(schema.attributes().len());
                    changes.insert(attribute, value(&mut random, &schema.attributes()[attribute], longest));
                }
                let list: Vec<(usize, Field<'_>)> =
                    changes.iter().map(|(at, value)| (*at, field(&schema.attributes()[*at], value))).collect();
                match page.update(slot, &list).unwrap() {
                    Update::Done => {
                        let record = model.get_mut(&slot).unwrap();
                        changes.into_iter().for_each(|(at, value)| record[at] = value);
                    }
                    Update::Outgrown => outgrown += 1,
                }
            }
            _ => {
                let mut record: Vec<Datum> =
                    schema.attributes().iter().map(|own| value(&mut random, own, longest)).collect();
                if random.below(8) == 0 {
                    to_the_edge(&mut random, &page, schema, &mut record);
                }
                match page.insert(&fields(schema, &record)).unwrap() {
                    Some(slot) => assert!(model.insert(slot, record).is_none(), "slot {slot} was taken"),
                    None => {
                        refused_for_good_reason(&page, schema, &record);
                        full += 1;
                    }
                }
            }
        }
        verify(layout, page.seal(step as u64), schema, &model);
    }
    assert!(full > 0 || steps < 2000, "the page was never full");
    let variable = schema.attributes().iter().any(|own| own.kind == AttributeForm::Variable);
    assert!(outgrown > 0 || !variable || steps < 2000, "no record outgrew its page");
}

/// Steps of each run: four millions in all in the nightly setting.
fn steps() -> usize {
    if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 200_000 } else { 4000 }
}

const PAGES: [(HeapLayout, Deletes); 4] = [
    (HeapLayout::Nsm, Deletes::Compact),
    (HeapLayout::Dsm, Deletes::Compact),
    (HeapLayout::Pax, Deletes::Compact),
    (HeapLayout::Pax, Deletes::Defer),
];

#[test]
fn pages_of_all_types_are_what_a_map_is() {
    let mut random = Random(11);
    let columns: Vec<_> = types().into_iter().map(|logical_type| (logical_type, random.below(2) == 0)).collect();
    let schema = schema(&columns);
    for (seed, (layout, deletes)) in (1..).zip(PAGES) {
        drive(layout, deletes, 8176, &schema, seed, steps());
    }
}

#[test]
fn pages_of_random_columns_are_what_a_map_is() {
    let mut random = Random(12);
    for seed in 0..8 {
        let columns: Vec<_> = (0..1 + random.below(6))
            .map(|_| (types()[random.below(types().len())].clone(), random.below(2) == 0))
            .chain([(LogicalType::Varchar(None), seed % 2 == 0)])
            .collect();
        let schema = schema(&columns);
        let length = [4080, 8176, 16368, 32752][random.below(4)];
        for (layout, deletes) in PAGES {
            drive(layout, deletes, length, &schema, seed, steps() / 2);
        }
    }
}
