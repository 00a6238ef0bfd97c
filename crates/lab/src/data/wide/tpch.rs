//! TPC-H's line items, joined with all that they refer to: orders, customers, parts, suppliers, nations and regions. Only
//! the attributes that the lab's queries ask for are kept.

use super::{Attribute, Builder, Wide};
use crate::tpch::{TpchTable, generate_in_order};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Int32Type, Int64Type};

/// The wide table at a scale factor, made on `threads` threads.
pub fn line_items(scale: f64, threads: usize) -> Wide {
    let nation = WholeColumns::read(TpchTable::Nation, scale, threads, &["n_nationkey", "n_name", "n_regionkey"]);
    let region = WholeColumns::read(TpchTable::Region, scale, threads, &["r_name"]);
    let supplier = WholeColumns::read(TpchTable::Supplier, scale, threads, &["s_nationkey"]);
    let customer =
        WholeColumns::read(TpchTable::Customer, scale, threads, &["c_nationkey", "c_mktsegment", "c_acctbal"]);
    let part = WholeColumns::read(TpchTable::Part, scale, threads, &["p_brand", "p_type", "p_size", "p_container"]);
    let orders = WholeColumns::read(
        TpchTable::Orders,
        scale,
        threads,
        &["o_orderkey", "o_custkey", "o_orderdate", "o_orderpriority", "o_shippriority", "o_orderstatus"],
    );
    let items = WholeColumns::read(TpchTable::LineItem, scale, threads, &LINE_ITEM);

    // Keys of these tables count from 1 without gaps, and orders come in the order of their keys, as line items do.
    let order_of = Order::of(&orders.numbers("o_orderkey"), &items.numbers("l_orderkey"));
    let row_of = |keys: Vec<i64>| keys.into_iter().map(|key| key as usize - 1).collect::<Vec<_>>();
    let customer_of = order_of.then(&row_of(orders.numbers("o_custkey")));
    let part_of = row_of(items.numbers("l_partkey"));
    let supplier_of = row_of(items.numbers("l_suppkey"));
    let nation_row = |key: i64| key as usize;

    let mut wide = Wide::default();
    for name in LINE_ITEM {
        wide.attributes.push(items.attribute(name, None));
    }
    for name in ["o_orderdate", "o_orderpriority", "o_shippriority", "o_orderstatus"] {
        wide.attributes.push(orders.attribute(name, Some(&order_of.0)));
    }
    for name in ["c_mktsegment", "c_acctbal"] {
        wide.attributes.push(customer.attribute(name, Some(&customer_of)));
    }
    for name in ["p_brand", "p_type", "p_size", "p_container"] {
        wide.attributes.push(part.attribute(name, Some(&part_of)));
    }
    let nations_of = |table: &WholeColumns, name: &str, rows: &[usize]| {
        let keys = table.numbers(name);
        rows.iter().map(|row| nation_row(keys[*row])).collect::<Vec<_>>()
    };
    for (prefix, nations) in [
        ("c", nations_of(&customer, "c_nationkey", &customer_of)),
        ("s", nations_of(&supplier, "s_nationkey", &supplier_of)),
    ] {
        wide.attributes.push(nation.renamed("n_name", &format!("{prefix}_nation"), &nations));
        let regions: Vec<usize> = nation.numbers("n_regionkey").into_iter().map(|key| key as usize).collect();
        let of_row: Vec<usize> = nations.iter().map(|nation| regions[*nation]).collect();
        wide.attributes.push(region.renamed("r_name", &format!("{prefix}_region"), &of_row));
    }
    wide
}

const LINE_ITEM: [&str; 15] = [
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_commitdate",
    "l_receiptdate",
    "l_shipinstruct",
    "l_shipmode",
];

/// Bounds of all dates in days since 1970: the specification's, so that dates of different columns compare by their codes.
const DATES: (i64, i64) = (8035, 10_591);

/// The row of orders that each line item belongs to.
struct Order(Vec<usize>);

impl Order {
    fn of(orders: &[i64], items: &[i64]) -> Self {
        let mut order = 0;
        let row = |key: &i64| {
            while orders[order] != *key {
                order += 1;
            }
            order
        };
        Self(items.iter().map(row).collect())
    }

    /// For each line item, what the orders' list has at its order.
    fn then(&self, of_order: &[usize]) -> Vec<usize> {
        self.0.iter().map(|order| of_order[*order]).collect()
    }
}

/// Some columns of a table, whole.
struct WholeColumns {
    batches: Vec<RecordBatch>,
}

