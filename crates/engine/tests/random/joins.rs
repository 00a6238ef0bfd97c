//! Random tables to join, and random joins of them.

use super::generator::Generator;
use arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// The tables' names.
pub const TABLES: [&str; 4] = ["p", "q", "r", "u"];
const WORDS: [&str; 4] = ["ash", "birch", "cedar", "elm"];

/// Integers so far apart that they and another key take more than a word together; both ends among them.
const FAR: [i64; 6] = [i64::MIN, -(1 << 61), 0, 7, 1 << 62, i64::MAX];

/// The columns of each table: a unique number, two integers, a word, a float, an integer far from others; all but the first may be
/// NULL.
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Int32, true),
        Field::new("s", DataType::Utf8View, true),
        Field::new("f", DataType::Float64, true),
        Field::new("w", DataType::Int64, true),
    ]))
}

/// A table of no to twenty rows, each integer column with few values or many.
pub fn batch(generator: &mut Generator) -> RecordBatch {
    let rows = *generator.pick(&[0, 1, 5, 8, 12, 12, 20]);
    let mut integers = || -> Int32Array {
        let most = *generator.pick(&[6, 6, 15, 40]);
        let nulls = *generator.pick(&[0, 10, 40]);
        (0..rows)
            .map(|_| if generator.chance(nulls) { None } else { Some(generator.between(0, most) as i32) })
            .collect()
    };
    let (a, b) = (integers(), integers());
    let words: StringViewArray =
        (0..rows).map(|_| if generator.chance(15) { None } else { Some(*generator.pick(&WORDS)) }).collect();
    let floats: Float64Array = (0..rows)
        .map(|_| if generator.chance(15) { None } else { Some(generator.between(0, 4) as f64 / 2.0) })
        .collect();
    let ends = generator.between(0, 2) as usize;
    let far: Int64Array = (0..rows)
        .map(|_| if generator.chance(15) { None } else { Some(*generator.pick(&FAR[ends..FAR.len() - ends])) })
        .collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(0..rows as i64)),
        Arc::new(a),
        Arc::new(b),
        Arc::new(words),
        Arc::new(floats),
        Arc::new(far),
    ];
    RecordBatch::try_new(schema(), columns).expect("columns of the schema")
}

/// A column of integers of the relation `t{number}`.
fn integer(generator: &mut Generator, number: i64) -> String {
    format!("t{number}.{}", generator.pick(&["a", "a", "b", "id"]))
}

/// An equality of two relations.
fn equality(generator: &mut Generator, x: i64, y: i64) -> String {
    match generator.between(0, 15) {
        12 => format!("t{x}.w = t{y}.w"),
        13 => format!("t{x}.w = t{y}.w AND {} = {}", integer(generator, x), integer(generator, y)),
        14 => format!("t{x}.f = t{y}.f AND t{x}.w = t{y}.w"),
        15 => format!("t{x}.w IS NOT DISTINCT FROM t{y}.w AND t{x}.a = t{y}.b AND t{x}.s = t{y}.s"),
        0 => format!("t{x}.s = t{y}.s"),
        1 => format!("t{x}.f = t{y}.f"),
        2 => format!("{} + 1 = {}", integer(generator, x), integer(generator, y)),
        3 => format!("{} = {} AND t{x}.s = t{y}.s", integer(generator, x), integer(generator, y)),
        4 => format!("t{x}.a = t{y}.a AND t{x}.b = t{y}.a"),
        _ => format!("{} = {}", integer(generator, x), integer(generator, y)),
    }
}

/// A condition on some of `count` relations.
fn condition(generator: &mut Generator, count: i64) -> String {
    let mut any = || generator.between(0, count - 1);
    let (x, y, z) = (any(), any(), any());
    let table = *generator.pick(&TABLES);
    let not = *generator.pick(&["", "NOT "]);
    let (i, j) = (integer(generator, x), integer(generator, y));
    match generator.between(0, 18) {
        16 => format!("{not}EXISTS (SELECT 1 FROM {table} x WHERE x.w = t{x}.w AND x.a = {j})"),
        17 => format!("t{x}.w {not}IN (SELECT w FROM {table})"),
        18 => format!("({not}EXISTS (SELECT 1 FROM {table} x WHERE x.w = t{x}.w AND x.f = t{y}.f) OR {j} = 2)"),
        0 => format!("{i} < {}", generator.between(0, 30)),
        1 => format!("{i} < {j}"),
        2 => format!("t{x}.s = '{}'", generator.pick(&WORDS)),
        3 => format!("t{x}.a IS {not}NULL"),
        4 => format!("({i} = 1 AND t{y}.b = 2 OR {i} = 2 AND t{y}.b = 1 OR {i} > 3)"),
        5 => format!("{i} + {j} = {}", integer(generator, z)),
        6 => format!("{not}EXISTS (SELECT 1 FROM {table} x WHERE x.a = t{x}.a)"),
        7 => format!("{not}EXISTS (SELECT 1 FROM {table} x WHERE x.a = {i} AND x.b <> t{y}.b)"),
        8 => format!("{i} {not}IN (SELECT a FROM {table})"),
        9 => format!("{i} >= (SELECT min(b) FROM {table} x WHERE x.a = t{y}.a)"),
        10 => format!("{i} <= (SELECT max(a) FROM {table})"),
        13 | 14 => {
            let known = *generator.pick(&["", " WHERE a IS NOT NULL", " WHERE a > 30"]);
            format!("{i} NOT IN (SELECT a FROM {table}{known})")
        }
        11 => format!("{not}EXISTS (SELECT 1 FROM {table} x WHERE x.a > {i} AND x.b <> {j})"),
        12 => format!("({not}EXISTS (SELECT 1 FROM {table} x WHERE x.a > {i} + 3) OR {j} = 2)"),
        _ => format!("(EXISTS (SELECT 1 FROM {table} x WHERE x.b = {j}) OR {i} = 2)"),
    }
}

