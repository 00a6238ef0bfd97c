//! What the threads of a pipeline gathered: rows in pieces, one for each morsel, put together in the order of the morsels as
//! whatever comes next reads them.

use crate::Result;
use crate::data::relation::{Parts, Relation, present, view};
use crate::data::rows::{Column, Rows, Values, valid_in_all};
use crate::schedule::helpers::Helpers;
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;
use gingham_storage::huge_vec;

/// The outputs of a pipeline's last stage for some records.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) rows: usize,
    pub(crate) outputs: Vec<Vec<i64>>,
}

/// The rows that a pipeline ends in.
pub(crate) enum GatheredRows {
    /// As outputs of its last stage.
    Chunks(Chunks),
    /// As columns, in pieces one behind the other.
    Rows(Vec<Rows>),
}

/// Outputs by morsel.
pub(crate) struct Chunks {
    chunks: Vec<Chunk>,
    rows: usize,
    /// By column the output with its values and the one that says which are, unless all are.
    columns: Vec<(usize, Option<usize>)>,
}

impl Chunks {
    /// Whichever thread had a morsel, its rows come where it lies.
    pub(crate) fn new(mut chunks: Vec<(usize, Chunk)>, columns: Vec<(usize, Option<usize>)>) -> Self {
        chunks.sort_unstable_by_key(|(morsel, _)| *morsel);
        let chunks: Vec<Chunk> = chunks.into_iter().map(|(_, chunk)| chunk).collect();
        let rows = chunks.iter().map(|chunk| chunk.rows).sum();
        Self { chunks, rows, columns }
    }

    /// The rows as they are.
    fn into_rows(self, helpers: &Helpers<'_>) -> Result<Rows> {
        let Self { chunks, rows, columns } = self;
        let count = columns.len();
        let columns =
            helpers.each(count, helpers.threads(rows * count), move |number| column(&chunks, columns[number]))?;
        Ok(Rows { rows, columns })
    }

    /// The rows as the input of later pipelines.
    fn into_relation(self, helpers: &Helpers<'_>) -> Result<Relation> {
        let Self { chunks, rows, columns } = self;
        let (count, present) = (columns.len(), present(rows)?);
        let column = move |column: usize| {
            let (value, valid) = columns[column];
            let valid = valid.map(|valid| truths(&chunks, valid));
            view(&Parts { pieces: pieces(&chunks, value), valid }, rows, &present)
        };
        Ok(Relation::of_views(rows, helpers.each(count, helpers.threads(rows * count), column)?))
    }
}

impl GatheredRows {
    /// How many they are.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Chunks(chunks) => chunks.rows,
            Self::Rows(pieces) => length(pieces),
        }
    }

    /// As columns; what is new memory is asked for.
    pub(crate) fn into_rows(self, grow: impl Fn(usize) -> Result<()>, helpers: &Helpers<'_>) -> Result<Rows> {
        match self {
            Self::Rows(mut pieces) if pieces.len() == 1 => Ok(pieces.swap_remove(0)),
            Self::Rows(pieces) => {
                let rows = Rows::gathered(width(&pieces), &pieces)?;
                grow(rows.bytes())?;
                Ok(rows)
            }
            Self::Chunks(chunks) => {
                let rows = chunks.into_rows(helpers)?;
                grow(rows.bytes())?;
                Ok(rows)
            }
        }
    }

    /// As the input of later pipelines; what is new memory is asked for.
    pub(crate) fn into_relation(self, grow: impl Fn(usize) -> Result<()>, helpers: &Helpers<'_>) -> Result<Relation> {
        let relation = match self {
            Self::Rows(pieces) => relation(pieces, helpers)?,
            Self::Chunks(chunks) => chunks.into_relation(helpers)?,
        };
        grow(relation.bytes())?;
        Ok(relation)
    }
}

fn length(pieces: &[Rows]) -> usize {
    pieces.iter().map(|piece| piece.rows).sum()
}

fn width(pieces: &[Rows]) -> usize {
    pieces.first().map_or(0, |piece| piece.columns.len())
}

/// Columns that are in pieces as a relation.
fn relation(pieces: Vec<Rows>, helpers: &Helpers<'_>) -> Result<Relation> {
    let (rows, count) = (length(&pieces), width(&pieces));
    let present = present(rows)?;
    let column = move |number: usize| -> Result<_> {
        let all = pieces.iter().map(|piece| (&piece.columns[number], piece.rows));
        let values = all.clone().map(|(column, _)| column.short()).collect::<Result<_>>()?;
        Ok(view(&Parts { pieces: values, valid: valid_in_all(all) }, rows, &present))
    };
    let columns = helpers.each(count, helpers.threads(rows * count), column)?;
    Ok(Relation::of_views(rows, columns.into_iter().collect::<Result<_>>()?))
}

/// Chunks one behind the other, as columns.
pub(crate) fn rows(chunks: &[Chunk], columns: &[(usize, Option<usize>)]) -> Rows {
    let rows = chunks.iter().map(|chunk| chunk.rows).sum();
    Rows { rows, columns: columns.iter().map(|outputs| column(chunks, *outputs)).collect() }
}

/// An output with its values and the one that says which are, unless all are.
fn column(chunks: &[Chunk], (value, valid): (usize, Option<usize>)) -> Column {
    let mut values = huge_vec(chunks.iter().map(|chunk| chunk.rows).sum());
    pieces(chunks, value).into_iter().for_each(|piece| values.extend_from_slice(piece));
    Column { values: Values::Short(values), valid: valid.map(|valid| truths(chunks, valid)) }
}

fn pieces(chunks: &[Chunk], output: usize) -> Vec<&[i64]> {
    chunks.iter().map(|chunk| chunk.outputs[output].as_slice()).collect()
}

fn truths(chunks: &[Chunk], output: usize) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(chunks.iter().map(|chunk| chunk.rows).sum());
    pieces(chunks, output).iter().for_each(|piece| piece.iter().for_each(|valid| bits.append(*valid != 0)));
    bits.finish()
}
