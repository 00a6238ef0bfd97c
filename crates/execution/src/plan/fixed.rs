//! What an experiment fixes of the stages of a query's pipelines, where a planner would choose: written as text, such as
//! `prefetch=group:16, vector=1024; 2: boundaries=0, predicate=loop`. What stands before the first `;` is for all pipelines,
//! what stands behind a number for the one of that number.

use crate::plan::stages::{Cut, Planner, Stages};
use gingham_kernels::hash::HashFunction;
use gingham_kernels::key_table::Probing;
use std::fmt;
use std::str::FromStr;

/// Records of a staging vector, and keys of a prefetch group, at most.
const MOST_RECORDS: usize = 1 << 18;
const MOST_KEYS: usize = 256;

/// The choices for all pipelines of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FixedStages {
    text: String,
    all: Fixed,
    /// Stages of single pipelines, by their numbers.
    own: Vec<(usize, Fixed)>,
}

/// The choices for one pipeline; `None` is the planner's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fixed {
    pub(crate) planner: Option<Planner>,
    kernels: Option<bool>,
    cut: Option<Cut>,
    filters: Option<bool>,
    key_sets: Option<bool>,
    vector: Option<usize>,
    probing: Option<Probing>,
    array: Option<bool>,
    function: Option<HashFunction>,
}

impl FixedStages {
    /// True when nothing is fixed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Those of a pipeline.
    pub(crate) fn of(&self, pipeline: usize) -> Fixed {
        let own = self.own.iter().filter(|(number, _)| *number == pipeline);
        own.fold(self.all, |all, (_, own)| own.over(all))
    }
}

impl Fixed {
    fn over(self, other: Self) -> Self {
        Self {
            planner: self.planner.or(other.planner),
            kernels: self.kernels.or(other.kernels),
            cut: self.cut.or(other.cut),
            filters: self.filters.or(other.filters),
            key_sets: self.key_sets.or(other.key_sets),
            vector: self.vector.or(other.vector),
            probing: self.probing.or(other.probing),
            array: self.array.or(other.array),
            function: self.function.or(other.function),
        }
    }

    /// Puts them in the place of what was chosen.
    pub(crate) fn apply(&self, stages: &mut Stages) {
        stages.kernels = self.kernels.unwrap_or(stages.kernels);
        stages.cut = self.cut.unwrap_or(stages.cut);
        stages.filters = self.filters.unwrap_or(stages.filters);
        stages.key_sets = self.key_sets.unwrap_or(stages.key_sets);
        stages.vector = self.vector.unwrap_or(stages.vector);
        stages.probing = self.probing.unwrap_or(stages.probing);
        stages.table.array = self.array.unwrap_or(stages.table.array);
        stages.table.function = self.function.unwrap_or(stages.table.function);
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let one_of = |values: &str| format!("{name} is {values}, not '{value}'");
        match name {
            "planner" => {
                self.planner = Some(match value {
                    "estimates" => Planner::Estimates,
                    "two_paths" => Planner::TwoPaths,
                    _ => return Err(one_of("estimates or two_paths")),
                });
            }
            "predicate" => {
                self.kernels = Some(either(value, "kernels", "loop").ok_or_else(|| one_of("kernels or loop"))?)
            }
            "boundaries" => self.cut = Some(cut(value).ok_or_else(|| one_of("a number of probes, all or every"))?),
            "filters" => {
                self.filters = Some(either(value, "apart", "within").ok_or_else(|| one_of("apart or within"))?)
            }
            "keys" => self.key_sets = Some(either(value, "on", "off").ok_or_else(|| one_of("on or off"))?),
            "vector" => {
                let records = value.parse().ok().filter(|records| (1..=MOST_RECORDS).contains(records));
                self.vector = Some(records.ok_or_else(|| one_of("a number from 1 to 262144"))?);
            }
            "prefetch" => {
                let ways = "none, match, or one of group, pipelined and amac with a number of keys from 0 to 256, as in group:16";
                self.probing = Some(probing(value).ok_or_else(|| one_of(ways))?);
            }
            "table" => self.array = Some(either(value, "array", "hash").ok_or_else(|| one_of("array or hash"))?),
            "hash" => {
                let function = HashFunction::ALL.into_iter().find(|function| function.name() == value);
                self.function = Some(function.ok_or_else(|| one_of("murmur3, crc32 or multiply"))?);
            }
            _ => {
                let names = "planner, predicate, boundaries, filters, keys, vector, prefetch, table and hash";
                return Err(format!("'{name}' is no choice about stages: there are {names}"));
            }
        }
        Ok(())
    }
}

