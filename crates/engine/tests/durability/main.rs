//! Databases whose machine loses power, or whose process is killed, in the middle of random statements; and that meet a full
//! disk.
//!
//! A killed process proves that a change is whole or not there; what it wrote stays with the system. So this program defines the
//! calls of libc that write and sync (`hooks.rs`), records what the engine does with them (`recorder.rs`), and builds what a power
//! loss could leave (`disk.rs`). Each such folder is opened again: all that was acknowledged is there, a statement under way is
//! there wholly or not at all, `check` finds nothing, and keys, counts and extremes agree with the rows (`verify.rs`).
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

#[path = "../../../../tests/support/child.rs"]
mod child;
mod disk;
mod faults;
mod full;
#[path = "../random/generator.rs"]
mod generator;
mod hooks;
mod killed;
mod loads;
mod raised;
mod recorder;
mod refused;
#[path = "../../../../tests/support/rows.rs"]
mod rows;
mod sequences;
mod unsynced;
mod vacuum;
mod verify;
mod workload;

use disk::{Disk, Fate};
use generator::Generator;
use gingham::Database;
use recorder::{Event, NodeId};
use std::path::Path;
use std::time::Duration;
use workload::{Proposal, State, Workload};

/// The database in a recorded folder, in a folder of its own that is made with it.
const DATABASE: &str = "data/shop.gingham";

/// Times as much under `cargo xtask nightly`.
fn rounds(rounds: usize, nightly: usize) -> usize {
    if std::env::var_os("GINGHAM_NIGHTLY").is_some() { nightly } else { rounds }
}

/// Statements as they were recorded: what was done to the disk, and the state after each that was acknowledged, the empty
/// database first.
struct Recording {
    events: Vec<Event>,
    states: Vec<State>,
    /// A power loss may undo the last commit.
    relaxed: bool,
}

/// Records `count` random changes of a new database, under a setting.
fn record(seed: u64, count: usize, setting: Option<&str>) -> Recording {
    let mut workload = Workload::new(seed);
    record_each(|states, database| {
        let connection = database.connect();
        setting.map(|setting| connection.execute(setting).expect("a setting"));
        while states.len() <= count {
            let proposal = workload.propose();
            if proposal.run(&connection) {
                workload.state = proposal.after.clone();
                states.push(proposal.after);
                recorder::acknowledge(states.len() - 1);
            }
        }
    })
}

/// Records what `work` does to a new database; it adds a state for each change and acknowledges it.
fn record_each(work: impl FnOnce(&mut Vec<State>, &Database)) -> Recording {
    let folder = tempfile::tempdir().expect("a folder");
    let (events, states) = recorder::record(folder.path(), || {
        let database = verify::open(&folder.path().join(DATABASE), true).expect("a new database");
        let mut states = vec![State::new()];
        recorder::acknowledge(0);
        work(&mut states, &database);
        drop(database);
        wait_until_closed(&folder.path().join(DATABASE));
        states
    });
    let mut disk = Disk::new();
    events.iter().for_each(|event| disk.apply(event));
    let image = tempfile::tempdir().expect("a folder");
    disk.lose_power(None, [Fate::Kept; 2], &mut Generator::new(0), image.path());
    disk::require_same(folder.path(), image.path());
    Recording { events, states, relaxed: false }
}

/// Waits for the last thread that has the database: its end is written too, before the lock is given up.
fn wait_until_closed(path: &Path) {
    let lock = std::fs::File::open(path.join("writer.lock")).expect("the lock's file");
    for _ in 0..500 {
        if lock.try_lock().is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} is not closed", path.display());
}

/// Power goes after `end` events: the state that must be there, if any was acknowledged.
fn acknowledged(events: &[Event], end: usize) -> Option<usize> {
    events[..end].iter().rev().find_map(|event| match event {
        Event::Acknowledged(count) => Some(*count),
        _ => None,
    })
}

/// The catalog's file: the first, or the one that a VACUUM has put in its place for good.
fn catalog(events: &[Event]) -> Option<NodeId> {
    let (mut current, mut built, mut exchanged_in) = (None, None, None);
    for event in events {
        match event {
            Event::Create { name, node, .. } if name.1 == b"data.mdb" => {
                built = Some(*node);
                current = current.or(built);
            }
            Event::Exchange { one, .. } => exchanged_in = Some(one.0.0),
            Event::Sync { node } if exchanged_in == Some(*node) => (current, exchanged_in) = (built, None),
            _ => {}
        }
    }
    current
}

/// Where the last commit was written that nothing has synced yet: LMDB's write of a meta page. The end when there is none.
fn last_commit(events: &[Event]) -> usize {
    let catalog = catalog(events);
    let of_meta = |event: &Event| match event {
        Event::Write { node, at, bytes, .. } => Some(*node) == catalog && *at < 2 * 4096 && bytes.len() < 4096,
        _ => false,
    };
    match events.iter().rposition(of_meta) {
        Some(at) if matches!(events[at], Event::Write { synced: false, .. }) => at,
        _ => events.len(),
    }
}

