//! The end of an aggregation: what all threads have gathered becomes rows. Few groups are put together one thread's after the
//! other's; many are parted, and threads put parts together side by side.

use crate::data::memory::Memory;
use crate::data::rows::Rows;
use crate::operators::aggregate::found::{Beside, Having, found};
use crate::operators::aggregate::out_of_line::Makers;
use crate::operators::aggregate::outcome::Finish;
use crate::operators::aggregate::partitions::{PARTS, Partition};
use crate::operators::aggregate::plan::Plan;
use crate::operators::aggregate::states::States;
use crate::schedule::helpers::Helpers;
use crate::{Error, Result};
use gingham_kernels::Isa;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Groups of several threads that are parted: as many as are worth several threads' work.
const MANY: usize = 1 << 16;

/// The end of an aggregation: rows of certain columns are made of its groups.
pub(crate) struct Ending {
    pub(crate) plan: Arc<Plan>,
    /// Groups that do not fulfil it are no rows.
    pub(crate) having: Option<Arc<Having>>,
    /// The columns of the rows.
    pub(crate) columns: Vec<Finish>,
    pub(crate) isa: Isa,
    /// Names the source, for the error of values outside of what its metadata says.
    pub(crate) place: String,
    pub(crate) memory: Arc<dyn Memory>,
    /// Set when nobody waits for the end any more.
    pub(crate) stopped: Arc<AtomicBool>,
}

impl Ending {
    /// The rows of the groups that have records and fulfil the condition, in some pieces; without keys there is one, of no
    /// records perhaps.
    pub(crate) fn rows(
        self: Arc<Self>,
        mut all: Vec<States>,
        makers: Makers<'_>,
        helpers: &Helpers<'_>,
    ) -> Result<Vec<Rows>> {
        let groups = all.iter().map(States::parted_groups).sum::<usize>();
        let mut others = all.split_off(1.min(all.len()));
        let Some(mut first) = all.pop() else { return Err(Error::Internal("groups of no thread".to_owned())) };
        others.iter_mut().try_for_each(|other| first.merge_beside(other))?;
        first.end_apart(makers)?;
        let beside = Arc::new(first.take_beside(&self.plan));
        let is_parted = others.iter().chain([&first]).any(States::is_parted);
        if is_parted || (groups > MANY && !others.is_empty() && first.is_table()) {
            others.push(first);
            return self.parted(others, &beside, helpers);
        }
        others.into_iter().try_for_each(|other| first.merge(&self.plan, other))?;
        first.settle(&self.plan, self.having())?;
        Ok(vec![self.rows_of(&first, &beside, true)?])
    }

    /// The rows, a piece a part.
    fn parted(self: Arc<Self>, all: Vec<States>, beside: &Arc<Beside>, helpers: &Helpers<'_>) -> Result<Vec<Rows>> {
        let (count, groups) = (all.len(), all.iter().map(States::parted_groups).sum());
        let threads = helpers.threads(groups);
        self.memory.grow(all.iter().map(States::bytes_to_part).sum())?;
        let all = pieces(all);
        let by_thread = helpers.each(count, threads, move |number| taken(&all[number])?.into_parts())?;
        let mut parts: Vec<Vec<Partition>> = std::iter::repeat_with(Vec::new).take(PARTS).collect();
        for own in by_thread {
            parts.iter_mut().zip(own?).for_each(|(part, own)| part.push(own));
        }
        let (parts, beside) = (pieces(parts), Arc::clone(beside));
        let part = move |number: usize| self.part(taken(&parts[number])?, &beside);
        helpers.each(PARTS, threads, part)?.into_iter().collect()
    }

    /// The rows of a part, of which this is what each thread has.
    fn part(&self, all: Vec<Partition>, beside: &Arc<Beside>) -> Result<Rows> {
        let (mut states, mut keys) = (States::of_part(&self.plan), Vec::new());
        for block in all.into_iter().flat_map(Partition::blocks) {
            if self.stopped.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            states.add_rows(&self.plan, &block, &mut keys)?;
        }
        self.rows_of(&states, beside, false)
    }

    fn rows_of(&self, states: &States, beside: &Arc<Beside>, is_ordered: bool) -> Result<Rows> {
        let found = found(&self.plan, states, (beside, is_ordered), self.having(), &self.place)?;
        self.memory.grow(found.len() * (self.columns.len() + self.plan.stride) * size_of::<i64>())?;
        let columns = self.columns.iter().map(|column| column.of(&self.plan, &found)).collect::<Result<_>>()?;
        Ok(Rows { rows: found.len(), columns })
    }

    fn having(&self) -> Option<(&Having, Isa)> {
        self.having.as_deref().map(|having| (having, self.isa))
    }
}

/// Pieces that threads take, each of them once.
fn pieces<T>(all: Vec<T>) -> Vec<Mutex<Option<T>>> {
    all.into_iter().map(|piece| Mutex::new(Some(piece))).collect()
}

fn taken<T>(piece: &Mutex<Option<T>>) -> Result<T> {
    let piece = piece.lock().unwrap_or_else(PoisonError::into_inner).take();
    piece.ok_or_else(|| Error::Internal("a piece of groups was taken twice".to_owned()))
}