fn either(value: &str, yes: &str, no: &str) -> Option<bool> {
    if value == yes || value == no { Some(value == yes) } else { None }
}

fn cut(value: &str) -> Option<Cut> {
    match value {
        "every" => Some(Cut::EveryStep),
        "all" => Some(Cut::Probes(usize::MAX)),
        number => number.parse().ok().map(Cut::Probes),
    }
}

fn probing(value: &str) -> Option<Probing> {
    let (way, keys) = match value {
        "none" => return Some(Probing::Scalar),
        "match" => return Some(Probing::Match),
        value => value.split_once(':')?,
    };
    let keys: usize = keys.parse().ok().filter(|keys| *keys <= MOST_KEYS)?;
    match way {
        "group" | "pipelined" | "amac" if keys == 0 => Some(Probing::Scalar),
        "group" => Some(Probing::Group(keys)),
        "pipelined" => Some(Probing::Pipelined(keys)),
        "amac" => Some(Probing::Amac(keys)),
        _ => None,
    }
}

impl FromStr for FixedStages {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut fixed = Self { text: text.trim().to_owned(), ..Self::default() };
        for part in text.split(';') {
            let (number, choices) = match part.split_once(':') {
                Some((number, choices)) if !number.contains('=') => {
                    let number = number.trim();
                    let parsed = number.parse().map_err(|_| format!("'{number}' is no number of a pipeline"))?;
                    (Some(parsed), choices)
                }
                _ => (None, part),
            };
            let mut own = Fixed::default();
            for choice in choices.split(',').map(str::trim).filter(|choice| !choice.is_empty()) {
                let parts =
                    choice.split_once('=').ok_or_else(|| format!("'{choice}' is not of the form name=value"))?;
                own.set(parts.0.trim(), parts.1.trim())?;
            }
            match number {
                Some(number) => fixed.own.push((number, own)),
                None => fixed.all = own.over(fixed.all),
            }
        }
        Ok(fixed)
    }
}

impl fmt::Display for FixedStages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;

    #[test]
    fn choices_are_for_all_pipelines_or_one() {
        let fixed: FixedStages =
            "prefetch=group:16, vector=64; 2: boundaries=0,predicate=loop; 2: vector=7".parse().unwrap();
        let stages = |pipeline| {
            let mut stages = Stages::of(Mode::Staged, 3);
            fixed.of(pipeline).apply(&mut stages);
            stages
        };
        let plain = Stages { probing: Probing::Group(16), vector: 64, ..Stages::of(Mode::Staged, 3) };
        assert_eq!(stages(0), plain);
        assert_eq!(stages(2), Stages { cut: Cut::Probes(0), kernels: false, vector: 7, ..plain });
        assert!(
            !fixed.is_empty() && FixedStages::default().is_empty() && "".parse::<FixedStages>().unwrap().is_empty()
        );
    }

    #[test]
    fn what_is_no_choice_is_refused_by_name() {
        let refused = |text: &str, words: &str| {
            let error = text.parse::<FixedStages>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        };
        refused("vektor=64", "'vektor' is no choice");
        refused("vector=0", "a number from 1 to 262144, not '0'");
        refused("vector=300000", "not '300000'");
        refused("prefetch=group:257", "prefetch is none");
        refused("prefetch=group", "prefetch is none");
        refused("x: vector=64", "'x' is no number");
        refused("1: vector", "name=value");
        refused("hash=md5", "murmur3, crc32 or multiply");
        for (text, probing) in
            [("prefetch=amac:0", Probing::Scalar), ("prefetch=pipelined:256", Probing::Pipelined(256))]
        {
            assert_eq!(text.parse::<FixedStages>().unwrap().of(1).probing, Some(probing));
        }
    }
}
