//! What a design refuses, how it reads as text, and that it survives the catalog.

use super::*;
use crate::{ColumnDefinition, TableName};

fn table(columns: &[(&str, LogicalType)]) -> TableDefinition {
    let column = |(id, (name, logical_type)): (usize, &(&str, LogicalType))| {
        ColumnDefinition::new(id as ColumnId, *name, logical_type.clone())
    };
    TableDefinition {
        id: 1,
        ..TableDefinition::new(
            TableName { schema: "public".into(), table: "t".into() },
            columns.iter().enumerate().map(column).collect(),
        )
    }
}

/// a INTEGER, b VARCHAR, c DECIMAL(38,2), "D e" DOUBLE.
fn mixed() -> TableDefinition {
    table(&[
        ("a", LogicalType::Int(32)),
        ("b", LogicalType::Varchar(None)),
        ("c", LogicalType::Decimal { precision: 38, scale: 2 }),
        ("D e", LogicalType::Float64),
    ])
}

fn group(columns: &[ColumnId], layout: Layout) -> Group {
    Group { columns: columns.to_vec(), layout }
}

fn packed(column: ColumnId, packing: Packing) -> ColumnDesign {
    ColumnDesign { packing: Some(packing), ..ColumnDesign::new(column) }
}

fn encoded(column: ColumnId, encoding: EncodingChoice) -> ColumnDesign {
    ColumnDesign { encoding, ..ColumnDesign::new(column) }
}

fn refusal(design: &Design) -> String {
    design.validate(&mixed()).unwrap_err().to_string()
}

#[test]
fn groups_have_columns_of_the_table_once() {
    let groups = |groups: Vec<Group>| Design { groups, ..Design::default() };
    let refused = refusal(&groups(vec![group(&[], Layout::Row)]));
    assert_eq!(refused, "a group of the design of table 't' has no columns");
    let refused = refusal(&groups(vec![group(&[0, 1], Layout::Row), group(&[1], Layout::Column)]));
    assert_eq!(refused, "column 'b' is in two groups of table 't'");
    let refused = refusal(&groups(vec![group(&[0, 9], Layout::Row)]));
    assert_eq!(refused, "the design of table 't' names column 9, which is not there");
    groups(vec![group(&[0, 1], Layout::Row), group(&[3, 2], Layout::MemPax(100))]).validate(&mixed()).unwrap();
}

#[test]
fn chunks_have_a_record_and_at_most_a_segment() {
    for k in [1, 3, 100, SEGMENT_ROWS as u32] {
        Design::of_layout(Layout::MemPax(k)).validate(&mixed()).unwrap();
    }
    assert_eq!(refusal(&Design::of_layout(Layout::MemPax(0))), "mempax(0): a chunk has at least one record");
    let refused = refusal(&Design::of_layout(Layout::MemPax(1_048_577)));
    let groups = vec![group(&[0, 1], Layout::MemPax(1021)), group(&[2, 3], Layout::MemPax(1031))];
    let coprime = Design { groups, ..Design::default() };
    assert!(refusal(&coprime).contains("mempax(1031)) have no common multiple"), "{}", refusal(&coprime));
    assert!(refused.starts_with("mempax(1048577): a chunk of 1048577 records is more than a segment"), "{refused}");
}

#[test]
fn packings_live_alone_in_columns() {
    for packing in Packing::ALL {
        Design::of_packing(packing).validate(&mixed()).unwrap();
        let own = Design { columns: vec![packed(0, packing), packed(1, packing)], ..Design::default() };
        own.validate(&mixed()).unwrap();
    }
    let refused = refusal(&Design { packing: Packing::ByteSlice16, ..Design::of_layout(Layout::Row) });
    assert!(refused.starts_with("layout row can't have packing byteslice16"), "{refused}");
    let refused =
        refusal(&Design { columns: vec![packed(0, Packing::ByteSlice)], ..Design::of_layout(Layout::MemPax(8)) });
    assert!(
        refused.starts_with("column 'a' can't have packing byteslice, because it lies in layout mempax(8)"),
        "{refused}"
    );
    for layout in [Layout::Row, Layout::Column] {
        let groups = vec![group(&[0, 3], layout)];
        let refused = refusal(&Design { groups, columns: vec![packed(0, Packing::ByteSlice)], ..Design::default() });
        let text = "column 'a' can't have packing byteslice, because it is in the group (a,\"D e\"): packings other than \
                    native need a group of one column with layout column, as in groups((a) byteslice)";
        assert_eq!(refused, text);
    }
}

#[test]
fn encodings_suit_the_type() {
    let of = |own: ColumnDesign| Design { columns: vec![own], ..Design::default() };
    let refused = refusal(&of(encoded(0, EncodingChoice::Dictionary)));
    assert!(refused.starts_with("column 'a' of type INTEGER can't have encoding dictionary"), "{refused}");
    for column in [1, 3] {
        let refused = refusal(&of(encoded(column, EncodingChoice::FrameOfReference)));
        assert!(refused.contains("can't have encoding frame_of_reference"), "{refused}");
    }
    for column in [1, 2] {
        let own = ColumnDesign { encoding: EncodingChoice::Plain, ..packed(column, Packing::ByteSlice) };
        let refused = refusal(&of(own));
        assert!(refused.contains("can't have packing byteslice and encoding plain"), "{refused}");
    }
    of(ColumnDesign { encoding: EncodingChoice::Plain, ..packed(0, Packing::ByteSlice16) }).validate(&mixed()).unwrap();
    let refused = refusal(&of(ColumnDesign { segment_bits: Some(300), ..packed(0, Packing::ByteSlice16) }));
    assert_eq!(refused, "segments of vbp have 256 or 512 records, not 300");
}

