//! The design of a table: its column groups, for each a layout, for each column a packing and an encoding.
//!
//! A layout says where the attributes of a record lie. In memory all are memPAX-k chunks (runtime-fragility paper, section 2):
//! k records after one another, within them attribute after attribute. k = 1 is the row layout, k = n the column layout,
//! so that one rule places every attribute of every layout. Dense pages (read-optimized paper, section 5.2) say how columns
//! lie in a file; in memory each lies on its own.

use crate::model::heap_options::HeapOptions;
use crate::model::page_packing::PagePacking;
use crate::model::quoted::quoted_name;
use crate::{ColumnId, LogicalType, TableDefinition};

/// Records of a full segment.
pub const SEGMENT_ROWS: usize = 1 << 20;
/// Records of a zone.
pub const ZONE_ROWS: usize = 1 << 16;
/// Records of a zone of a segment with dense pages: a column of four-byte codes, decoded, leaves room for others in the second
/// cache.
pub const DENSE_ZONE_ROWS: usize = 1 << 14;
/// Bytes of a dense page, unless a design says otherwise: the paper's.
pub const PAGE_SIZE: u32 = 32 << 10;

/// Whether a dense page may have so many bytes.
pub fn is_page_size(bytes: u32) -> bool {
    (4096..=65_536).contains(&bytes) && bytes.is_multiple_of(4096)
}

pub use gingham_kernels::packing::Packing;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;

/// Records of a segment of the vertical packings, unless a design says otherwise: the bits of a 512-bit register.
pub const SEGMENT_BITS: u16 = 512;

/// Where the attributes of the records of a column group lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Record after record: memPAX-1.
    Row,
    /// Chunks of so many records, column by column within a chunk.
    #[serde(rename = "mempax")]
    MemPax(u32),
    /// Column after column.
    #[default]
    Column,
    /// Dense pages of whole records (super-tuples).
    SuperTuple,
    /// Dense pages of one column each.
    DenseColumn,
}

impl Layout {
    /// True for dense pages.
    pub const fn is_dense(self) -> bool {
        matches!(self, Self::SuperTuple | Self::DenseColumn)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row => write!(f, "row"),
            Self::MemPax(k) => write!(f, "mempax({k})"),
            Self::Column => write!(f, "column"),
            Self::SuperTuple => write!(f, "super_tuple"),
            Self::DenseColumn => write!(f, "dense_column"),
        }
    }
}

/// Which encoding a column is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EncodingChoice {
    /// The smallest that the values of each segment allow.
    #[default]
    Auto,
    /// Values as they are, in the width of their type: numbers less the type's smallest, strings as bytes.
    Plain,
    /// Numbers less the segment's smallest, in no more bits than the largest of them needs.
    FrameOfReference,
    /// Positions in a dictionary, however many entries that has.
    Dictionary,
}

impl EncodingChoice {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Plain, Self::FrameOfReference, Self::Dictionary];

    /// Its name in SQL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Plain => "plain",
            Self::FrameOfReference => "frame_of_reference",
            Self::Dictionary => "dictionary",
        }
    }

    /// The choice of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }
}

/// What is said of one column alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnDesign {
    /// The column.
    pub column: ColumnId,
    /// Its packing; `None` for the design's, in a group that the design names for native.
    #[serde(default, with = "optional_packing", skip_serializing_if = "Option::is_none")]
    pub packing: Option<Packing>,
    /// The column's packing in dense pages; `None` for the one that takes fewest bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_packing: Option<PagePacking>,
    /// Its encoding.
    #[serde(default)]
    pub encoding: EncodingChoice,
    /// Records of a segment of a packing that has any ([`has_segments`]): 256 or 512; `None` for the design's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_bits: Option<u16>,
}

impl ColumnDesign {
    /// Nothing is said of the column yet.
    pub fn new(column: ColumnId) -> Self {
        Self { column, packing: None, page_packing: None, encoding: EncodingChoice::Auto, segment_bits: None }
    }
}

/// Columns whose attributes lie together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The columns, at least one.
    pub columns: Vec<ColumnId>,
    /// Where their attributes lie.
    pub layout: Layout,
}

