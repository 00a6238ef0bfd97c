//! The selections and projections of TPC-H's queries over its line items joined with all that they refer to. Constants
//! are the specification's validation parameters. As in the paper, queries with LIKE are left out (2, 9, 13, 16, 20), except
//! 14, which only projects by one. Left out too are those that select nothing by constants before they aggregate (17, 18),
//! and those over other tables (11, 22). The other halves of 4 and 21, that some item exists, are about other rows.

use super::query::{Condition, WideQuery, WideTable};
use crate::data::wide::Wide;
use gingham_kernels::packing::Operator;

/// The names, in the order of the figure.
pub const NAMES: [&str; 13] = ["Q1", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q10", "Q12", "Q14", "Q15", "Q19", "Q21"];

/// Days from 1970 to the first of a month.
fn day(year: i64, month: i64) -> i64 {
    // Days before each month of a year that is no leap year.
    const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leaps = |year: i64| year / 4 - year / 100 + year / 400;
    let leap_day = i64::from(month > 2 && leaps(year) > leaps(year - 1));
    (year - 1970) * 365 + leaps(year - 1) - leaps(1969) + BEFORE[month as usize - 1] + leap_day
}

/// A query over a wide table of line items.
pub fn query(name: &'static str, wide: &Wide) -> WideQuery {
    let t = WideTable(wide);
    let (parts, projection): (Vec<Condition>, &'static [&'static str]) = match name {
        "Q1" => (
            vec![t.below("l_shipdate", day(1998, 9) + 2)],
            &["l_returnflag", "l_linestatus", "l_quantity", "l_extendedprice", "l_discount", "l_tax"],
        ),
        "Q3" => (
            vec![
                t.is("c_mktsegment", "BUILDING"),
                t.below("o_orderdate", day(1995, 3) + 14),
                t.at_least("l_shipdate", day(1995, 3) + 15),
            ],
            &["l_orderkey", "l_extendedprice", "l_discount", "o_orderdate", "o_shippriority"],
        ),
        "Q4" => (
            vec![
                t.within("o_orderdate", day(1993, 7), day(1993, 10)),
                t.compare("l_commitdate", Operator::Less, "l_receiptdate"),
            ],
            &["o_orderpriority", "l_orderkey"],
        ),
        "Q5" => (
            vec![
                t.is("s_region", "ASIA"),
                t.within("o_orderdate", day(1994, 1), day(1995, 1)),
                t.compare("c_nation", Operator::Equal, "s_nation"),
            ],
            &["s_nation", "l_extendedprice", "l_discount"],
        ),
        "Q6" => (
            vec![
                t.within("l_shipdate", day(1994, 1), day(1995, 1)),
                t.within("l_discount", 5, 8),
                t.below("l_quantity", 2400),
            ],
            &["l_extendedprice", "l_discount"],
        ),
        "Q7" => (
            vec![
                t.within("l_shipdate", day(1995, 1), day(1997, 1)),
                Condition::Or(vec![
                    Condition::And(vec![t.is("s_nation", "FRANCE"), t.is("c_nation", "GERMANY")]),
                    Condition::And(vec![t.is("s_nation", "GERMANY"), t.is("c_nation", "FRANCE")]),
                ]),
            ],
            &["s_nation", "c_nation", "l_shipdate", "l_extendedprice", "l_discount"],
        ),
        "Q8" => (
            vec![
                t.is("p_type", "ECONOMY ANODIZED STEEL"),
                t.is("c_region", "AMERICA"),
                t.within("o_orderdate", day(1995, 1), day(1997, 1)),
            ],
            &["o_orderdate", "l_extendedprice", "l_discount", "s_nation"],
        ),
        "Q10" => (
            vec![t.is("l_returnflag", "R"), t.within("o_orderdate", day(1993, 10), day(1994, 1))],
            &["l_extendedprice", "l_discount", "c_acctbal", "c_nation"],
        ),
        "Q12" => (
            vec![
                t.is_any("l_shipmode", &["MAIL", "SHIP"]),
                t.within("l_receiptdate", day(1994, 1), day(1995, 1)),
                t.compare("l_commitdate", Operator::Less, "l_receiptdate"),
                t.compare("l_shipdate", Operator::Less, "l_commitdate"),
            ],
            &["l_shipmode", "o_orderpriority"],
        ),
        "Q14" => {
            (vec![t.within("l_shipdate", day(1995, 9), day(1995, 10))], &["p_type", "l_extendedprice", "l_discount"])
        }
        "Q15" => {
            (vec![t.within("l_shipdate", day(1996, 1), day(1996, 4))], &["l_suppkey", "l_extendedprice", "l_discount"])
        }
        "Q19" => (discounted_revenue(&t), &["l_extendedprice", "l_discount"]),
        "Q21" => (
            vec![
                t.is("s_nation", "SAUDI ARABIA"),
                t.is("o_orderstatus", "F"),
                t.compare("l_receiptdate", Operator::Greater, "l_commitdate"),
            ],
            &["l_suppkey", "l_orderkey"],
        ),
        other => panic!("no query {other} among {NAMES:?}"),
    };
    WideQuery { name, condition: Condition::And(parts), projection }
}

/// Query 19: three kinds of parts, each with its containers, quantities and sizes; all delivered by air and in person.
fn discounted_revenue(t: &WideTable<'_>) -> Vec<Condition> {
    let kind = |brand: &str, containers: &[&str], quantity: i64, size: i64| {
        Condition::And(vec![
            t.is("p_brand", brand),
            t.is_any("p_container", containers),
            t.within("l_quantity", quantity * 100, (quantity + 10) * 100 + 1),
            t.within("p_size", 1, size + 1),
        ])
    };
    vec![
        t.is("l_shipinstruct", "DELIVER IN PERSON"),
        t.is_any("l_shipmode", &["AIR", "AIR REG"]),
        Condition::Or(vec![
            kind("Brand#12", &["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5),
            kind("Brand#23", &["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10),
            kind("Brand#34", &["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15),
        ]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_from_1970() {
        for (date, days) in [((1970, 1), 0), ((1992, 1), 8035), ((1995, 3), 9190), ((1996, 2), 9527), ((1996, 3), 9556)]
        {
            assert_eq!(day(date.0, date.1), days, "{date:?}");
        }
    }

    #[test]
    fn every_query_is_over_attributes_that_there_are() {
        let wide = crate::data::wide::line_items(0.001, 1);
        for name in NAMES {
            let query = query(name, &wide);
            assert!(!query.projection.is_empty() && query.projection.iter().all(|name| wide.place(name) < 100));
        }
    }
}
