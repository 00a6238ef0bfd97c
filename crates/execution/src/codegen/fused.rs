//! What is woven into one loop, how its frame is filled, and the call.

use crate::Result;
use crate::codegen::code::Code;
use crate::codegen::frame::Frame;
use crate::codegen::{Generator, Loops, Scratch, defect, frame, fused_loop};
use crate::data::relation::Relation;
use crate::data::source::Vector;
use crate::operators::aggregate::States;
use crate::operators::join::JoinTable;
use crate::plan::pipeline_plan::{PipelineEnd, PipelineInputs, ProbeStage, stages};
use crate::program::stage::{ColumnUse, Stage};
use std::sync::Arc;

/// The probes of a pipeline from one on, and what it ends in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain<'p> {
    pub(crate) levels: &'p [ProbeStage],
    pub(crate) end: &'p PipelineEnd,
    pub(crate) given: &'p PipelineInputs,
    /// What all of its stages read.
    pub(crate) columns: &'p [ColumnUse],
}

/// What the loop of a chain writes to.
#[derive(Debug)]
pub(crate) enum Out<'o> {
    /// One vector for each output, long enough for all rows that the records can give.
    Rows(&'o mut [Vec<i64>]),
    States(&'o mut States),
    /// Nothing but marks.
    Marks,
}

impl<'p> Chain<'p> {
    /// The stage behind the last probe; where that is the end, the one before it.
    pub(super) fn last_stage(&self) -> Result<&'p Stage> {
        match (self.end, self.levels.last()) {
            (PipelineEnd::Rows { part, .. }, _) => Ok(part),
            (PipelineEnd::Aggregate { plan, .. }, _) => Ok(&plan.stage),
            (PipelineEnd::Marks, Some(level)) => Ok(&level.number),
            (PipelineEnd::Marks, None) => Err(defect("marks without a probe")),
        }
    }

    /// Staging vectors that it writes.
    pub(super) fn outputs(&self) -> usize {
        match self.end {
            PipelineEnd::Rows { part, .. } => part.outputs.len(),
            PipelineEnd::Aggregate { .. } | PipelineEnd::Marks => 0,
        }
    }

    fn stages(&self) -> impl Iterator<Item = &'p Stage> {
        stages(self.levels, self.end)
    }
}

impl Generator {
    /// The loop of a chain for vectors like this one, made unless it is known. Behind the first `own` inputs of the vector
    /// are the rows that its probes add.
    pub(crate) fn fused(&self, chain: &Chain<'_>, vector: &Vector<'_>, own: usize) -> Result<Arc<Loops>> {
        let stage = chain.last_stage()?;
        let variant = frame::variant(&stage.fields, chain.columns, vector, own)?;
        self.made(self.lock(), variant, |variant, keeps_text| {
            let cells: Vec<_> = chain.stages().flat_map(|stage| stage.program.cells().iter().cloned()).collect();
            let mut code = Code::new(&cells, keeps_text)?;
            let first = code.add(|builder, pointer| fused_loop::fused(builder, pointer, chain, &variant))?;
            code.finish()?;
            Ok(Loops { variant, code, first, second: None })
        })
    }
}

impl Loops {
    /// Takes the records of a vector through a chain, and sets the marks of the rows that one of its probes marks; gives the
    /// rows that were written, where it ends in rows. `builds` are the tables of its probes and their rows.
    pub(crate) fn fused<'b>(
        &self,
        chain: &Chain<'_>,
        vector: &Vector<'_>,
        builds: impl Iterator<Item = (&'b JoinTable, &'b Relation)>,
        (out, marks): (Out<'_>, &mut [u64]),
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let stage = chain.last_stage()?;
        self.gather(stage, vector, &mut scratch.gathered)?;
        let layout = (stage.fields.as_slice(), chain.outputs());
        let mut frame = Frame::new(layout, &self.variant, vector, &scratch.gathered)?;
        match out {
            Out::Rows(outputs) => frame.outputs(outputs)?,
            Out::States(states) => frame.words(states),
            Out::Marks => {}
        }
        for (table, relation) in builds {
            frame.table(table.words(), relation.rows, marks);
        }
        // SAFETY: outputs, states or marks, and the tables, are borrowed here and were not touched since. The outputs are as
        // long as the caller promises: rows are at most the records times the longest lists of the probes' tables.
        unsafe { self.code.call(self.first, &frame) }
    }
}
