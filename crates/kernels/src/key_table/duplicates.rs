//! The build positions of keys that several rows have. They lie outside the table, one key's beside each other in the order
//! of the build (the paper's figure 7, and ours): a probe reads them as a run, and a million of them cost what a million
//! of different keys do.
//!
//! They are laid out in two passes once all keys are in the table: rows per key are counted, and places follow by sums.

/// The link of a key that is not in the table.
pub const NONE: u32 = u32::MAX;

/// Rows of a table at most: links have 31 bits for a position or for the place of a list, and slots, of which there are
/// twice as many, must be addressed by vectors with 31 bits too.
pub const MAX_ROWS: usize = 1 << 29;

/// Set in links that lead to a list of positions, [`NONE`] aside; the rest of the link is the list's place in
/// [`Duplicates::words`].
pub const LIST: u32 = 1 << 31;

/// A link that leads to a list at that place.
pub(super) fn list_at(place: u32) -> u32 {
    LIST | place
}

/// Whether a link leads to a list.
pub(super) fn is_list(link: u32) -> bool {
    link & LIST != 0 && link != NONE
}

/// Panics unless a table can hold so many keys at such positions.
pub(super) fn check_rows(keys: usize, positions: &[u32]) {
    assert!(keys <= MAX_ROWS, "a table of {keys} rows, where {MAX_ROWS} are the most");
    assert_eq!(keys, positions.len(), "one position per key");
    let last = positions.iter().copied().fold(0, u32::max);
    assert!(last < LIST, "the build position {last}, where {} is the last", LIST - 1);
}

/// A table while its duplicates are laid out.
pub(super) trait Links {
    /// The link of the entry in an occupied slot.
    fn link(&self, slot: u32) -> u32;

    /// Changes it.
    fn set_link(&mut self, slot: u32, link: u32);
}

/// A row whose key is in the table already.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extra {
    /// Where the key's entry is; later the number of its list.
    pub(super) slot: u32,
    /// The row's position.
    pub(super) position: u32,
}

/// Lists of build positions, and what makes pairs of links.
#[derive(Debug, Default)]
pub struct Duplicates {
    /// List after list: the number of positions, then the positions.
    words: Vec<u32>,
    longest: u32,
}

/// A list that is being laid out.
struct DuplicateList {
    slot: u32,
    first: u32,
    /// Positions; later the place of the list.
    count: u32,
    /// Where its next position goes.
    next: usize,
}

impl Duplicates {
    /// Lays out the rows that share a key with an earlier one, and links the keys to them.
    pub(super) fn lay_out(mut extras: Vec<Extra>, table: &mut impl Links) -> Self {
        let mut lists: Vec<DuplicateList> = Vec::new();
        for extra in &mut extras {
            let link = table.link(extra.slot);
            let number = if is_list(link) {
                link & !LIST
            } else {
                let number = lists.len() as u32;
                table.set_link(extra.slot, list_at(number));
                lists.push(DuplicateList { slot: extra.slot, first: link, count: 1, next: 0 });
                number
            };
            extra.slot = number;
            lists[number as usize].count += 1;
        }
        let mut words = vec![0; lists.len() * 2 + extras.len()];
        let mut place = 0;
        for list in &mut lists {
            words[place] = list.count;
            words[place + 1] = list.first;
            table.set_link(list.slot, list_at(place as u32));
            list.next = place + 2;
            place += 1 + list.count as usize;
        }
        for extra in extras {
            let list = &mut lists[extra.slot as usize];
            words[list.next] = extra.position;
            list.next += 1;
        }
        let longest = lists.iter().map(|list| list.count).max().unwrap_or(0);
        Self { words, longest }
    }

    /// List after list: the number of positions, then the positions.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Positions of the key that has most: 1 where no key has more.
    pub fn longest(&self) -> usize {
        self.longest.max(1) as usize
    }

    /// True when no key has more than one position, so that links other than [`NONE`] are positions.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Bytes of the lists.
    pub fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }

    /// The positions that a link leads to.
    ///
    /// # Panics
    /// When the link is another table's.
    pub fn positions<'a>(&'a self, link: &'a u32) -> &'a [u32] {
        match *link {
            NONE => &[],
            list if is_list(list) => {
                let list = &self.words[(list & !LIST) as usize..];
                &list[1..][..list[0] as usize]
            }
            _ => std::slice::from_ref(link),
        }
    }

    /// Replaces links by the first position of each: [`NONE`] stays.
    ///
    /// # Panics
    /// When a link is another table's.
    pub fn first(&self, links: &mut [u32]) {
        if !self.is_empty() {
            for link in links.iter_mut().filter(|link| is_list(**link)) {
                *link = self.positions(link)[0];
            }
        }
    }
}
