//! A disk that loses power: what a log of writes and barriers may leave behind.
//!
//! What came before the last finished barrier of a file is there. Of what came later any part may be, in any order, cut at
//! sectors of 512 bytes; a file that was to grow may have grown and hold zeros. Names are those of the last barrier of their
//! folder, with any of the later changes. That is what POSIX promises, which is less than any common file system does.

use crate::generator::Generator;
use crate::recorder::{Event, Name, NodeId};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A write that is torn is cut at multiples of this.
const SECTOR: u64 = 512;

/// LMDB's table of readers, which it writes through a map and makes anew when nobody else has the database open: anything
/// may stand in it.
const READERS: &[u8] = b"lock.mdb";
/// The writer's lock file, and how it begins after commits that are checksummed; the boot is its last word then.
const WRITER: &[u8] = b"writer.lock";
const SEALING: &[u8] = b"sealing";

/// What becomes of changes that no barrier covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// None is on the disk.
    Lost,
    /// All are.
    Kept,
    /// Each is with that chance in percent, or a part of it.
    Random(u64),
    /// The last one alone is.
    Last,
}

impl Fate {
    /// One of them.
    pub fn any(random: &mut Generator) -> Self {
        *random.pick(&[Self::Lost, Self::Kept, Self::Last, Self::Random(15), Self::Random(50), Self::Random(85)])
    }
}

/// The state of the disk after some events.
#[derive(Debug)]
pub struct Disk<'log> {
    nodes: Vec<Node<'log>>,
    /// Changes of names that no barrier covers, in their order.
    names: Vec<&'log Event>,
}

#[derive(Debug)]
enum Node<'log> {
    File { durable: Vec<u8>, pending: Vec<&'log Event> },
    Folder(Entries),
}

type Entries = BTreeMap<Vec<u8>, NodeId>;

impl<'log> Disk<'log> {
    /// An empty folder.
    pub fn new() -> Self {
        Self { nodes: vec![Node::Folder(Entries::new())], names: Vec::new() }
    }

    /// Goes on by one event.
    pub fn apply(&mut self, event: &'log Event) {
        match event {
            Event::Create { folder, .. } => {
                let file = || Node::File { durable: Vec::new(), pending: Vec::new() };
                self.nodes.push(if *folder { Node::Folder(Entries::new()) } else { file() });
                self.names.push(event);
            }
            Event::Remove { .. } | Event::Rename { .. } | Event::Exchange { .. } => self.names.push(event),
            Event::Write { node, .. } | Event::Truncate { node, .. } => {
                if let Node::File { pending, .. } = &mut self.nodes[*node] {
                    pending.push(event);
                }
            }
            Event::Sync { node } => match &mut self.nodes[*node] {
                Node::File { durable, pending } => pending.drain(..).for_each(|event| change(durable, event)),
                Node::Folder(_) => self.sync_folder(*node),
            },
            Event::Acknowledged(_) => {}
        }
    }

    /// Makes the changes of a folder's names last; and, with a file that was moved to or from another one, what had been
    /// done there under its name.
    fn sync_folder(&mut self, folder: NodeId) {
        let mut wanted = vec![false; self.names.len()];
        let mut others: Vec<&Name> = Vec::new();
        for (at, event) in self.names.iter().enumerate().rev() {
            let touched = touched(event);
            if touched.iter().any(|name| name.0 == folder || others.contains(name)) {
                wanted[at] = true;
                others.extend(touched.iter().filter(|name| name.0 != folder));
            }
        }
        let pending = std::mem::take(&mut self.names);
        for (event, wanted) in pending.into_iter().zip(wanted) {
            if wanted { rename(&mut self.nodes, event) } else { self.names.push(event) }
        }
    }

    /// Writes into the folder `to` what is left when power goes now, while `next` is under way.
    pub fn lose_power(&self, next: Option<&Event>, fates: [Fate; 2], random: &mut Generator, to: &Path) {
        let [data, names] = fates;
        let mut tree: Vec<Option<Entries>> = self
            .nodes
            .iter()
            .map(|node| if let Node::Folder(entries) = node { Some(entries.clone()) } else { None })
            .collect();
        for (at, event) in self.names.iter().enumerate() {
            if kept(names, at + 1 == self.names.len(), random) {
                change_names(event, |name, node| {
                    tree[name.0].iter_mut().for_each(|entries| set_name(entries, name, node))
                });
            }
        }
        self.write_folder(&tree, 0, (next, data), random, to);
    }

