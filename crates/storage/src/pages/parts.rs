//! What the bytes of a page are, part by part, for `gingham layout`.

use crate::pages::attribute::{AttributeForm, PageSchema};
use crate::pages::bit;
use crate::pages::head::HEAD;
use crate::pages::nsm::{NsmPage, SLOT};
use crate::pages::page::Page;
use crate::pages::pax::PaxPage;
use std::ops::{Deref, Range};

/// A run of bytes of a page, and what it is.
pub type PagePart = (Range<usize>, String);

impl<B: Deref<Target = [u8]>> Page<B> {
    /// All parts of the page that have any bytes, in their order.
    pub fn parts(&self) -> Vec<PagePart> {
        let mut parts = vec![(0..HEAD, "head: checksum, layout, table, number, counts".to_owned())];
        match self {
            Self::Nsm(page) => page.add_parts(&mut parts),
            Self::Pax(page) => page.add_parts(&mut parts),
        }
        parts.retain(|(bytes, _)| !bytes.is_empty());
        parts
    }
}

impl<B: Deref<Target = [u8]>> NsmPage<B> {
    fn add_parts(&self, parts: &mut Vec<PagePart>) {
        let (end, slots) = (self.bytes.len(), SLOT * self.slots());
        let unused = match self.garbage() {
            0 => String::new(),
            bytes => format!(", {bytes} bytes of them of no record"),
        };
        parts.push((HEAD..self.top(), format!("{} records one behind the other{unused}", self.records())));
        parts.push((self.top()..end - slots, "free".to_owned()));
        parts.push((
            end - slots..end,
            format!("{} slots, the last one first: place and length of a record", self.slots()),
        ));
    }
}

impl<B: Deref<Target = [u8]>> PaxPage<B> {
    fn add_parts(&self, parts: &mut Vec<PagePart>) {
        let schema: &PageSchema = &self.schema;
        let first = self.start(0);
        parts.push((HEAD..first, "where minipages begin, their checksums, a bit for each live record".to_owned()));
        for (attribute, own) in schema.attributes.iter().enumerate() {
            let (start, end) = (self.start(attribute), self.start(attribute + 1));
            let presence = self.presence_at(attribute);
            let free = format!("'{}': free", own.name);
            match own.kind {
                AttributeForm::Fixed(width) => {
                    let taken = start + width * self.positions();
                    parts.push((start..taken, format!("'{}': {} values of {width} bytes", own.name, self.positions())));
                    parts.push((taken..presence, free));
                }
                AttributeForm::Variable => {
                    let (taken, ends) = (start + self.used_bytes(attribute), self.ends_at(attribute));
                    let last = ends + 2 * self.positions();
                    parts.push((start..taken, format!("'{}': the bytes of its values", own.name)));
                    parts.push((taken..ends, free.clone()));
                    parts.push((ends..last, format!("'{}': where each of {} values ends", own.name, self.positions())));
                    parts.push((last..presence, free));
                }
            }
            let bits = presence + bit::bytes(self.positions());
            let bits = if own.nullable { presence..bits } else { presence..presence };
            parts.push((bits.clone(), format!("'{}': a bit for each value that is not NULL", own.name)));
            parts.push((bits.end..end, format!("'{}': free", own.name)));
        }
    }
}