/// The design of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Design {
    /// Groups; a column is in one at most.
    #[serde(default)]
    pub groups: Vec<Group>,
    /// Layout of the columns that no group names: one group of all of them, or each on its own in `column`.
    #[serde(default)]
    pub layout: Layout,
    /// Packing of the columns that no group names. Those without codes (wide numbers, strings without a dictionary)
    /// are native all the same; a packing that is said of a column by name asks for codes instead.
    #[serde(default = "native", with = "packing_name")]
    pub packing: Packing,
    /// Records of a segment of the packings that have any ([`has_segments`]): 256 or 512.
    #[serde(default = "default_segment_bits")]
    pub segment_bits: u16,
    /// Bytes of a dense page.
    #[serde(default = "default_page_size", skip_serializing_if = "is_default_page_size")]
    pub page_size: u32,
    /// What is said of single columns, each at most once.
    #[serde(default)]
    pub columns: Vec<ColumnDesign>,
    /// What the heap pages of a table are like; nothing else is said of such a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap: Option<HeapOptions>,
}

fn default_segment_bits() -> u16 {
    SEGMENT_BITS
}

fn default_page_size() -> u32 {
    PAGE_SIZE
}

fn is_default_page_size(page_size: &u32) -> bool {
    *page_size == PAGE_SIZE
}

fn native() -> Packing {
    Packing::Native
}

/// Every column on its own, native.
impl Default for Design {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            layout: Layout::Column,
            packing: Packing::Native,
            segment_bits: SEGMENT_BITS,
            page_size: PAGE_SIZE,
            columns: Vec::new(),
            heap: None,
        }
    }
}

/// How one column is stored, all said and done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnChoice {
    /// Its packing.
    pub packing: Packing,
    /// Whether a packing of codes was asked of this column by name, so that it must have codes.
    pub by_name: bool,
    /// Records of a segment of a packing that has any.
    pub segment_bits: u16,
    /// The packing in dense pages, when it was asked for.
    pub page_packing: Option<PagePacking>,
    /// Its encoding.
    pub encoding: EncodingChoice,
}

impl ColumnChoice {
    /// The packing of codes that was asked for by name, and the one that takes values without codes too.
    pub(crate) fn asked_packing(&self) -> (String, &'static str) {
        match self.page_packing {
            Some(packing) => (packing.to_string(), "plain"),
            None => (self.packing.to_string(), "native"),
        }
    }
}

/// Native, in the encoding that suits the values.
impl Default for ColumnChoice {
    fn default() -> Self {
        let encoding = EncodingChoice::Auto;
        let (packing, page_packing) = (Packing::Native, None);
        Self { packing, by_name: false, segment_bits: SEGMENT_BITS, page_packing, encoding }
    }
}

impl Design {
    /// All columns in that layout.
    pub fn of_layout(layout: Layout) -> Self {
        Self { layout, ..Self::default() }
    }

    /// Each column on its own in that packing.
    pub fn of_packing(packing: Packing) -> Self {
        Self { packing, ..Self::default() }
    }

    /// All records in heap pages.
    pub fn of_pages(options: HeapOptions) -> Self {
        Self { heap: Some(options), ..Self::default() }
    }

    /// What is said of a column alone.
    pub fn column(&self, column: ColumnId) -> Option<&ColumnDesign> {
        self.columns.iter().find(|design| design.column == column)
    }

    /// The design of a column, to be changed.
    pub fn column_mut(&mut self, column: ColumnId) -> &mut ColumnDesign {
        let place = self.columns.iter().position(|design| design.column == column).unwrap_or_else(|| {
            self.columns.push(ColumnDesign::new(column));
            self.columns.len() - 1
        });
        &mut self.columns[place]
    }

    /// Forgets a column that is dropped.
    pub fn remove_column(&mut self, column: ColumnId) {
        self.columns.retain(|design| design.column != column);
        self.groups.iter_mut().for_each(|group| group.columns.retain(|member| *member != column));
        self.groups.retain(|group| !group.columns.is_empty());
    }

