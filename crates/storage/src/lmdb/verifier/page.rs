//! LMDB's pages as bytes: headers, metas, nodes. Layouts follow `mdb.c` of LMDB 0.9.70 (data version 1) on 64-bit
//! little-endian machines.

/// Bytes of a page's header.
pub(super) const PAGE_HEADER: usize = 16;
/// Bytes of a node before its key.
const NODE_HEADER: usize = 8;
/// Bytes of a database record.
pub(super) const DATABASE_RECORD: usize = 48;
/// Root of an empty tree.
pub(super) const NO_PAGE: u64 = u64::MAX;
/// Longest key.
const MAX_KEY: usize = 511;

/// Page flags.
pub(super) const BRANCH: u16 = 0x01;
pub(super) const LEAF: u16 = 0x02;
pub(super) const OVERFLOW: u16 = 0x04;
const META: u16 = 0x08;

/// Node flags.
pub(super) const BIG_DATA: u16 = 0x01;
pub(super) const SUB_DATABASE: u16 = 0x02;

/// Database flags: keys are native integers (the free list).
pub(super) const INTEGER_KEY: u16 = 0x08;

const MAGIC: u32 = 0xBEEF_C0DE;
const DATA_VERSION: u32 = 1;
const META_BYTES: usize = 24 + 2 * DATABASE_RECORD + 16;

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A little-endian word at `at`; the caller has checked the length.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// What LMDB keeps of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DatabaseRecord {
    pub(super) pad: u32,
    pub(super) flags: u16,
    pub(super) depth: u16,
    pub(super) branch_pages: u64,
    pub(super) leaf_pages: u64,
    pub(super) overflow_pages: u64,
    pub(super) entries: u64,
    pub(super) root: u64,
}

impl DatabaseRecord {
    /// From [`DATABASE_RECORD`] bytes.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        (bytes.len() == DATABASE_RECORD).then(|| Self {
            pad: u32_at(bytes, 0),
            flags: u16_at(bytes, 4),
            depth: u16_at(bytes, 6),
            branch_pages: u64_at(bytes, 8),
            leaf_pages: u64_at(bytes, 16),
            overflow_pages: u64_at(bytes, 24),
            entries: u64_at(bytes, 32),
            root: u64_at(bytes, 40),
        })
    }
}

/// One of the two pages that a snapshot starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) page_size: usize,
    pub(super) free: DatabaseRecord,
    pub(super) main: DatabaseRecord,
    pub(super) last_page: u64,
    pub(super) transaction: u64,
}

impl Meta {
    /// Parses meta page `number`; `page` has at least its first 152 bytes.
    pub(super) fn parse(page: &[u8], number: u64) -> Result<Self, String> {
        let body = page.get(PAGE_HEADER..PAGE_HEADER + META_BYTES).ok_or("the page is cut off")?;
        if u64_at(page, 0) != number {
            return Err(format!("it says it is page {}", u64_at(page, 0)));
        }
        if u16_at(page, 10) != META {
            return Err(format!("page flags are {:#x}, {META:#x} was expected", u16_at(page, 10)));
        }
        if u32_at(body, 0) != MAGIC {
            return Err(format!("magic number is {:#x}, {MAGIC:#x} was expected", u32_at(body, 0)));
        }
        if u32_at(body, 4) != DATA_VERSION {
            return Err(format!("LMDB data version is {}, {DATA_VERSION} was expected", u32_at(body, 4)));
        }
        if u64_at(body, 8) != 0 {
            return Err(format!("map address is {:#x}, 0 was expected", u64_at(body, 8)));
        }
        let record = |at: usize| DatabaseRecord::parse(&body[at..at + DATABASE_RECORD]).ok_or("the page is cut off");
        let (free, main) = (record(24)?, record(24 + DATABASE_RECORD)?);
        let page_size = free.pad as usize;
        if !page_size.is_power_of_two() || !(512..=65536).contains(&page_size) {
            return Err(format!("page size is {page_size}"));
        }
        // LMDB takes any size; every map of ours has a multiple of the page size.
        let map_size = u64_at(body, 16);
        if !map_size.is_multiple_of(page_size as u64) || map_size > 1 << 47 {
            return Err(format!("map size is {map_size}"));
        }
        // LMDB keeps flags of the environment here, too; ours is opened with none of those that are kept.
        if free.flags != INTEGER_KEY {
            return Err(format!("flags are {:#x}, {INTEGER_KEY:#x} was expected", free.flags));
        }
        // These are flags of databases with several values a key, or with keys in another order. Ours have neither.
        if main.flags != 0 || main.pad != 0 {
            return Err(format!("flags of the main tree are {:#x}, 0 was expected", main.flags));
        }
        let (last_page, transaction) = (u64_at(body, 24 + 2 * DATABASE_RECORD), u64_at(body, 32 + 2 * DATABASE_RECORD));
        if transaction & 1 != number {
            return Err(format!("transaction {transaction} does not belong on this page"));
        }
        Ok(Self { page_size, free, main, last_page, transaction })
    }

