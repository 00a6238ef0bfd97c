//! Generating on several threads, delivering in order: the database and the files then hold the same rows in the same
//! places however many threads made them.

use super::{TpchTable, batches};
use arrow::array::RecordBatch;
use std::sync::mpsc::{Receiver, sync_channel};

/// Batches that a thread may be ahead of the consumer: a little more than a part, so that a thread finishes its part
/// while others' are taken.
const AHEAD: usize = 16;

/// Generates `table` at `scale` on `threads` threads and hands `sink` every batch in the table's order. Stops at the
/// sink's first error and returns it.
pub fn generate_in_order<E>(
    table: TpchTable,
    scale: f64,
    threads: usize,
    mut sink: impl FnMut(RecordBatch) -> Result<(), E>,
) -> Result<(), E> {
    let parts = table.parts(scale);
    let threads = threads.clamp(1, parts);
    std::thread::scope(|scope| {
        // Thread i makes parts i, i + threads, …; None ends a part.
        let channels: Vec<Receiver<Option<RecordBatch>>> = (0..threads)
            .map(|first| {
                let (sender, receiver) = sync_channel(AHEAD);
                scope.spawn(move || {
                    for part in (first..parts).step_by(threads) {
                        let ended = batches(table, scale, part, parts).map(Some).chain([None]);
                        for message in ended {
                            // The consumer has stopped.
                            if sender.send(message).is_err() {
                                return;
                            }
                        }
                    }
                });
                receiver
            })
            .collect();
        for part in 0..parts {
            while let Ok(Some(batch)) = channels[part % threads].recv() {
                sink(batch)?;
            }
        }
        Ok(())
    })
}

/// All tables in memory, in [`TpchTable::ALL`]'s order. `progress` is told of the rows as they are made.
pub fn generate_all(scale: f64, threads: usize, mut progress: impl FnMut(u64)) -> Vec<(TpchTable, Vec<RecordBatch>)> {
    let mut tables = Vec::new();
    for table in TpchTable::ALL {
        let mut made = Vec::new();
        let Ok(()) = generate_in_order(table, scale, threads, |batch| {
            progress(batch.num_rows() as u64);
            made.push(batch);
            Ok::<(), std::convert::Infallible>(())
        });
        tables.push((table, made));
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::compute::concat_batches;

    #[test]
    fn order_does_not_depend_on_threads() {
        let collect = |threads| {
            let mut all = Vec::new();
            generate_in_order(TpchTable::PartSupp, 0.4, threads, |batch| {
                all.push(batch);
                Ok::<(), ()>(())
            })
            .unwrap();
            concat_batches(&TpchTable::PartSupp.schema(), &all).unwrap()
        };
        let one = collect(1);
        assert_eq!(one.num_rows(), 320_000);
        assert_eq!(one, collect(3));
    }

    #[test]
    fn stops_at_the_sinks_error() {
        let mut taken = 0;
        let result = generate_in_order(TpchTable::Orders, 0.2, 2, |_| {
            taken += 1;
            if taken == 3 { Err("full") } else { Ok(()) }
        });
        assert_eq!((result, taken), (Err("full"), 3));
    }
}