    /// How a column is stored.
    pub fn choice(&self, column: ColumnId) -> ColumnChoice {
        let own = self.column(column);
        let named = own.and_then(|own| own.packing);
        let page_packing = own.and_then(|own| own.page_packing);
        let grouped = self.groups.iter().any(|group| group.columns.contains(&column));
        let general = if grouped || self.layout != Layout::Column { Packing::Native } else { self.packing };
        ColumnChoice {
            packing: named.unwrap_or(general),
            by_name: named.is_some_and(|packing| packing != Packing::Native)
                || page_packing.is_some_and(|packing| packing != PagePacking::Plain),
            segment_bits: own.and_then(|own| own.segment_bits).unwrap_or(self.segment_bits),
            page_packing,
            encoding: own.map_or(EncodingChoice::Auto, |own| own.encoding),
        }
    }

    /// The groups of a table with `columns` as they are stored: those of `column` and `dense_column`, and those of one column,
    /// one by one; the others as they are named; the rest at the end. Each column is in exactly one.
    pub fn resolve(&self, columns: &[ColumnId]) -> Vec<Group> {
        let mut resolved = Vec::new();
        let mut add = |members: Vec<ColumnId>, layout: Layout| {
            let single = if layout.is_dense() { Layout::DenseColumn } else { Layout::Column };
            if layout == single || members.len() == 1 {
                let alone = |column| Group { columns: vec![column], layout: single };
                resolved.extend(members.into_iter().map(alone));
            } else if !members.is_empty() {
                resolved.push(Group { columns: members, layout });
            }
        };
        let (known, mut named): (HashSet<ColumnId>, _) = (columns.iter().copied().collect(), HashSet::new());
        for group in &self.groups {
            add(group.columns.iter().copied().filter(|column| known.contains(column)).collect(), group.layout);
            named.extend(group.columns.iter().copied());
        }
        add(columns.iter().copied().filter(|column| !named.contains(column)).collect(), self.layout);
        resolved
    }

    /// Records of a zone: a multiple of every k, about the usual number or the smallest multiple above it.
    pub fn zone_rows(&self) -> usize {
        let (multiple, usual) = (self.chunk_rows(), if self.has_dense() { DENSE_ZONE_ROWS } else { ZONE_ROWS });
        if multiple > usual { multiple } else { usual / multiple * multiple }
    }

    /// True when columns lie in dense pages, or would if the table had more of them.
    pub fn has_dense(&self) -> bool {
        self.layouts().any(Layout::is_dense)
    }

    /// The layouts of its groups and of the columns that no group names.
    fn layouts(&self) -> impl Iterator<Item = Layout> {
        self.groups.iter().map(|group| group.layout).chain([self.layout])
    }

    /// The layout that a column is given: its group's, or that of the columns that no group names.
    pub fn layout_of(&self, column: ColumnId) -> Layout {
        self.groups.iter().find(|group| group.columns.contains(&column)).map_or(self.layout, |group| group.layout)
    }

    /// What the records of a segment are a multiple of, but for a table's last: the least common multiple of every k.
    pub fn chunk_rows(&self) -> usize {
        self.chunk_multiple().unwrap_or(1)
    }

    /// Records of a full segment: a multiple of a zone's.
    pub fn segment_rows(&self) -> usize {
        SEGMENT_ROWS / self.zone_rows() * self.zone_rows()
    }

    /// The least common multiple of every k; `None` when a segment has fewer records.
    fn chunk_multiple(&self) -> Option<usize> {
        let mut multiple = 1_usize;
        for layout in self.layouts() {
            if let Layout::MemPax(k @ 1..) = layout {
                let (k, mut a, mut b) = (k as usize, multiple, k as usize);
                while b > 0 {
                    (a, b) = (b, a % b);
                }
                multiple = (multiple / a).checked_mul(k).filter(|multiple| *multiple <= SEGMENT_ROWS)?;
            }
        }
        Some(multiple)
    }

