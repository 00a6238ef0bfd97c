//! In what way Gingham's answer is not PostgreSQL's.

use crate::judge::{Judged, Verdict, undecided};
use crate::kinds::features;
use crate::order::demands;
use crate::table::Table;

/// Holds the two answers against each other.
pub fn compare(sql: &str, ours: &Table, theirs: &Table) -> Judged {
    let detail = || format!("Gingham: {}\nPostgreSQL: {}", shown(ours), shown(theirs));
    let demands = demands(sql);
    if demands.open {
        return undecided("the answer may differ from program to program");
    }
    let wrong = |kind: &str| (Verdict::Wrong, format!("{kind}; {}", features(sql)), detail());
    if ours.kinds.len() != theirs.kinds.len() {
        return wrong("another number of columns");
    }
    let mut kinds = ours.kinds.iter().zip(&theirs.kinds);
    if kinds.any(|(ours, theirs)| *ours == 'X' && *theirs != 'X') {
        return undecided("bytes in one program, bits in the other");
    }
    let keys: Vec<usize> = demands.keys.iter().copied().take_while(|key| *key < ours.kinds.len()).collect();
    if ours.equals_as_bag(theirs) {
        let sorted = ours.columns(&keys).equals_in_order(&theirs.columns(&keys));
        return if sorted {
            (Verdict::Dialect, "the same answer".to_owned(), detail())
        } else {
            wrong("another order")
        };
    }
    if demands.limited && ours.rows.len() == theirs.rows.len() {
        let same_keys = ours.columns(&keys).equals_in_order(&theirs.columns(&keys));
        if same_keys {
            return undecided("a LIMIT leaves open which rows come");
        }
    }
    wrong(&difference(ours, theirs))
}

/// In what way two answers of as many columns differ.
fn difference(ours: &Table, theirs: &Table) -> String {
    match (ours.rows.len(), theirs.rows.len()) {
        (0, b) if b > 0 => return "no row".to_owned(),
        (a, b) if a < b => return "too few rows".to_owned(),
        (_, 0) => return "rows where there are none".to_owned(),
        (a, b) if a > b => return "too many rows".to_owned(),
        _ => {}
    }
    let (ours, theirs) = (ours.sorted(), theirs.sorted());
    for (a, b) in ours.rows.iter().zip(&theirs.rows) {
        for ((a, b), (of_a, of_b)) in a.iter().zip(b).zip(ours.kinds.iter().zip(&theirs.kinds)) {
            let kind = match (a, b) {
                (None, None) => continue,
                (None, Some(_)) => "NULL for a value".to_owned(),
                (Some(_), None) => "a value for NULL".to_owned(),
                (Some(a), Some(b)) if a == b => continue,
                _ => format!("another value, {} for {}", type_word(*of_a), type_word(*of_b)),
            };
            return kind;
        }
    }
    "another value".to_owned()
}

fn type_word(kind: char) -> &'static str {
    match kind {
        'B' => "boolean",
        'I' => "integer",
        'N' => "decimal",
        'F' | 'f' => "float",
        'T' => "text",
        'D' => "time",
        'X' => "bytes",
        _ => "another type",
    }
}

/// The first rows of an answer, in one line.
fn shown(table: &Table) -> String {
    let row = |row: &Vec<Option<String>>| {
        let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
        format!("({})", cells.join(", "))
    };
    let rows: Vec<String> = table.rows.iter().take(6).map(row).collect();
    let more = if table.rows.len() > 6 { format!(" … {} rows", table.rows.len()) } else { String::new() };
    format!("{}{more}", rows.join(" "))
}
