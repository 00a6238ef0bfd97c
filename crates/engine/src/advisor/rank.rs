//! The order in which candidates are worth measuring.

use crate::Result;
use crate::advisor::candidate::Candidate;
use crate::advisor::facts::TableFacts;
use crate::advisor::model::{Modelled, model};
use crate::advisor::usage::StatementUse;
use gingham_kernels::Isa;
use gingham_storage::{Layout, Packing};

/// A candidate like one that comes earlier must promise so much more: designs that differ in little say little of each other.
const ALIKE: f64 = 1.15;

/// Candidates in the order of what the model promises, with what it says of them; those that are like an earlier one come somewhat
/// later.
///
/// ```
/// # use gingham::{Database, advisor::*};
/// # let connection = Database::in_memory()?.connect();
/// # connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
/// # let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
/// # let uses = vec![(1.0, connection.workload_use(&workload.statements[0], &workload.origin)?)];
/// # let facts = TableFacts::of(&connection.table("t")?);
/// # let definition = facts.table.definition.clone();
/// let ranked = rank(&facts, propose(&facts, &uses), &uses, gingham_kernels::Isa::best())?;
/// assert!(ranked.len() > 10);
/// # Ok::<(), gingham::Error>(())
/// ```
///
/// # Errors
/// When the table has lost a column that the statements name.
pub fn rank(
    facts: &TableFacts,
    candidates: Vec<Candidate>,
    uses: &[(f64, StatementUse)],
    isa: Isa,
) -> Result<Vec<(Candidate, Modelled)>> {
    let mut priced = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let modelled = model(facts, &candidate, uses, isa)?;
        priced.push((candidate, modelled));
    }
    priced.sort_by(|a, b| a.1.nanoseconds.total_cmp(&b.1.nanoseconds));
    let mut seen: Vec<Family> = Vec::new();
    let mut ranked: Vec<(f64, (Candidate, Modelled))> = Vec::with_capacity(priced.len());
    for (candidate, modelled) in priced {
        let family = Family::of(&candidate);
        let before = seen.iter().filter(|other| **other == family).count();
        seen.push(family);
        ranked.push((modelled.nanoseconds * ALIKE.powi(before as i32), (candidate, modelled)));
    }
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(ranked.into_iter().map(|(_, candidate)| candidate).collect())
}

/// Candidates of one family are alike.
#[derive(Debug, PartialEq, Eq)]
struct Family {
    is_sorted: bool,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Pages,
    Groups,
    Packed,
    Whole(Layout),
}

impl Family {
    fn of(candidate: &Candidate) -> Self {
        let design = &candidate.design;
        let packed = design.packing != Packing::Native || design.columns.iter().any(|own| own.packing.is_some());
        let kind = match design.layout {
            _ if design.heap.is_some() => Kind::Pages,
            _ if !design.groups.is_empty() => Kind::Groups,
            _ if packed => Kind::Packed,
            layout => Kind::Whole(layout),
        };
        Self { is_sorted: !candidate.sort_by.is_empty(), kind }
    }
}
