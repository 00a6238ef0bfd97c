//! Changes of single records of heap tables, found by a key: what many clients wait for at a time. Those of a group are made in
//! one transaction without one of their own within it, and without a snapshot between them, since a change that is refused is so
//! before it has written anything. When one fails all the same, everything is undone, and each is done again for itself.

use crate::lmdb::environment::Environment;
use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::panics::{self, PanicPoint, guarded};
use crate::store::group::{Given, JobKind, Outcome};
use crate::write::heap::writer::HeapWriter;
use crate::write::transaction::Transaction;
use crate::{Error, Result, TableId};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What is done to a record; it may be done more than once.
type PointWork = dyn Fn(&mut HeapWriter<'_, '_>) -> Result<()> + Send;

/// A change of a record.
pub(crate) struct PointUpdate {
    table: TableId,
    change: Box<PointWork>,
}

impl PointUpdate {
    /// Makes it, in a transaction that is undone when that fails.
    pub(crate) fn run(&self, transaction: &mut Transaction<'_>) -> Result<()> {
        transaction.heap(self.table, |heap| (self.change)(heap))
    }
}

/// A change that was sent, as a future of what it gives once it is committed. It is taken back when this is dropped, unless
/// somebody has begun it.
pub struct SentChange<R> {
    store: Arc<Store>,
    outcome: Arc<Outcome>,
    given: Given<R>,
}

impl<R> SentChange<R> {
    /// Takes the change back; false when somebody is at it, and it has to be waited for. It fails with `error` when it would have to be
    /// done again.
    pub fn withdraw(&self, error: Error) -> bool {
        self.store.waiting_jobs().is_ok_and(|jobs| jobs.withdraw(&self.outcome, error))
    }
}

impl<R> Future for SentChange<R> {
    type Output = Result<R>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R>> {
        match self.outcome.poll(context.waker()) {
            None => Poll::Pending,
            Some(ended) => Poll::Ready(ended.and_then(|()| self.given.take())),
        }
    }
}

impl<R> Drop for SentChange<R> {
    fn drop(&mut self) {
        self.withdraw(Error::Cancelled);
    }
}

fn as_job<R: Send + 'static>(
    table: TableId,
    change: impl Fn(&mut HeapWriter<'_, '_>) -> Result<R> + Send + 'static,
) -> (JobKind, Given<R>) {
    let given = Given::default();
    let slot = given.clone();
    let change = Box::new(move |heap: &mut HeapWriter<'_, '_>| {
        slot.put(change(heap)?);
        Ok(())
    });
    (JobKind::Point(PointUpdate { table, change }), given)
}

