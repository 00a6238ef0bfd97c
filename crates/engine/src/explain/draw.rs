//! The tree as lines of text: branches and words to the left, numbers to the right, fitted to a width.

use crate::explain::figures::{bytes, grouped, share, time};
use crate::explain::node::{ExplainedStatement, PlanNode};
use std::time::Duration;

/// Columns of text that words have at least.
const LEAST_WORDS: usize = 24;

/// Marks of the slowest nodes.
const MARKS: [&str; 3] = ["(1)", "(2)", "(3)"];

/// A cell of a line's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Expected,
    Rows,
    Bytes,
    Memory,
    Time,
    Share,
}

impl Figure {
    const ALL: [Self; 6] = [Self::Expected, Self::Rows, Self::Bytes, Self::Memory, Self::Time, Self::Share];

    /// Those that are left out where there is little room, in this order.
    const SPARED: [Self; 4] = [Self::Memory, Self::Bytes, Self::Expected, Self::Share];

    fn title(self) -> &'static str {
        match self {
            Self::Expected => "expected",
            Self::Rows => "rows",
            Self::Bytes => "read",
            Self::Memory => "memory",
            Self::Time => "time",
            Self::Share => "share",
        }
    }

    /// The figure of a node whose mark is `mark`, where all nodes together took `all`; `None` when it has none.
    fn of(self, node: &PlanNode, all: Duration, mark: &str) -> Option<String> {
        match self {
            Self::Expected => node.expected.map(|rows| grouped(rows as u64)),
            Self::Rows => node.rows.map(|rows| grouped(rows as u64)),
            Self::Bytes => node.bytes.map(bytes),
            Self::Memory => node.memory.map(|memory| bytes(memory as u64)),
            Self::Time => node.time.map(time),
            Self::Share => node.time.map(|time| format!("{:.0} % {mark:3}", share(time, all))),
        }
    }
}

/// A figure of all nodes.
struct FigureColumn {
    title: &'static str,
    cells: Vec<String>,
}

impl FigureColumn {
    fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.chars().count()).fold(self.title.chars().count(), usize::max)
    }
}

/// The lines of a statement's tree in so many columns of text. What was not seen or expected of any node has no column.
pub(super) fn lines(statement: &ExplainedStatement, width: usize, summary: bool) -> Vec<String> {
    let (nodes, all, slowest) = (statement.plan.all(), statement.time(), statement.slowest());
    let mark = |number: usize| slowest.iter().position(|slow| *slow == number).map_or("", |place| MARKS[place]);
    let has = |figure: &Figure| nodes.iter().any(|node| figure.of(node, all, "").is_some());
    let of_figure = |figure: Figure| FigureColumn {
        title: figure.title(),
        cells: (0..nodes.len()).map(|at| figure.of(nodes[at], all, mark(at)).unwrap_or_default()).collect(),
    };
    let mut figures: Vec<Figure> = Figure::ALL.into_iter().filter(has).collect();
    let mut columns: Vec<FigureColumn> = figures.iter().copied().map(of_figure).collect();
    let room = |columns: &[FigureColumn]| width.saturating_sub(columns.iter().map(|own| own.width() + 2).sum());
    for spared in Figure::SPARED {
        if room(&columns) < LEAST_WORDS.max(width * 2 / 5)
            && let Some(place) = figures.iter().position(|figure| *figure == spared)
        {
            figures.remove(place);
            columns.remove(place);
        }
    }
    let words = room(&columns).max(LEAST_WORDS);
    let widths: Vec<usize> = columns.iter().map(FigureColumn::width).collect();
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let row = |at: usize| columns.iter().map(|column| column.cells[at].clone()).collect::<Vec<_>>();
    let cells: Vec<Vec<String>> = (0..nodes.len()).map(row).collect();
    let mut drawn = Vec::new();
    branch(&statement.plan, (String::new(), String::new()), words, &mut cells.into_iter(), &mut drawn);
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
    let mut all: Vec<String> = drawn.iter().map(line).collect();
    all.extend(below(statement, summary).iter().flat_map(|text| wrapped(text, width.max(LEAST_WORDS))));
    for (name, code) in &statement.code {
        all.push(format!("{name}:"));
        all.extend(code.lines().map(str::to_owned));
    }
    all
}

