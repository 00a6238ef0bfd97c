//! Random transactions of values of any length, as LMDB may get them: after each commit the verifier finds nothing, and each value is
//! what was put. It is the test of what the verifier believes of LMDB's pages: whatever LMDB writes has to pass.

use crate::io::lmdb::{Access, ReadPin};
use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::records::{self, DatabaseState};
use crate::lmdb::verifier::commit_checksum::CommitChecksum;
use crate::lmdb::verifier::{Trusted, is_sealed, verify_for_writing, walk};
use crate::lmdb::{environment::Owner, folder};
use heed::RwTxn;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PAGE: u64 = 4096;
/// Databases whose values the verifier does not look into.
const NAMES: [Name; 4] = [Name::Tables, Name::Views, Name::Dictionaries, Name::Heap];

struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }

    /// Bytes of a value: few enough for a page of the tree, or a number around that of whole pages, or any up to 40 pages.
    fn length(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(2100),
            1 => (self.below(41) * PAGE + 8).saturating_sub(self.below(32)),
            _ => self.below(40 * PAGE + 1),
        }
    }
}

/// By database and key, what a value consists of: its length and the byte that it repeats.
type ExpectedValues = BTreeMap<(usize, u64), (u64, u8)>;

/// Changes some values, some of them in transactions that are nested up to three deep and commit or not.
fn change(
    environment: &Environment,
    transaction: &mut RwTxn<'_>,
    random: &mut Random,
    model: &mut ExpectedValues,
    depth: u32,
) {
    for _ in 0..=random.below(8) {
        if depth < 3 && random.below(4) == 0 {
            let mut inner = model.clone();
            let mut nested = environment.nested(transaction).unwrap();
            change(environment, &mut nested, random, &mut inner, depth + 1);
            if random.below(3) > 0 {
                nested.commit().unwrap();
                *model = inner;
            } else {
                nested.abort();
            }
            continue;
        }
        // There are few keys, so that values are written over again and again.
        let (name, key) = (random.below(NAMES.len() as u64) as usize, random.below(24));
        let database = environment.values(NAMES[name]).unwrap();
        if random.below(4) == 0 {
            let gone = database.delete(transaction, &key.to_be_bytes()).unwrap();
            assert_eq!(gone, model.remove(&(name, key)).is_some());
        } else {
            let (length, fill) = (random.length(), random.below(256) as u8);
            database.put(transaction, &key.to_be_bytes(), &vec![fill; length as usize]).unwrap();
            model.insert((name, key), (length, fill));
        }
    }
}

/// One transaction, which mostly commits. Whether it did.
fn transaction(
    environment: &Environment,
    state: &mut DatabaseState,
    random: &mut Random,
    model: &mut ExpectedValues,
) -> bool {
    let mut changed = model.clone();
    let (mut transaction, _shared) = environment.write().unwrap();
    // The state, which the verifier reads, grows and shrinks within the transaction too.
    for _ in 0..=random.below(2) {
        let schemas = [0, 3, 400, 1500][random.below(4) as usize];
        state.schemas = (0..schemas).map(|number| format!("schema_{number}")).collect();
        state.transaction = transaction.id() as u64;
        records::put_state(environment, &mut transaction, state).unwrap();
        change(environment, &mut transaction, random, &mut changed, 0);
    }
    if random.below(8) == 0 {
        transaction.abort();
        return false;
    }
    transaction.commit().unwrap();
    *model = changed;
    true
}

/// The verifier finds nothing, the commit checksum fits, and all values are there.
fn verify(environment: &Environment, model: &ExpectedValues) {
    let walked = walk(environment.folder(), Trusted::Both).unwrap();
    let found = (&walked.errors, &walked.oddities, &walked.notes);
    assert!(walked.errors.is_empty() && walked.oddities.is_empty() && walked.notes.is_empty(), "{found:?}");
    CommitChecksum::open(environment.folder()).unwrap().write().unwrap();
    assert!(is_sealed(environment.folder()).unwrap());
    environment
        .read(|transaction| {
            for ((name, key), (length, fill)) in model {
                let value = environment.values(NAMES[*name])?.get(transaction, &key.to_be_bytes()).unwrap().unwrap();
                assert_eq!(value.len() as u64, *length);
                assert!(value.iter().all(|byte| byte == fill));
            }
            Ok(())
        })
        .unwrap();
}

/// A compacted copy in the folder `to`, which takes the environment's place as VACUUM lets it.
fn vacuumed(environment: &Environment, state: &DatabaseState, to: &Path) -> Environment {
    std::fs::create_dir(to).unwrap();
    environment.copy_to(&to.join("data.mdb")).unwrap();
    let copy = Environment::open(to, Access::Scratch).unwrap();
    folder::label_both_metas(&copy, state.clone()).unwrap();
    copy
}