impl WholeColumns {
    fn read(table: TpchTable, scale: f64, threads: usize, names: &[&str]) -> Self {
        let schema = table.schema();
        let places: Vec<usize> = names.iter().filter_map(|name| schema.index_of(name).ok()).collect();
        let mut batches = Vec::new();
        let Ok(()) = generate_in_order(table, scale, threads, |batch| {
            batches.push(batch.project(&places).expect("the places are the schema's"));
            Ok::<(), std::convert::Infallible>(())
        });
        Self { batches }
    }

    /// The column's arrays.
    fn arrays(&self, name: &str) -> impl Iterator<Item = &dyn Array> {
        self.batches.iter().filter_map(move |batch| batch.column_by_name(name)).map(AsRef::as_ref)
    }

    /// A column of numbers, decimals as counts of their last digit and dates as days since 1970.
    fn numbers(&self, name: &str) -> Vec<i64> {
        self.arrays(name).flat_map(numbers).collect()
    }

    /// A column as an attribute, its rows in the given order.
    fn attribute(&self, name: &str, rows: Option<&[usize]>) -> Attribute {
        match rows {
            Some(rows) => self.renamed(name, name, rows),
            None => {
                let count = self.batches.iter().map(RecordBatch::num_rows).sum();
                self.renamed(name, name, &(0..count).collect::<Vec<_>>())
            }
        }
    }

    fn renamed(&self, name: &str, new: &str, rows: &[usize]) -> Attribute {
        let data_type = self.arrays(name).next().map(|array| array.data_type().clone());
        if data_type == Some(DataType::Utf8View) {
            let texts: Vec<&str> =
                self.arrays(name).flat_map(|array| array.as_string_view().iter().flatten()).collect();
            let mut builder = Builder::texts();
            rows.iter().for_each(|row| builder.text(texts[*row]));
            return builder.finish(new, None);
        }
        let values = self.numbers(name);
        let mut builder = Builder::numbers();
        rows.iter().for_each(|row| builder.number(values[*row]));
        builder.finish(new, (data_type == Some(DataType::Date32)).then_some(DATES))
    }
}

fn numbers(array: &dyn Array) -> Vec<i64> {
    match array.data_type() {
        DataType::Int32 => array.as_primitive::<Int32Type>().values().iter().map(|value| i64::from(*value)).collect(),
        DataType::Date32 => array.as_primitive::<Date32Type>().values().iter().map(|value| i64::from(*value)).collect(),
        DataType::Decimal128(..) => {
            array.as_primitive::<Decimal128Type>().values().iter().map(|value| *value as i64).collect()
        }
        _ => array.as_primitive::<Int64Type>().values().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_rows_are_those_of_sql() {
        use gingham::Database;
        let wide = line_items(0.002, 2);
        let connection = Database::in_memory().unwrap().connect();
        crate::tpch::create_tables(&connection).unwrap();
        for (table, batches) in crate::tpch::generate_all(0.002, 2, |_| ()) {
            crate::tpch::load(&connection, table, &batches, |_| ()).unwrap();
        }
        let count = |sql: &str| {
            let batches = connection.query(sql).unwrap().collect_batches().unwrap();
            batches[0].column(0).as_primitive::<Int64Type>().value(0) as usize
        };
        assert_eq!(count("SELECT count(*) FROM lineitem"), wide.rows());
        let attribute = |name: &str| &wide.attributes[wide.place(name)];
        let date = attribute("o_orderdate").at_least(9204);
        let building = attribute("c_mktsegment").of_text("BUILDING");
        let asia = attribute("s_region").of_text("ASIA");
        let found = (0..wide.rows()).filter(|row| {
            let code = |name: &str| attribute(name).codes.get(*row);
            code("o_orderdate") < date && code("c_mktsegment") == building && code("s_region") == asia
        });
        let sql = "SELECT count(*) FROM lineitem, orders, customer, supplier, nation, region
                   WHERE l_orderkey = o_orderkey AND o_custkey = c_custkey AND l_suppkey = s_suppkey
                   AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey
                   AND o_orderdate < DATE '1995-03-15' AND c_mktsegment = 'BUILDING' AND r_name = 'ASIA'";
        assert_eq!(found.count(), count(sql));
        let found = (0..wide.rows()).filter(|row| {
            let code = |name: &str| attribute(name).codes.get(*row);
            code("l_commitdate") < code("l_receiptdate") && code("p_size") < attribute("p_size").at_least(10)
        });
        let sql = "SELECT count(*) FROM lineitem, part WHERE l_partkey = p_partkey AND l_commitdate < l_receiptdate AND p_size < 10";
        assert_eq!(found.count(), count(sql));
    }

    #[test]
    fn nearly_all_columns_are_narrow() {
        let wide = line_items(0.01, 2);
        let narrow = wide.attributes.iter().filter(|attribute| attribute.width <= 24).count();
        assert!(narrow * 10 >= wide.attributes.len() * 9, "{narrow} of {}", wide.attributes.len());
    }
}
