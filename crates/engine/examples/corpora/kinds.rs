//! What findings have in common: a message without the names of one statement, and what a query is made of.

use crate::order::words;

/// A message without what names this statement only, so that messages of one cause are one.
pub fn general(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    // A list of columns, or a type's name, after what was wrong with it.
    let line = match line.split_once(": ") {
        Some((start, _)) if start.len() > 40 => start,
        _ => line,
    };
    let line = match line.split_once(" has type ") {
        Some((start, rest)) => format!("{start} has type …{}", &rest[rest.find(", ").unwrap_or(rest.len())..]),
        None => line.to_owned(),
    };
    // Which function is missing is what matters.
    if line.starts_with("function '") && line.contains("' does not exist") {
        return line;
    }
    let plain = without_quoted(&line);
    let name = |word: &str| word.contains(|c: char| c.is_ascii_digit() || c == '_');
    let words = plain.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
    let words = words.map(|word| match word.chars().last() {
        Some(end) if name(word) && !end.is_alphanumeric() => format!("…{end}"),
        _ if name(word) => "…".to_owned(),
        _ => word.to_owned(),
    });
    words.collect::<String>().chars().take(140).collect()
}

fn without_quoted(line: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    let mut before = ' ';
    for c in line.chars() {
        // The sign in "can't" opens nothing.
        let opens = matches!(c, '\'' | '"' | '`') && !before.is_alphanumeric();
        match quote {
            Some(open) if open == c => quote = None,
            None if opens => {
                quote = Some(c);
                out.push_str("'…'");
            }
            None => out.push(c),
            Some(_) => {}
        }
        before = c;
    }
    out
}

/// Words that say what a query is made of, those first that go wrong most often.
const FEATURES: &[(&str, &[&str])] = &[
    ("recursive", &["recursive"]),
    ("lateral", &["lateral"]),
    ("exists", &["exists"]),
    ("any, all", &["any", "all", "some"]),
    ("merge", &["merge"]),
    ("full join", &["full"]),
    ("right join", &["right"]),
    ("left join", &["left"]),
    ("using, natural", &["using", "natural"]),
    ("window", &["over"]),
    ("grouping sets", &["rollup", "cube", "grouping"]),
    ("set operation", &["union", "except", "intersect"]),
    ("with", &["with"]),
    ("having", &["having"]),
    ("group by", &["group"]),
    ("distinct", &["distinct"]),
    ("join", &["join"]),
    ("order by", &["order"]),
    ("intervals", &["interval", "month", "months", "hour", "hours", "day", "days", "year", "years"]),
    ("similar to", &["similar"]),
    ("like", &["like", "ilike"]),
    ("time zones", &["timestamptz", "zone"]),
];

/// What `sql` is made of: a subquery or not, and the first two of the features.
pub fn features(sql: &str) -> String {
    let words: Vec<String> = words(sql).collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let mut found: Vec<&str> =
        FEATURES.iter().filter(|(_, wanted)| has(wanted)).map(|(name, _)| *name).take(2).collect();
    if words.iter().filter(|word| *word == "select").count() > 1 && !has(&["union", "except", "intersect"]) {
        found.insert(0, "subquery");
    }
    let function = words.get(1).map(String::as_str).unwrap_or_default();
    match (found.is_empty(), sql.to_ascii_lowercase().contains(&format!("{function}("))) {
        (false, _) => found.join(", "),
        (true, true) => format!("{function}(…)"),
        (true, false) => "an expression".to_owned(),
    }
}
