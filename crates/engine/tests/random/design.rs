//! Random designs of the table of `data`: layouts, packings, groups and encodings.

use super::data::schema;
use super::generator::Generator;

/// Options of `CREATE TABLE … WITH (…)` and `ALTER TABLE t SET (…)` for a random design.
pub fn options(generator: &mut Generator) -> String {
    if generator.chance(25) {
        return pages(generator);
    }
    let k = *generator.pick(&[1, 2, 3, 7, 64, 100, 512, 1000, 65_536, 70_000]);
    let layout = if generator.chance(40) { whole(generator, k) } else { groups(generator, k) };
    let mut encodings = Vec::new();
    for (column, choices) in [
        ("i", ["plain", "frame_of_reference"]),
        ("dec", ["plain", "frame_of_reference"]),
        ("day", ["plain", "frame_of_reference"]),
        ("few", ["plain", "dictionary"]),
        ("bytes", ["plain", "dictionary"]),
    ] {
        // A packing that is asked for by name needs codes, which plain strings have none of.
        let free = !layout.contains(&format!("({column})")) && generator.chance(20);
        encodings.push(format!("{column} {}", if free { *generator.pick(&choices) } else { "auto" }));
    }
    let dense = if layout == "dense_column" { page_packings(generator) } else { String::new() };
    format!("layout = '{layout}', encoding = '{}'{dense}", encodings.join(", "))
}

/// Packings of dense pages for some columns of numbers, and a page size.
fn page_packings(generator: &mut Generator) -> String {
    let names = ["auto", "bit_packed", "run_length", "page_dictionary", "page_dictionary(5)", "delta", "plain"];
    let named = ["i", "dec", "day"].map(|column| format!("{column} {}", generator.pick(&names)));
    format!(", packing = '{}', page_size = {}", named.join(", "), generator.pick(&[4096, 8192, 65_536]))
}

/// Heap pages.
fn pages(generator: &mut Generator) -> String {
    let page_size = *generator.pick(&[4096, 8192, 16_384, 32_768]);
    let layout =
        *generator.pick(&["layout = 'nsm'", "layout = 'dsm'", "layout = 'pax'", "layout = 'pax', deletes = 'defer'"]);
    format!("{layout}, page_size = {page_size}")
}

/// A layout or packing for all columns.
fn whole(generator: &mut Generator, k: i64) -> String {
    if generator.chance(50) { packing(generator) } else { shared(generator, k) }
}

/// One that several columns can share.
fn shared(generator: &mut Generator, k: i64) -> String {
    match generator.between(0, 6) {
        0 => "column".to_owned(),
        1 => "row".to_owned(),
        2 => "super_tuple".to_owned(),
        3 => "dense_column".to_owned(),
        // Chunks of a table need a common multiple.
        _ => format!("mempax({})", k << generator.between(0, 2)),
    }
}

fn packing(generator: &mut Generator) -> String {
    let names = ["bit_packed", "vbp", "vbp(256)", "hbp", "byteslice", "byteslice16"];
    (*generator.pick(&names)).to_owned()
}

/// Some of the columns, in random order, in groups of one to six.
fn groups(generator: &mut Generator, k: i64) -> String {
    let mut columns: Vec<String> = schema().fields().iter().map(|field| field.name().clone()).collect();
    for place in (1..columns.len()).rev() {
        columns.swap(place, generator.between(0, place as i64) as usize);
    }
    columns.truncate(generator.between(1, columns.len() as i64) as usize);
    let mut groups = Vec::new();
    while !columns.is_empty() {
        let members = columns.split_off(columns.len() - (generator.between(1, 6) as usize).min(columns.len()));
        // A packing that is asked for by name is refused where values take more than 64 bits.
        let alone = members.len() == 1 && members[0] != "wide";
        let form = if alone && generator.chance(70) { packing(generator) } else { shared(generator, k) };
        groups.push(format!("({}) {form}", members.join(", ")));
    }
    if generator.chance(50) {
        groups.push(format!("(*) {}", whole(generator, k)));
    }
    format!("groups({})", groups.join(", "))
}
