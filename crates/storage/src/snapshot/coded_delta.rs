//! Delta blocks as queries read them. Byte strings lie plain in a block, and executors that take a column's codes could take
//! none of the whole table's: so strings of columns whose segments have dictionaries get codes of these when a query first
//! reads a block, as far as the dictionaries have all of its values. Values that are new stay plain until they are merged.

use crate::segment::SegmentId;
use crate::segment::reader::Segment;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Blocks of a table with codes of its dictionaries, those that were asked for.
#[derive(Debug, Default)]
pub struct CodedBlocks {
    known: Mutex<BTreeMap<SegmentId, Arc<Segment>>>,
}

impl CodedBlocks {
    /// Only those of these blocks that a later snapshot of the table has, whose dictionaries are the same.
    pub(crate) fn of_blocks(&self, blocks: &[Arc<Segment>]) -> Self {
        let known = self.known();
        let kept = blocks.iter().filter_map(|block| Some((block.id(), Arc::clone(known.get(&block.id())?))));
        Self { known: Mutex::new(kept.collect()) }
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, BTreeMap<SegmentId, Arc<Segment>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
