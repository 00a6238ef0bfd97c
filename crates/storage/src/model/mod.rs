//! The vocabulary that storage shares with the engine.
//!
//! | file | what |
//! |---|---|
//! | `types`, `datum` | types of columns, and one value of them |
//! | `quoted` | names as SQL writes them |
//! | `table` | definitions of tables, columns, keys and indexes |
//! | `sequence` | definitions of sequences, and how far they have come |
//! | `labels` | numbers and comments of constraints, indexes, schemas and views |
//! | `parts` | constraints, indexes and comments of a table by name |
//! | `design` | a table's layouts, packings and encodings |
//! | `page_shape` | which columns the records of heap pages have |
//! | `page_packing` | how entries of dense pages are compressed |
//! | `predicate`, `integer_set` | conditions on columns |
//! | `dictionary` | versions of the sorted strings that codes stand for |
//! | `view` | the column view: how a reader reaches values of any layout |

pub(crate) mod datum;
pub(crate) mod design;
pub(crate) mod dictionary;
pub(crate) mod heap_options;
pub(crate) mod integer_set;
pub(crate) mod labels;
pub(crate) mod page_packing;
pub(crate) mod page_shape;
mod parts;
pub(crate) mod predicate;
pub(crate) mod quoted;
pub(crate) mod sequence;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod types;
pub(crate) mod view;

pub use datum::{Datum, FloatBits};
pub use design::{ColumnDesign, Group, PAGE_SIZE, SEGMENT_ROWS, ZONE_ROWS, has_segments, is_page_size};
pub use design::{Design, EncodingChoice, Layout, Packing};
pub use dictionary::DictionaryVersion;
pub use heap_options::{Deletes, HeapLayout, HeapOptions};
pub use integer_set::IntegerSet;
pub use labels::{Comment, CommentSubject, Label, Labels, ObjectNumbers};
pub use page_packing::{MOST_INDEX_BITS, PagePacking};
pub use page_shape::{MOST_SHAPES, PageShape, PageShapes, ShapeColumn};
pub use predicate::{ColumnTest, Predicate};
pub use quoted::quoted_name;
pub use sequence::{SequenceDefinition, SequenceOwner, SequencePosition, SequenceRecord};
pub use summary::ColumnSummary;
pub use table::{
    Arrangement, CheckDefinition, ColumnDefinition, ColumnId, DEFAULT_SCHEMA, Generation, IndexDefinition,
    KeyDefinition, RecordedIndex, ReferenceDefinition, TableDefinition, TableId, TableName, ViewDefinition,
};
pub use types::{LogicalType, Unit, ValueClass, type_name};
pub use view::{AttributeAddress, CodeMeaning, ColumnView, Format, PhysicalLayout, float_integer, float_of_integer};
