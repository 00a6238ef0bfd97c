//! A V-minipage that has become too small takes room from the one beside it (section 4.2, "updates").

use crate::pages::attribute::AttributeForm;
use crate::pages::pax::PaxPage;

impl PaxPage<Vec<u8>> {
    /// Moves the boundary between a V-minipage and a neighbouring V-minipage, so that it has `bytes` more for values; false
    /// when neither neighbour has so many to spare. F-minipages spare none: all have places for as many records.
    pub(super) fn borrow(&mut self, attribute: usize, bytes: usize) -> bool {
        // Minipages begin at multiples of 8.
        let step = bytes.next_multiple_of(8);
        if self.spare(attribute + 1) >= step {
            // The neighbour's values move up, then what lies at the end of ours.
            let (start, used) = (self.starts[attribute + 1], self.used_bytes(attribute + 1));
            self.bytes.copy_within(start..start + used, start + step);
            let ends = self.ends_at(attribute);
            self.bytes.copy_within(ends..start, ends + step);
            self.starts[attribute + 1] += step;
            return true;
        }
        if attribute > 0 && self.spare(attribute - 1) >= step {
            let (ends, start) = (self.ends_at(attribute - 1), self.starts[attribute]);
            self.bytes.copy_within(ends..start, ends - step);
            let used = self.used_bytes(attribute);
            self.bytes.copy_within(start..start + used, start - step);
            self.starts[attribute] -= step;
            return true;
        }
        false
    }

    /// Bytes of a V-minipage that no value takes; 0 of other minipages, and past the last.
    fn spare(&self, attribute: usize) -> usize {
        match self.schema.attributes.get(attribute).map(|own| own.kind) {
            Some(AttributeForm::Variable) => self.heap_bytes(attribute) - self.used_bytes(attribute),
            _ => 0,
        }
    }
}