    fn write_folder(
        &self,
        tree: &[Option<Entries>],
        folder: NodeId,
        how: (Option<&Event>, Fate),
        random: &mut Generator,
        to: &Path,
    ) {
        for (name, node) in tree[folder].iter().flatten() {
            let path = to.join(OsStr::from_bytes(name));
            match &self.nodes[*node] {
                Node::Folder(_) => {
                    fs::create_dir(&path).expect("a new folder");
                    self.write_folder(tree, *node, how, random, &path);
                }
                Node::File { durable, pending } => {
                    let next = how.0.filter(|event| matches!(event, Event::Write { node: own, .. } if own == node));
                    let mut bytes = left(durable, pending, next, how.1, random);
                    if name == READERS {
                        bytes.iter_mut().for_each(|byte| *byte = random.bits() as u8);
                    }
                    // After a power loss the system is in another boot than the one that the writer noted.
                    if name == WRITER && bytes.starts_with(SEALING) {
                        let boot = bytes.iter().rposition(|byte| *byte == b' ');
                        bytes.truncate(boot.unwrap_or(bytes.len()));
                    }
                    fs::write(&path, bytes).expect("a new file");
                }
            }
        }
    }
}

/// What is left of a file.
fn left(durable: &[u8], pending: &[&Event], next: Option<&Event>, fate: Fate, random: &mut Generator) -> Vec<u8> {
    let mut bytes = durable.to_vec();
    for (at, event) in pending.iter().enumerate() {
        let synced = matches!(event, Event::Write { synced: true, .. });
        if synced || kept(fate, at + 1 == pending.len() && next.is_none(), random) {
            change(&mut bytes, event);
        } else {
            lose(&mut bytes, event, fate, random);
        }
    }
    // A call that has not come back may have done any part of its work.
    if let Some(event) = next {
        if kept(fate, true, random) { change(&mut bytes, event) } else { lose(&mut bytes, event, fate, random) }
    }
    bytes
}

fn kept(fate: Fate, last: bool, random: &mut Generator) -> bool {
    match fate {
        Fate::Lost => false,
        Fate::Kept => true,
        Fate::Random(percent) => random.chance(percent),
        Fate::Last => last,
    }
}

/// What a change leaves that does not reach the disk as a whole: nothing, some sectors, a longer file.
fn lose(bytes: &mut Vec<u8>, event: &Event, fate: Fate, random: &mut Generator) {
    let Event::Write { at, bytes: new, .. } = event else { return };
    if !matches!(fate, Fate::Random(_)) || random.chance(50) {
        return;
    }
    let end = at + new.len() as u64;
    if random.chance(50) && (bytes.len() as u64) < end {
        bytes.resize(end as usize, 0);
    }
    for sector in sectors(*at..end) {
        if random.chance(50) {
            put(bytes, sector.start, &new[(sector.start - at) as usize..(sector.end - at) as usize]);
        }
    }
}

/// A range cut where sectors begin.
fn sectors(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let cuts = range.start / SECTOR..range.end.div_ceil(SECTOR);
    cuts.map(move |sector| range.start.max(sector * SECTOR)..range.end.min((sector + 1) * SECTOR))
}

/// Changes a file's bytes as an event says.
fn change(bytes: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Write { at, bytes: new, .. } => put(bytes, *at, new),
        Event::Truncate { length, .. } => bytes.resize(*length as usize, 0),
        _ => {}
    }
}

fn put(bytes: &mut Vec<u8>, at: u64, new: &[u8]) {
    let (start, end) = (at as usize, at as usize + new.len());
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[start..end].copy_from_slice(new);
}

/// The names that an event is about.
fn touched(event: &Event) -> Vec<&Name> {
    match event {
        Event::Create { name, .. } | Event::Remove { name } => vec![name],
        Event::Rename { from, to, .. } => vec![from, to],
        Event::Exchange { one, other } => vec![&one.0, &other.0],
        _ => Vec::new(),
    }
}