#[test]
fn every_column_is_in_one_group_in_the_end() {
    let design = Design {
        groups: vec![group(&[3, 0], Layout::Row), group(&[1], Layout::MemPax(8))],
        ..Design::of_layout(Layout::MemPax(4))
    };
    let expected = vec![group(&[3, 0], Layout::Row), group(&[1], Layout::Column), group(&[2, 4], Layout::MemPax(4))];
    assert_eq!(design.resolve(&[0, 1, 2, 3, 4]), expected);
    // A segment that lacks columns, or has one that the table dropped.
    assert_eq!(design.resolve(&[0, 2]), vec![group(&[0], Layout::Column), group(&[2], Layout::Column)]);
    let columns = Design::of_packing(Packing::ByteSlice).resolve(&[5, 6]);
    assert_eq!(columns, vec![group(&[5], Layout::Column), group(&[6], Layout::Column)]);
}

#[test]
fn what_is_said_by_name_wins() {
    let design = Design {
        columns: vec![packed(0, Packing::Native), packed(1, Packing::ByteSlice16)],
        groups: vec![group(&[3], Layout::Column)],
        ..Design::of_packing(Packing::ByteSlice)
    };
    let packings: Vec<_> = (0..4).map(|column| design.choice(column).packing).collect();
    assert_eq!(packings, [Packing::Native, Packing::ByteSlice16, Packing::ByteSlice, Packing::Native]);
    let by_name: Vec<_> = (0..4).map(|column| design.choice(column).by_name).collect();
    assert_eq!(by_name, [false, true, false, false]);
}

#[test]
fn designs_read_as_sql_writes_them() {
    let table = mixed();
    let mut design = Design::default();
    assert_eq!(design.text(&table), "column");
    assert_eq!(Design::of_layout(Layout::MemPax(100)).text(&table), "mempax(100)");
    assert_eq!(Design::of_packing(Packing::ByteSlice16).text(&table), "byteslice16");
    design.segment_bits = 256;
    design.packing = Packing::ByteSlice;
    assert_eq!(design.text(&table), "byteslice", "byte slices have no segments");
    design.packing = Packing::Vbp;
    assert_eq!(design.text(&table), "vbp(256)");
    design.packing = Packing::Native;
    design.groups = vec![group(&[0, 3], Layout::Row), group(&[2], Layout::Column)];
    design.columns = vec![packed(2, Packing::Vbp), packed(1, Packing::ByteSlice16)];
    assert_eq!(design.text(&table), "groups((a,\"D e\") row, (c) vbp(256), (b) byteslice16)");
    design.layout = Layout::MemPax(7);
    design.columns.pop();
    assert_eq!(design.text(&table), "groups((a,\"D e\") row, (c) vbp(256), (*) mempax(7))");
    design.remove_column(0);
    design.remove_column(2);
    assert_eq!(design.text(&table), "groups((\"D e\") row, (*) mempax(7))");
}

#[test]
fn designs_survive_json_and_old_tables_have_none() {
    let mut table = mixed();
    table.design = Design {
        groups: vec![group(&[0, 3], Layout::MemPax(5)), group(&[2], Layout::Row)],
        columns: vec![
            ColumnDesign { segment_bits: Some(256), ..packed(1, Packing::ByteSlice) },
            encoded(2, EncodingChoice::Plain),
        ],
        ..Design::of_packing(Packing::ByteSlice16)
    };
    let mut json = serde_json::to_value(&table).unwrap();
    assert_eq!(serde_json::from_value::<TableDefinition>(json.clone()).unwrap(), table);
    let fields = json.as_object_mut().unwrap();
    fields.remove("design");
    fields.insert("layout".into(), "column".into());
    assert_eq!(serde_json::from_value::<TableDefinition>(json).unwrap(), mixed());
    assert!(serde_json::from_str::<Design>(r#"{"packing": "diagonal"}"#).is_err());
}

#[test]
fn zones_and_segments_hold_whole_chunks() {
    let rows = |ks: &[u32]| {
        let groups = ks.iter().map(|k| group(&[0, 1], Layout::MemPax(*k))).collect();
        let design = Design { groups, ..Design::default() };
        (design.zone_rows(), design.segment_rows())
    };
    assert_eq!(rows(&[]), (ZONE_ROWS, SEGMENT_ROWS));
    assert_eq!(rows(&[1, 1024]), (ZONE_ROWS, SEGMENT_ROWS));
    assert_eq!(rows(&[100]), (65_500, 16 * 65_500));
    assert_eq!(rows(&[100, 999]), (99_900, 10 * 99_900));
    assert_eq!(rows(&[600_000]), (600_000, 600_000));
    assert_eq!(rows(&[1 << 20]), (1 << 20, 1 << 20));
}
