//! What arrays share with the zone they come from, and views that contradict themselves.

use super::*;
use crate::decode::arrays::{Selection, values};

#[test]
fn strings_share_their_bytes() {
    let mut numbers = Numbers(11);
    for storing in [Storing::Bytes, Storing::Dictionary { entries: 50, width: 1 }] {
        let column = Column::of_kind(&mut numbers, 0, LogicalType::Varchar(None), storing, 100);
        let source: &[Buffer] = match (&column.view.shape, &column.view.meaning) {
            (PhysicalLayout::Bytes { bytes, .. }, _) => std::slice::from_ref(bytes),
            (_, CodeMeaning::Dictionary(version)) => version.entries.as_string_view().data_buffers(),
            _ => unreachable!("strings"),
        };
        for selection in [Selection::Run(3..90), Selection::Tids(&[9, 7, 8]), Selection::Tids(&[1, 8, 5])] {
            let array = values(&column.view, &selection, Isa::best()).expect("reads");
            for buffer in array.as_string_view().data_buffers() {
                let within = |source: &Buffer| source.as_ptr_range().contains(&buffer.as_ptr());
                assert!(source.iter().any(within), "{storing:?}");
            }
        }
    }
}

#[test]
fn a_few_strings_hold_little_memory() {
    let mut numbers = Numbers(12);
    let column = Column::of_kind(&mut numbers, 0, LogicalType::Varchar(None), Storing::Bytes, 5000);
    let whole = match &column.view.shape {
        PhysicalLayout::Bytes { bytes, .. } => bytes.len(),
        _ => unreachable!("bytes"),
    };
    for selection in [Selection::Run(4000..4050), Selection::Tids(&[7, 4000, 300]), Selection::Tids(&[7, 9, 10])] {
        let array = values(&column.view, &selection, Isa::best()).expect("reads");
        assert!(array.get_array_memory_size() < whole / 10, "{selection:?}: {}", array.get_array_memory_size());
    }
}

#[test]
fn wrong_input_is_refused() {
    let mut numbers = Numbers(6);
    let column = Column::of_kind(&mut numbers, 0, LogicalType::Date, Storing::Codes { width: 2, spread: 9 }, 70);
    let columns = [column];
    let text = Predicate::In { column: 0, values: vec![Datum::Bytes(b"1995".as_slice().into())], negated: false };
    let error = Prepared::new(&text, &table(&columns), &mut 0).expect_err("text for a date").to_string();
    assert!(error.contains("'c0' of type DATE"), "{error}");
    let missing = Predicate::IsNull { column: 4, negated: true };
    let error = Prepared::new(&missing, &table(&columns), &mut 0).expect_err("no such column").to_string();
    assert!(error.contains("table t has no column of number 4"), "{error}");
    let error = lookup(&columns[0].view, &[3, 70], Isa::best()).expect_err("past the end").to_string();
    assert!(error.contains("records past the 70"), "{error}");
    assert!(decode(&columns[0].view, 60..71, Isa::best()).is_err());

    let mut damaged = columns[0].view.clone();
    damaged.shape = PhysicalLayout::Contiguous { codes: Buffer::from_vec(vec![0u8; 139]), width: 2 };
    assert!(decode(&damaged, 0..5, Isa::best()).is_err(), "a block that is too short");
    damaged.shape = PhysicalLayout::Bytes {
        offsets: Buffer::from_vec(vec![9u32; 71]),
        bytes: Buffer::from_vec(b"too short"[..8].to_vec()),
    };
    damaged.logical_type = LogicalType::Varchar(None);
    assert!(decode(&damaged, 0..5, Isa::best()).is_err(), "offsets past the bytes");
    damaged.shape = PhysicalLayout::Bytes {
        offsets: Buffer::from_vec((0..71).collect::<Vec<u32>>()),
        bytes: Buffer::from_vec(vec![0xffu8; 70]),
    };
    assert!(decode(&damaged, 0..5, Isa::best()).is_err(), "bytes that are not text");
    assert!(lookup(&damaged, &[3], Isa::best()).is_err(), "bytes that are not text");
}
