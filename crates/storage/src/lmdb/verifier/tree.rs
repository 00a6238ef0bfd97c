//! The trees under one meta: the free list, the main tree that names the databases, and the databases.

use crate::Error;
use crate::lmdb::environment::Name;
use crate::lmdb::records;
use crate::lmdb::verifier::page::{
    BIG_DATA, BRANCH, DATABASE_RECORD, DatabaseRecord, LEAF, Meta, NO_PAGE, Node, SUB_DATABASE,
};
use crate::lmdb::verifier::{PageFile, page};

/// Deepest tree that is believed; 2^48 pages of two entries are less deep.
pub(super) const MAX_DEPTH: u16 = 48;

/// What a tree is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Free,
    Main,
    Values(Name),
}

impl Role {
    fn text(self) -> &'static str {
        match self {
            Self::Free => "the free list",
            Self::Main => "the main tree",
            Self::Values(name) => name.text(),
        }
    }
}

/// What was counted in a tree, to compare with its record.
#[derive(Debug, Default)]
struct TreeCounts {
    branch_pages: u64,
    leaf_pages: u64,
    overflow_pages: u64,
    entries: u64,
}

/// Bounds that a page's keys must keep: from the separator before it to the one after it.
#[derive(Debug, Clone, Default)]
struct Bounds {
    low: Option<Vec<u8>>,
    high: Option<Vec<u8>>,
}

/// A walk under one meta.
#[derive(Debug)]
pub(super) struct Trees<'f> {
    file: &'f PageFile,
    meta: &'f Meta,
    /// One flag per page: used by a tree, or free.
    seen: Vec<bool>,
    pub(super) pages: u64,
    pub(super) errors: Vec<Error>,
    /// What LMDB's code never does, though its format allows it, and what its statistics have wrong: no value is lost by it.
    pub(super) oddities: Vec<Error>,
    pub(super) notes: Vec<String>,
    /// The first page behind all runs of overflow pages, as far as they reach.
    pub(super) end_of_runs: u64,
    databases: Vec<(Name, DatabaseRecord)>,
    /// Value of the state, when it lies inside a leaf page.
    state: Option<Vec<u8>>,
    free: Vec<(u64, u64)>,
}

/// Numbers of free pages as the free list's values hold them.
fn free_pages(value: &[u8]) -> Result<Vec<u64>, String> {
    let (words, []) = value.as_chunks::<8>() else { return Err(format!("a list of {} bytes", value.len())) };
    let mut numbers = words.iter().map(|word| u64::from_le_bytes(*word));
    let count = numbers.next().ok_or("a list without a length")?;
    if count >= words.len() as u64 {
        return Err(format!("a list of {count} pages in {} bytes", value.len()));
    }
    Ok(numbers.take(count as usize).collect())
}

impl<'f> Trees<'f> {
    pub(super) fn new(file: &'f PageFile, meta: &'f Meta) -> Self {
        let pages = usize::try_from(meta.last_page.min(file.length / meta.page_size as u64 + (1 << 20))).unwrap_or(0);
        Self {
            file,
            meta,
            seen: vec![false; pages + 1],
            pages: 0,
            errors: Vec::new(),
            oddities: Vec::new(),
            notes: Vec::new(),
            end_of_runs: 0,
            databases: Vec::new(),
            state: None,
            free: Vec::new(),
        }
    }

    /// The value of the state.
    pub(super) fn take_state(&mut self) -> Option<Vec<u8>> {
        self.state.take()
    }

    /// Walks all trees; what is damaged is in `errors` afterwards.
    pub(super) fn walk(&mut self) {
        for number in [0, 1] {
            if let Some(seen) = self.seen.get_mut(number) {
                *seen = true;
            }
        }
        self.tree(Role::Main, &self.meta.main.clone());
        self.tree(Role::Free, &self.meta.free.clone());
        for (name, record) in std::mem::take(&mut self.databases) {
            self.tree(Role::Values(name), &record);
        }
        for (owner, number) in std::mem::take(&mut self.free) {
            if let Err(detail) = self.mark(number, 1) {
                self.errors.push(self.file.damaged(owner, format!("free page {number}: {detail}")));
            }
        }
        let lost = self.seen.iter().filter(|seen| !**seen).count();
        if lost > 0 && self.errors.is_empty() {
            self.notes.push(format!("{lost} pages of the catalog are neither used nor free"));
        }
    }