    /// The encodings that columns were given, as `WITH (encoding = '…')` takes them; empty when there are none.
    pub fn encodings_text(&self, definition: &TableDefinition) -> String {
        let given = self.columns.iter().filter(|own| own.encoding != EncodingChoice::Auto);
        let texts = given.filter_map(|own| {
            let column = definition.column_by_id(own.column)?;
            Some(format!("{} {}", quoted_name(&column.name), own.encoding.name()))
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    /// The design as text: a layout, a packing, or groups. Of the columns that no group names it says `(*)` and their
    /// layout unless that is native columns.
    pub fn text(&self, definition: &TableDefinition) -> String {
        if let Some(heap) = &self.heap {
            return heap.layout.to_string();
        }
        let packed = |own: &&ColumnDesign| {
            let grouped = self.groups.iter().any(|group| group.columns.contains(&own.column));
            !grouped && own.packing.is_some_and(|packing| packing != self.packing)
        };
        let alone = |own: &ColumnDesign| Group { columns: vec![own.column], layout: Layout::Column };
        let singles: Vec<Group> = self.columns.iter().filter(packed).map(alone).collect();
        let general = match (self.layout, self.packing) {
            (Layout::Column, Packing::Native) => "column".to_owned(),
            (Layout::Column, packing) => packing_text(packing, self.segment_bits),
            (layout, _) => layout.to_string(),
        };
        if self.groups.is_empty() && singles.is_empty() {
            return general;
        }
        let groups = self.groups.iter().chain(&singles);
        let mut parts: Vec<String> =
            groups.map(|group| GroupText { group, definition }.with_layout(self.choice(group.columns[0]))).collect();
        if general != "column" {
            parts.push(format!("(*) {general}"));
        }
        format!("groups({})", parts.join(", "))
    }
}

/// Whether a packing lies in segments of [`Design::segment_bits`] records. Byte slices are as long as their column, so
/// that the number would change nothing of theirs.
pub const fn has_segments(packing: Packing) -> bool {
    matches!(packing, Packing::Vbp)
}

/// A packing with the segment size of one that has segments, where it is not the usual.
pub(crate) fn packing_text(packing: Packing, segment_bits: u16) -> String {
    if has_segments(packing) && segment_bits != SEGMENT_BITS {
        format!("{}({segment_bits})", packing.name())
    } else {
        packing.name().to_owned()
    }
}

/// A group with the names of its columns.
struct GroupText<'a> {
    group: &'a Group,
    definition: &'a TableDefinition,
}

impl GroupText<'_> {
    fn with_layout(&self, choice: ColumnChoice) -> String {
        match (self.group.columns.len(), choice.packing) {
            (1, packing) if packing != Packing::Native => {
                format!("{self} {}", packing_text(packing, choice.segment_bits))
            }
            _ => format!("{self} {}", self.group.layout),
        }
    }
}

impl fmt::Display for GroupText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |id: &ColumnId| match self.definition.column_by_id(*id) {
            Some(column) => quoted_name(&column.name),
            None => format!("#{id}"),
        };
        write!(f, "({})", self.group.columns.iter().map(name).collect::<Vec<_>>().join(","))
    }
}

/// Bits of a type's values in encoding plain, when they are codes: numbers of types of at most 64 bits.
pub(crate) fn plain_bits(logical_type: &LogicalType) -> Option<u8> {
    use crate::Unit;
    match logical_type {
        LogicalType::Boolean => Some(1),
        LogicalType::Int(bits) | LogicalType::UInt(bits) => Some(*bits),
        // Unscaled values from -10^p + 1 to 10^p - 1.
        LogicalType::Decimal { precision, .. } if *precision <= 18 => {
            Some(gingham_kernels::bitpack::bits_for(2 * 10_u64.pow(u32::from(*precision)) - 2) as u8)
        }
        LogicalType::Decimal { .. } => None,
        LogicalType::Float32 | LogicalType::Date | LogicalType::Time(Unit::Second | Unit::Millisecond) => Some(32),
        LogicalType::Float64 | LogicalType::Time(_) | LogicalType::Timestamp(..) => Some(64),
        LogicalType::Char(_) | LogicalType::UntrimmedChar(_) | LogicalType::Varchar(_) | LogicalType::Binary => None,
    }
}

/// A packing as its name.
pub(crate) mod packing_name {
    use crate::Packing;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(packing: &Packing, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(packing.name())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Packing, D::Error> {
        let name = String::deserialize(deserializer)?;
        Packing::parse(&name).ok_or_else(|| D::Error::custom(format!("packing '{name}' is not known")))
    }
}

/// A packing as its name, or null.
mod optional_packing {
    use crate::Packing;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(packing: &Option<Packing>, serializer: S) -> Result<S::Ok, S::Error> {
        packing.map(Packing::name).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Packing>, D::Error> {
        let Some(name) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        Packing::parse(&name).map(Some).ok_or_else(|| D::Error::custom(format!("packing '{name}' is not known")))
    }
}

#[cfg(test)]
mod tests;
pub(crate) mod validate;
