//! What a scan reads zone by zone: a segment or delta block with its deleted records, or the pages of a heap table, which are one segment to it whose
//! zones all have the table's bounds for a map.

use crate::SqlState;
use crate::encoding::meta::Encoding;
use crate::model::view::{CodeMeaning, ColumnView, Format, code_bytes};
use crate::pages::attribute::AttributeForm;
use crate::scan::code::Reach;
use crate::scan::keyed::Asked;
use crate::scan::rank;
use crate::scan::records::numbers;
use crate::scan::translate::Facts;
use crate::segment::group::GroupMeta;
use crate::segment::memo::ZoneMemo;
use crate::segment::reader::Segment;
use crate::segment::{ColumnMeta, ZoneMap};
use crate::snapshot::delete_vector::{DeleteVector, DeleteVectorZone};
use crate::snapshot::heap::zones::{PageZones, RECORD_IDS};
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::{ColumnDefinition, ColumnId, Datum, Error, Layout, Packing, Predicate, Result};
use std::ops::Range;
use std::sync::Arc;

/// A run of zones.
#[derive(Debug, Clone)]
pub(super) enum MorselSource {
    Segment(SegmentPart),
    Pages(Arc<PageZones>),
}

/// A segment or delta block as a part of its table.
#[derive(Debug, Clone)]
pub(super) struct SegmentPart {
    segment: Arc<Segment>,
    /// The number of its first record.
    first: u64,
    deleted: Option<Arc<DeleteVector>>,
}

impl SegmentPart {
    /// The segment or delta block.
    pub(super) fn segment(&self) -> &Segment {
        &self.segment
    }
}

impl MorselSource {
    /// Bytes that a zone of a column takes when it is decoded alone; 0 of pages.
    pub(super) fn native_bytes(&self, column: ColumnId, zone: usize) -> usize {
        match self {
            Self::Segment(part) => part.segment.native_bytes(column, zone),
            Self::Pages(_) => 0,
        }
    }

