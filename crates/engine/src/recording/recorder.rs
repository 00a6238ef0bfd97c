//! What statements a database's sessions run: by shape how often, how long in all, and up to three of them with their values. A
//! megabyte is kept at most; shapes that took the least time go first.

use crate::recording::kept;
use crate::recording::kept::RecordedShape;
use crate::recording::shape::write_shape;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that are kept at most.
const MOST_BYTES: usize = 1 << 20;
/// Statements of a shape that are kept with their values.
const EXAMPLES: usize = 3;
/// Longer statements are not recorded.
const LONGEST: usize = 64 << 10;
/// Bytes of a shape besides its texts, about.
const SHAPE_BYTES: usize = 200;

impl RecordedShape {
    fn bytes(&self, shape: &str) -> usize {
        SHAPE_BYTES + shape.len() + self.examples.iter().map(|example| example.len()).sum::<usize>()
    }
}

/// The statements of a database.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    recorded: Mutex<Recorded>,
    /// Where it is kept.
    file: PathBuf,
    /// Whether it may be written there.
    saves: bool,
}

#[derive(Debug, Default)]
struct Recorded {
    shapes: HashMap<String, RecordedShape>,
    bytes: usize,
    /// Something has come or gone since it was read.
    changed: bool,
    /// Room for a shape, used again.
    shape: String,
}

/// A statement that is being recorded.
#[derive(Debug)]
pub(crate) struct Recording {
    recorder: Arc<Recorder>,
    text: String,
    begun: Instant,
}

impl Recorder {
    /// What `file` keeps, or nothing yet; it is written when this is dropped, if it `saves`. A file that can't be read is told of in
    /// the log, and left until there is something to save.
    pub(crate) fn open(file: PathBuf, saves: bool) -> Self {
        let shapes = kept::read(&file).unwrap_or_else(|error| {
            tracing::warn!("the recorded workload can't be read, a new one begins: {error}");
            HashMap::new()
        });
        let bytes = shapes.iter().map(|(shape, of)| of.bytes(shape)).sum();
        Self { recorded: Mutex::new(Recorded { shapes, bytes, ..Recorded::default() }), file, saves }
    }

    /// Begins to record a statement.
    pub(crate) fn begin(self: &Arc<Self>, text: String) -> Recording {
        Recording { recorder: Arc::clone(self), text, begun: Instant::now() }
    }

    fn add(&self, text: &str, elapsed: Duration) {
        if text.len() > LONGEST {
            return;
        }
        let mut recorded = self.recorded();
        let mut shape = std::mem::take(&mut recorded.shape);
        if write_shape(text, &mut shape) {
            recorded.add(&shape, text, elapsed);
        }
        recorded.shape = shape;
    }

    /// All shapes, those that took most time first.
    pub(crate) fn shapes(&self) -> Vec<(String, RecordedShape)> {
        let recorded = self.recorded();
        let mut shapes: Vec<_> = recorded.shapes.iter().map(|(shape, of)| (shape.clone(), of.clone())).collect();
        drop(recorded);
        shapes.sort_by(|a, b| b.1.nanoseconds.cmp(&a.1.nanoseconds).then_with(|| a.0.cmp(&b.0)));
        shapes
    }

    /// Forgets all of them. Returns how many shapes there were.
    pub(crate) fn clear(&self) -> usize {
        let mut recorded = self.recorded();
        let shapes = std::mem::take(&mut recorded.shapes).len();
        recorded.bytes = 0;
        recorded.changed |= shapes > 0;
        shapes
    }

    /// Writes the file, when there is something new.
    fn save(&self) {
        let mut recorded = self.recorded();
        if !self.saves || !std::mem::take(&mut recorded.changed) {
            return;
        }
        if let Err(error) = kept::write(&self.file, &recorded.shapes) {
            tracing::warn!("saving the recorded workload: {error}");
        }
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.save();
    }
}

impl Recorded {
    fn add(&mut self, shape: &str, text: &str, elapsed: Duration) {
        self.changed = true;
        if !self.shapes.contains_key(shape) {
            let none = RecordedShape { count: 0, nanoseconds: 0, examples: Vec::new() };
            self.bytes += none.bytes(shape);
            self.shapes.insert(shape.to_owned(), none);
        }
        if let Some(known) = self.shapes.get_mut(shape) {
            known.count += 1;
            known.nanoseconds = known.nanoseconds.saturating_add(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
            if known.examples.len() < EXAMPLES && !known.examples.iter().any(|example| example == text) {
                known.examples.push(text.to_owned());
                self.bytes += text.len();
            }
        }
        while self.bytes > MOST_BYTES {
            self.forget_least();
        }
    }

    /// Forgets the tenth of the shapes that took the least time.
    fn forget_least(&mut self) {
        let mut times: Vec<(u64, String)> =
            self.shapes.iter().map(|(shape, known)| (known.nanoseconds, shape.clone())).collect();
        times.sort_unstable();
        let some = times.len() / 10 + 1;
        for (_, shape) in times.into_iter().take(some) {
            if let Some(known) = self.shapes.remove(&shape) {
                self.bytes -= known.bytes(&shape);
            }
        }
    }
}

impl Recording {
    /// The statement has run to its end.
    pub(crate) fn end(self) {
        self.recorder.add(&self.text, self.begun.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_counted_and_a_megabyte_is_kept() {
        let recorder = Recorder::default();
        for value in 0..5 {
            recorder.add(&format!("SELECT {value}"), Duration::from_nanos(10));
        }
        recorder.add("BEGIN", Duration::from_nanos(10));
        let shapes = recorder.shapes();
        assert_eq!(shapes.len(), 1);
        let examples = ["SELECT 0", "SELECT 1", "SELECT 2"].map(str::to_owned).to_vec();
        assert_eq!(shapes[0], ("select ?".to_owned(), RecordedShape { count: 5, nanoseconds: 50, examples }));
        for number in 0..20_000_u64 {
            recorder.add(&format!("SELECT column_{number} FROM t WHERE a = 'some text'"), Duration::from_nanos(number));
        }
        let kept: usize = recorder.shapes().iter().map(|(shape, known)| known.bytes(shape)).sum();
        assert_eq!(kept, recorder.recorded().bytes);
        assert!(kept <= MOST_BYTES && kept > MOST_BYTES / 2, "{kept}");
        assert!(recorder.shapes()[0].0.contains("column_19999"), "those that took longest stay");
        assert!(recorder.clear() > 1000);
        assert_eq!((recorder.shapes().len(), recorder.recorded().bytes), (0, 0));
    }
}
