//! Shapes of heap pages: which columns the records of a page have. A table gets and loses columns without a page being written;
//! each page is of one of the shapes that its table's record lists.

use crate::{ColumnId, LogicalType, TableDefinition};
use serde::{Deserialize, Serialize};

/// Shapes that a table may have pages of. What needs one more writes the records anew: each commit writes the list.
pub const MOST_SHAPES: usize = 64;

/// A column as the pages of a shape have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeColumn {
    /// Number of the column.
    pub id: ColumnId,
    /// The name that it had, for messages.
    pub name: String,
    /// Its type.
    pub logical_type: LogicalType,
    /// Whether pages keep presence bits for it.
    pub nullable: bool,
}

/// The columns of the records of some pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageShape {
    /// The number that pages have in their heads.
    pub number: u32,
    /// The columns, in order.
    pub columns: Vec<ShapeColumn>,
}

/// The shapes of a table's pages. Of a table whose columns never changed all pages are of shape 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageShapes {
    /// Number of the shape that new pages are of: the table's columns.
    pub current: u32,
    /// The shapes that pages may have besides.
    pub older: Vec<PageShape>,
}

impl PageShape {
    /// That of a table's columns.
    pub(crate) fn of(number: u32, definition: &TableDefinition) -> Self {
        let columns = definition.columns.iter().map(|column| ShapeColumn {
            id: column.id,
            name: column.name.clone(),
            logical_type: column.logical_type.clone(),
            nullable: column.nullable,
        });
        Self { number, columns: columns.collect() }
    }

    /// Whether pages of this shape have a table's columns.
    pub(crate) fn is_of(&self, definition: &TableDefinition) -> bool {
        self.columns.len() == definition.columns.len()
            && self.columns.iter().zip(&definition.columns).all(|(a, b)| (a.id, a.nullable) == (b.id, b.nullable))
    }
}

impl PageShapes {
    /// Whether all pages are of the first shape.
    pub(crate) fn is_plain(&self) -> bool {
        self.current == 0 && self.older.is_empty()
    }

    /// Makes the columns of `after` the shape of new pages, beside the pages that those of `before` have. False when there would be too
    /// many shapes.
    pub(crate) fn change(&mut self, before: &TableDefinition, after: &TableDefinition) -> bool {
        let present = PageShape::of(self.current, before);
        if present.is_of(after) {
            return true;
        }
        let last = self.older.iter().map(|shape| shape.number).max().unwrap_or(0).max(self.current);
        let known = self.older.iter().position(|shape| shape.is_of(after));
        if known.is_none() && self.older.len() >= MOST_SHAPES {
            return false;
        }
        self.current = known.map_or(last + 1, |at| self.older.remove(at).number);
        self.older.push(present);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnDefinition, TableName};

    #[test]
    fn shapes_have_numbers_and_come_again() {
        let name = TableName { schema: "public".into(), table: "t".into() };
        let column = |id| ColumnDefinition::new(id, format!("c{id}"), LogicalType::Int(32));
        let one = TableDefinition::new(name.clone(), vec![column(0)]);
        let two = TableDefinition::new(name.clone(), vec![column(0), column(1)]);
        let mut shapes = PageShapes::default();
        assert!(shapes.change(&one, &one) && shapes.is_plain());
        assert!(shapes.change(&one, &two));
        assert_eq!((shapes.current, shapes.older.len(), shapes.older[0].number), (1, 1, 0));
        assert!(shapes.change(&two, &one));
        assert_eq!((shapes.current, shapes.older.len(), shapes.older[0].number), (0, 1, 1));
        let mut before = one;
        for id in 2..2 + MOST_SHAPES as u32 - 1 {
            let after = TableDefinition::new(name.clone(), vec![column(0), column(id)]);
            assert!(shapes.change(&before, &after));
            assert_eq!(shapes.current, id);
            before = after;
        }
        let kept = shapes.clone();
        assert!(!shapes.change(&before, &TableDefinition::new(name, vec![column(0), column(200)])));
        assert_eq!(shapes, kept);
    }
}