/// How many pages the runs of the latest commit have that no value takes.
fn unneeded_pages(environment: &Environment, model: &ExpectedValues) -> u64 {
    environment
        .read(|transaction| {
            let mut pages = 0;
            for name in NAMES {
                pages += environment.values(name)?.stat(transaction).unwrap().overflow_pages as u64;
            }
            // LMDB leaves a value in its run, too, that has become short.
            let needed =
                model.values().filter(|(length, _)| *length > PAGE / 2).map(|(length, _)| (length + 15) / PAGE + 1);
            Ok(pages.saturating_sub(needed.sum()))
        })
        .unwrap()
}

fn first_state() -> DatabaseState {
    DatabaseState::first(Vec::new())
}

/// Runs a case. Gives the commits after which pages were not needed.
fn case(seed: u64, commits: u32) -> usize {
    let root = tempfile::tempdir().unwrap();
    let named = |number: u32| -> PathBuf { root.path().join(number.to_string()) };
    std::fs::create_dir(named(0)).unwrap();
    let mut environment = Arc::new(Environment::create(&named(0), Access::Scratch).unwrap());
    let mut state = first_state();
    folder::label_both_metas(&environment, state.clone()).unwrap();
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (seed + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9));
    let (mut model, mut pins, mut kept) = (ExpectedValues::new(), Vec::<ReadPin>::new(), 0);
    for number in 1..=commits {
        match random.below(12) {
            0 => pins.push(environment.pin(Arc::new(()) as Arc<Owner>).unwrap()),
            1 => pins.clear(),
            2 if random.below(4) == 0 => {
                pins.clear();
                environment = Arc::new(vacuumed(&environment, &state, &named(number)));
            }
            _ => {}
        }
        if transaction(&environment, &mut state, &mut random, &mut model) {
            verify(&environment, &model);
            kept += usize::from(unneeded_pages(&environment, &model) > 0);
        }
    }
    kept
}

#[test]
fn whatever_lmdb_writes_passes() {
    let nightly = std::env::var_os("GINGHAM_NIGHTLY").is_some();
    let seeds = if nightly { 0..3000 } else { 0..12 };
    let mut kept = 0;
    for seed in seeds {
        println!("seed {seed}");
        kept += case(seed, 60);
    }
    assert!(kept > 100, "runs that are longer than their values came {kept} times");
}

/// A power loss may keep a commit's values and lose the pages behind them in their runs, which nobody reads: the file is opened,
/// and is as long as LMDB's copies want it afterwards.
#[test]
fn a_file_that_ends_within_a_run_is_lengthened() {
    let root = tempfile::tempdir().unwrap();
    let (made, cut) = (root.path().join("made"), root.path().join("cut"));
    std::fs::create_dir(&made).unwrap();
    std::fs::create_dir(&cut).unwrap();
    let environment = Environment::create(&made, Access::Scratch).unwrap();
    let mut state = first_state();
    // Single pages are free after these commits, so that only the run below is new in the file.
    let views = environment.values(Name::Views).unwrap();
    for pages in [5, 0] {
        let (mut transaction, _shared) = environment.write().unwrap();
        views.put(&mut transaction, b"u", &vec![0; pages * PAGE as usize]).unwrap();
        transaction.commit().unwrap();
        folder::label_both_metas(&environment, state.clone()).unwrap();
    }
    let (mut transaction, shared) = environment.write().unwrap();
    state.transaction = transaction.id() as u64;
    records::put_state(&environment, &mut transaction, &state).unwrap();
    views.put(&mut transaction, b"v", &vec![1; 9 * PAGE as usize]).unwrap();
    views.put(&mut transaction, b"v", &vec![2; 2 * PAGE as usize]).unwrap();
    transaction.commit().unwrap();
    drop(shared);
    let bytes = std::fs::read(made.join("data.mdb")).unwrap();
    let needed = walk(&made, Trusted::Both).unwrap().bytes_of_runs;
    assert_eq!(needed, bytes.len() as u64, "the run is the last of the file");
    let data = cut.join("data.mdb");
    // Three pages hold the value, and seven are behind it.
    std::fs::write(&data, &bytes[..bytes.len() - 7 * PAGE as usize]).unwrap();

    let reading = Environment::open(&cut, Access::Read).unwrap().with_bytes_of_runs(needed);
    let error = reading.copy_to(&root.path().join("copy")).unwrap_err().to_string();
    assert!(error.contains("open the database for writing once"), "{error}");
    drop(reading);

    verify_for_writing(&cut, Trusted::Both).unwrap();
    assert_eq!(std::fs::metadata(&data).unwrap().len(), needed);
    let environment = Environment::open(&cut, Access::Scratch).unwrap();
    environment.copy_to(&root.path().join("copy")).unwrap();

    drop(environment);

    // A page that the value takes is missed.
    std::fs::write(&data, &bytes[..bytes.len() - 8 * PAGE as usize]).unwrap();
    let error = verify_for_writing(&cut, Trusted::Both).unwrap_err().to_string();
    assert!(error.contains("its end: it lies behind the end of the file"), "{error}");
}
