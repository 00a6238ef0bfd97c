//! What is drawn is where the bits are: codes are rebuilt from the bytes at the drawn addresses.

use super::*;
use arrow::array::AsArray;
use arrow::buffer::Buffer;
use arrow::util::display::array_value_to_string;
use gingham::storage::decode::decode;
use gingham::storage::model::CodeMeaning;
use gingham::storage::snapshot::TableSnapshot;
use gingham::storage::{Datum, LogicalType};
use gingham::{Connection, Database};
use gingham_kernels::Isa;
use std::sync::Arc;

fn view(rows: usize, shape: PhysicalLayout) -> ColumnView {
    ColumnView { rows, logical_type: LogicalType::Int(64), validity: None, shape, meaning: CodeMeaning::Value }
}

fn drawn(shape: PhysicalLayout, tid: usize, code_bits: u8) -> Vec<(String, String)> {
    pieces(&view(100, shape), tid, code_bits).into_iter().map(|piece| (piece.place, piece.bits)).collect()
}

fn expected(lines: &[(&str, &str)]) -> Vec<(String, String)> {
    lines.iter().map(|(place, bits)| ((*place).to_owned(), (*bits).to_owned())).collect()
}

/// 100 codes of 12 bits: record 7 has 0xb5a, the others 0.
fn packing(packing: Packing) -> PhysicalLayout {
    let format = Format::new(packing, 12).unwrap();
    let mut codes = [0_u64; 100];
    codes[7] = 0xb5a;
    let mut bytes = Vec::new();
    gingham_kernels::packing::pack(Isa::best(), format, &codes, &mut bytes);
    PhysicalLayout::Packed { bytes: Buffer::from(bytes), format }
}

#[test]
fn a_native_code_is_drawn_from_its_highest_bit() {
    let codes = Buffer::from_slice_ref([0_u16, 0x0180]);
    assert_eq!(
        drawn(PhysicalLayout::Contiguous { codes: codes.clone(), width: 2 }, 1, 9),
        expected(&[("bytes 2-3", "·······1 10000000")])
    );
    assert_eq!(drawn(PhysicalLayout::Contiguous { codes, width: 1 }, 3, 3), expected(&[("byte 3", "·····001")]));
    assert_eq!(drawn(PhysicalLayout::Constant(Datum::Null), 3, 3), expected(&[("none", "the same for all records")]));
}

#[test]
fn each_packing_has_its_picture() {
    assert_eq!(drawn(packing(Packing::BitPacked), 7, 12), expected(&[("bits 84-95 in bytes 10-11", "1011 01011010")]));
    assert_eq!(
        drawn(packing(Packing::ByteSlice), 7, 12),
        expected(&[("slice 0, byte 7", "10110101"), ("slice 1, byte 135", "1010····")])
    );
    assert_eq!(drawn(packing(Packing::ByteSlice16), 7, 12), expected(&[("slice 0, bytes 14-15", "10110101 1010····")]));
    assert_eq!(
        drawn(packing(Packing::Vbp), 7, 12),
        expected(&[
            ("words 0, 1, 2, 3 of 512 bits, bit 7 of each", "1011"),
            ("words 4, 5, 6, 7 of 512 bits, bit 7 of each", "0101"),
            ("words 8, 9, 10, 11 of 512 bits, bit 7 of each", "1010"),
        ])
    );
    assert_eq!(
        drawn(packing(Packing::Hbp), 7, 12),
        expected(&[("bank 56 in bytes 448-455: bits 0-11", "1011 01011010"), ("bank 56: bit 15, the delimiter", "0")])
    );
}

#[test]
fn strings_show_their_first_bytes() {
    let shape =
        PhysicalLayout::Bytes { offsets: Buffer::from_slice_ref([0_u32, 2, 8]), bytes: Buffer::from(b"..AAAAAA") };
    assert_eq!(drawn(shape, 1, 32), expected(&[("strings: bytes 2-7", "01000001 01000001 01000001 01000001 …")]));
}

const LAYOUTS: &[&str] = &[
    "column",
    "row",
    "mempax(3)",
    "mempax(100)",
    "bit_packed",
    "vbp",
    "vbp(256)",
    "hbp",
    "byteslice",
    "byteslice16",
    "groups((a, s) row, (c) vbp, (b, d) mempax(7))",
];

fn table(connection: &Connection, layout: &str) -> Arc<TableSnapshot> {
    let sql = format!(
        "CREATE TABLE t WITH (layout = '{layout}') AS
         SELECT value AS a, value * 7919 % 4001 - 2000 AS b, value * value AS c, (value * 31) % 5 AS d,
                'entry ' || (value % 9) AS s
         FROM generate_series(1, 70000);
         OPTIMIZE t"
    );
    connection.execute(&sql).unwrap_or_else(|error| panic!("{layout}: {error}"));
    connection.table("t").unwrap()
}

#[test]
fn codes_are_rebuilt_from_the_drawn_addresses_in_every_layout() {
    for layout in LAYOUTS {
        let connection = Database::in_memory().unwrap().connect();
        let table = table(&connection, layout);
        let segment = table.segments.first().expect("OPTIMIZE made a segment");
        let zone = segment.zones() - 1;
        for column in &table.definition.columns {
            let view = segment.view(column, zone).unwrap();
            let code_bits = segment.column(column.id).unwrap().code_bits;
            let bytes = match &view.shape {
                PhysicalLayout::Contiguous { codes, .. } => codes,
                PhysicalLayout::Chunked { bytes, .. } | PhysicalLayout::Packed { bytes, .. } => bytes,
                shape => panic!("{layout}, column {}: {shape:?}", column.name),
            };
            for tid in [0, 7, 63, 64, 511, 512, view.rows - 1] {
                let bit = |bit| u64::from(address(&view, tid, bit).unwrap().read(bytes)) << bit;
                let code: u64 = (0..code_bits).map(bit).sum();
                let value = decode(&view, tid..tid + 1, Isa::best()).unwrap();
                let place = format!("{layout}, column {}, record {tid}", column.name);
                match &view.meaning {
                    CodeMeaning::FrameOfReference { base } => {
                        let value = value.as_primitive::<arrow::datatypes::Int64Type>().value(0);
                        assert_eq!(base + i128::from(code), i128::from(value), "{place}");
                    }
                    CodeMeaning::Dictionary(version) => {
                        let entry = array_value_to_string(&version.entries, code as usize).unwrap();
                        assert_eq!(entry, array_value_to_string(&value, 0).unwrap(), "{place}");
                    }
                    meaning => panic!("{place}: {meaning:?}"),
                }
                // The digits of the picture are the same bits.
                let digits: String = pieces(&view, tid, code_bits)
                    .iter()
                    .filter(|piece| !piece.place.contains("delimiter"))
                    .flat_map(|piece| piece.bits.chars().filter(char::is_ascii_digit).collect::<Vec<_>>())
                    .collect();
                assert_eq!(digits, format!("{code:0width$b}", width = code_bits.into()), "{place}");
            }
        }
    }
}