    /// Notes that `count` pages from `number` are used.
    fn mark(&mut self, number: u64, count: u64) -> Result<(), String> {
        let end = number.checked_add(count).filter(|end| *end <= self.meta.last_page.saturating_add(1));
        let range = usize::try_from(number).ok().zip(end.and_then(|end| usize::try_from(end).ok()));
        let pages = range.and_then(|(start, end)| self.seen.get_mut(start..end));
        let pages = pages.ok_or_else(|| format!("the last page is {}", self.meta.last_page))?;
        if pages.iter().any(|seen| *seen) {
            return Err("it is used twice".to_owned());
        }
        pages.fill(true);
        Ok(())
    }

    fn tree(&mut self, role: Role, record: &DatabaseRecord) {
        let mut counted = TreeCounts::default();
        if record.depth > MAX_DEPTH {
            self.damaged_tree(role, format!("its depth is {}", record.depth));
            return;
        }
        if record.root != NO_PAGE {
            self.node_page(role, record.root, record.depth, &Bounds::default(), &mut counted);
        } else if record.depth != 0 {
            self.damaged_tree(role, format!("it has no root, but depth {}", record.depth));
        }
        if !self.errors.is_empty() {
            return;
        }
        // LMDB frees the pages of a run by its header, and takes them from this number: both are the same or one is damaged.
        if record.overflow_pages != counted.overflow_pages {
            let (found, recorded) = (counted.overflow_pages, record.overflow_pages);
            self.damaged_tree(role, format!("{found} overflow pages were found, {recorded} were recorded"));
        }
        let recorded = [record.branch_pages, record.leaf_pages, record.entries];
        let found = [counted.branch_pages, counted.leaf_pages, counted.entries];
        if recorded != found {
            let detail =
                format!("branch pages, leaf pages, entries are {found:?}, the statistics of LMDB say {recorded:?}");
            self.oddities.push(Error::corrupt(self.place(role), detail));
        }
    }

    fn place(&self, role: Role) -> String {
        format!("{}, tree of {} at commit {}", self.file.path.display(), role.text(), self.meta.transaction)
    }

    fn damaged_tree(&mut self, role: Role, detail: String) {
        self.errors.push(Error::corrupt(self.place(role), detail));
    }

    /// Walks the page `number`, `depth` levels above and including the leaves.
    fn node_page(&mut self, role: Role, number: u64, depth: u16, bounds: &Bounds, counted: &mut TreeCounts) {
        if let Err(detail) = self.try_node_page(role, number, depth, bounds, counted) {
            self.errors.push(self.file.damaged(number, format!("of {}: {detail}", role.text())));
        }
    }

    fn try_node_page(
        &mut self,
        role: Role,
        number: u64,
        depth: u16,
        bounds: &Bounds,
        counted: &mut TreeCounts,
    ) -> Result<(), String> {
        self.mark(number, 1)?;
        let bytes = self.file.read(number)?;
        self.pages += 1;
        let kind = match depth {
            0 => return Err("it lies below the leaves".to_owned()),
            1 => LEAF,
            _ => BRANCH,
        };
        let page::Nodes { nodes, gap } = page::nodes(&bytes, number, kind)?;
        self.oddities.extend(gap.map(|gap| self.file.damaged(number, format!("of {}: {gap}", role.text()))));
        check_order(role, &nodes, kind, bounds)?;
        if kind == LEAF {
            counted.leaf_pages += 1;
            counted.entries += nodes.len() as u64;
            return nodes.iter().try_for_each(|node| self.leaf_node(role, number, node, counted));
        }
        counted.branch_pages += 1;
        for (index, node) in nodes.iter().enumerate() {
            let inner = Bounds {
                low: if index == 0 { bounds.low.clone() } else { Some(node.key.to_vec()) },
                high: nodes.get(index + 1).map(|next| next.key.to_vec()).or_else(|| bounds.high.clone()),
            };
            self.node_page(role, node.number, depth - 1, &inner, counted);
        }
        Ok(())
    }

