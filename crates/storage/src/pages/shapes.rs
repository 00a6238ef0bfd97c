//! The schemas of a table's pages: the one that new pages have, and those of pages that were made when the table had other columns.
//! Whoever asks a page for an attribute names it by its place among the table's, and the page's schema knows where the page has it, or
//! which value stands for it.

use crate::model::page_shape::PageShapes;
use crate::pages::attribute::{Attribute, AttributeSource, OwnedField, PageSchema};
use crate::pages::head::{Head, shape_of};
use crate::{ColumnDefinition, Datum, Error, Result, TableDefinition};
use std::sync::Arc;

/// The schemas of a table's NSM or PAX pages.
#[derive(Debug, Clone)]
pub(crate) struct PageSchemas {
    current: Arc<PageSchema>,
    older: Vec<Arc<PageSchema>>,
}

impl PageSchemas {
    /// Those of a table, whose record has these shapes.
    pub(crate) fn of(definition: &TableDefinition, shapes: &PageShapes) -> Self {
        let current = PageSchema { shape: shapes.current, ..PageSchema::new(definition) };
        let older = shapes.older.iter().map(|shape| {
            let attributes = shape.columns.iter().map(|column| {
                let live = definition.column_by_id(column.id);
                let logical_type = live.map_or(&column.logical_type, |live| &live.logical_type);
                let mut known = ColumnDefinition::new(column.id, &column.name, logical_type.clone());
                known.nullable = column.nullable;
                Attribute::new(&known)
            });
            let own = PageSchema::of(current.table.clone(), attributes.collect());
            let source = |(attribute, column): (&Attribute, &ColumnDefinition)| {
                let place = own.attributes.iter().position(|known| known.column == attribute.column);
                place.map_or_else(|| AttributeSource::Initial(initial(attribute, column)), AttributeSource::Place)
            };
            let sources = current.attributes.iter().zip(&definition.columns).map(source).collect();
            Arc::new(PageSchema { shape: shape.number, sources: Some(sources), ..own })
        });
        let older = older.collect();
        Self { current: Arc::new(current), older }
    }

    /// That of the table's columns, which new pages have.
    pub(crate) fn current(&self) -> &Arc<PageSchema> {
        &self.current
    }

    /// Whether all pages are of one shape.
    pub(crate) fn is_plain(&self) -> bool {
        self.older.is_empty()
    }

    /// That of a page, by its head. Fails for a shape that the table has no pages of.
    pub(crate) fn of_page(&self, head: &Head, place: &dyn Fn() -> String) -> Result<&Arc<PageSchema>> {
        self.of_shape(head.column).ok_or_else(|| {
            Error::corrupt(place(), format!("a page of shape {}, which the table has no pages of", head.column))
        })
    }

    /// That of the page that checked bytes are; `None` for bytes that are too few, or have become those of no page.
    pub(crate) fn of_bytes(&self, page: &[u8]) -> Option<&PageSchema> {
        if self.is_plain() { Some(&self.current) } else { self.of_shape(shape_of(page)?).map(|schema| &**schema) }
    }

    /// Whether checked bytes are those of a page of the table's columns.
    pub(crate) fn is_present(&self, page: &[u8]) -> bool {
        self.is_plain() || shape_of(page) == Some(self.current.shape)
    }

    /// That of a shape.
    pub(crate) fn of_shape(&self, shape: u32) -> Option<&Arc<PageSchema>> {
        [&self.current].into_iter().chain(&self.older).find(|schema| schema.shape == shape)
    }
}

/// What records of pages without a column have there.
fn initial(own: &Attribute, column: &ColumnDefinition) -> OwnedField {
    match &column.initial {
        Datum::Null => OwnedField::Null,
        // ALTER TABLE has refused what is no value of the column.
        value => own.field(value).map_or(OwnedField::Null, Into::into),
    }
}
