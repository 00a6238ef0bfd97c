//! The order and way of a predicate: what they should be, and that answers never depend on them.

use super::*;
use crate::model::view::Format;
use crate::scan::code::Leaf;
use crate::scan::costs::{Costs, costs};
use crate::scan::observe::{Arranged, Observed};
use crate::scan::rank;
use crate::scan::rank::Model;
use gingham_kernels::packing::{Packing, Way, pack};

/// The predicate as it is, arranged by its estimates, arranged by estimates that are wrong, and in random order and ways.
pub(super) fn any(numbers: &mut Numbers, isa: Isa, predicate: &CodePredicate) -> Vec<CodePredicate> {
    let mut arranged = [predicate.clone(), predicate.clone(), predicate.clone()];
    Model { costs: &|format| costs(isa, format), share: &|_, expected| expected }.arrange(&mut arranged[0]);
    let salt = numbers.next();
    let wrong = |node: usize, _| (Numbers(salt ^ node as u64).next() % 1001) as f64 / 1000.0;
    Model { costs: &|format| costs(isa, format), share: &wrong }.arrange(&mut arranged[1]);
    shuffle(numbers, &mut arranged[2]);
    std::iter::once(predicate.clone()).chain(arranged).collect()
}

fn shuffle(numbers: &mut Numbers, predicate: &mut CodePredicate) {
    let CodePredicate::Junction(junction) = predicate else { return };
    junction.way = Way::ALL[numbers.below(3)];
    for at in (1..junction.parts.len()).rev() {
        junction.parts.swap(at, numbers.below(at + 1));
    }
    junction.parts.iter_mut().for_each(|part| shuffle(numbers, part));
}

/// A machine on which no way but column-first is worth it.
const COSTS: Costs = Costs { scan: 100.0, masked: 100.0, decided: 5.0, together: 100.0 };

/// The columns that the parts of an arranged AND or OR look at, in order.
fn order(predicate: &CodePredicate) -> Vec<ColumnId> {
    match predicate {
        CodePredicate::Constant(_) => Vec::new(),
        CodePredicate::Leaf(leaf) => vec![leaf.column.id],
        CodePredicate::Junction(junction) => junction.parts.iter().flat_map(order).collect(),
    }
}

fn arranged(predicate: &Predicate, columns: &[Column]) -> CodePredicate {
    let mut translated = translated(predicate, columns);
    Model { costs: &|_| COSTS, share: &|_, expected| expected }.arrange(&mut translated);
    translated
}

fn range(column: ColumnId, low: i128, high: i128) -> Predicate {
    let bound = |value| Bound::Included(Datum::Integer(value));
    Predicate::Range { column, low: bound(low), high: bound(high) }
}

/// A byteslice column of these codes, which stand for themselves; its zone map says that they lie in `0..=max`.
fn packed_column(id: ColumnId, codes: &[u64], max: u64) -> Column {
    let mut numbers = Numbers(1);
    let kind = Storing::Codes { width: 2, spread: 2 };
    let mut column = Column::of_kind(&mut numbers, id, LogicalType::UInt(16), kind, codes.len());
    let format = Format::new(Packing::ByteSlice, 16).expect("16 bits");
    let mut bytes = Vec::new();
    pack(Isa::Scalar, format, codes, &mut bytes);
    column.values = codes.iter().map(|code| Datum::Integer((*code).into())).collect();
    column.view.shape = PhysicalLayout::Packed { bytes: Buffer::from_vec(bytes), format };
    column.view.meaning = CodeMeaning::FrameOfReference { base: 0 };
    column.view.validity = None;
    column.zone_map = Some(ZoneMap { min: 0, max, nulls: 0, coded: true });
    column.facts =
        Facts::Coded { meaning: column.view.meaning.clone(), max_code: 65_535, reach: Reach::Packed(format) };
    column
}

/// Two columns about which the metadata is wrong: of column 0 few records are below 1000, and nearly all are; of column
/// 1 nearly all are expected to be above 1000, and few are.
fn skewed(rows: usize) -> Vec<Column> {
    let first: Vec<u64> = (0..rows).map(|row| if row % 100 == 0 { 60_000 } else { row as u64 % 1000 }).collect();
    let second: Vec<u64> = (0..rows).map(|row| if row % 100 == 7 { 60_000 } else { row as u64 % 1000 }).collect();
    vec![packed_column(0, &first, 60_000), packed_column(1, &second, 60_000)]
}