    /// What a table consists of, in record order. Fails for a heap table whose snapshot has no pin.
    pub(super) fn all(table: &TableSnapshot) -> Result<Vec<Self>> {
        let pages = match (&table.heap, &table.pages) {
            (None, _) => None,
            (Some(heap), _) if heap.rows == 0 => None,
            (Some(_), Some(reader)) => Some(Self::Pages(Arc::new(PageZones::open(reader)?))),
            (Some(_), None) => {
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!(
                        "table '{}' lies in heap pages, which can be read under a pin alone",
                        table.definition.name
                    ),
                ));
            }
        };
        let mut next = 0;
        let segments = table.segments.iter().cloned().chain(table.coded_delta()).map(|segment| {
            let (first, deleted) = (next, table.deleted.get(&segment.id()).cloned());
            next += segment.rows() as u64;
            Self::Segment(SegmentPart { segment, first, deleted })
        });
        Ok(segments.chain(pages).collect())
    }

    /// For each zone, whether an index leaves it for a predicate; `None` when none says anything of it.
    pub(super) fn candidates(&self, predicate: &Predicate) -> Result<Option<Vec<bool>>> {
        match self {
            Self::Segment(_) => Ok(None),
            Self::Pages(pages) => pages.candidates(predicate),
        }
    }

    /// True when the filter of a key says that it has no record that is asked for.
    pub(super) fn lacks(&self, asked: &Asked<'_>) -> Result<bool> {
        match self {
            Self::Segment(part) => asked.is_missing_in(&part.segment),
            Self::Pages(_) => Ok(false),
        }
    }

    /// The deleted records of a zone; `None` when all of its records are there.
    pub(super) fn deleted(&self, zone: usize) -> Option<&DeleteVectorZone> {
        match self {
            Self::Segment(part) => part.deleted.as_ref()?.zone(zone),
            // The views of pages leave them out.
            Self::Pages(_) => None,
        }
    }

    /// The number of its first record.
    pub(super) fn first(&self) -> u64 {
        match self {
            Self::Segment(part) => part.first,
            Self::Pages(_) => 0,
        }
    }

    /// Records, deleted ones too.
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Segment(part) => part.segment.rows(),
            Self::Pages(pages) => pages.rows(),
        }
    }

    /// Number of zones.
    pub(super) fn zones(&self) -> usize {
        match self {
            Self::Segment(part) => part.segment.zones(),
            Self::Pages(pages) => pages.zones().len(),
        }
    }

    /// Records of a zone, deleted ones too.
    pub(super) fn zone_rows(&self, zone: usize) -> Range<usize> {
        match self {
            Self::Segment(part) => part.segment.zone_rows(zone),
            Self::Pages(pages) => pages.zones()[zone].rows.clone(),
        }
    }

    /// Zone map of a column, where there is one.
    pub(super) fn zone_map(&self, column: ColumnId, zone: usize) -> Option<ZoneMap> {
        match self {
            Self::Segment(part) => part.segment.zone_map(column, zone),
            Self::Pages(pages) => pages.zone_map(column),
        }
    }

    /// The column's values in a zone.
    pub(super) fn view(&self, column: &ColumnDefinition, zone: usize) -> Result<ColumnView> {
        self.view_with(column, zone, &ZoneMemo::default())
    }

    /// [`Self::view`] for a reader of several columns of the zone, who keeps in `memo` what they share.
    pub(super) fn view_with<'a>(
        &'a self,
        column: &ColumnDefinition,
        zone: usize,
        memo: &ZoneMemo<'a>,
    ) -> Result<ColumnView> {
        match self {
            Self::Segment(part) if column.id == RECORD_IDS => {
                let rows = part.segment.zone_rows(zone);
                Ok(numbers(part.first + rows.start as u64, rows.len()))
            }
            Self::Segment(part) => part.segment.view_with(column, zone, memo),
            Self::Pages(pages) => pages.view(column, zone),
        }
    }

    /// A column's view for a reader who looks at the values of `tids` alone, ascending, or of all records.
    pub(super) fn view_at<'a>(
        &'a self,
        column: &ColumnDefinition,
        zone: usize,
        tids: Option<&[u32]>,
        memo: &ZoneMemo<'a>,
    ) -> Result<ColumnView> {
        match (self, tids) {
            (Self::Pages(pages), Some(tids)) => pages.view_at(column, zone, tids),
            _ => self.view_with(column, zone, memo),
        }
    }

    /// A scan has the views that it wants of a zone.
    pub(super) fn end_zone(&self, zone: usize) {
        if let Self::Pages(pages) = self {
            pages.forget(zone);
        }
    }

    /// What code 0 of an integer column stands for; `None` when its codes mean something else.
    pub(super) fn integer_base(&self, column: ColumnId) -> Option<i128> {
        match self {
            Self::Segment(part) => match part.segment.column(column)?.encoding {
                Encoding::FrameOfReference { base } => Some(base),
                _ => None,
            },
            Self::Pages(_) => None,
        }
    }

    /// What is known of a column before anything is read.
    pub(super) fn facts(&self, column: &ColumnDefinition) -> Result<Facts> {
        let segment = match self {
            Self::Segment(_) if column.id == RECORD_IDS => {
                return Ok(Facts::Values { min: Datum::Null, max: Datum::Null });
            }
            Self::Segment(part) => &part.segment,
            Self::Pages(pages) => {
                let own = pages.attribute(column)?;
                return Ok(match own.kind {
                    AttributeForm::Fixed(width @ ..=8) => Facts::Coded {
                        meaning: own.meaning(),
                        max_code: own.max_code(),
                        reach: Reach::Native(width as u8),
                    },
                    _ => Facts::Values { min: Datum::Null, max: Datum::Null },
                });
            }
        };
        let Some(meta) = segment.column(column.id) else { return Ok(Facts::Absent(column.initial.clone())) };
        let meaning = match &meta.encoding {
            Encoding::FrameOfReference { base } => CodeMeaning::FrameOfReference { base: *base },
            Encoding::ScaledFloat { base, digits } => CodeMeaning::ScaledFloat { base: *base, digits: *digits },
            Encoding::FloatOrder { base } => CodeMeaning::FloatOrder { base: *base },
            Encoding::Dictionary => {
                CodeMeaning::Dictionary(Arc::clone(segment.dictionary(column.id).ok_or_else(|| {
                    let place = format!("segment {}, column '{}'", segment.id(), column.name);
                    Error::corrupt(place, "dictionary codes without a dictionary")
                })?))
            }
            Encoding::Plain => {
                return Ok(Facts::Values { min: meta.statistics.min.clone(), max: meta.statistics.max.clone() });
            }
        };
        let max_code = u64::MAX.checked_shr(64 - u32::from(meta.code_bits.min(64))).unwrap_or(0);
        Ok(Facts::Coded { meaning, max_code, reach: reach(segment.group_of(column.id), meta) })
    }
}

/// Where the codes of a column lie.
fn reach(group: Option<&GroupMeta>, meta: &ColumnMeta) -> Reach {
    let width = code_bytes(meta.code_bits);
    match group {
        Some(group) if group.packing != Packing::Native => {
            let format = Format::new(group.packing, meta.code_bits.max(1));
            let format = format.and_then(|format| format.with_segment_bits(group.segment_bits));
            format.map_or(Reach::Native(width), Reach::Packed)
        }
        Some(group) if group.columns.len() > 1 && matches!(group.layout, Layout::Row | Layout::MemPax(_)) => {
            Reach::Chunks { width, gathering: rank::gathering(group) }
        }
        _ => Reach::Native(width),
    }
}
