//! Layouts as texts: what they mean, and what is said of those that mean nothing.

use super::*;
use gingham_storage::model::ColumnDesign;
use gingham_storage::{ColumnDefinition, LogicalType, TableName};

fn table() -> TableDefinition {
    let column = |(id, name): (usize, &str)| ColumnDefinition::new(id as ColumnId, name, LogicalType::Int(32));
    TableDefinition {
        id: 1,
        ..TableDefinition::new(
            TableName { schema: "public".into(), table: "t".into() },
            ["amount", "b", "c", "D \"x\"", "e"].into_iter().enumerate().map(column).collect(),
        )
    }
}

fn read(text: &str) -> Design {
    design(text, &table()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> String {
    design(text, &table()).expect_err(text).to_string()
}

#[test]
fn a_layout_for_all_columns() {
    assert_eq!(read("row"), Design::of_layout(Layout::Row));
    assert_eq!(read(" COLUMN "), Design::default());
    assert_eq!(read("mempax(100)"), Design::of_layout(Layout::MemPax(100)));
    assert_eq!(read("MemPax ( 1 )"), Design::of_layout(Layout::MemPax(1)));
    for packing in Packing::ALL.into_iter().filter(|packing| *packing != Packing::Native) {
        assert_eq!(read(packing.name()), Design::of_packing(packing));
    }
    assert_eq!(read("vbp(256)"), Design { segment_bits: 256, ..Design::of_packing(Packing::Vbp) });
}

#[test]
fn groups_name_columns() {
    let design = read("groups((amount, \"D \"\"x\"\"\") row, (C) vbp(256), (e) byteslice16, (*) mempax(64))");
    let group = |columns: &[ColumnId], layout| Group { columns: columns.to_vec(), layout };
    assert_eq!(design.groups, [group(&[0, 3], Layout::Row), group(&[2], Layout::Column), group(&[4], Layout::Column)]);
    assert_eq!((design.layout, design.packing), (Layout::MemPax(64), Packing::Native));
    let packed = |column, packing, segment_bits| ColumnDesign {
        packing: Some(packing),
        segment_bits,
        ..ColumnDesign::new(column)
    };
    assert_eq!(design.columns, [packed(2, Packing::Vbp, Some(256)), packed(4, Packing::ByteSlice16, None)]);
    assert_eq!(read("groups((b,c) mempax(7))").layout, Layout::Column);
    assert_eq!(read("groups((b) row,(*) vbp(256))").segment_bits, 256);
}

#[test]
fn a_design_is_what_its_text_says() {
    let table = table();
    for text in [
        "row",
        "column",
        "mempax(3)",
        "byteslice",
        "vbp(256)",
        "groups((amount,c) row, (b) byteslice16)",
        "groups((amount,b) mempax(64), (\"D \"\"x\"\"\",e) row, (c) vbp(256))",
        "groups((amount,b) row, (*) mempax(100))",
        "groups((amount,b) row, (c) column, (*) vbp(256))",
        "super_tuple",
        "groups((amount,b) super_tuple, (c) byteslice, (*) dense_column)",
    ] {
        assert_eq!(read(text).text(&table), text);
    }
}

#[test]
fn encodings_of_columns() {
    let mut design = Design::default();
    encodings("amount plain, \"D \"\"x\"\"\" frame_of_reference", &table(), &mut design).expect("two encodings");
    assert_eq!(design.choice(0).encoding, EncodingChoice::Plain);
    assert_eq!(design.choice(3).encoding, EncodingChoice::FrameOfReference);
    assert_eq!(design.choice(1).encoding, EncodingChoice::Auto);
    let error = |text| encodings(text, &table(), &mut Design::default()).expect_err(text).to_string();
    assert_eq!(
        error("b plian"),
        "encoding 'plian' does not exist (the encodings are: auto, plain, frame_of_reference, dictionary); \
         did you mean 'plain'?"
    );
    assert_eq!(error("b"), "'b': expected the name of an encoding, found its end");
}

#[test]
fn packings_of_columns_are_those_of_their_layout() {
    let read = |layout: &str, text: &str| {
        let mut design = design(layout, &table())?;
        packings(text, &table(), &mut design)?;
        design.validate(&table())?;
        Ok::<_, Error>(design)
    };
    let dense =
        read("dense_column", "amount delta, b page_dictionary(11), c page_dictionary, \"D \"\"x\"\"\" auto").unwrap();
    assert_eq!(dense.choice(0).page_packing, Some(PagePacking::Delta));
    assert_eq!(dense.choice(1).page_packing, Some(PagePacking::PageDictionary(11)));
    assert_eq!(dense.choice(2).page_packing, Some(PagePacking::PageDictionary(0)));
    assert_eq!(dense.choice(3).page_packing, None);
    assert_eq!(page_packings(&dense, &table()), "amount delta, b page_dictionary(11), c page_dictionary");
    assert_eq!(read("groups((amount) super_tuple)", "b hbp").unwrap().choice(1).packing, Packing::Hbp);
    for (layout, text, expected) in [
        ("column", "b delta", "packing 'delta' is for dense pages: the layouts super_tuple and dense_column"),
        (
            "column",
            "b hpb",
            "packing 'hpb' does not exist (the packings are: native, bit_packed, vbp, hbp, byteslice, byteslice16); did you mean 'hbp'?",
        ),
        (
            "dense_column",
            "b run_lenght",
            "page packing 'run_lenght' does not exist (the page packings are: auto, bit_packed, \
             run_length, page_dictionary, delta, plain); did you mean 'run_length'?",
        ),
        (
            "dense_column",
            "b delta(3)",
            "packing 'delta' takes nothing in brackets: only page_dictionary does, the bits of its indexes",
        ),
        ("dense_column", "b page_dictionary(16)", "page_dictionary(16): an index has 1 to 15 bits"),
        ("dense_column", "b page_dictionary(x)", "page_dictionary(x): 'x' is not the bits of an index, 1 to 15"),
        ("dense_column", "b", "'b': expected the name of a packing, found its end"),
        (
            "super_tuple",
            "b run_length",
            "column 'b' can't have packing run_length in dense pages: layout super_tuple has no runs, since records that \
             follow one another differ; give the column layout dense_column",
        ),
    ] {
        assert_eq!(read(layout, text).expect_err(text).to_string(), expected);
    }
}

#[test]
fn errors_name_what_is_wrong() {
    let packings: Vec<&str> = Packing::ALL[1..].iter().map(|packing| packing.name()).collect();
    let list = format!(
        "(the layouts are: row, column, mempax(k), super_tuple, dense_column, {}, groups(…), nsm, dsm, pax, auto)",
        packings.join(", ")
    );
    for (text, expected) in [
        ("colunm", format!("layout 'colunm' does not exist {list}; did you mean 'column'?")),
        ("dense_colunm", format!("layout 'dense_colunm' does not exist {list}; did you mean 'dense_column'?")),
        ("super_tuple(3)", "layout 'super_tuple' takes nothing in brackets; groups are parted by commas".into()),
        ("groups((b) auto)", "layout 'auto' is for a whole table, and stands alone".into()),
        ("native", "native is a packing; the layout of columns in native packing is 'column'".into()),
        ("", "'': expected a layout, found its end".into()),
        ("row column", "'row column': expected the end, found 'column'".into()),
        ("row(3)", "layout 'row' takes nothing in brackets; groups are parted by commas".into()),
        ("groups((b) row (c) row)", "layout 'row' takes nothing in brackets; groups are parted by commas".into()),
        ("mempax", "mempax needs the records of a chunk in brackets, such as mempax(64)".into()),
        ("mempax(many)", "mempax(many): 'many' is not the records of a chunk, such as mempax(64)".into()),
        ("mempax(-1)", "mempax(-1): '-1' is not the records of a chunk, such as mempax(64)".into()),
        ("mempax(0)", "mempax(0): a chunk has at least one record".into()),
        ("mempax(64", "'mempax(64': expected ')' after mempax(64, found its end".into()),
        ("vbp(300)", "segments of vbp have 256 or 512 records, not 300".into()),
        (
            "byteslice(256)",
            "packing 'byteslice' takes nothing in brackets: only vbp has segments, of 256 or 512 records".into(),
        ),
        ("vbp(99999999)", "vbp(99999999): '99999999' is not the records of a segment, 256 or 512".into()),
        ("groups", "'groups': expected '(' after groups, found its end".into()),
        ("groups(a row)", "'groups(a row)': expected '(' before the columns of a group, found 'a'".into()),
        ("groups(() row)", "'groups(() row)': expected the name of a column, found ')'".into()),
        (
            "groups((amuont) row)",
            "'groups((amuont) row)' names column 'amuont', which table 't' does not have; did you mean 'amount'?"
                .into(),
        ),
        ("groups((b, b) row)", "column 'b' is in the groups twice".into()),
        ("groups((b) row, (c, b) column)", "column 'b' is in the groups twice".into()),
        ("groups((*) row, (*) column)", "the group (*) is there twice".into()),
        (
            "groups((b, c) byteslice)",
            "the group (b, c) can't be byteslice, which packs a column by itself: write (b) byteslice, (c) byteslice"
                .into(),
        ),
        ("groups((b) groups)", "groups(…) can't stand within groups(…)".into()),
        ("groups((\"b) row)", "layout 'groups((\"b) row)': a quote is not closed".into()),
        ("groups((b) row", "'groups((b) row': expected ',' or ')' after a group, found its end".into()),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn a_default_layout_names_no_columns() {
    assert!(check_general("mempax(100)").is_ok());
    assert!(check_general("vbp(256)").is_ok());
    assert!(check_general("groups((a) row)").expect_err("groups").to_string().contains("for all columns"));
    assert!(check_general("diagonal").is_err());
}