/// Builds the folder that `disk` leaves after `end` events and looks at it.
fn try_image(recording: &Recording, disk: &Disk<'_>, end: usize, fates: [Fate; 2], seed: u64) -> Result<(), String> {
    let image = tempfile::tempdir().expect("a folder");
    disk.lose_power(recording.events.get(end), fates, &mut Generator::new(seed), image.path());
    let done = acknowledged(&recording.events, end);
    let last = done.map_or(1, |done| recording.states.len().min(done + 2));
    let commit = if recording.relaxed { last_commit(&recording.events[..end]) } else { end };
    let first = acknowledged(&recording.events, commit).unwrap_or(0);
    let allowed: Vec<&State> = recording.states[first..last].iter().collect();
    let path = image.path().join(DATABASE);
    let found = verify::verify(&path, done.is_none(), &allowed)?;
    verify::usable(&path, allowed[found])
}

/// Where power goes: anywhere, and often just after an answer.
fn points(events: &[Event], count: usize, random: &mut Generator) -> Vec<usize> {
    let answers: Vec<usize> =
        (1..=events.len()).filter(|end| matches!(events[end - 1], Event::Acknowledged(_))).collect();
    let mut points: Vec<usize> = (0..count)
        .map(|at| if at % 3 == 0 { *random.pick(&answers) } else { random.between(0, events.len() as i64) as usize })
        .collect();
    points.sort_unstable();
    points
}

#[test]
fn what_was_acknowledged_survives_a_power_loss() {
    let (recordings, images) = (rounds(3, 60), rounds(13, 100));
    (0..recordings as u64).for_each(|seed| try_images(seed, &record(seed, 40, None), images));
}

#[test]
fn relaxed_commits_lose_the_last_one_at_most() {
    let (recordings, images) = (rounds(1, 20), rounds(13, 100));
    for seed in 100..100 + recordings as u64 {
        let recording = record(seed, 40, Some("SET gingham.durability = 'relaxed'"));
        try_images(seed, &Recording { relaxed: true, ..recording }, images);
    }
}

/// Looks at random images of a recording.
fn try_images(seed: u64, recording: &Recording, images: usize) {
    let mut random = Generator::new(seed);
    let (mut disk, mut done) = (Disk::new(), 0);
    for end in points(&recording.events, images, &mut random) {
        recording.events[done..end].iter().for_each(|event| disk.apply(event));
        done = end;
        let (fates, own) = ([Fate::any(&mut random), Fate::any(&mut random)], random.bits());
        if let Err(what) = try_image(recording, &disk, end, fates, own) {
            panic!("seed {seed}, {end} of {} events, {fates:?}: {what}", recording.events.len());
        }
    }
}

/// Looks at every moment of a database's creation, with names in every state; says what is wrong at the first that is.
fn try_creation(recording: &Recording) -> Result<(), String> {
    let mut disk = Disk::new();
    for (end, event) in recording.events.iter().enumerate() {
        let fates = [Fate::Lost, Fate::Last, Fate::Kept, Fate::Random(50)];
        for (seed, names) in (0..).zip(fates).take(rounds(2, 4)) {
            let data = if names == Fate::Last { Fate::Lost } else { names };
            try_image(recording, &disk, end, [data, names], seed)
                .map_err(|what| format!("{end} events, names {names:?}: {what}"))?;
        }
        if matches!(event, Event::Acknowledged(0)) {
            return Ok(());
        }
        disk.apply(event);
    }
    Err("the creation was never acknowledged".into())
}

#[test]
fn a_creation_that_lost_power_leaves_a_database_or_room_for_one() {
    let mut recording = record_each(|_, _| {});
    try_creation(&recording).unwrap_or_else(|what| panic!("{what}"));
    // The last sync before the catalog gets its name is that of the other names.
    let named = |event: &Event| matches!(event, Event::Rename { to, .. } if to.1 == b"catalog");
    let named = recording.events.iter().position(named).expect("the catalog gets its name");
    let sync = recording.events[..named].iter().rposition(|event| matches!(event, Event::Sync { .. }));
    recording.events.remove(sync.expect("names are synced"));
    assert!(try_creation(&recording).is_err(), "without that sync a name may come too early");
}

/// What a commit needs: syncs, by what they sync, and its checksum.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Needed {
    /// The catalog's pages: with the meta page that leads to them, or of a large commit before it.
    Pages,
    /// The write of a large commit's meta page, which is a barrier itself.
    Meta,
    /// The bytes that say that a commit is whole, or of a large one that it will be.
    Seal,
    /// The bytes of a segment file.
    Segment,
    /// The name of a segment file.
    SegmentName,
    /// The name of the folder of a table's segment files.
    TableName,
    /// The name of the database.
    DatabaseName,
}

