//! Options of a table's heap pages: layout, length, and how deletions are done.

/// What a heap table's pages are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HeapOptions {
    /// Layout of the pages.
    pub layout: HeapLayout,
    /// Bytes of a page: a multiple of 4096 less 16, up to 8 times 4096.
    pub page_bytes: usize,
    /// What deletions do in PAX pages.
    pub deletes: Deletes,
    /// A PAX page of which less than so many percent are free is not reorganised for one more record when loading.
    pub threshold: u8,
}

impl HeapOptions {
    /// Pages of 8176 bytes, filled to the last record that fits.
    pub fn new(layout: HeapLayout) -> Self {
        Self { layout, page_bytes: 8176, deletes: Deletes::Compact, threshold: 0 }
    }

    /// Bytes of the longest value that stays in its page.
    pub(crate) fn longest_value(&self) -> usize {
        self.page_bytes / 4
    }
}

/// How the records of a page lie in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeapLayout {
    /// Whole records behind an array of slots (section 2.1).
    Nsm,
    /// Pairs of a record id and one attribute's value, a relation for each attribute (section 2.2).
    Dsm,
    /// A minipage for each attribute (section 3).
    Pax,
}

impl HeapLayout {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Nsm, Self::Dsm, Self::Pax];

    /// Its name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nsm => "nsm",
            Self::Dsm => "dsm",
            Self::Pax => "pax",
        }
    }

    /// The layout of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.name() == name)
    }
}

impl std::fmt::Display for HeapLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a deletion does to a PAX page (section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deletes {
    /// Gaps are closed at once: a record id becomes an index by rank over the bitmap of live records.
    #[default]
    Compact,
    /// The record is marked only, and its place taken by a later one.
    Defer,
}