/// Makes a change of names last.
fn rename(nodes: &mut [Node<'_>], event: &Event) {
    change_names(event, |name, node| {
        if let Node::Folder(entries) = &mut nodes[name.0] {
            set_name(entries, name, node);
        }
    });
}

/// What an event does to names: `set` is told what each stands for from then on.
fn change_names(event: &Event, mut set: impl FnMut(&Name, Option<NodeId>)) {
    match event {
        Event::Create { name, node, .. } => set(name, Some(*node)),
        Event::Remove { name } => set(name, None),
        Event::Rename { from, to, node } => {
            set(from, None);
            set(to, Some(*node));
        }
        Event::Exchange { one, other } => [one, other].into_iter().for_each(|(name, node)| set(name, Some(*node))),
        _ => {}
    }
}

fn set_name(entries: &mut Entries, name: &Name, node: Option<NodeId>) {
    match node {
        Some(node) => entries.insert(name.1.clone(), node),
        None => entries.remove(&name.1),
    };
}

/// Holds the files of a folder against those of another, apart from LMDB's table of readers: how a log proves that it
/// missed nothing.
pub fn require_same(one: &Path, other: &Path) {
    let names = |folder: &Path| {
        let mut names: Vec<_> =
            fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(one), names(other), "in {}", one.display());
    for name in names(one) {
        let (one, other) = (one.join(&name), other.join(&name));
        if one.is_dir() {
            require_same(&one, &other);
        } else if name.as_bytes() != READERS {
            let (bytes, others) = (fs::read(&one).expect("a file"), fs::read(&other).expect("a file"));
            // Without the boot.
            let is_same = bytes == others || name.as_bytes() == WRITER && bytes.starts_with(&others);
            assert!(is_same, "{} of {} bytes has {} in the log", one.display(), bytes.len(), others.len());
        }
    }
}

#[test]
fn barriers_decide_what_is_left() {
    let create =
        |folder, name: &[u8], node, is_folder| Event::Create { name: (folder, name.to_vec()), node, folder: is_folder };
    let write = |node, at, byte, synced| Event::Write { node, at, bytes: vec![byte; 700], synced };
    let events = [
        create(0, b"a", 1, false),
        write(1, 0, 1, false),
        Event::Sync { node: 1 },
        create(0, b"b", 2, true),
        create(2, b"c", 3, false),
        write(3, 0, 2, true),
        Event::Sync { node: 2 },
        Event::Sync { node: 0 },
        write(1, 700, 3, false),
        Event::Rename { from: (0, b"a".to_vec()), to: (2, b"d".to_vec()), node: 1 },
        Event::Remove { name: (2, b"c".to_vec()) },
        Event::Sync { node: 0 },
    ];
    let left = |end: usize, fate| {
        let image = tempfile::tempdir().expect("a folder");
        let mut disk = Disk::new();
        events[..end].iter().for_each(|event| disk.apply(event));
        disk.lose_power(events.get(end), [fate; 2], &mut Generator::new(1), image.path());
        ["a", "b/c", "b/d"].map(|name| fs::read(image.path().join(name)).ok().map(|bytes| bytes.len()))
    };
    assert_eq!(left(7, Fate::Lost), [None; 3], "names are lost with all below them");
    assert_eq!(left(7, Fate::Kept), [Some(700), Some(700), None]);
    assert_eq!(left(8, Fate::Lost), [Some(700), Some(700), None], "the second is a barrier of its own");
    assert_eq!(left(8, Fate::Kept), [Some(1400), Some(700), None], "what is under way may be there");
    assert_eq!(left(11, Fate::Lost), [Some(700), Some(700), None]);
    assert_eq!(left(11, Fate::Last), [Some(1400), None, None], "names change in any order");
    assert_eq!(left(12, Fate::Lost), [None, Some(700), Some(700)], "a move is one change of two folders");
    assert_eq!(left(12, Fate::Kept), [None, None, Some(1400)]);
}

#[test]
fn an_exchange_is_one_change() {
    let (one, other) = ((0, b"one".to_vec()), (0, b"other".to_vec()));
    let create = |name: &Name, node| Event::Create { name: name.clone(), node, folder: false };
    let write = |node, length: usize| Event::Write { node, at: 0, bytes: vec![1; length], synced: true };
    let events = [
        create(&one, 1),
        create(&other, 2),
        write(1, 100),
        write(2, 200),
        Event::Sync { node: 0 },
        Event::Exchange { one: (one, 2), other: (other, 1) },
        Event::Sync { node: 0 },
    ];
    let left = |end: usize, fate| {
        let image = tempfile::tempdir().expect("a folder");
        let mut disk = Disk::new();
        events[..end].iter().for_each(|event| disk.apply(event));
        disk.lose_power(None, [fate; 2], &mut Generator::new(1), image.path());
        ["one", "other"].map(|name| fs::read(image.path().join(name)).ok().map(|bytes| bytes.len()))
    };
    assert_eq!(left(6, Fate::Lost), [Some(100), Some(200)]);
    assert_eq!(left(6, Fate::Kept), [Some(200), Some(100)]);
    assert_eq!(left(7, Fate::Lost), [Some(200), Some(100)]);
}