#[test]
fn a_wrong_estimate_is_corrected_and_the_order_changes() {
    const ROWS: usize = 8192;
    let columns = skewed(ROWS);
    for (predicate, or) in [
        (Predicate::And(vec![range(0, 0, 999), range(1, 1000, 65_535)]), false),
        (Predicate::Or(vec![range(0, 1000, 65_535), range(1, 0, 999)]), true),
    ] {
        let isa = Isa::best();
        let (segment, other) = (translated(&predicate, &columns), translated(&predicate, &columns));
        let (segment, other) = (Arranged::new(segment), Arranged::new(other));
        let observed = Observed::with_costs(NODES, |_, _| COSTS);
        let zone_map = |column: ColumnId| columns[column as usize].zone_map;
        let view = |column: &ColumnDefinition| Ok(columns[column.id as usize].view.clone());
        let mut orders = Vec::new();
        for _ in 0..20 {
            let predicate = observed.arranged(isa, &segment);
            orders.push(order(&predicate));
            let tally = observed.look();
            let zone = EvaluatedZone { rows: ROWS, isa, view: &view, zone_map: &zone_map, tally };
            let result = zone.evaluate(&predicate, None).expect("evaluates");
            let holds = |row: usize| {
                let rare = row % 100 == 7;
                if or { row.is_multiple_of(100) || !rare } else { rare }
            };
            assert!((0..ROWS).all(|row| (result[row / 64] >> (row % 64) & 1 == 1) == holds(row)));
            if tally.is_some() {
                observed.recheck(isa, &predicate);
            }
        }
        assert_eq!(orders[0], [0, 1], "by the metadata, column 0 decides most");
        assert_eq!(orders[1], [1, 0], "the first zone shows that column 1 does");
        assert!(orders[1..].iter().all(|order| *order == [1, 0]), "and it stays so: {orders:?}");
        assert_eq!(observed.changes(), 1);
        // What was learnt of one segment holds for the others.
        assert_eq!(order(&observed.arranged(isa, &other)), [1, 0]);
        assert_eq!(order(&observed.extended(NODES + 5).arranged(isa, &other)), [1, 0]);
    }
}

#[test]
fn a_right_estimate_is_left_alone() {
    let codes: Vec<u64> = (0..8192).map(|row| row * 7 % 60_001).collect();
    let columns = [packed_column(0, &codes, 60_000), packed_column(1, &codes, 60_000)];
    let predicate = Predicate::And(vec![range(0, 0, 30_000), range(1, 0, 28_000)]);
    let (isa, observed) = (Isa::best(), Observed::with_costs(NODES, |_, _| COSTS));
    let segment = Arranged::new(translated(&predicate, &columns));
    let zone_map = |column: ColumnId| columns[column as usize].zone_map;
    let view = |column: &ColumnDefinition| Ok(columns[column.id as usize].view.clone());
    for _ in 0..20 {
        let predicate = observed.arranged(isa, &segment);
        let zone = EvaluatedZone { rows: 8192, isa, view: &view, zone_map: &zone_map, tally: observed.look() };
        zone.evaluate(&predicate, None).expect("evaluates");
        observed.recheck(isa, &predicate);
    }
    assert_eq!(observed.changes(), 0, "a difference of a few percent is no reason to change");
}

#[test]
fn estimates_follow_zone_maps_and_distinct_counts() {
    let column = |nulls| {
        let mut column = packed_column(0, &[0; 1000], 999);
        column.zone_map = Some(ZoneMap { min: 100, max: 299, nulls, coded: true });
        column
    };
    let share = |predicate: &Predicate, column: &Column, distinct: Option<u64>| {
        let mut nodes = 0;
        let mut prepared = Prepared::new(predicate, &table(std::slice::from_ref(column)), &mut nodes).expect("fits");
        let facts = |_: &ColumnDefinition| Ok(column.facts.clone());
        let mut translated = translate(&mut prepared, 1000, &facts).expect("translates");
        let (zone_map, distinct) = (|_, _| column.zone_map, move |_| distinct);
        Metadata { zones: &[1000], zone_map: &zone_map, distinct: &distinct }.estimate(&mut translated)
    };
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    close(share(&range(0, 0, 149), &column(0), None), 0.25);
    close(share(&range(0, 0, 149), &column(500), None), 0.125);
    close(share(&range(0, 150, 150), &column(0), None), 1.0 / 200.0);
    close(share(&range(0, 150, 150), &column(0), Some(10)), 0.1);
    let list = |negated| Predicate::In { column: 0, values: [120, 140, 900].map(Datum::Integer).to_vec(), negated };
    close(share(&list(false), &column(0), Some(20)), 0.1);
    close(share(&list(true), &column(0), Some(20)), 0.9);
    close(share(&Predicate::IsNull { column: 0, negated: false }, &column(250), None), 0.25);
    close(share(&Predicate::And(vec![range(0, 0, 149), list(false)]), &column(0), Some(20)), 0.025);
    close(share(&Predicate::Or(vec![range(0, 0, 149), list(false)]), &column(0), Some(20)), 1.0 - 0.75 * 0.9);
}

