//! Bulk loading of a PAX page (section 4.2), a column at a time: how many records fit is counted from the lengths of their
//! values, then each minipage is written in one go.

use crate::pages::attribute::AttributeForm;
use crate::pages::bit;
use crate::pages::field_column::FieldColumn;
use crate::pages::pax::{PaxPage, frame};
use frame::Need;
use std::ops::Range;

impl PaxPage<Vec<u8>> {
    /// Adds as many of the records `rows` as fit behind those of a page without deleted ones, and returns their number. It
    /// does what [`PaxPage::insert`] of one after the other would, but that minipages are sized anew for all that follow
    /// and fit, where that would size them anew for each. Values are no longer than a page takes.
    pub(crate) fn append(&mut self, columns: &[FieldColumn], rows: Range<usize>, threshold: u8) -> usize {
        let mut next = rows.start;
        loop {
            let fit = self.fitting(columns, next..rows.end);
            self.append_columns(columns, next..next + fit);
            next += fit;
            let worthwhile = self.free() * 100 >= usize::from(threshold) * self.bytes.len();
            if next == rows.end || !worthwhile || !self.reorganise_for(columns, next..rows.end) {
                return next - rows.start;
            }
        }
    }

    /// How many of the records fit minipages as they are.
    fn fitting(&self, columns: &[FieldColumn], rows: Range<usize>) -> usize {
        let places = self.capacity().min(self.head.ids.into()) - self.positions();
        let mut fit = places.min(rows.len());
        for (attribute, own) in self.schema.attributes.iter().enumerate() {
            if own.kind == AttributeForm::Variable {
                let mut left = self.heap(attribute).len() - self.used_bytes(attribute);
                let lengths = rows.clone().take(fit).map(|row| columns[attribute].variable_bytes(row));
                fit = lengths.take_while(|length| fits(&mut left, *length)).count();
            }
        }
        fit
    }

    /// Sizes the minipages anew for as many more of the records as the page has bytes for; false when these are none.
    fn reorganise_for(&mut self, columns: &[FieldColumn], rows: Range<usize>) -> bool {
        let used = (0..columns.len()).map(|attribute| self.used_bytes(attribute)).collect();
        let mut need = Need { positions: self.positions(), ids: self.slots(), used };
        let before = need.positions;
        for row in rows {
            need.positions += 1;
            need.ids += 1;
            need.used.iter_mut().zip(columns).for_each(|(used, column)| *used += column.variable_bytes(row));
            if frame::least(&self.schema, &need) > self.bytes.len() {
                need.positions -= 1;
                need.ids -= 1;
                need.used.iter_mut().zip(columns).for_each(|(used, column)| *used -= column.variable_bytes(row));
                break;
            }
        }
        let records = need.positions as f64;
        let average: Vec<f64> = need.used.iter().map(|used| *used as f64 / records).collect();
        need.positions > before && self.reorganise(&need, &average)
    }

    /// Writes records that the minipages have room for.
    fn append_columns(&mut self, columns: &[FieldColumn], rows: Range<usize>) {
        let position = self.positions();
        for (attribute, column) in columns.iter().enumerate() {
            match self.schema.attributes[attribute].kind {
                AttributeForm::Fixed(width) => {
                    let start = self.start(attribute) + position * width;
                    let codes = &column.codes()[width * rows.start..width * rows.end];
                    self.bytes[start..start + codes.len()].copy_from_slice(codes);
                }
                AttributeForm::Variable => self.append_values(attribute, column, rows.clone()),
            }
            if self.schema.attributes[attribute].nullable {
                let presence = self.presence_at(attribute);
                for (at, row) in (position..).zip(rows.clone()) {
                    bit::set(&mut self.bytes[presence..], at, column.is_valid(row));
                }
            }
        }
        (position..position + rows.len()).for_each(|slot| self.set_live(slot, true));
        self.head.slots += rows.len() as u16;
        self.head.records += rows.len() as u16;
    }

    /// Writes values behind those of a V-minipage.
    fn append_values(&mut self, attribute: usize, column: &FieldColumn, rows: Range<usize>) {
        let (start, mut end) = (self.start(attribute), self.used_bytes(attribute));
        let mut at = self.ends_at(attribute) + 2 * self.positions();
        for row in rows {
            let value = column.bytes(row);
            self.bytes[start + end..start + end + value.len()].copy_from_slice(value);
            end += value.len();
            self.bytes[at..at + 2].copy_from_slice(&(end as u16).to_le_bytes());
            at += 2;
        }
    }
}

/// Takes a value's bytes from those that are left, where there are so many.
fn fits(left: &mut usize, length: usize) -> bool {
    let rest = left.checked_sub(length);
    *left = rest.unwrap_or(*left);
    rest.is_some()
}
