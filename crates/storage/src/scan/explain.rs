//! The order and way of a scan's predicate, as EXPLAIN shows them: what was expected of each part, and what was seen.

use crate::scan::TableScan;
use crate::scan::code::{CodePredicate, Junction, Leaf, PartOnCodes};
use crate::scan::observe::Arranged;
use crate::scan::prune::Verdict;
use gingham_kernels::packing::{Connective, Way};
use std::fmt::Write;

impl TableScan {
    /// The parts of the predicate in the order in which they are evaluated now, with the share of records that each is
    /// expected to let through and, once zones were read, the share that it was seen to: of the first segment that
    /// zone maps leave undecided. `None` when there is none, or when there is no predicate.
    ///
    /// `discount 27.3% (seen 27.2%) AND quantity 46.0%; way=column_first; reordered=1`
    pub fn order(&self) -> Option<String> {
        let morsel = self.morsels.iter().find(|morsel| morsel.verdict == Verdict::Some)?;
        let (_, arranged): &(_, Arranged) = self.segments.get(morsel.segment)?;
        let predicate = self.observed.arranged(self.isa, arranged);
        let mut text = String::new();
        self.write(&predicate, &mut text);
        if let CodePredicate::Junction(junction) = &*predicate {
            let way = match junction.way {
                Way::ColumnFirst => "column_first",
                Way::PredicateFirst => "predicate_first",
                Way::Baseline => "baseline",
            };
            let _ = write!(text, "; way={way}");
        }
        match self.observed.changes() {
            0 => {}
            changes => {
                let _ = write!(text, "; reordered={changes}");
            }
        }
        Some(text)
    }

    /// The parts of the predicate that are evaluated on codes, in the order in which they are evaluated now: of the first segment that
    /// zone maps leave undecided.
    pub fn on_codes(&self) -> Vec<PartOnCodes> {
        let undecided = self.morsels.iter().find(|morsel| morsel.verdict == Verdict::Some);
        let Some((_, arranged)) = undecided.and_then(|morsel| self.segments.get(morsel.segment)) else {
            return Vec::new();
        };
        let mut parts = Vec::new();
        self.gather(&self.observed.arranged(self.isa, arranged), &mut parts);
        parts
    }

    fn gather(&self, predicate: &CodePredicate, parts: &mut Vec<PartOnCodes>) {
        match predicate {
            CodePredicate::Constant(_) => {}
            CodePredicate::Leaf(Leaf { column, expected, node, .. }) => {
                let seen = self.observed.seen(*node);
                parts.push(PartOnCodes { column: column.name.to_string(), expected: *expected, seen });
            }
            CodePredicate::Junction(junction) => junction.parts.iter().for_each(|part| self.gather(part, parts)),
        }
    }

    /// True once the scan has looked at what a part of its predicate lets through.
    pub fn has_seen(&self) -> bool {
        (0..self.nodes).any(|node| self.observed.seen(node).is_some())
    }

    fn write(&self, predicate: &CodePredicate, text: &mut String) {
        match predicate {
            CodePredicate::Constant(value) => text.push_str(if *value { "true" } else { "false" }),
            CodePredicate::Leaf(Leaf { column, expected, node, .. }) => {
                // Writing to a string does not fail.
                let _ = write!(text, "{} {:.1}%", column.name, expected * 100.0);
                if let Some(seen) = self.observed.seen(*node) {
                    let _ = write!(text, " (seen {:.1}%)", seen * 100.0);
                }
            }
            CodePredicate::Junction(Junction { connective, parts, .. }) => {
                let between = if *connective == Connective::And { " AND " } else { " OR " };
                for (at, part) in parts.iter().enumerate() {
                    text.push_str(if at == 0 { "" } else { between });
                    let nested = matches!(part, CodePredicate::Junction(_));
                    text.push_str(if nested { "(" } else { "" });
                    self.write(part, text);
                    text.push_str(if nested { ")" } else { "" });
                }
            }
        }
    }
}