/// The way of a conjunction whose parts let these shares through.
fn way_at(costs: Costs, shares: [f64; 2]) -> Way {
    let columns = skewed(64);
    let predicate = Predicate::And(vec![range(0, 0, 999), range(1, 1000, 65_535)]);
    let mut translated = translated(&predicate, &columns);
    let CodePredicate::Junction(junction) = &translated else { panic!("a junction") };
    let CodePredicate::Leaf(Leaf { node: first, .. }) = junction.parts[0] else { panic!("a leaf") };
    let share = |node: usize, _| if node == first { shares[0] } else { shares[1] };
    Model { costs: &|_| costs, share: &share }.arrange(&mut translated);
    let CodePredicate::Junction(Junction { way, .. }) = translated else { panic!("a junction") };
    way
}

#[test]
fn the_way_follows_the_costs_of_the_machine() {
    assert_eq!(way_at(COSTS, [0.001, 0.5]), Way::ColumnFirst, "the first decides most");
    assert_eq!(way_at(Costs { masked: 300.0, ..COSTS }, [0.9, 0.9]), Way::Baseline, "masks cost and save nothing");
    assert_eq!(way_at(Costs { masked: 300.0, ..COSTS }, [0.0001, 0.9]), Way::ColumnFirst, "masks save nearly all");
    assert_eq!(way_at(Costs { together: 50.0, ..COSTS }, [0.9, 0.9]), Way::PredicateFirst, "together is cheaper");
    assert_eq!(way_at(Costs { together: 95.0, ..COSTS }, [0.9, 0.9]), Way::ColumnFirst, "too little to matter");
}

#[test]
fn an_and_reads_no_further_than_needed() {
    let mut numbers = Numbers(5);
    let kind = Storing::Codes { width: 1, spread: 100 };
    let mut columns: Vec<Column> =
        (0..2).map(|id| Column::of_kind(&mut numbers, id, LogicalType::Int(32), kind, 100)).collect();
    columns.iter_mut().for_each(|column| column.zone_map = None);
    // Codes 25 and 24 of column 0 never are both; the other range passes nearly all, so it comes last.
    let list = |values: &[i128]| Predicate::In {
        column: 0,
        values: values.iter().copied().map(Datum::Integer).collect(),
        negated: false,
    };
    let predicate = Predicate::And(vec![range(1, -99, 1000), list(&[-500, -75]), list(&[-76])]);
    let arranged = arranged(&predicate, &columns);
    let view = |column: &ColumnDefinition| {
        assert_eq!(column.id, 0, "the empty result needs no other column");
        Ok(columns[0].view.clone())
    };
    let zone = EvaluatedZone { rows: 100, isa: Isa::best(), view: &view, zone_map: &|_| None, tally: None };
    assert_eq!(zone.evaluate(&arranged, None).expect("evaluates"), [0, 0]);
}

#[test]
fn an_or_reads_no_further_than_needed() {
    let columns = skewed(64);
    // Column 1 has no code above 60,000, so that its part is true of all records; of most it is expected to be.
    let predicate = Predicate::Or(vec![range(0, 0, 100), range(1, 0, 60_000)]);
    let arranged = arranged(&predicate, &columns);
    assert_eq!(order(&arranged)[0], 1);
    let view = |column: &ColumnDefinition| {
        assert_eq!(column.id, 1, "no record is left for the other column");
        Ok(columns[1].view.clone())
    };
    let zone = EvaluatedZone { rows: 64, isa: Isa::best(), view: &view, zone_map: &|_| None, tally: None };
    assert_eq!(zone.evaluate(&arranged, None).expect("evaluates"), [u64::MAX]);
}

#[test]
fn columns_beside_each_other_are_compared_before_those_in_rows() {
    let mut numbers = Numbers(8);
    let kind = Storing::Codes { width: 1, spread: 100 };
    let mut columns: Vec<Column> =
        (0..2).map(|id| Column::of_kind(&mut numbers, id, LogicalType::Int(32), kind, 100)).collect();
    for in_rows in [0, 1] {
        for (id, column) in columns.iter_mut().enumerate() {
            let group = GroupMeta { columns: vec![0, 1], layout: Layout::Row, ..GroupMeta::alone(0) };
            let chunks = Reach::Chunks { width: 1, gathering: rank::gathering(&group) };
            let Facts::Coded { reach, .. } = &mut column.facts else { panic!("codes") };
            *reach = if id == in_rows { chunks } else { Reach::Native(1) };
        }
        let predicate = Predicate::And(vec![range(0, -60, -60), range(1, -60, -60)]);
        assert_eq!(order(&arranged(&predicate, &columns))[1] as usize, in_rows);
    }
}
