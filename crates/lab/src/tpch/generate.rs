//! The generator's rows as Arrow batches, with the types of benchmarks/definitions/tpch/schema.sql: BIGINT keys,
//! DECIMAL(15,2), DATE, and strings as views. A few thousand rows are gathered and then turned column by column, which
//! keeps each loop over one field and one builder.

use super::TpchTable;
use arrow::array::{ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringViewBuilder};
use arrow::datatypes::{Field, Schema};
use std::fmt::{Display, Write};
use std::sync::Arc;
use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::{
    Customer, CustomerGenerator, LineItem, LineItemGenerator, Nation, NationGenerator, Order, OrderGenerator, Part,
    PartGenerator, PartSupp, PartSuppGenerator, Region, RegionGenerator, Supplier, SupplierGenerator,
};

/// Rows of a batch (the last of a part may have fewer): DataFusion's own batch size.
pub const BATCH_ROWS: usize = 8192;

/// The rows of one part of `table` at `scale`, in the generator's order. Parts count from 0; all parts in order are the
/// table. Region and nation have one part whatever `parts` says.
pub fn batches(
    table: TpchTable,
    scale: f64,
    part: usize,
    parts: usize,
) -> Box<dyn Iterator<Item = RecordBatch> + Send> {
    let (part, parts) = (part as i32 + 1, parts as i32);
    match table {
        TpchTable::Region => chunks(RegionGenerator::new(scale, 1, 1).into_iter(), region),
        TpchTable::Nation => chunks(NationGenerator::new(scale, 1, 1).into_iter(), nation),
        TpchTable::Supplier => chunks(SupplierGenerator::new(scale, part, parts).into_iter(), supplier),
        TpchTable::Customer => chunks(CustomerGenerator::new(scale, part, parts).into_iter(), customer),
        TpchTable::Part => chunks(PartGenerator::new(scale, part, parts).into_iter(), part_table),
        TpchTable::PartSupp => chunks(PartSuppGenerator::new(scale, part, parts).into_iter(), partsupp),
        TpchTable::Orders => chunks(OrderGenerator::new(scale, part, parts).into_iter(), orders),
        TpchTable::LineItem => chunks(LineItemGenerator::new(scale, part, parts).into_iter(), lineitem),
    }
}

impl TpchTable {
    /// Its Arrow schema; no column takes NULL.
    pub fn schema(self) -> Arc<Schema> {
        match self {
            Self::Region => region(&[]),
            Self::Nation => nation(&[]),
            Self::Supplier => supplier(&[]),
            Self::Customer => customer(&[]),
            Self::Part => part_table(&[]),
            Self::PartSupp => partsupp(&[]),
            Self::Orders => orders(&[]),
            Self::LineItem => lineitem(&[]),
        }
        .schema()
    }
}

/// Turns runs of rows into batches.
fn chunks<R: Send + 'static>(
    mut rows: impl Iterator<Item = R> + Send + 'static,
    to_batch: fn(&[R]) -> RecordBatch,
) -> Box<dyn Iterator<Item = RecordBatch> + Send> {
    let mut gathered = Vec::with_capacity(BATCH_ROWS);
    Box::new(std::iter::from_fn(move || {
        gathered.clear();
        gathered.extend(rows.by_ref().take(BATCH_ROWS));
        (!gathered.is_empty()).then(|| to_batch(&gathered))
    }))
}

/// Gathers columns made from the fields of `rows`.
struct ColumnBuilder<'a, R> {
    rows: &'a [R],
    columns: Vec<(Field, ArrayRef)>,
}

impl<'a, R> ColumnBuilder<'a, R> {
    fn of(rows: &'a [R]) -> Self {
        Self { rows, columns: Vec::with_capacity(16) }
    }

    fn push(mut self, name: &str, array: ArrayRef) -> Self {
        self.columns.push((Field::new(name, array.data_type().clone(), false), array));
        self
    }

    fn bigint(self, name: &str, field: impl Fn(&R) -> i64) -> Self {
        let array = Int64Array::from_iter_values(self.rows.iter().map(field));
        self.push(name, Arc::new(array))
    }

    fn integer(self, name: &str, field: impl Fn(&R) -> i32) -> Self {
        let array = Int32Array::from_iter_values(self.rows.iter().map(field));
        self.push(name, Arc::new(array))
    }

