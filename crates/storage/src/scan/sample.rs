//! How many records of a scan qualify, before it is run: exact where zone maps decide, else from a few zones.
//!
//! The order of joins is chosen by it. [`crate::scan::estimate`] knows distinct counts and bounds only; correlated columns,
//! skew and tests of text are what it gets wrong by orders of magnitude, and what a look at the codes gets right.

use crate::Result;
use crate::scan::TableScan;
use crate::scan::code::{CodePredicate, CodeTest, Reach};
use crate::scan::evaluate::EvaluatedZone;
use crate::scan::prune::Verdict;
use gingham_kernels::bits;

/// Zones that are looked at: with 65,536 codes each they cost some tens of microseconds, and a share of a thousandth is
/// seen to a few percent.
const ZONES: usize = 3;
/// Where single values have to be tested, one record in 64 is, in zones of more records than this.
const FEW: usize = 2048;

impl TableScan {
    /// Records that qualify, about, of those that the table has. At most three zones are read, and of columns without
    /// codes one record in 64 of these. Fails when a zone can't be read.
    pub fn sampled_rows(&self) -> Result<f64> {
        let (mut decided, mut open, mut undecided) = (0, 0, Vec::new());
        for (number, morsel) in self.morsels.iter().enumerate() {
            match morsel.verdict {
                Verdict::All => decided += self.live(morsel),
                Verdict::Some => {
                    open += self.live(morsel);
                    undecided.push(number);
                }
                Verdict::None => {}
            }
        }
        let zones = ZONES.min(undecided.len());
        let (mut looked, mut qualifying, mut expected) = (0, 0, 0.0);
        for sample in 0..zones {
            let number = undecided[(2 * sample + 1) * undecided.len() / (2 * zones)];
            let (records, found, share) = self.sample(number)?;
            looked += records;
            qualifying += found;
            expected += share / zones as f64;
        }
        // None among so many may still be one among more: what the metadata says, if that is less.
        let none = (0.5 / looked.max(1) as f64).min(expected);
        let share = if qualifying > 0 { qualifying as f64 / looked as f64 } else { none };
        Ok(decided as f64 + open as f64 * share)
    }

    /// Records of a morsel that are looked at, how many of them qualify, and the share that the metadata expects to.
    fn sample(&self, number: usize) -> Result<(usize, usize, f64)> {
        let morsel = self.morsel(number)?;
        let (segment, arranged) = &self.segments[morsel.segment];
        let predicate = self.observed.arranged(self.isa, arranged);
        let zone = EvaluatedZone {
            rows: morsel.rows,
            isa: self.isa,
            view: &|column| segment.view(column, morsel.zone),
            zone_map: &|column| segment.zone_map(column, morsel.zone),
            tally: None,
        };
        let expected = match &*predicate {
            CodePredicate::Constant(value) => f64::from(u8::from(*value)),
            CodePredicate::Leaf(leaf) => leaf.expected,
            CodePredicate::Junction(junction) => junction.expected,
        };
        if morsel.rows <= FEW || !tests_values(&predicate) {
            return Ok((morsel.rows, bits::count(self.isa, &zone.evaluate(&predicate, None)?), expected));
        }
        // Another record of each 64, since values may follow a pattern.
        let words = bits::words(morsel.rows);
        let mut looked: Vec<u64> = (0..words).map(|word| 1 << (word * 29 % 64)).collect();
        if !morsel.rows.is_multiple_of(64) {
            looked[words - 1] = 1;
        }
        let mut found = zone.evaluate(&predicate, Some(&looked))?;
        bits::and(&mut found, &looked);
        Ok((words, bits::count(self.isa, &found), expected))
    }
}

/// Whether any part of a predicate looks at values one by one.
fn tests_values(predicate: &CodePredicate) -> bool {
    match predicate {
        CodePredicate::Constant(_) => false,
        CodePredicate::Leaf(leaf) => matches!((&leaf.codes, leaf.reach), (CodeTest::Values, _) | (_, Reach::Values)),
        CodePredicate::Junction(junction) => junction.parts.iter().any(tests_values),
    }
}
