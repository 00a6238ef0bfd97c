//! The operator that reads the batches of the program.

use crate::inputs::rows_of_tasks;
use crate::table::reading::read;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::fmt;
use std::sync::Arc;

/// Rows that a task reads before others have their turn: more than a batch, so that large batches are shared out, and small ones
/// are read by one task.
const PORTION_ROWS: usize = 1 << 16;

/// Rows of one batch.
#[derive(Debug, Clone, Copy)]
struct BatchPiece {
    batch: usize,
    /// The first of them, in the batch.
    from: usize,
    rows: usize,
    /// The number of rows before them, in all batches.
    before: usize,
}

/// Batches, and the portions that tasks read of them.
#[derive(Debug)]
pub(super) struct SharedBatches {
    batches: Vec<RecordBatch>,
    portions: Vec<Vec<BatchPiece>>,
}

impl SharedBatches {
    pub(super) fn new(batches: Vec<RecordBatch>) -> Self {
        let portions = portions(&batches);
        Self { batches, portions }
    }

    pub(super) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    pub(super) fn batches(&self) -> usize {
        self.batches.len()
    }
}

/// Reads columns of batches.
#[derive(Debug, Clone)]
pub(crate) struct RegisteredExec {
    shared: Arc<SharedBatches>,
    schema: SchemaRef,
    positions: Arc<[usize]>,
    /// Part `n` has each portion whose number, divided by `parts`, leaves `n`.
    parts: usize,
    /// Most rows that a part gives.
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
}

impl RegisteredExec {
    /// The columns at `positions`, which `schema` describes, for so many tasks at most.
    pub(super) fn new(
        shared: Arc<SharedBatches>,
        schema: SchemaRef,
        positions: Arc<[usize]>,
        tasks: usize,
        limit: Option<usize>,
    ) -> Self {
        let parts = tasks.clamp(1, shared.portions.len().max(1));
        let properties = rows_of_tasks(&schema, parts);
        Self { shared, schema, positions, parts, limit, properties }
    }

    /// This one with a part for each portion: read one after the other, they give the rows in the order of the batches.
    pub(crate) fn by_portions(&self) -> Self {
        let parts = self.shared.portions.len().max(1);
        Self { parts, properties: rows_of_tasks(&self.schema, parts), ..self.clone() }
    }
}

impl DisplayAs for RegisteredExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "RegisteredExec: columns=[{}], parts={}", names.join(", "), self.parts)?;
        self.limit.map_or(Ok(()), |limit| write!(f, ", limit={limit}"))
    }
}

impl ExecutionPlan for RegisteredExec {
    fn name(&self) -> &str {
        "RegisteredExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    crate::inputs::reads_nothing!();

    fn fetch(&self) -> Option<usize> {
        self.limit
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Self { limit, ..self.clone() }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batch_rows = context.session_config().batch_size().max(1);
        let mut left = self.limit.unwrap_or(usize::MAX);
        let mut own = Vec::new();
        for piece in self.shared.portions.iter().skip(partition).step_by(self.parts).flatten() {
            for at in (0..piece.rows).step_by(batch_rows) {
                let rows = batch_rows.min(piece.rows - at).min(left);
                left -= rows;
                if rows > 0 {
                    own.push(BatchPiece { from: piece.from + at, before: piece.before + at, rows, ..*piece });
                }
            }
        }
        let (shared, positions, schema) =
            (Arc::clone(&self.shared), Arc::clone(&self.positions), Arc::clone(&self.schema));
        let batches = own.into_iter().map(move |piece| {
            let batch = shared.batches[piece.batch].slice(piece.from, piece.rows);
            read(&batch, &positions, &schema, piece.before).map_err(|error| DataFusionError::External(Box::new(error)))
        });
        let rows = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::iter(batches));
        Ok(make_cooperative(Box::pin(rows)))
    }
}

/// The rows of batches in their order, in portions.
fn portions(batches: &[RecordBatch]) -> Vec<Vec<BatchPiece>> {
    let mut portions = Vec::new();
    let (mut portion, mut rows, mut before) = (Vec::new(), 0, 0);
    for (number, batch) in batches.iter().enumerate() {
        let mut from = 0;
        while from < batch.num_rows() {
            let piece =
                BatchPiece { batch: number, from, rows: (batch.num_rows() - from).min(PORTION_ROWS - rows), before };
            portion.push(piece);
            (from, rows, before) = (from + piece.rows, rows + piece.rows, before + piece.rows);
            if rows == PORTION_ROWS {
                portions.push(std::mem::take(&mut portion));
                rows = 0;
            }
        }
    }
    if !portion.is_empty() {
        portions.push(portion);
    }
    portions
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array};

    #[test]
    fn portions_have_each_row_once_and_in_order() {
        let batch = |rows: usize| {
            let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
            RecordBatch::try_from_iter([("n", values)]).unwrap()
        };
        for sizes in [vec![], vec![0], vec![0, 1, 200_000, PORTION_ROWS, 7], vec![1; 100], vec![PORTION_ROWS; 3]] {
            let batches: Vec<_> = sizes.iter().map(|rows| batch(*rows)).collect();
            let portions = portions(&batches);
            let all: usize = sizes.iter().sum();
            assert_eq!(portions.len(), all.div_ceil(PORTION_ROWS), "{sizes:?}");
            let mut seen = 0;
            let starts: Vec<usize> =
                sizes.iter().scan(0, |sum, rows| Some(std::mem::replace(sum, *sum + rows))).collect();
            for portion in &portions {
                assert!(portion.iter().map(|piece| piece.rows).sum::<usize>() <= PORTION_ROWS);
                for piece in portion {
                    assert_eq!((starts[piece.batch] + piece.from, piece.before), (seen, seen), "{sizes:?}");
                    seen += piece.rows;
                }
            }
            assert_eq!(seen, all);
        }
    }
}