/// A table, or groups or rows of one, under the name `t{number}`, with the columns of a table.
fn relation(generator: &mut Generator, number: i64) -> String {
    let table = generator.pick(&TABLES);
    match generator.between(0, 9) {
        0 => format!(
            "(SELECT a AS id, a, count(*)::INTEGER AS b, min(s) AS s, min(f) AS f, max(w) AS w FROM {table} GROUP BY a) t{number}"
        ),
        1 => format!("(SELECT DISTINCT b::BIGINT AS id, a, b, s, f, w FROM {table} WHERE a > 1) t{number}"),
        3 => format!(
            "(SELECT id, a, b, s, f, w FROM {table} WHERE b < 9 UNION ALL SELECT id + 1, b, a, s, f, w FROM {}) t{number}",
            generator.pick(&TABLES)
        ),
        2 => format!(
            "(SELECT v.id, x.a, v.b, x.s, v.f, x.w FROM {table} v JOIN {} x ON v.a = x.b WHERE x.id < 9) t{number}",
            generator.pick(&TABLES)
        ),
        _ => format!("{table} t{number}"),
    }
}

/// The relations that relation `number` is joined to: a chain, a star, or any.
fn partner(generator: &mut Generator, number: i64, shape: i64) -> i64 {
    match shape {
        0 => number - 1,
        1 => 0,
        _ => generator.between(0, number - 1),
    }
}

/// A query over a FROM clause with commas, or with explicit joins of every kind.
pub fn query(generator: &mut Generator) -> String {
    let count = generator.between(2, 6);
    let shape = generator.between(0, 2);
    let mut conditions = Vec::new();
    let mut from = relation(generator, 0);
    let commas = generator.chance(40);
    // A product with what came before, once at most.
    let product = if generator.chance(20) { generator.between(1, count - 1) } else { 0 };
    for number in 1..count {
        let relation = relation(generator, number);
        let partner = partner(generator, number, shape);
        let mut on = equality(generator, partner, number);
        if commas {
            from = format!("{from}, {relation}");
            if number != product {
                conditions.push(on);
            }
            continue;
        }
        if generator.chance(15) {
            on = format!("{on} AND t{partner}.b <> t{number}.a");
        }
        let mut kind = *generator.pick(&["JOIN", "JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        if number == product {
            let (x, y) = (integer(generator, partner), integer(generator, number));
            on = format!("{x} {} {y}", generator.pick(&["<", ">=", "<>"]));
            kind = *generator.pick(&["JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        }
        from = match number == product && generator.chance(40) {
            true => format!("{from} CROSS JOIN {relation}"),
            false => format!("{from} {kind} {relation} ON {on}"),
        };
    }
    // Cycles.
    if count > 2 && generator.chance(30) {
        conditions.push(equality(generator, 0, count - 1));
    }
    for _ in 0..generator.between(0, 2) {
        conditions.push(condition(generator, count));
    }
    let filter = if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    let (output, columns) = output(generator, count);
    let order = order(generator, columns);
    format!("SELECT {output} FROM {from}{filter}{order}")
}

/// What a query gives: some columns, all of them, a count, or groups; and of how many columns an order would tell all rows
/// apart, where that may be asked for.
fn output(generator: &mut Generator, count: i64) -> (String, i64) {
    match generator.between(0, 9) {
        0..=3 => {
            let columns =
                (0..count).map(|number| format!("t{number}.id, t{number}.{}", generator.pick(&["a", "b", "s", "f"])));
            (columns.collect::<Vec<_>>().join(", "), 2 * count)
        }
        4 => ("*".to_string(), 0),
        5 => (format!("t{}.a, t{}.s", generator.between(0, count - 1), generator.between(0, count - 1)), 2),
        _ => {
            let sums =
                (0..count).map(|number| format!("sum(t{number}.id), count(t{number}.{})", generator.pick(&["a", "b"])));
            (format!("count(*), {}", sums.collect::<Vec<_>>().join(", ")), 0)
        }
    }
}

/// An order by all of the columns, and at times a limit behind it; or none.
fn order(generator: &mut Generator, columns: i64) -> String {
    if columns == 0 || generator.chance(40) {
        return String::new();
    }
    let first = generator.between(0, columns - 1);
    let keys = (0..columns).map(|number| {
        let column = (first + number) % columns + 1;
        format!("{column} {}", generator.pick(&["", "DESC", "ASC NULLS FIRST", "DESC NULLS LAST"]))
    });
    let keys = keys.collect::<Vec<_>>().join(", ");
    let limit = match generator.between(0, 3) {
        0 => format!(" LIMIT {}", generator.between(0, 30)),
        1 => format!(" LIMIT {} OFFSET {}", generator.between(1, 30), generator.between(1, 20)),
        _ => String::new(),
    };
    format!(" ORDER BY {keys}{limit}")
}