    fn decimal(self, name: &str, field: impl Fn(&R) -> TPCHDecimal) -> Self {
        let values = self.rows.iter().map(|row| i128::from(field(row).into_inner()));
        let array = Decimal128Array::from_iter_values(values)
            .with_precision_and_scale(15, 2)
            .expect("precision 15 and scale 2 are within a 128-bit decimal's");
        self.push(name, Arc::new(array))
    }

    fn date(self, name: &str, field: impl Fn(&R) -> TPCHDate) -> Self {
        let array = Date32Array::from_iter_values(self.rows.iter().map(|row| field(row).to_unix_epoch()));
        self.push(name, Arc::new(array))
    }

    fn text<'r>(self, name: &str, field: impl Fn(&'r R) -> &'r str) -> Self
    where
        'a: 'r,
    {
        let mut builder = StringViewBuilder::with_capacity(self.rows.len());
        for row in self.rows {
            builder.append_value(field(row));
        }
        self.push(name, Arc::new(builder.finish()))
    }

    /// Strings that the generator gives only in their printed form.
    fn printed<'r, D: Display + 'r>(self, name: &str, field: impl Fn(&'r R) -> &'r D) -> Self
    where
        'a: 'r,
    {
        let mut builder = StringViewBuilder::with_capacity(self.rows.len());
        let mut text = String::new();
        for row in self.rows {
            text.clear();
            write!(text, "{}", field(row)).expect("writing to a string can't fail");
            builder.append_value(&text);
        }
        self.push(name, Arc::new(builder.finish()))
    }

    fn batch(self) -> RecordBatch {
        let (fields, arrays): (Vec<_>, Vec<_>) = self.columns.into_iter().unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .expect("every column has a value for each row, and its field was made from it")
    }
}

