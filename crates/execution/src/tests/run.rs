//! Aggregations run by the interpreter or by generated code, with their states wherever these may be.

use crate::codegen::{Generator, LoopEnd, Scratch};
use crate::data::source::{Records, VECTOR, Vector, VectorInput};
use crate::operators::aggregate::{Ending, Having, Plan, States};
use crate::operators::interpret::Interpreter;
use crate::program::computed::Compute;
use crate::schedule::helpers::Helpers;
use crate::tests::{Row, apart};
use crate::{Error, Finish, Rows};
use gingham_kernels::Isa;
use gingham_storage::scan::OpenMorsel;
use std::sync::Arc;

/// Who runs the plan.
#[derive(Debug, Clone, Copy)]
pub(super) enum By {
    Interpreter,
    Generator,
}

/// Where the states of groups are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
    Array,
    Table,
    /// A table that is emptied into parts before each vector.
    Parts,
}

/// The rows of what threads have, in one piece.
pub(super) fn rows_of(
    plan: &Arc<Plan>,
    all: Vec<States>,
    columns: &[Finish],
    having: Option<&Arc<Having>>,
    functions: &[Arc<dyn Compute>],
) -> Result<Rows, Error> {
    let ending = Ending {
        plan: Arc::clone(plan),
        having: having.cloned(),
        columns: columns.to_vec(),
        isa: Isa::best(),
        place: "a test".to_owned(),
        memory: Arc::new(apart::Endless),
        stopped: Arc::default(),
    };
    let pieces = Arc::new(ending).rows(all, (functions, &apart::Endless), &Helpers::none())?;
    let mut pieces = pieces.into_iter();
    let first = pieces.next().expect("a piece");
    pieces.try_fold(first, Rows::followed_by)
}

/// Keys, then results.
pub(super) fn run(
    plan: &Arc<Plan>,
    columns: &[Finish],
    having: Option<&Arc<Having>>,
    morsel: &OpenMorsel,
    by: By,
    place: Place,
) -> Result<Rows, Error> {
    // Two threads' states, a half of the vectors each.
    let array = place == Place::Array;
    let new = || States::new(plan, array).within(if place == Place::Parts { 0 } else { usize::MAX });
    let mut states = [new(), new()];
    let (mut interpreter, mut scratch) = (Interpreter::new(&plan.stage), Scratch::default());
    let generator = Generator::default();
    let end = if array { LoopEnd::Array(plan) } else { LoopEnd::Table(plan) };
    let records = morsel.qualifying();
    for (number, start) in (0..records).step_by(VECTOR).enumerate() {
        let length = VECTOR.min(records - start);
        let records = match &morsel.tids {
            None => Records::Run { first: start, length },
            Some(tids) => Records::Tids(&tids[start..start + length]),
        };
        let inputs = [VectorInput { views: &morsel.views, records }];
        let vector = Vector { inputs: &inputs, isa: Isa::best() };
        let states = &mut states[number % 2];
        match by {
            By::Interpreter => interpreter.aggregate(plan, &vector, states)?,
            By::Generator => {
                let loops = generator.loops(&plan.stage, end, &vector, crate::Mode::Staged)?.expect("code");
                loops.aggregate(plan, &vector, states, &mut scratch)?;
            }
        }
        apart::beside(plan, by, &vector, states, &mut scratch)?;
    }
    rows_of(plan, states.into(), columns, having, &[])
}

/// The rows, in an order that does not depend on how they came about.
pub(super) fn ordered_rows(rows: &Rows) -> Vec<Row> {
    let row = |row| rows.columns.iter().map(|column| column.get(row)).collect();
    let mut rows: Vec<Row> = (0..rows.rows).map(row).collect();
    rows.sort_unstable();
    rows
}
