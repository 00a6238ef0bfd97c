//! The code of a pipeline, kept beside its plan for the runs that come.

use crate::codegen::{Generator, Spent};
use crate::plan::pipeline_plan::PipelinePlan;
use crate::plan::stage_id::StageId;

/// A generator for each stage of a pipeline, and one for the loop of what has no boundaries.
#[derive(Debug)]
pub(crate) struct CodeCache {
    stages: Vec<Generator>,
    fused: Generator,
}

impl CodeCache {
    /// No code yet for a pipeline of this plan.
    pub(crate) fn new(plan: &PipelinePlan) -> Self {
        Self { stages: (0..plan.stages()).map(|_| Generator::default()).collect(), fused: Generator::default() }
    }

    /// The code of a stage.
    pub(crate) fn stage(&self, stage: StageId) -> &Generator {
        &self.stages[stage.index()]
    }

    /// The code of the loop of what has no boundaries.
    pub(crate) fn fused(&self) -> &Generator {
        &self.fused
    }

    /// What making code took so far.
    pub(crate) fn spent(&self) -> Spent {
        self.all().fold(Spent::default(), |all, generator| all.with(&generator.spent()))
    }

    /// From now on the text of what is made is kept.
    pub(crate) fn keep_text(&self) {
        self.all().for_each(Generator::keep_text);
    }

    fn all(&self) -> impl Iterator<Item = &Generator> {
        self.stages.iter().chain([&self.fused])
    }
}