    /// The number of its page.
    pub(super) fn number(&self) -> u64 {
        self.transaction & 1
    }
}

/// A node of a tree page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'p> {
    pub(super) key: &'p [u8],
    pub(super) flags: u16,
    /// Page number of a branch's child, or length of a leaf's data.
    pub(super) number: u64,
    /// Data inside the page; eight bytes of page number for big data.
    pub(super) data: &'p [u8],
}

/// Number of overflow pages that `bytes` of data take. The run that holds them may be longer: LMDB writes a shorter value over
/// a longer one of the same transaction in place.
pub(super) fn overflow_pages(bytes: u64, page_size: usize) -> u64 {
    (PAGE_HEADER as u64 - 1 + bytes) / page_size as u64 + 1
}

/// Checks the header of the first page of an overflow run, whose value takes `needed` pages. Gives the pages of the run.
pub(super) fn overflow_run(page: &[u8], number: u64, needed: u64) -> Result<u64, String> {
    if u64_at(page, 0) != number {
        return Err(format!("it says it is page {}", u64_at(page, 0)));
    }
    if u16_at(page, 10) != OVERFLOW {
        return Err(format!("page flags are {:#x}, {OVERFLOW:#x} was expected", u16_at(page, 10)));
    }
    let pages = u64::from(u32_at(page, 12));
    if pages < needed {
        return Err(format!("it says it runs over {pages} pages, its value takes {needed}"));
    }
    Ok(pages)
}

/// The nodes of a tree page.
#[derive(Debug)]
pub(super) struct Nodes<'p> {
    pub(super) nodes: Vec<Node<'p>>,
    /// The first unused place between nodes. LMDB's code leaves none, but its format promises nothing about it.
    pub(super) gap: Option<String>,
}

