//! The words of all groups. Where the keys' ranges allow few groups, a record's group number is its place in an array;
//! else a hash table gives places as numbers come.

use crate::operators::aggregate::found::{Beside, Having};
use crate::operators::aggregate::local_groups::{MorselGroups, Taken};
use crate::operators::aggregate::out_of_line::{GatheredTexts, Makers, OutOfLinePlan};
use crate::operators::aggregate::partitions::{Partition, Partitions};
use crate::operators::aggregate::plan::{Plan, SlotKind};
use crate::operators::place_table::PlaceTable;
use crate::{Error, Result};
use gingham_kernels::Isa;
use gingham_storage::huge_zeros;
use gingham_storage::io::Caches;
use std::sync::Arc;

/// Records a group from which on a table that has outgrown its bytes is left as it is: parts would be hardly fewer groups than the
/// records were.
const FEW_RECORDS: usize = 2;
/// Bytes of a table that stays in the cache, at most: however large that is, other memory wants some of it.
const MOST_BYTES: usize = 16 << 20;
/// Groups that always get an array: their states stay in the caches nearby.
pub(crate) const FEW_GROUPS: u64 = 1 << 12;

/// The states of one thread, or of all when they are merged.
#[derive(Debug)]
pub(crate) struct States {
    /// `stride` words a group. In an array there is a group more than the keys allow, for numbers that contradict the
    /// metadata: nothing that is read from a file decides where memory is written.
    pub(super) words: Vec<u64>,
    pub(super) table: Option<PlaceTable>,
    /// The number of the first state's group, of an array.
    first: u64,
    /// What was taken out of windows, where states lie in such.
    pub(super) taken: Option<Box<Taken>>,
    /// The numbers of each of the plan's sets of different values.
    pub(super) sets: Vec<PlaceTable>,
    /// What is kept apart, where anything is.
    pub(super) apart: Option<Arc<GatheredTexts>>,
    stride: usize,
    /// Room for the places of keys.
    places: Vec<u64>,
    /// Bytes that a hash table and its states may have before they are emptied into parts.
    most_bytes: usize,
    /// Records since the table was begun.
    records: usize,
    parts: Option<Box<Partitions>>,
}

impl States {
    /// True when an aggregation of `rows` records gets an array: one that is not much longer than the records are many.
    pub(crate) fn is_array(plan: &Plan, rows: u64) -> bool {
        plan.groups <= rows.saturating_mul(2).max(FEW_GROUPS) && plan.groups < u32::MAX.into()
    }

    /// No group has a record yet.
    pub(crate) fn new(plan: &Plan, array: bool) -> Self {
        let words = if array { huge_zeros((plan.groups as usize + 1) * plan.stride) } else { Vec::new() };
        let sets = plan.distinct.iter().map(|distinct| PlaceTable::new(distinct.width(), plan.seed)).collect();
        let apart = plan.apart.as_ref().map(|plan| Arc::new(GatheredTexts::new(plan)));
        let table = (!array).then(|| PlaceTable::new(plan.width(), plan.seed));
        Self { table, sets, apart, ..Self::of_words(plan, words) }
    }

    /// States that lie in local groups of morsels.
    pub(crate) fn in_windows(plan: &Plan) -> Self {
        Self { taken: Some(Box::new(Taken::new(plan))), ..Self::of_words(plan, Vec::new()) }
    }

    /// The groups of a part, in a hash table.
    pub(super) fn of_part(plan: &Plan) -> Self {
        Self { table: Some(PlaceTable::new(plan.width(), plan.seed)), ..Self::of_words(plan, Vec::new()) }
    }

    fn of_words(plan: &Plan, words: Vec<u64>) -> Self {
        Self {
            words,
            table: None,
            first: 0,
            taken: None,
            sets: Vec::new(),
            apart: None,
            stride: plan.stride,
            places: Vec::new(),
            most_bytes: usize::MAX,
            records: 0,
            parts: None,
        }
    }

    /// Bytes that the hash table of one of so many threads may have, so that it stays in the cache.
    pub(crate) fn table_bytes(caches: Caches, threads: usize) -> usize {
        (caches.last / 2 / threads).min(MOST_BYTES).max(caches.l2)
    }

    /// With a hash table that is emptied into parts when it has more bytes than these, and gathers few records a group.
    pub(crate) fn within(self, most_bytes: usize) -> Self {
        Self { most_bytes, ..self }
    }

    /// Makes room for the groups of a morsel: a hash table for those of one that is scattered.
    pub(crate) fn open(&mut self, windows: &MorselGroups, morsel: usize) {
        match windows.of(morsel) {
            Some(window) => {
                self.first = window.first;
                self.words.resize((window.groups as usize + 1) * self.stride, 0);
            }
            None => self.swap_shared(),
        }
    }

    /// The states of groups that morsels share are those at work, or no longer.
    fn swap_shared(&mut self) {
        if let Some(taken) = &mut self.taken {
            std::mem::swap(&mut self.words, &mut taken.shared.words);
            std::mem::swap(&mut self.table, &mut taken.shared.table);
        }
    }

