//! What the tests of pages share: all types, random values, empty pages.

pub(crate) mod compat;
pub(crate) mod edges;
pub(crate) mod fill;
pub(crate) mod model;

use super::*;
use crate::model::heap_options::{Deletes, HeapLayout};
use crate::{ColumnDefinition, Datum, FloatBits, LogicalType, Unit};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Numbers that look random, the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = self.0 ^ self.0 >> 29;
        mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// All types that a column can have.
fn types() -> Vec<LogicalType> {
    vec![
        LogicalType::Boolean,
        LogicalType::Int(8),
        LogicalType::Int(16),
        LogicalType::Int(32),
        LogicalType::Int(64),
        LogicalType::UInt(8),
        LogicalType::UInt(16),
        LogicalType::UInt(32),
        LogicalType::UInt(64),
        LogicalType::Decimal { precision: 9, scale: 2 },
        LogicalType::Decimal { precision: 18, scale: 2 },
        LogicalType::Decimal { precision: 38, scale: 0 },
        LogicalType::Float32,
        LogicalType::Float64,
        LogicalType::Date,
        LogicalType::Time(Unit::Second),
        LogicalType::Time(Unit::Nanosecond),
        LogicalType::Timestamp(Unit::Microsecond, None),
        LogicalType::Char(5),
        LogicalType::Varchar(None),
        LogicalType::Binary,
    ]
}

fn column(id: u32, logical_type: LogicalType, nullable: bool) -> ColumnDefinition {
    ColumnDefinition { nullable, ..ColumnDefinition::new(id, format!("c{id}"), logical_type) }
}

fn schema(columns: &[(LogicalType, bool)]) -> Arc<PageSchema> {
    let columns = columns
        .iter()
        .zip(1..)
        .map(|((logical_type, nullable), id)| Attribute::new(&column(id, logical_type.clone(), *nullable)));
    Arc::new(PageSchema::of("t".into(), columns.collect()))
}

/// A value of the attribute; byte strings of up to `longest` bytes.
fn value(random: &mut Random, own: &Attribute, longest: usize) -> Datum {
    if own.nullable && random.below(6) == 0 {
        return Datum::Null;
    }
    let bits = random.next() as i64;
    match (&own.logical_type, own.kind) {
        (LogicalType::Float32, _) => Datum::Float(FloatBits::new(f64::from(f32::from_bits(bits as u32 & 0xff7f_ffff)))),
        (LogicalType::Float64, _) => Datum::Float(FloatBits(bits as u64)),
        (LogicalType::Boolean, _) => Datum::Integer((bits & 1).into()),
        (_, AttributeForm::Variable) => {
            let length = random.below(longest + 1);
            // Text too: printable characters.
            Datum::Bytes((0..length).map(|_| b' ' + random.below(90) as u8).collect())
        }
        (_, AttributeForm::Fixed(16)) => Datum::Integer(i128::from(bits) << random.below(60)),
        (LogicalType::UInt(width), _) => Datum::Integer((bits as u64 >> (64 - width)).into()),
        (_, AttributeForm::Fixed(width)) => Datum::Integer((bits >> (64 - 8 * width)).into()),
    }
}

fn empty(layout: HeapLayout, deletes: Deletes, length: usize, schema: &Arc<PageSchema>) -> Page<Vec<u8>> {
    match layout {
        HeapLayout::Pax => {
            let average = vec![4.0; schema.attributes().len()];
            Page::Pax(PaxPage::empty(length, schema, 7, 3, deletes, &average).unwrap())
        }
        layout => Page::Nsm(NsmPage::empty(layout, length, schema, 7, 3)),
    }
}

fn place() -> String {
    "page 3 of table t".into()
}
