//! From links to pairs of positions: the staging vectors behind a join. They are filled to the last place, across as many
//! vectors of keys as it takes, and a key's duplicates may begin in one and go on in the next (relaxed operator fusion
//! paper, section 4: stages deliver full vectors).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use super::{Duplicates, NONE};
use crate::Isa;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Matches of a join: two vectors of one length, and the length at which they are full.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// Numbers of keys in their vector.
    probe: Vec<u32>,
    /// Build positions.
    build: Vec<u32>,
    capacity: usize,
}

/// Where the links of a vector go on once there is room for pairs again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resume {
    /// The next key.
    key: usize,
    /// The next of its duplicates.
    duplicate: usize,
}

impl Pairs {
    /// No pairs, with room for so many.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { probe: Vec::with_capacity(capacity), build: Vec::with_capacity(capacity), capacity }
    }

    /// For each pair, the number of the key in the vector that was probed. Where pairs of several vectors are gathered, what each
    /// call has added is turned into TIDs, or whatever tells the vectors apart, before the next vector is probed.
    pub fn probe(&self) -> &[u32] {
        &self.probe
    }

    /// The build position of each pair.
    pub fn build(&self) -> &[u32] {
        &self.build
    }

    /// Whether there is no room left.
    pub fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// Takes all pairs out.
    pub fn clear(&mut self) {
        self.probe.clear();
        self.build.clear();
    }

    fn room(&self) -> usize {
        self.capacity - self.probe.len()
    }

    /// Pairs of links that are positions or [`NONE`], from the key number `first` on. There is room for all of them.
    fn append(&mut self, isa: Isa, links: &[u32], first: u32) {
        self.probe.reserve(links.len());
        self.build.reserve(links.len());
        let probe = &mut self.probe.spare_capacity_mut()[..links.len()];
        let build = &mut self.build.spare_capacity_mut()[..links.len()];
        let count: usize = dispatch!(isa, found(links, first, probe, build));
        assert!(count <= links.len(), "{count} pairs of {} links", links.len());
        // SAFETY: the kernel wrote the first `count` elements of the room of either vector, which has one per link.
        unsafe {
            self.probe.set_len(self.probe.len() + count);
            self.build.set_len(self.build.len() + count);
        }
    }

    /// As many pairs of a key's positions as there is room for; returns how many.
    fn repeat(&mut self, key: u32, positions: &[u32]) -> usize {
        let count = positions.len().min(self.room());
        self.probe.extend(std::iter::repeat_n(key, count));
        self.build.extend_from_slice(&positions[..count]);
        count
    }
}

/// Room for elements that a kernel writes.
type Room<'a> = &'a mut [MaybeUninit<u32>];

impl Duplicates {
    /// Appends pairs of key number and build position, in the order of the keys and of the build, until the vectors are full or
    /// the links have no more. Returns whether they have no more; `resume`, which is new for each vector of links, says
    /// where the next call goes on, and is new again in that case.
    ///
    /// # Panics
    /// When a link is another table's.
    pub fn pairs(&self, isa: Isa, links: &[u32], resume: &mut Resume, pairs: &mut Pairs) -> bool {
        if self.is_empty() {
            self.single_pairs(isa, links, resume, pairs);
        } else {
            self.all_pairs(links, resume, pairs);
        }
        let done = resume.key >= links.len();
        if done {
            *resume = Resume::default();
        }
        done
    }

    /// Pairs for links, with the positions that lie in a key's span of all that its link leads to.
    ///
    /// # Panics
    /// When a link is another table's, and for a span of more positions than there are.
    pub fn pairs_within(&self, links: &[u32], spans: &[Range<u32>], resume: &mut Resume, pairs: &mut Pairs) -> bool {
        assert_eq!(links.len(), spans.len(), "one span per link");
        while resume.key < links.len() && !pairs.is_full() {
            let span = &spans[resume.key];
            let positions = &self.positions(&links[resume.key])[span.start as usize..span.end as usize];
            let positions = &positions[resume.duplicate..];
            let count = pairs.repeat(resume.key as u32, positions);
            if count < positions.len() {
                resume.duplicate += count;
                return false;
            }
            *resume = Resume { key: resume.key + 1, duplicate: 0 };
        }
        let done = resume.key >= links.len();
        if done {
            *resume = Resume::default();
        }
        done
    }

    fn single_pairs(&self, isa: Isa, links: &[u32], resume: &mut Resume, pairs: &mut Pairs) {
        while resume.key < links.len() && !pairs.is_full() {
            let links = &links[resume.key..];
            let count = links.len().min(pairs.room());
            pairs.append(isa, &links[..count], resume.key as u32);
            resume.key += count;
        }
    }

    fn all_pairs(&self, links: &[u32], resume: &mut Resume, pairs: &mut Pairs) {
        while resume.key < links.len() && !pairs.is_full() {
            let positions = &self.positions(&links[resume.key])[resume.duplicate..];
            let count = pairs.repeat(resume.key as u32, positions);
            if count < positions.len() {
                resume.duplicate += count;
                return;
            }
            *resume = Resume { key: resume.key + 1, duplicate: 0 };
        }
    }
}