/// Leaves the last such sync out of a log, all of them when it is made more than once.
fn forget(events: &mut Vec<Event>, needed: Needed) -> usize {
    let mut paths = vec![String::new()];
    for event in events.iter() {
        if let Event::Create { name, .. } = event {
            let path = format!("{}/{}", paths[name.0], String::from_utf8_lossy(&name.1));
            paths.push(path);
        }
    }
    let (is_root, path) = (|node: usize| node == 0, |node: usize| paths[node].as_str());
    let is_table = |path: &str| path.rsplit_once('/').is_some_and(|(folder, _)| folder.ends_with("/segments"));
    let concerned = |event: &Event| match (needed, event) {
        (Needed::Meta, Event::Write { node, synced: true, .. }) => path(*node).ends_with("data.mdb"),
        (Needed::Pages, Event::Sync { node }) => path(*node).ends_with("data.mdb"),
        (Needed::Seal, Event::Write { node, bytes, .. }) => path(*node).ends_with("data.mdb") && bytes.len() == 32,
        (Needed::Segment, Event::Sync { node }) => path(*node).ends_with(".seg"),
        (Needed::SegmentName, Event::Sync { node }) => is_table(path(*node)),
        (Needed::TableName, Event::Sync { node }) => path(*node).ends_with("/segments"),
        (Needed::DatabaseName, Event::Sync { node }) => is_root(*node),
        _ => false,
    };
    let all: Vec<usize> = (0..events.len()).filter(|at| concerned(&events[*at])).collect();
    let once = matches!(needed, Needed::Pages | Needed::Meta | Needed::Seal | Needed::Segment);
    let forgotten = if once { all[all.len().saturating_sub(1)..].to_vec() } else { all };
    for at in forgotten.iter().rev() {
        match &mut events[*at] {
            Event::Write { synced, .. } if needed == Needed::Meta => *synced = false,
            _ => drop(events.remove(*at)),
        }
    }
    forgotten.len()
}

/// A test of the tests: with one sync or checksum left out, a power loss just after the answer is found to have done harm.
#[test]
fn a_sync_that_is_left_out_is_found() {
    let small = [Needed::Pages, Needed::Seal, Needed::Segment, Needed::SegmentName, Needed::TableName];
    require_found(Workload::large_table, &[&small[..], &[Needed::DatabaseName]].concat());
    require_found(Workload::large_heap_table, &[Needed::Pages, Needed::Meta, Needed::Seal]);
}

fn require_found(changes: fn(&mut Workload) -> [Proposal; 2], kinds: &[Needed]) {
    let mut workload = Workload::new(1);
    let recording = record_each(|states, database| {
        for proposal in changes(&mut workload) {
            assert!(proposal.run(&database.connect()));
            states.push(proposal.after);
            recorder::acknowledge(states.len() - 1);
        }
    });
    for kind in std::iter::once(None).chain(kinds.iter().copied().map(Some)) {
        let mut recording =
            Recording { events: recording.events.clone(), states: recording.states.clone(), relaxed: false };
        if let Some(needed) = kind {
            assert!(forget(&mut recording.events, needed) > 0, "there is no sync of {needed:?}");
        }
        let last = recording.events.iter().rposition(|event| matches!(event, Event::Acknowledged(_)));
        let end = last.expect("statements were answered") + 1;
        let mut disk = Disk::new();
        recording.events[..end].iter().for_each(|event| disk.apply(event));
        let found = try_image(&recording, &disk, end, [Fate::Lost; 2], 1);
        assert_eq!(found.is_err(), kind.is_some(), "without the sync of {kind:?}: {found:?}");
    }
}

#[test]
fn a_finished_backup_survives_a_power_loss() {
    const COPY: &str = "copies/of today/shop.gingham";
    let mut workload = Workload::new(2);
    // Without segment files: the system copies these by itself, unseen by the log.
    let [create, insert] = workload.heap_table();
    let recording = record_each(|states, database| {
        let connection = database.connect();
        assert!(create.run(&connection) && insert.run(&connection));
        states.push(insert.after.clone());
        let root = database.path().ancestors().nth(2).expect("it lies in the recorded folder");
        database.backup(root.join(COPY)).expect("a copy");
        recorder::acknowledge(1);
    });
    let end =
        recording.events.iter().rposition(|event| matches!(event, Event::Acknowledged(1))).expect("it was answered");
    let mut disk = Disk::new();
    recording.events[..end].iter().for_each(|event| disk.apply(event));
    for fate in [Fate::Lost, Fate::Kept, Fate::Last] {
        let image = tempfile::tempdir().expect("a folder");
        disk.lose_power(None, [fate; 2], &mut Generator::new(1), image.path());
        let found = verify::verify(&image.path().join(COPY), false, &[&insert.after]);
        assert_eq!(found, Ok(0), "{fate:?}");
    }
}