    /// Takes the groups of a morsel that has ended out of its window; of those that are complete, the ones that fulfil
    /// `having`. Fails when there was a record of another group. `place` names the source.
    pub(crate) fn close(
        &mut self,
        plan: &Plan,
        (windows, morsel): (&MorselGroups, usize),
        having: Option<(&Having, Isa)>,
        place: impl Fn() -> String,
    ) -> Result<()> {
        let Some(window) = windows.of(morsel) else {
            self.swap_shared();
            return Ok(());
        };
        self.check_spare(place)?;
        match &mut self.taken {
            Some(taken) => taken.take(plan, (windows, window), having, &mut self.words),
            None => Ok(()),
        }
    }

    /// Fails when an array has a record of no group.
    pub(super) fn check_spare(&self, place: impl Fn() -> String) -> Result<()> {
        if self.words[self.spare() as usize * self.stride] == 0 {
            return Ok(());
        }
        let detail = "a column has values outside of the range in its metadata; run `check`".to_owned();
        Err(Error::Corrupt { place: place(), detail })
    }

    /// All morsels have ended: of what was taken out of windows, what fulfils `having` is left.
    pub(super) fn settle(&mut self, plan: &Plan, having: Option<(&Having, Isa)>) -> Result<()> {
        self.taken.iter_mut().try_for_each(|taken| taken.settle(plan, having))
    }

    /// Bytes that the groups of the table will have as rows of parts.
    pub(super) fn bytes_to_part(&self) -> usize {
        let groups = self.table.as_ref().map_or(0, |table| table.len() * (table.width() + self.stride));
        groups * size_of::<u64>()
    }

    /// Whether groups have left the table.
    pub(super) fn is_parted(&self) -> bool {
        self.parts.is_some()
    }

    /// Groups of the table and of parts, where one may be several times.
    pub(super) fn parted_groups(&self) -> usize {
        self.table.as_ref().map_or(0, PlaceTable::len) + self.parts.as_ref().map_or(0, |parts| parts.rows())
    }

    /// All groups of a hash table by part.
    pub(super) fn into_parts(mut self) -> Result<Vec<Partition>> {
        let table = self.table.take().ok_or_else(no_table)?;
        let mut parts = self.parts.take().unwrap_or_else(|| Box::new(Partitions::new(table.width(), self.stride)));
        part(&table, &self.words, self.stride, &mut parts);
        Ok(parts.into_parts())
    }

    /// Adds rows of a part: the words of keys and states.
    pub(super) fn add_rows(&mut self, plan: &Plan, rows: &[u64], keys: &mut Vec<u64>) -> Result<()> {
        let width = plan.width();
        let rows = || rows.chunks_exact(width + plan.stride);
        keys.clear();
        rows().for_each(|row| keys.extend_from_slice(&row[..width]));
        self.add(plan, keys, rows().map(|row| &row[width..]))
    }

