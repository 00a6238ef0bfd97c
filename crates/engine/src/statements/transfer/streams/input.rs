//! COPY … FROM STDIN: the records of a stream into a table, all or none of them.

use crate::session::{Outcome, Severity, StatementContext, blocking};
use crate::sql::copy::CopyFrom;
use crate::sql::copy_feed::{CopyEnds, CopyHead};
use crate::sql::names::column_name;
use crate::statements::dml::columns::check_columns;
use crate::statements::dml::generated;
use crate::statements::dml::ingest::Ingest;
use crate::statements::targets::writable;
use crate::statements::transfer::streams::options::{Direction, StreamFormat, StreamOptions};
use crate::statements::transfer::streams::reader::{PieceReader, RecordReader};
use crate::{Error, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::sql::sqlparser::ast::Ident;
use futures::{StreamExt, TryStreamExt, stream};
use gingham_storage::{Generation, LogicalType, SqlState, TableDefinition};
use std::sync::Arc;

/// Pieces that are read at a time at most: more would hold memory, and no thread waits for them.
const AT_A_TIME: usize = 8;

/// Runs a COPY whose bytes come by `ends`.
pub(crate) async fn run(context: &StatementContext, copy: CopyFrom, ends: CopyEnds) -> Result<Outcome> {
    let target = writable(context, &copy.table, "COPY")?;
    let definition = &target.table.definition;
    let (names, types) = filled(definition, &copy.columns)?;
    let options = StreamOptions::of(&copy.options, Direction::From)?;
    let reader = RecordReader::new(definition, (&names, types), &options)?;
    let ingest = Ingest::new(context, &target.store, &target.table, Some(&names))?;
    if options.freeze {
        let text = "COPY … (FREEZE) has no effect: records are as they are once they are committed";
        context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
    }
    let CopyEnds { pieces, head } = ends;
    // Whoever waits for it may be gone, which the pieces tell.
    let _ = head.send(CopyHead { columns: names.len(), is_binary: options.format == StreamFormat::Binary });
    let reservation = MemoryConsumer::new("a record of COPY").register(context.task().memory_pool());
    let cutter = PieceReader::new(&options, names.len(), reservation);
    let cut = stream::try_unfold((cutter, pieces), |(mut cutter, mut pieces)| async {
        let records = cutter.next(&mut pieces).await?;
        Ok::<_, Error>(records.map(|records| (records, (cutter, pieces))))
    });
    let (reader, ingest) = (Arc::new(reader), Arc::new(ingest));
    let own = Arc::clone(&reader);
    let read = cut.map_ok(move |records| {
        let reader = Arc::clone(&own);
        blocking(move || reader.read(records))
    });
    let threads = context.settings().threads.clamp(1, AT_A_TIME);
    let mut read = std::pin::pin!(read.try_buffered(threads));
    while let Some(records) = read.next().await {
        let (records, reader, ingest) = (records?, Arc::clone(&reader), Arc::clone(&ingest));
        context.cancel.check()?;
        blocking(move || reader.write(records, &ingest)).await?;
    }
    let ingest = Arc::into_inner(ingest).ok_or_else(|| Error::Internal("a writer is still at work".into()))?;
    Ok(Outcome::Affected(context.in_line(&target.store, move || ingest.finish()).await?))
}

/// The columns that the fields of a record fill, in order, and their types: those of the list, or all that are not generated.
fn filled(definition: &TableDefinition, listed: &[Ident]) -> Result<(Vec<String>, Vec<LogicalType>)> {
    let listed = listed.iter().map(|ident| column_name(definition, ident)).collect::<Result<Vec<String>>>()?;
    check_columns(definition, &listed)?;
    let names = if listed.is_empty() { generated::loaded(definition) } else { listed };
    let columns = || names.iter().filter_map(|name| definition.column(name));
    let is_generated = |generation: &Option<Generation>| matches!(generation, Some(Generation::Stored(_)));
    if let Some(column) = columns().find(|column| is_generated(&column.generation)) {
        let text = format!("column '{}' is a generated column, which COPY gives no values; leave it out", column.name);
        return Err(Error::invalid(SqlState::InvalidColumnReference, text));
    }
    let types = columns().map(|column| column.logical_type.clone()).collect();
    Ok((names, types))
}