/// What stands below the tree.
fn below(statement: &ExplainedStatement, summary: bool) -> Vec<String> {
    let mut texts = Vec::new();
    if summary {
        let planning = format!("planning {}", time(statement.planning));
        texts.push(statement.run.map_or(planning.clone(), |run| {
            let compiling = format!("compiling {}", time(run.compiling));
            let memory = format!("{} of memory at most", bytes(run.memory as u64));
            [planning, compiling, format!("running {}", time(run.running)), memory].join(", ")
        }));
    }
    if !statement.settings.is_empty() {
        let settings = statement.settings.iter().map(|(name, value)| format!("{name} = {value}"));
        texts.push(format!("settings: {}", settings.collect::<Vec<_>>().join(", ")));
    }
    texts
}

/// Adds a node and what is below it. `first` begins its first line, `other` those below.
fn branch(
    node: &PlanNode,
    (first, other): (String, String),
    words: usize,
    cells: &mut impl Iterator<Item = Vec<String>>,
    drawn: &mut Vec<(String, Vec<String>)>,
) {
    let below = if node.children.is_empty() { "   " } else { "│  " };
    let texts = std::iter::once(&node.what).chain(&node.notes);
    let room = words.saturating_sub(first.chars().count()).max(LEAST_WORDS / 2);
    let mut numbers = cells.next();
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

/// A text in lines of at most so many characters, cut at blanks where there are any, but not between a number and its percent sign. Lines behind the first are for three characters more to
/// their left.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let joined = text.replace(" %", "\u{a0}%");
    for word in joined.split(' ') {
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
    lines.into_iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::node::ExplainedRun;

    fn node(what: &str, rows: usize, micros: u64, children: Vec<PlanNode>) -> PlanNode {
        let (rows, time) = (Some(rows), Some(Duration::from_micros(micros)));
        PlanNode { what: what.to_owned(), rows, time, children, ..PlanNode::default() }
    }

    #[test]
    fn a_tree_has_branches_to_the_left_and_numbers_to_the_right() {
        let mut plan = node(
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
        plan.notes.push("not compiled: pipelines have no such thing".to_owned());
        let run = ExplainedRun {
            running: Duration::from_micros(2_512_090),
            compiling: Duration::from_micros(250),
            memory: 1_500_000,
        };
        let statement = ExplainedStatement {
            plan,
            planning: Duration::from_micros(480),
            run: Some(run),
            settings: vec![("gingham.threads".to_owned(), "2".to_owned())],
            code: Vec::new(),
        };
        let expected = [
            "                                         rows    time      share",
            "first 10                                   10   90 µs    0 % (3)",
            "│  not compiled: pipelines have no",
            "│  such thing",
            "├─ filter where a > 1 AND b < 5     1,234,567   12 ms    0 % (2)",
            "│  │  AND c IN (1, 2, 3, 4, 5, 6)",
            "│  └─ scan t                               99  2.50 s  100 % (1)",
            "└─ no rows",
            "planning 0.5 ms, compiling 0.2 ms, running 2.51 s, 1.5 MB of",
            "memory at most",
            "settings: gingham.threads = 2",
        ];
        assert_eq!(lines(&statement, 64, true), expected);
    }

    #[test]
    fn words_are_cut_where_they_are_longer_than_a_line() {
        assert_eq!(wrapped("ab abcdefghijklmnop cd", 8), ["ab", "abcde", "fghij", "klmno", "p cd"]);
        assert_eq!(wrapped("äöü äöü", 3), ["äöü", "ä", "ö", "ü"]);
        assert_eq!(wrapped("about 45.5 % pass", 12), ["about 45.5 %", "pass"]);
        assert_eq!(wrapped("about 45.5 % pass", 11), ["about", "45.5 %", "pass"]);
    }
}
