//! The bits of one record of a table: for each column where they lie, the bits, and the value.

use crate::failure::Failure;
use crate::layout::places::pieces;
use crate::layout::value::cut;
use crate::output::grid;
use arrow::array::Array;
use arrow::util::display::array_value_to_string;
use gingham::storage::decode::decode;
use gingham::storage::model::{CodeMeaning, ColumnView};
use gingham::storage::segment::Segment;
use gingham::storage::snapshot::TableSnapshot;
use gingham_kernels::Isa;
use std::sync::Arc;

/// Characters of a value that are shown.
const VALUE_WIDTH: usize = 40;

/// A record: its segment, zone, and number there.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    segment: &'a Segment,
    zone: usize,
    tid: usize,
}

/// Record `number` of the runs of a table, counted from 0.
pub fn find<'a>(runs: impl Iterator<Item = &'a Arc<Segment>>, number: u64) -> Option<Found<'a>> {
    let mut rest = usize::try_from(number).ok()?;
    for segment in runs {
        if rest < segment.rows() {
            let zone = (0..segment.zones()).find(|zone| segment.zone_rows(*zone).contains(&rest))?;
            return Some(Found { segment, zone, tid: rest - segment.zone_rows(zone).start });
        }
        rest -= segment.rows();
    }
    None
}

/// The picture of a record.
pub fn record(table: &TableSnapshot, number: u64, found: Found<'_>) -> Result<Vec<String>, Failure> {
    let definition = &table.definition;
    let Found { segment, zone, tid } = found;
    let kind = if segment.is_delta() { "delta block" } else { "segment" };
    let deleted = table.deleted.get(&segment.id()).is_some_and(|deleted| deleted.contains(zone, tid));
    let mut lines = vec![format!(
        "record {number}{}: {kind} {}, zone {zone} of {}, record {tid} there (bytes are counted from the zone's first, of \
         the column or its group; '·' is no bit of the code)",
        if deleted { ", deleted" } else { "" },
        segment.id(),
        segment.zones()
    )];
    let mut rows = Vec::new();
    for column in &definition.columns {
        let view = segment.view(column, zone).map_err(gingham::Error::from)?;
        let code_bits = segment.column(column.id).map_or(0, |meta| meta.code_bits);
        let value = decode(&view, tid..tid + 1, Isa::best()).map_err(gingham::Error::from)?;
        let text = match value.is_null(0) {
            true => "NULL".to_owned(),
            false => cut(&array_value_to_string(&value, 0)?, VALUE_WIDTH),
        };
        let mut described = [column.name.clone(), meaning(&view), text];
        let mut pieces = pieces(&view, tid, code_bits);
        if let (Some((page, record)), Some(first)) = (segment.dense_page(column.id, zone, tid), pieces.first_mut()) {
            first.place.insert_str(0, &format!("page {page}, record {record} there; in memory "));
        }
        for piece in pieces {
            // What is said of the whole attribute stands beside its first part only.
            let [name, meaning, value] = std::mem::take(&mut described);
            rows.push(vec![name, piece.place, piece.bits, meaning, value]);
        }
    }
    lines.extend(grid(&["column", "where", "bits", "stands for", "value"], &[false; 5], &rows));
    Ok(lines)
}

fn meaning(view: &ColumnView) -> String {
    match &view.meaning {
        CodeMeaning::Value => "the value itself".to_owned(),
        CodeMeaning::FrameOfReference { base: 0 } => "the code".to_owned(),
        CodeMeaning::FrameOfReference { base } => format!("{base} + code"),
        CodeMeaning::ScaledFloat { base, digits } => format!("({base} + code) / 10^{digits}"),
        CodeMeaning::FloatOrder { base } => format!("float of order {base} + code"),
        CodeMeaning::Dictionary(version) => {
            format!("entry of {} in dictionary {}", version.entries.len(), version.version)
        }
    }
}