    /// The words of the groups' keys in a hash table, with their states.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&[u64], &[u64])> {
        self.table.iter().flat_map(PlaceTable::keys).zip(self.words.chunks_exact(self.stride))
    }

    /// Adds the states of groups whose keys have these words, where a hash table gives the places.
    pub(super) fn add<'a>(
        &mut self,
        plan: &Plan,
        words: &[u64],
        states: impl Iterator<Item = &'a [u64]>,
    ) -> Result<()> {
        let mut places = std::mem::take(&mut self.places);
        self.look_up(words, &mut places)?;
        for (place, from) in places.iter().zip(states) {
            let start = *place as usize * self.stride;
            merge_state(plan, &mut self.words[start..start + self.stride], from);
        }
        self.places = places;
        Ok(())
    }

    /// Bytes that they take.
    pub(crate) fn bytes(&self) -> usize {
        let tables = self.table.iter().chain(&self.sets).map(PlaceTable::bytes).sum::<usize>();
        let apart = self.apart.as_ref().map_or(0, |apart| apart.bytes());
        let parts = self.parts.as_ref().map_or(0, |parts| parts.bytes());
        let taken = self.taken.as_ref().map_or(0, |taken| taken.bytes());
        self.words.capacity() * size_of::<u64>() + tables + apart + parts + taken
    }

    /// Adds values to a set of different ones, by the words that they have with the keys of their groups.
    pub(crate) fn gather(&mut self, set: usize, words: &[u64]) -> Result<()> {
        let set = &mut self.sets[set];
        if set.len() + words.len() / set.width() > u32::MAX as usize {
            return Err(Error::OutOfMemory("4,294,967,295 different values".to_owned()));
        }
        set.find_or_add(words, &mut self.places);
        Ok(())
    }

    /// Adds records to what is kept apart, by what its stage gave of them.
    pub(crate) fn gather_apart(
        &mut self,
        plan: &OutOfLinePlan,
        outputs: &[Vec<i64>],
        makers: Makers<'_>,
    ) -> Result<()> {
        self.apart_mut()?.gather(plan, outputs, makers)
    }

    /// All records have come to what is kept apart.
    pub(super) fn end_apart(&mut self, makers: Makers<'_>) -> Result<()> {
        if self.apart.is_some() { self.apart_mut()?.end(makers) } else { Ok(()) }
    }

    /// What is kept apart, which nobody shares before all records have come.
    fn apart_mut(&mut self) -> Result<&mut GatheredTexts> {
        let apart = self.apart.as_mut().and_then(Arc::get_mut);
        apart.ok_or_else(|| Error::Internal("what is kept apart is nobody's".to_owned()))
    }

    /// Puts the places in [`States::words`], counted in states, of groups whose keys have these words into `places`, in place of
    /// what it had. A number that the keys do not allow gets the place that is no group's.
    pub(crate) fn find(&mut self, words: &[u64], places: &mut Vec<u64>) -> Result<()> {
        let spare = self.spare();
        let Some(table) = &mut self.table else {
            places.clear();
            places.extend(words.iter().map(|number| number.wrapping_sub(self.first).min(spare)));
            return Ok(());
        };
        let bytes = table.used_bytes() + self.words.len() * size_of::<u64>();
        if bytes > self.most_bytes && self.records < table.len() * FEW_RECORDS {
            let parts = self.parts.get_or_insert_with(|| Box::new(Partitions::new(table.width(), self.stride)));
            part(table, &self.words, self.stride, parts);
            table.clear();
            self.words.clear();
            self.records = 0;
        }
        self.records += words.len() / table.width();
        self.look_up(words, places)
    }

    /// Puts the places of groups whose keys have these words in a hash table into `places`, in place of what it had.
    fn look_up(&mut self, words: &[u64], places: &mut Vec<u64>) -> Result<()> {
        let table = self.table.as_mut().ok_or_else(no_table)?;
        let rows = words.len() / table.width();
        if table.len() + rows > u32::MAX as usize {
            return Err(Error::OutOfMemory("an aggregation into 4,294,967,295 groups".to_owned()));
        }
        table.find_or_add(words, places);
        self.words.resize(table.len() * self.stride, 0);
        Ok(())
    }

    /// True when a hash table gives the places.
    pub(crate) fn is_table(&self) -> bool {
        self.table.is_some()
    }

    /// The number of the group whose state is the first of an array.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// In an array, the place that is no group's; it is the last.
    pub(crate) fn spare(&self) -> u64 {
        if self.is_table() { 0 } else { (self.words.len() / self.stride) as u64 - 1 }
    }

    /// The words, for an executor.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Adds what another thread has beside its states.
    pub(super) fn merge_beside(&mut self, other: &mut Self) -> Result<()> {
        if let Some(other) = other.apart.take().and_then(Arc::into_inner) {
            self.apart_mut()?.merge(other)?;
        }
        for (set, other) in std::mem::take(&mut other.sets).into_iter().enumerate() {
            self.gather(set, other.words())?;
        }
        Ok(())
    }

    /// Takes what groups have beside their states.
    pub(super) fn take_beside(&mut self, plan: &Plan) -> Beside {
        Beside::of(plan, &std::mem::take(&mut self.sets), self.apart.take())
    }

    /// Adds the states of another thread.
    pub(super) fn merge(&mut self, plan: &Plan, other: Self) -> Result<()> {
        if let (Some(taken), Some(other)) = (&mut self.taken, other.taken) {
            return taken.merge(plan, *other);
        }
        let states = other.words.chunks_exact(self.stride);
        if let Some(table) = &other.table {
            return self.add(plan, table.words(), states);
        }
        for (to, from) in self.words.chunks_exact_mut(self.stride).zip(states).filter(|(_, from)| from[0] != 0) {
            merge_state(plan, to, from);
        }
        Ok(())
    }
}

fn no_table() -> Error {
    Error::Internal("groups of no table".to_owned())
}

/// Adds the groups of a hash table to parts.
fn part(table: &PlaceTable, words: &[u64], stride: usize, parts: &mut Partitions) {
    let groups = table.keys().zip(words.chunks_exact(stride));
    groups.for_each(|(key, state)| parts.push(table.hash(key), key, state));
}

/// Adds a state to another.
pub(super) fn merge_state(plan: &Plan, to: &mut [u64], from: &[u64]) {
    for slot in &plan.slots {
        let word = slot.word;
        match slot.kind {
            SlotKind::Add => to[word] = to[word].wrapping_add(from[word]),
            SlotKind::Raise => to[word] = to[word].max(from[word]),
            SlotKind::Or => to[word] |= from[word],
            SlotKind::Xor => to[word] ^= from[word],
            SlotKind::AddWide => {
                let sum = wide(&to[word..]).wrapping_add(wide(&from[word..]));
                set_wide(&mut to[word..], sum);
            }
        }
    }
}

/// Two words as a number.
pub(super) fn wide(words: &[u64]) -> i128 {
    (u128::from(words[0]) | u128::from(words[1]) << 64) as i128
}

/// A number as two words.
pub(crate) fn set_wide(words: &mut [u64], value: i128) {
    (words[0], words[1]) = (value as u64, (value as u128 >> 64) as u64);
}

/// Adds to a number of two words.
pub(crate) fn add_wide(words: &mut [u64], value: i128) {
    let sum = wide(words).wrapping_add(value);
    set_wide(words, sum);
}