/// The nodes of a branch or leaf page, after checks of its header, of every node's bounds, and that no node overlaps another.
pub(super) fn nodes(page: &[u8], number: u64, expected: u16) -> Result<Nodes<'_>, String> {
    if u64_at(page, 0) != number {
        return Err(format!("it says it is page {}", u64_at(page, 0)));
    }
    if u16_at(page, 10) != expected {
        return Err(format!("page flags are {:#x}, {expected:#x} was expected", u16_at(page, 10)));
    }
    let (lower, upper) = (usize::from(u16_at(page, 12)), usize::from(u16_at(page, 14)));
    if lower < PAGE_HEADER || !lower.is_multiple_of(2) || upper < lower || upper > page.len() {
        return Err(format!("free space from {lower} to {upper} makes no sense"));
    }
    let count = (lower - PAGE_HEADER) / 2;
    if count == 0 {
        return Err("it has no entries".to_owned());
    }
    let mut nodes = Vec::with_capacity(count);
    let mut extents = Vec::with_capacity(count);
    for index in 0..count {
        let at = usize::from(u16_at(page, PAGE_HEADER + 2 * index));
        if at < upper || !at.is_multiple_of(2) || at + NODE_HEADER > page.len() {
            return Err(format!("entry {index} lies at {at}"));
        }
        let (node, end) = node(page, at, expected).ok_or_else(|| format!("entry {index} reaches past the page"))?;
        if node.key.len() > MAX_KEY || (node.key.is_empty() && (expected == LEAF || index > 0)) {
            return Err(format!("entry {index} has a key of {} bytes", node.key.len()));
        }
        nodes.push(node);
        extents.push((at, end));
    }
    extents.sort_unstable();
    extents.push((page.len(), page.len()));
    let (mut next, mut gap) = (upper, None);
    for (at, end) in extents {
        if at < next {
            return Err(format!("an entry lies at {at}, within the one that ends at {next}"));
        }
        if at > next && gap.is_none() {
            gap = Some(format!("nothing lies from {next} to {at} between its entries"));
        }
        next = end;
    }
    Ok(Nodes { nodes, gap })
}

/// Calls `visit` with the nodes of a branch or leaf page, without a look at whether they lie in order.
pub(super) fn each_node<'p>(page: &'p [u8], expected: u16, mut visit: impl FnMut(Node<'p>)) -> Result<(), String> {
    let lower = usize::from(u16_at(page, 12));
    if u16_at(page, 10) != expected || !(PAGE_HEADER..=page.len()).contains(&lower) {
        return Err(format!("page flags are {:#x}, entries are named up to {lower}", u16_at(page, 10)));
    }
    for index in 0..(lower - PAGE_HEADER) / 2 {
        let at = usize::from(u16_at(page, PAGE_HEADER + 2 * index));
        let node = (at + NODE_HEADER <= page.len()).then(|| node(page, at, expected)).flatten();
        visit(node.ok_or_else(|| format!("entry {index} reaches past the page"))?.0);
    }
    Ok(())
}

/// Those nodes of a branch or leaf page that lie within it, whatever else is wrong with it. They are to be believed as far as what
/// they lead to proves itself.
pub(super) fn readable_nodes(page: &[u8], kind: u16) -> Vec<Node<'_>> {
    let named = usize::from(u16_at(page, 12)).clamp(PAGE_HEADER, page.len());
    let places = (0..(named - PAGE_HEADER) / 2).map(|index| usize::from(u16_at(page, PAGE_HEADER + 2 * index)));
    let within = places.filter(|at| (PAGE_HEADER..=page.len() - NODE_HEADER).contains(at));
    within
        .filter_map(|at| node(page, at, kind))
        .map(|(node, _)| node)
        .filter(|node| node.key.len() <= MAX_KEY)
        .collect()
}

/// Whether a page says that it is a leaf of a tree.
pub(super) fn is_leaf(page: &[u8]) -> bool {
    u16_at(page, 10) == LEAF
}

/// The node at `at` and the even offset behind it.
fn node(page: &[u8], at: usize, kind: u16) -> Option<(Node<'_>, usize)> {
    let (low, high) = (u64::from(u16_at(page, at)), u64::from(u16_at(page, at + 2)));
    let (flags, key_length) = (u16_at(page, at + 4), usize::from(u16_at(page, at + 6)));
    let start = at + NODE_HEADER;
    let key = page.get(start..start + key_length)?;
    let (number, inside) = if kind == BRANCH {
        (low | high << 16 | u64::from(flags) << 32, 0)
    } else {
        let length = low | high << 16;
        (length, if flags & BIG_DATA != 0 { 8 } else { usize::try_from(length).ok()? })
    };
    let data = page.get(start + key_length..start.checked_add(key_length)?.checked_add(inside)?)?;
    let end = start + key_length + inside;
    let even = end + end % 2;
    (even <= page.len()).then_some((Node { key, flags, number, data }, even))
}