    fn leaf_node(&mut self, role: Role, owner: u64, node: &Node<'_>, counted: &mut TreeCounts) -> Result<(), String> {
        let allowed = if role == Role::Main { SUB_DATABASE } else { BIG_DATA };
        if node.flags & !allowed != 0 || (role == Role::Main && node.flags != SUB_DATABASE) {
            return Err(format!("an entry has flags {:#x}", node.flags));
        }
        let mut first = None;
        if node.flags & BIG_DATA != 0 {
            let number = page::u64_at(node.data, 0);
            let pages = self.run(number, node.number).map_err(|detail| format!("overflow page {number}: {detail}"))?;
            self.pages += pages;
            counted.overflow_pages += pages;
            first = Some(number);
        }
        match role {
            Role::Main => self.database(node),
            Role::Free => {
                let value = match first {
                    Some(first) => self.overflow_value(first, node.number)?,
                    None => node.data.to_vec(),
                };
                let transaction = page::u64_at(node.key, 0);
                if transaction == 0 || transaction > self.meta.transaction {
                    return Err(format!("pages freed by transaction {transaction}, which is to come"));
                }
                self.free.extend(free_pages(&value)?.into_iter().map(|number| (owner, number)));
                Ok(())
            }
            Role::Values(name) => {
                if name == Name::Meta && node.key == records::STATE_KEY {
                    self.state = Some(match first {
                        Some(first) => self.overflow_value(first, node.number)?,
                        None => node.data.to_vec(),
                    });
                }
                Ok(())
            }
        }
    }

    /// Looks at the run of overflow pages from `first`, in which a value of `length` bytes lies. Gives its pages: all of them
    /// belong to it, whether the value takes them or not. Only those that it takes need to be in the file, since LMDB reads no others.
    fn run(&mut self, first: u64, length: u64) -> Result<u64, String> {
        let needed = page::overflow_pages(length, self.meta.page_size);
        let end = first.checked_add(needed).filter(|end| *end <= self.meta.last_page.saturating_add(1));
        let end = end.ok_or_else(|| format!("the last page is {}", self.meta.last_page))?;
        let pages = page::overflow_run(&self.file.read(first)?, first, needed)?;
        self.mark(first, pages)?;
        self.file.read(end - 1).map_err(|detail| format!("its end: {detail}"))?;
        self.end_of_runs = self.end_of_runs.max(first + pages);
        Ok(pages)
    }

    /// One of the databases that the main tree names.
    fn database(&mut self, node: &Node<'_>) -> Result<(), String> {
        let name = Name::ALL.into_iter().find(|name| name.text().as_bytes() == node.key);
        let name = name.ok_or_else(|| format!("an unknown database '{}'", node.key.escape_ascii()))?;
        let record = DatabaseRecord::parse(node.data)
            .ok_or_else(|| format!("a record of {} bytes, not {DATABASE_RECORD}", node.data.len()))?;
        if record.flags != 0 || record.pad != 0 {
            return Err(format!("database '{}' has flags {:#x}", name.text(), record.flags));
        }
        self.databases.push((name, record));
        Ok(())
    }

    /// The `length` bytes of a value in the run of overflow pages from `first`, which was looked at.
    fn overflow_value(&self, first: u64, length: u64) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        for number in first..first + page::overflow_pages(length, self.meta.page_size) {
            bytes.extend(self.file.read(number)?);
        }
        bytes.drain(..page::PAGE_HEADER);
        bytes.truncate(usize::try_from(length).map_err(|_| "a value too long for this machine")?);
        Ok(bytes)
    }
}

/// Keys ascend, and keep the separators above.
fn check_order(role: Role, nodes: &[Node<'_>], kind: u16, bounds: &Bounds) -> Result<(), String> {
    let integers = role == Role::Free;
    if integers && nodes.iter().skip(usize::from(kind == BRANCH)).any(|node| node.key.len() != 8) {
        return Err("a key of the free list is no transaction number".to_owned());
    }
    let before = |left: &[u8], right: &[u8]| {
        if integers && left.len() == 8 && right.len() == 8 {
            page::u64_at(left, 0) < page::u64_at(right, 0)
        } else {
            left < right
        }
    };
    // The first key of a branch page is never compared: it stands for everything below the second.
    let compared = if kind == BRANCH { &nodes[1..] } else { nodes };
    for (index, pair) in compared.windows(2).enumerate() {
        if !before(pair[0].key, pair[1].key) {
            return Err(format!("entry {} is not before its successor", index + nodes.len() - compared.len()));
        }
    }
    let low_broken = bounds.low.as_ref().zip(compared.first()).is_some_and(|(low, node)| before(node.key, low));
    let high_broken = bounds.high.as_ref().zip(compared.last()).is_some_and(|(high, node)| !before(node.key, high));
    if low_broken || high_broken {
        return Err("its keys lie outside the bounds of the page above".to_owned());
    }
    Ok(())
}