impl Store {
    /// Runs `change` on a heap table as [`submit`](Self::submit) runs other work. It may be run more than once, of which the last
    /// counts. Gives up when `given_up` says so before it has begun.
    pub fn submit_point<R: Send + 'static>(
        self: &Arc<Self>,
        options: &WriteOptions,
        given_up: &dyn Fn() -> bool,
        table: TableId,
        change: impl Fn(&mut HeapWriter<'_, '_>) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let (work, given) = as_job(table, change);
        self.wait_for(options, work, Some(given_up))?;
        given.take()
    }

    /// As [`submit_point`](Self::submit_point), for asynchronous code: the change is a job from now on. A thread has to call
    /// [`lead`](Self::lead) when the second of what is returned says so.
    pub fn send_point<R: Send + 'static>(
        self: &Arc<Self>,
        options: &WriteOptions,
        table: TableId,
        change: impl Fn(&mut HeapWriter<'_, '_>) -> Result<R> + Send + 'static,
    ) -> Result<(SentChange<R>, bool)> {
        let (work, given) = as_job(table, change);
        let (outcome, must_lead) = self.waiting_jobs()?.send(options, work);
        Ok((SentChange { store: Arc::clone(self), outcome, given }, must_lead))
    }

    /// Makes changes in one transaction; gives what became of its commit, or `None` when one of the changes failed and all are
    /// undone. The caller has the turn.
    pub(crate) fn change_points(
        self: &Arc<Self>,
        environment: &Arc<Environment>,
        mut points: Vec<&PointUpdate>,
        options: &WriteOptions,
    ) -> Option<Result<()>> {
        // Those of one table are made by one writer, in the order in which they came.
        points.sort_by_key(|point| point.table);
        let mut transaction = match self.begin_on(environment, |store| store.snapshot(), options) {
            Ok(transaction) => transaction,
            Err(error) => return Some(Err(error)),
        };
        let changed = guarded(|| {
            points.chunk_by(|one, next| one.table == next.table).try_for_each(|same| {
                transaction.heap(same[0].table, |heap| {
                    same.iter().try_for_each(|point| {
                        (point.change)(heap)?;
                        panics::pass(PanicPoint::Job);
                        // The next one finds its record by an entry.
                        heap.finish_indexes()
                    })
                })
            })
        });
        changed.is_ok().then(|| transaction.commit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::memory::MemoryBudget;
    use crate::lmdb::records;
    use crate::model::heap_options::HeapLayout;
    use crate::model::heap_options::HeapOptions;
    use crate::{ColumnDefinition, Datum, Design, KeyDefinition, LogicalType, TableDefinition, TableName};
    use std::collections::BTreeMap;

    /// What a job does to a key's record.
    #[derive(Debug, Clone)]
    enum Does {
        Label(String),
        Delete,
        /// Both, and an error or a panic behind it.
        Fail(String),
        Panic,
    }

    /// How it ended: whether there was a record, or an error, or a panic.
    type Ended = std::result::Result<bool, Failed>;

    #[derive(Debug, PartialEq)]
    enum Failed {
        Cancelled,
        Panicked,
    }

    fn failed(error: Error) -> Failed {
        match error {
            Error::Cancelled => Failed::Cancelled,
            Error::Internal(text) if text.starts_with("a fault (") => Failed::Panicked,
            other => panic!("{other}"),
        }
    }

    fn table(store: &Arc<Store>, layout: HeapLayout, name: &str) -> TableDefinition {
        let column = |id, name: &str, logical_type| ColumnDefinition {
            nullable: id > 1,
            ..ColumnDefinition::new(id, name, logical_type)
        };
        let columns = vec![column(1, "id", LogicalType::Int(64)), column(2, "label", LogicalType::Varchar(None))];
        let mut definition = TableDefinition::new(TableName { schema: "public".into(), table: name.into() }, columns);
        definition.keys.push(KeyDefinition { name: "pk".into(), columns: vec![1], primary: true });
        definition.design = Design::of_pages(HeapOptions { page_bytes: 4080, ..HeapOptions::new(layout) });
        let id = store.write(|transaction| transaction.create_table(definition)).unwrap();
        TableDefinition::clone(&store.snapshot().unwrap().table_by_id(id).unwrap().definition)
    }

    fn text(label: &str) -> Datum {
        Datum::Bytes(label.as_bytes().into())
    }

    fn work(
        table: &TableDefinition,
        key: i64,
        does: &Does,
    ) -> impl Fn(&mut HeapWriter<'_, '_>) -> Result<bool> + Send + use<> {
        let (index, does) = (table.indexes[0].clone(), does.clone());
        move |heap| {
            let Some((id, _)) = heap.record_by_key(&index, &[Datum::Integer(key.into())], &[])? else {
                return Ok(false);
            };
            match &does {
                Does::Label(label) => heap.update(id, &[(2, text(label))]).map(|now| now.is_some()),
                Does::Delete => heap.delete(id),
                Does::Fail(label) => {
                    heap.update(id, &[(2, text(label))])?;
                    Err(Error::Cancelled)
                }
                Does::Panic => {
                    heap.delete(id)?;
                    panic!("a fault")
                }
            }
        }
    }

    struct Unpark(std::thread::Thread);

    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    fn wait<R>(mut sent: SentChange<R>) -> Result<R> {
        let waker = Arc::new(Unpark(std::thread::current())).into();
        loop {
            if let Poll::Ready(ended) = Pin::new(&mut sent).poll(&mut Context::from_waker(&waker)) {
                return ended;
            }
            std::thread::park();
        }
    }

    /// The jobs of a group, in the order in which they came, leave what they leave one after the other.
    fn group(
        store: &Arc<Store>,
        tables: &[TableDefinition],
        models: &mut [BTreeMap<i64, String>],
        jobs: &[(usize, i64, Does)],
    ) {
        let turn = store.turn(&WriteOptions::default()).unwrap();
        let ended: Vec<Ended> = std::thread::scope(|scope| {
            let (mut senders, mut threads) = (Vec::new(), 0);
            for (at, (of, key, does)) in jobs.iter().enumerate() {
                let (table, work) = (tables[*of].id, work(&tables[*of], *key, does));
                let options = WriteOptions::default();
                if at % 3 == 0 {
                    senders.push(scope.spawn(move || store.submit_point(&options, &|| false, table, work)));
                    threads += 1;
                } else {
                    let (sent, must_lead) = store.send_point(&options, table, work).unwrap();
                    senders.push(scope.spawn(move || wait(sent)));
                    if must_lead {
                        scope.spawn(|| store.lead().unwrap());
                        threads += 1;
                    }
                }
                while store.line.waiting() < threads {
                    std::thread::yield_now();
                }
            }
            drop(turn);
            senders.into_iter().map(|sender| sender.join().unwrap().map_err(failed)).collect()
        });
        let mut expected: Vec<Ended> = Vec::new();
        for (of, key, does) in jobs {
            let model = &mut models[*of];
            let there = model.contains_key(key);
            match does {
                Does::Label(label) if there => drop(model.insert(*key, label.clone())),
                Does::Delete => drop(model.remove(key)),
                _ => {}
            }
            expected.push(match does {
                Does::Fail(_) if there => Err(Failed::Cancelled),
                Does::Panic if there => Err(Failed::Panicked),
                _ => Ok(there),
            });
        }
        assert_eq!(ended, expected, "{jobs:?}");
        for (table, model) in tables.iter().zip(models) {
            let heap = store.heap(table.id).unwrap();
            assert_eq!(heap.rows(), model.len() as u64);
            for key in 0..40 {
                let found = heap.record_by_key(&table.indexes[0], &[Datum::Integer(key.into())], &[1]).unwrap();
                assert_eq!(found.map(|(_, record)| record[0].clone()), model.get(&key).map(|label| text(label)));
            }
        }
    }

    /// The snapshot that a commit has left is the one that is loaded.
    fn is_as_loaded(store: &Arc<Store>) {
        let kept = store.taken_snapshot().unwrap().expect("a snapshot was published");
        let environment = store.environment().unwrap();
        let loaded = environment.read(|transaction| {
            let state = records::state(&environment, transaction)?;
            store.loader(&environment).snapshot(transaction, state, None)
        });
        let loaded = loaded.unwrap();
        assert_eq!((kept.commit, &kept.schemas), (loaded.commit, &loaded.schemas));
        for (name, table) in &loaded.tables {
            let known = &kept.tables[name];
            assert_eq!((known.version, &known.heap), (table.version, &table.heap));
            assert_eq!(known.definition, table.definition);
        }
        assert_eq!(kept.tables.len(), loaded.tables.len());
        let known = store.write(|transaction| {
            for table in transaction.table_ids() {
                let stored = records::table(transaction.environment, &transaction.transaction, table)?;
                assert_eq!(format!("{:?}", Some(transaction.record(table)?)), format!("{stored:?}"));
            }
            Ok(transaction.known.len())
        });
        assert!(known.unwrap() > 0, "records were known");
    }

    #[test]
    fn a_sent_change_can_be_taken_back_until_it_is_begun() {
        let store = Store::scratch(MemoryBudget::new(1 << 30)).unwrap();
        let own = table(&store, HeapLayout::Nsm, "t");
        let insert = |heap: &mut HeapWriter<'_, '_>| heap.insert(&[Datum::Integer(1), text("first")]).map(drop);
        store.write(|transaction| transaction.heap(own.id, insert)).unwrap();
        let label = |label: &str| work(&own, 1, &Does::Label(label.into()));
        let send = |label| store.send_point(&WriteOptions::default(), own.id, label).unwrap();
        let turn = store.turn(&WriteOptions::default()).unwrap();
        let (withdrawn, must_lead) = send(label("withdrawn"));
        assert!(must_lead && withdrawn.withdraw(Error::Cancelled) && !withdrawn.withdraw(Error::Cancelled));
        let (dropped, must_lead) = send(label("dropped"));
        assert!(!must_lead, "somebody was told to lead");
        drop(dropped);
        drop(turn);
        store.lead().unwrap();
        let (kept, must_lead) = send(label("kept"));
        assert!(must_lead, "nobody leads when nothing is to be done");
        store.lead().unwrap();
        assert!(!kept.withdraw(Error::Cancelled) && wait(kept).unwrap());
        let heap = store.heap(own.id).unwrap();
        let found = heap.record_by_key(&own.indexes[0], &[Datum::Integer(1)], &[1]).unwrap();
        assert_eq!(found.map(|(_, record)| record[0].clone()), Some(text("kept")));
    }

    #[test]
    fn points_of_a_group_are_as_if_each_were_alone() {
        let mut seed = 7u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for layout in [HeapLayout::Nsm, HeapLayout::Dsm, HeapLayout::Pax] {
            let store = Store::scratch(MemoryBudget::new(1 << 30)).unwrap();
            let tables = ["t", "u"].map(|name| table(&store, layout, name));
            let mut models = [BTreeMap::new(), BTreeMap::new()];
            for (table, model) in tables.iter().zip(&mut models) {
                let fill = |transaction: &mut Transaction<'_>| {
                    transaction.heap(table.id, |heap| {
                        (0..40).try_for_each(|key: i64| {
                            heap.insert(&[Datum::Integer(key.into()), text("short")]).map(drop)
                        })
                    })
                };
                store.write(fill).unwrap();
                model.extend((0..40).map(|key| (key, "short".to_owned())));
            }
            for round in 0..6 {
                let mut jobs = Vec::new();
                for _ in 0..30 {
                    // Records outgrow their pages, others take their places.
                    let label = "x".repeat(random(900) as usize);
                    let does = match random(20) {
                        0..4 => Does::Delete,
                        4 if round % 2 == 1 => Does::Fail(label),
                        5 if round % 3 == 2 => Does::Panic,
                        _ => Does::Label(label),
                    };
                    jobs.push((random(2) as usize, random(40) as i64, does));
                }
                group(&store, &tables, &mut models, &jobs);
                is_as_loaded(&store);
            }
            let report = store.check().unwrap();
            assert!(report.errors.is_empty(), "{layout:?}: {:?}", report.errors);
        }
    }
}
