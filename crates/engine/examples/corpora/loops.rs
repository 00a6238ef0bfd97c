//! DuckDB's loops, unrolled: `loop i 0 10`, `foreach type int bigint` and their like repeat the lines up to `endloop`,
//! with `${i}`, or `{i}`, replaced by the value.

use crate::reader::Line;

/// More lines than this are no test of SQL but of endurance.
const MOST_LINES: usize = 60_000;

/// What `<numeric>` and its like stand for in a `foreach`.
const LISTS: &[(&str, &str)] = &[
    ("<integral>", "tinyint smallint integer bigint"),
    ("<signed>", "tinyint smallint integer bigint"),
    ("<unsigned>", "utinyint usmallint uinteger ubigint"),
    ("<numeric>", "tinyint smallint integer bigint float double"),
    ("<alltypes>", "bool tinyint smallint integer bigint float double varchar"),
    ("<all_types_columns>", "bool tinyint smallint int bigint float double varchar"),
];

/// `lines` with every loop written out.
pub fn unroll(lines: &[Line]) -> Vec<Line> {
    let mut out = Vec::new();
    into(lines, &mut out);
    out
}

fn into(lines: &[Line], out: &mut Vec<Line>) {
    let mut at = 0;
    while at < lines.len() && out.len() < MOST_LINES.max(lines.len()) {
        let words: Vec<&str> = lines[at].1.split_whitespace().collect();
        at += 1;
        let Some((names, rounds)) = rounds(&words) else {
            out.push(lines[at - 1].clone());
            continue;
        };
        let end = at + body(&lines[at..]);
        for values in rounds {
            if out.len() > MOST_LINES {
                break;
            }
            let round: Vec<Line> =
                lines[at..end].iter().map(|(number, line)| (*number, replaced(line, &names, &values))).collect();
            into(&round, out);
        }
        at = (end + 1).min(lines.len());
    }
}

/// The number of lines before the `endloop` of a loop that `lines` is the inside of.
fn body(lines: &[Line]) -> usize {
    let mut depth = 0;
    for (position, (_, line)) in lines.iter().enumerate() {
        match line.split_whitespace().next() {
            Some("loop" | "foreach" | "concurrentloop" | "concurrentforeach") => depth += 1,
            Some("endloop") if depth == 0 => return position,
            Some("endloop") => depth -= 1,
            _ => {}
        }
    }
    lines.len()
}

type Rounds = (Vec<String>, Vec<Vec<String>>);

/// The names that a loop binds and their values in each round, when `words` are a loop's first line.
fn rounds(words: &[&str]) -> Option<Rounds> {
    match words {
        ["loop" | "concurrentloop", name, start, end, ..] => {
            let (start, end): (i64, i64) = (start.parse().ok()?, end.parse().ok()?);
            // A concurrent loop is about threads; one round of it shows what its statements answer.
            let end = if words[0] == "loop" { end } else { end.min(start + 1) };
            Some((vec![(*name).to_owned()], (start..end).map(|number| vec![number.to_string()]).collect()))
        }
        ["foreach" | "concurrentforeach", names, values @ ..] => {
            let names: Vec<String> = names.split(',').map(str::to_owned).collect();
            let values = values.iter().flat_map(|value| listed(value));
            let several = names.len() > 1;
            let values = values.map(|value| match several {
                true => value.split(',').map(str::to_owned).collect(),
                false => vec![value],
            });
            Some((names, values.collect()))
        }
        _ => None,
    }
}

fn listed(value: &str) -> Vec<String> {
    let list = LISTS.iter().find(|(name, _)| name.eq_ignore_ascii_case(value));
    list.map_or_else(|| vec![value.to_owned()], |(_, list)| list.split(' ').map(str::to_owned).collect())
}

fn replaced(line: &str, names: &[String], values: &[String]) -> String {
    let mut line = line.to_owned();
    for (name, value) in names.iter().zip(values) {
        line = line.replace(&format!("${{{name}}}"), value).replace(&format!("{{{name}}}"), value);
        if let Some(holds) = condition(&line, name, value) {
            line = format!("onlyif {}", if holds { "yes" } else { "no" });
        }
    }
    line
}

/// Whether the record below `onlyif i=3`, or `skipif i=3`, is run in the round in which `name` is `value`.
fn condition(line: &str, name: &str, value: &str) -> Option<bool> {
    let (skip, text) = match line.split_once(' ')? {
        ("onlyif", text) => (false, text.trim()),
        ("skipif", text) => (true, text.trim()),
        _ => return None,
    };
    let text = text.strip_prefix(name)?;
    let operator = ["<>", ">=", "<=", "=", "<", ">"].into_iter().find(|operator| text.starts_with(operator))?;
    let other = text[operator.len()..].split_whitespace().next()?;
    let order = match (value.parse::<i64>(), other.parse::<i64>()) {
        (Ok(value), Ok(other)) => value.cmp(&other),
        _ => value.cmp(other),
    };
    let holds = match operator {
        "=" => order.is_eq(),
        "<>" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    };
    Some(holds != skip)
}
