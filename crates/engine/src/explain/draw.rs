//! The tree as lines of text: branches and words to the left, numbers to the right, fitted to a width.

use crate::explain::node::PlanNode;
use std::time::Duration;

/// Columns of text that words have at least.
const LEAST_WORDS: usize = 24;

/// A cell of a line's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Estimated,
    Rows,
    Time,
    Share,
}

impl Figure {
    fn title(self) -> &'static str {
        match self {
            Self::Estimated => "expected",
            Self::Rows => "rows",
            Self::Time => "time",
            Self::Share => "share",
        }
    }

    fn of(self, node: &PlanNode, total: Duration, marks: &[(Duration, usize)]) -> String {
        match self {
            Self::Estimated => node.estimated.map_or_else(String::new, grouped),
            Self::Rows => node.rows.map_or_else(String::new, grouped),
            Self::Time => node.time.map_or_else(String::new, milliseconds),
            Self::Share => node.time.map_or_else(String::new, |time| {
                let share = 100.0 * time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
                let place = marks.iter().position(|(marked, address)| *marked == time && *address == at(node));
                let mark = place.map_or("   ", |place| ["(1)", "(2)", "(3)"][place]);
                format!("{share:.0} % {mark}")
            }),
        }
    }
}

/// A node's place in memory: two nodes may be equal otherwise.
fn at(node: &PlanNode) -> usize {
    std::ptr::from_ref(node) as usize
}

/// The lines of a tree in so many columns of text. What was not seen or expected of any node has no column.
pub(crate) fn lines(root: &PlanNode, width: usize) -> Vec<String> {
    let nodes = root.all();
    let total = nodes.iter().filter_map(|node| node.time).sum();
    let mut slowest: Vec<_> = nodes.iter().filter_map(|node| Some((node.time?, at(node)))).collect();
    slowest.sort_by(|a, b| b.cmp(a));
    slowest.truncate(3);
    let is_there = |figure: &Figure| match figure {
        Figure::Estimated => nodes.iter().any(|node| node.estimated.is_some()),
        Figure::Rows => nodes.iter().any(|node| node.rows.is_some()),
        Figure::Time | Figure::Share => !slowest.is_empty(),
    };
    let figures: Vec<Figure> =
        [Figure::Estimated, Figure::Rows, Figure::Time, Figure::Share].into_iter().filter(is_there).collect();
    let mut drawn: Vec<(String, Vec<String>)> = Vec::new();
    let titles = figures.iter().map(|figure| figure.title().to_owned()).collect::<Vec<_>>();
    let cells = |node: &PlanNode| figures.iter().map(|figure| figure.of(node, total, &slowest)).collect::<Vec<_>>();
    let mut widths: Vec<usize> = titles.iter().map(|title| title.chars().count()).collect();
    for node in &nodes {
        for (own, cell) in widths.iter_mut().zip(cells(node)) {
            *own = (*own).max(cell.chars().count());
        }
    }
    let numbers: usize = widths.iter().map(|own| own + 2).sum();
    let words = width.saturating_sub(numbers).max(LEAST_WORDS);
    branch(root, (String::new(), String::new()), words, &cells, &mut drawn);
    if !figures.is_empty() {
        drawn.insert(0, (String::new(), titles));
    }
    let line = |(words_of, cells): &(String, Vec<String>)| {
        let mut line = format!("{words_of:words$}");
        for (cell, own) in cells.iter().zip(&widths) {
            line.push_str(&format!("  {cell:>own$}"));
        }
        line.trim_end().to_owned()
    };
    drawn.iter().map(line).collect()
}

/// Adds a node and what is below it. `first` begins its first line, `other` those below.
fn branch(
    node: &PlanNode,
    (first, other): (String, String),
    words: usize,
    cells: &impl Fn(&PlanNode) -> Vec<String>,
    drawn: &mut Vec<(String, Vec<String>)>,
) {
    let below = if node.children.is_empty() { "   " } else { "│  " };
    let texts = std::iter::once(&node.what).chain(&node.left);
    let room = words.saturating_sub(first.chars().count()).max(LEAST_WORDS / 2);
    let mut numbers = Some(cells(node));
    for (number, text) in texts.flat_map(|text| wrapped(text, room)).enumerate() {
        let begins = if number == 0 { first.clone() } else { format!("{other}{below}") };
        drawn.push((format!("{begins}{text}"), numbers.take().unwrap_or_default()));
    }
    for (number, child) in node.children.iter().enumerate() {
        let is_last = number + 1 == node.children.len();
        let (own, next) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        branch(child, (format!("{other}{own}"), format!("{other}{next}")), words, cells, drawn);
    }
}

/// A text in lines of at most so many characters, cut at blanks where there are any. Lines behind the first are for three characters more to
/// their left.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word;
        let own = if lines.len() == 1 { room } else { room.saturating_sub(3).max(1) };
        let line = lines.last_mut().filter(|line| !line.is_empty());
        if let Some(line) = line {
            if line.chars().count() + 1 + word.chars().count() <= own {
                line.push(' ');
                line.push_str(word);
                continue;
            }
            lines.push(String::new());
        }
        let own = if lines.len() == 1 { room } else { room.saturating_sub(3).max(1) };
        while let Some((end, _)) = word.char_indices().nth(own) {
            if let Some(line) = lines.last_mut() {
                line.push_str(&word[..end]);
            }
            lines.push(String::new());
            word = &word[end..];
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
        }
    }
    lines
}

/// Digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    match milliseconds {
        1000.0.. => format!("{:.2} s", milliseconds / 1e3),
        10.0.. => format!("{milliseconds:.0} ms"),
        0.1.. => format!("{milliseconds:.1} ms"),
        _ => format!("{:.0} µs", milliseconds * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(what: &str, rows: usize, micros: u64, children: Vec<PlanNode>) -> PlanNode {
        let (rows, time) = (Some(rows), Some(Duration::from_micros(micros)));
        PlanNode { what: what.to_owned(), rows, time, children, ..PlanNode::default() }
    }

    #[test]
    fn a_tree_has_branches_to_the_left_and_numbers_to_the_right() {
        let mut root = node(
            "first 10",
            10,
            90,
            vec![
                node(
                    "filter where a > 1 AND b < 5 AND c IN (1, 2, 3, 4, 5, 6)",
                    1_234_567,
                    12_000,
                    vec![node("scan t", 99, 2_500_000, vec![])],
                ),
                PlanNode::new("no rows"),
            ],
        );
        root.left = Some("not compiled: pipelines have no such thing".to_owned());
        let drawn = lines(&root, 64);
        let expected = [
            "                                         rows    time      share",
            "first 10                                   10   90 µs    0 % (3)",
            "│  not compiled: pipelines have no",
            "│  such thing",
            "├─ filter where a > 1 AND b < 5     1,234,567   12 ms    0 % (2)",
            "│  │  AND c IN (1, 2, 3, 4, 5, 6)",
            "│  └─ scan t                               99  2.50 s  100 % (1)",
            "└─ no rows",
        ];
        assert_eq!(drawn, expected);
    }

    #[test]
    fn words_are_cut_where_they_are_longer_than_a_line() {
        assert_eq!(wrapped("ab abcdefghijklmnop cd", 8), ["ab", "abcde", "fghij", "klmno", "p cd"]);
        assert_eq!(
            wrapped("äöü äöü", 3),
            ["äöü", "äöü"].map(str::to_owned)[..1]
                .iter()
                .cloned()
                .chain(["ä", "ö", "ü"].map(str::to_owned))
                .collect::<Vec<_>>()
        );
    }
}