fn region(rows: &[Region<'static>]) -> RecordBatch {
    ColumnBuilder::of(rows)
        .bigint("r_regionkey", |row| row.r_regionkey)
        .text("r_name", |row| row.r_name)
        .text("r_comment", |row| row.r_comment)
        .batch()
}

fn nation(rows: &[Nation<'static>]) -> RecordBatch {
    ColumnBuilder::of(rows)
        .bigint("n_nationkey", |row| row.n_nationkey)
        .text("n_name", |row| row.n_name)
        .bigint("n_regionkey", |row| row.n_regionkey)
        .text("n_comment", |row| row.n_comment)
        .batch()
}

fn supplier(rows: &[Supplier]) -> RecordBatch {
    ColumnBuilder::of(rows)
        .bigint("s_suppkey", |row| row.s_suppkey)
        .printed("s_name", |row| &row.s_name)
        .printed("s_address", |row| &row.s_address)
        .bigint("s_nationkey", |row| row.s_nationkey)
        .printed("s_phone", |row| &row.s_phone)
        .decimal("s_acctbal", |row| row.s_acctbal)
        .text("s_comment", |row| &row.s_comment)
        .batch()
}

fn customer(rows: &[Customer<'static>]) -> RecordBatch {
    ColumnBuilder::of(rows)
        .bigint("c_custkey", |row| row.c_custkey)
        .printed("c_name", |row| &row.c_name)
        .printed("c_address", |row| &row.c_address)
        .bigint("c_nationkey", |row| row.c_nationkey)
        .printed("c_phone", |row| &row.c_phone)
        .decimal("c_acctbal", |row| row.c_acctbal)
        .text("c_mktsegment", |row| row.c_mktsegment)
        .text("c_comment", |row| row.c_comment)
        .batch()
}

fn part_table(rows: &[Part<'static>]) -> RecordBatch {
    ColumnBuilder::of(rows)
        .bigint("p_partkey", |row| row.p_partkey)
        .printed("p_name", |row| &row.p_name)
        .printed("p_mfgr", |row| &row.p_mfgr)
        .printed("p_brand", |row| &row.p_brand)
        .text("p_type", |row| row.p_type)
        .integer("p_size", |row| row.p_size)
        .text("p_container", |row| row.p_container)
        .decimal("p_retailprice", |row| row.p_retailprice)
        .text("p_comment", |row| row.p_comment)
        .batch()
}

fn partsupp(rows: &[PartSupp<'static>]) -> RecordBatch {
    ColumnBuilder::of(rows)
        .bigint("ps_partkey", |row| row.ps_partkey)
        .bigint("ps_suppkey", |row| row.ps_suppkey)
        .integer("ps_availqty", |row| row.ps_availqty)
        .decimal("ps_supplycost", |row| row.ps_supplycost)
        .text("ps_comment", |row| row.ps_comment)
        .batch()
}

fn orders(rows: &[Order<'static>]) -> RecordBatch {
    ColumnBuilder::of(rows)
        .bigint("o_orderkey", |row| row.o_orderkey)
        .bigint("o_custkey", |row| row.o_custkey)
        .text("o_orderstatus", |row| row.o_orderstatus.as_str())
        .decimal("o_totalprice", |row| row.o_totalprice)
        .date("o_orderdate", |row| row.o_orderdate)
        .text("o_orderpriority", |row| row.o_orderpriority)
        .printed("o_clerk", |row| &row.o_clerk)
        .integer("o_shippriority", |row| row.o_shippriority)
        .text("o_comment", |row| row.o_comment)
        .batch()
}

fn lineitem(rows: &[LineItem<'static>]) -> RecordBatch {
    ColumnBuilder::of(rows)
        .bigint("l_orderkey", |row| row.l_orderkey)
        .bigint("l_partkey", |row| row.l_partkey)
        .bigint("l_suppkey", |row| row.l_suppkey)
        .integer("l_linenumber", |row| row.l_linenumber)
        // The generator counts whole pieces; the column is a decimal.
        .decimal("l_quantity", |row| TPCHDecimal::new(row.l_quantity * 100))
        .decimal("l_extendedprice", |row| row.l_extendedprice)
        .decimal("l_discount", |row| row.l_discount)
        .decimal("l_tax", |row| row.l_tax)
        .text("l_returnflag", |row| row.l_returnflag)
        .text("l_linestatus", |row| row.l_linestatus)
        .date("l_shipdate", |row| row.l_shipdate)
        .date("l_commitdate", |row| row.l_commitdate)
        .date("l_receiptdate", |row| row.l_receiptdate)
        .text("l_shipinstruct", |row| row.l_shipinstruct)
        .text("l_shipmode", |row| row.l_shipmode)
        .text("l_comment", |row| row.l_comment)
        .batch()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::compute::concat_batches;
    use std::collections::HashMap;

    #[test]
    fn parts_in_order_are_the_whole_table() {
        for table in [TpchTable::Customer, TpchTable::LineItem] {
            let whole: Vec<_> = batches(table, 0.002, 0, 1).collect();
            let parted: Vec<_> = (0..3).flat_map(|part| batches(table, 0.002, part, 3)).collect();
            let whole = concat_batches(&table.schema(), &whole).unwrap();
            assert!(whole.num_rows() >= 300, "{} rows of {}", whole.num_rows(), table.name());
            assert_eq!(whole, concat_batches(&table.schema(), &parted).unwrap());
        }
    }

    #[test]
    fn first_line_item_is_the_one_dbgen_prints() {
        let batch = batches(TpchTable::LineItem, 1.0, 0, 1000).next().unwrap();
        let line: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| arrow::util::display::array_value_to_string(column, 0).unwrap())
            .collect();
        assert_eq!(
            line.join("|"),
            "1|155190|7706|1|17.00|21168.23|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|DELIVER IN PERSON|TRUCK|\
             egular courts above the"
        );
    }

    #[test]
    fn schemas_are_those_of_the_definition() {
        let sql = include_str!("../../../../benchmarks/definitions/tpch/schema.sql");
        let mut columns = HashMap::new();
        for line in sql.lines().filter(|line| line.starts_with("    ")) {
            let line = line.trim().trim_end_matches(',');
            let (name, rest) = line.split_once(' ').unwrap();
            let sql_type = rest.strip_suffix(" NOT NULL").unwrap();
            columns.insert(name.to_string(), sql_type.to_string());
        }
        let mut seen = 0;
        for table in TpchTable::ALL {
            for field in table.schema().fields() {
                let sql_type = &columns[field.name()];
                let arrow_type = match sql_type.split('(').next().unwrap() {
                    "BIGINT" => "Int64",
                    "INTEGER" => "Int32",
                    "DECIMAL" => "Decimal128(15, 2)",
                    "DATE" => "Date32",
                    "CHAR" | "VARCHAR" => "Utf8View",
                    other => panic!("unexpected type {other}"),
                };
                assert_eq!(field.data_type().to_string(), arrow_type, "{}", field.name());
                assert!(!field.is_nullable());
                seen += 1;
            }
        }
        assert_eq!(seen, columns.len());
    }
}
