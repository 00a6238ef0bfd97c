//! What a design can't be, refused by name.

use crate::SqlState;
use crate::model::design::{
    ColumnDesign, Design, EncodingChoice, GroupText, Layout, Packing, SEGMENT_ROWS, is_page_size, plain_bits,
};
use crate::model::page_packing::{MOST_INDEX_BITS, PagePacking};
use crate::{ColumnDefinition, ColumnId, Error, Result, TableDefinition, ValueClass};

impl Design {
    /// Refuses by name what can't be: see the errors' texts.
    pub fn validate(&self, definition: &TableDefinition) -> Result<()> {
        let table = &definition.name;
        let name = |id: ColumnId| match definition.column_by_id(id) {
            Some(column) => Ok(column),
            None => Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("the design of table '{table}' names column {id}, which is not there"),
            )),
        };
        if let Some(heap) = &self.heap
            && *self != Self::of_pages(*heap)
        {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "layout {} has neither groups nor packings nor encodings of single columns (table '{table}')",
                    heap.layout
                ),
            ));
        }
        let mut seen = Vec::new();
        for group in &self.groups {
            if group.columns.is_empty() {
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!("a group of the design of table '{table}' has no columns"),
                ));
            }
            for id in &group.columns {
                let column = name(*id)?;
                if seen.contains(id) {
                    let column = &column.name;
                    return Err(Error::invalid(
                        SqlState::InvalidParameterValue,
                        format!("column '{column}' is in two groups of table '{table}'"),
                    ));
                }
                seen.push(*id);
            }
        }
        self.layouts().try_for_each(validate_layout)?;
        if self.packing != Packing::Native && self.layout != Layout::Column {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "layout {} can't have packing {}: packings other than native need the layout column",
                    self.layout,
                    self.packing.name()
                ),
            ));
        }
        if self.chunk_multiple().is_none() {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "the chunks of {} have no common multiple of at most {SEGMENT_ROWS} records, which a segment has; \
                 choose numbers that divide each other",
                    self.text(definition)
                ),
            ));
        }
        validate_segment_bits(self.segment_bits)?;
        if !is_page_size(self.page_size) {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "a dense page has 4096 bytes or another multiple of 4096 up to 65536, not {} (table '{table}')",
                    self.page_size
                ),
            ));
        }
        for (at, own) in self.columns.iter().enumerate() {
            let column = name(own.column)?;
            if self.columns[..at].iter().any(|other| other.column == own.column) {
                let column = &column.name;
                return Err(Error::invalid(
                    SqlState::InvalidParameterValue,
                    format!("the design of table '{table}' has column '{column}' twice"),
                ));
            }
            self.validate_column(definition, column, own)?;
        }
        Ok(())
    }

    fn validate_column(
        &self,
        definition: &TableDefinition,
        column: &ColumnDefinition,
        own: &ColumnDesign,
    ) -> Result<()> {
        let ColumnDefinition { name, logical_type, .. } = column;
        let refuse = |text: String| Err(Error::invalid(SqlState::InvalidParameterValue, text));
        match (own.encoding, logical_type.class()) {
            (EncodingChoice::Dictionary, ValueClass::Integer | ValueClass::Float) => {
                return refuse(format!(
                    "column '{name}' of type {logical_type} can't have encoding dictionary, \
                     which strings and BINARY have"
                ));
            }
            (EncodingChoice::FrameOfReference, ValueClass::Float | ValueClass::Bytes) => {
                return refuse(format!(
                    "column '{name}' of type {logical_type} can't have encoding frame_of_reference, \
                     which integers, decimals, dates and times have"
                ));
            }
            _ => {}
        }
        if let Some(bits) = own.segment_bits {
            validate_segment_bits(bits)?;
        }
        self.validate_page_packing(definition, column, own)?;
        let Some(packing) = own.packing.filter(|packing| *packing != Packing::Native) else { return Ok(()) };
        let wanted = packing.name();
        let group = self.groups.iter().find(|group| group.columns.contains(&own.column));
        let layout = group.map_or(self.layout, |group| group.layout);
        if layout != Layout::Column || group.is_some_and(|group| group.columns.len() > 1) {
            let lies = match group {
                Some(group) => format!("is in the group {}", GroupText { group, definition }),
                None => format!("lies in layout {layout} with the other columns"),
            };
            return refuse(format!(
                "column '{name}' can't have packing {wanted}, because it {lies}: packings other than native need a \
                 group of one column with layout column, as in groups(({name}) {wanted})"
            ));
        }
        if own.encoding == EncodingChoice::Plain && plain_bits(logical_type).is_none() {
            return refuse(format!(
                "column '{name}' of type {logical_type} can't have packing {wanted} and encoding plain: \
                 a packing needs codes of at most 64 bits"
            ));
        }
        Ok(())
    }
}

impl Design {
    /// Refuses a packing of dense pages that a column can't have.
    fn validate_page_packing(
        &self,
        definition: &TableDefinition,
        column: &ColumnDefinition,
        own: &ColumnDesign,
    ) -> Result<()> {
        let Some(packing) = own.page_packing else { return Ok(()) };
        let ColumnDefinition { name, logical_type, .. } = column;
        let layout = self.layout_of(own.column);
        let refuse = |why: String| {
            Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("column '{name}' can't have packing {packing} in dense pages: {why}"),
            ))
        };
        if !layout.is_dense() {
            return refuse(format!(
                "it lies in layout {layout}; the layouts of dense pages are super_tuple and dense_column"
            ));
        }
        if own.encoding == EncodingChoice::Plain && plain_bits(logical_type).is_none() && packing != PagePacking::Plain
        {
            return refuse(format!("{logical_type} in encoding plain has no codes of at most 64 bits"));
        }
        match packing {
            PagePacking::RunLength if layout == Layout::SuperTuple => refuse(
                "layout super_tuple has no runs, since records that follow one another differ; \
                        give the column layout dense_column"
                    .to_owned(),
            ),
            PagePacking::PageDictionary(bits) if bits > MOST_INDEX_BITS => {
                refuse(format!("indexes have 1 to {MOST_INDEX_BITS} bits"))
            }
            PagePacking::Delta if layout == Layout::SuperTuple => {
                let all: Vec<ColumnId> = definition.columns.iter().map(|column| column.id).collect();
                let group = self.resolve(&all).into_iter().find(|group| group.columns.contains(&own.column));
                let before = group.iter().flat_map(|group| &group.columns).take_while(|id| **id != own.column);
                let packed = |id: &ColumnId| self.column(*id).and_then(|column| column.page_packing);
                match before.copied().find(|id| packed(id) != Some(PagePacking::Delta)) {
                    Some(id) => refuse(format!(
                        "in layout super_tuple it is of the first columns of a group together, and '{}' comes before \
                         and has none",
                        definition.column_by_id(id).map_or("", |column| &column.name)
                    )),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

fn validate_layout(layout: Layout) -> Result<()> {
    match layout {
        Layout::MemPax(0) => {
            Err(Error::invalid(SqlState::InvalidParameterValue, "mempax(0): a chunk has at least one record"))
        }
        Layout::MemPax(k) if k as usize > SEGMENT_ROWS => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!(
                "mempax({k}): a chunk of {k} records is more than a segment, which has {SEGMENT_ROWS}; \
             the layout with all of a segment in one chunk is column"
            ),
        )),
        _ => Ok(()),
    }
}

fn validate_segment_bits(bits: u16) -> Result<()> {
    if bits == 256 || bits == 512 {
        return Ok(());
    }
    Err(Error::invalid(SqlState::InvalidParameterValue, format!("segments of vbp have 256 or 512 records, not {bits}")))
}
