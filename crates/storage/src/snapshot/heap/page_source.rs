//! Where a reader finds a table's pages: in the map, in place, under a pin; and over them the copies of what the open
//! transaction that it belongs to has written.

use crate::io::lmdb::{PinnedRun, Places};
use crate::lmdb::environment::{Environment, Name};
use crate::lmdb::heap_keys::{OVERFLOW, key, parse};
use crate::lmdb::values;
use crate::pages::attribute::OverflowReference;
use crate::snapshot::heap::overlay::Overlay;
use crate::snapshot::heap::verified::{TablePages, Verified};
use crate::snapshot::pin::Pin;
use crate::{Error, Result, TableId};
use arrow::buffer::Buffer;
use heed::RoTxn;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// The pages of a table as one reader sees them.
#[derive(Debug)]
pub(crate) struct PageSource {
    pub(crate) pin: Pin,
    /// What was checked of the table.
    pub(crate) checked: Arc<TablePages>,
    table: TableId,
    name: String,
    pub(crate) overlay: Option<Arc<Overlay>>,
}

impl PageSource {
    /// The pages of table `name` as `pin` sees them, under `overlay`.
    pub(crate) fn new(
        verified: &Verified,
        pin: Pin,
        table: TableId,
        name: String,
        overlay: Option<Arc<Overlay>>,
    ) -> Self {
        let checked = verified.table(pin.environment().generation(), table);
        Self { pin, checked, table, name, overlay }
    }

    /// The copy of a page: `None` where the commit's counts, `Some(None)` where there is none.
    fn copied(&self, attribute: u32, number: u64) -> Option<Option<Buffer>> {
        self.overlay.as_ref()?.get(attribute, number)
    }

    /// The bytes of a page, and whether they are a copy.
    pub(crate) fn page(&self, attribute: u32, number: u64) -> Result<Option<(Buffer, bool)>> {
        if let Some(copied) = self.copied(attribute, number) {
            return Ok(copied.map(|bytes| (bytes, true)));
        }
        let found = self.pin.get(Name::Heap, &key(self.table, attribute, number))?;
        Ok(found.map(|bytes| (Buffer::from(bytes::Bytes::from_owner(bytes)), false)))
    }

    /// The pages of an attribute whose numbers lie in `range`, in place, as the commit has them: there is no overlay. `known` is
    /// where they lay in the same file before.
    pub(crate) fn run(&self, attribute: u32, range: Range<u64>, known: Option<Arc<Places>>) -> Result<PinnedRun> {
        debug_assert!(self.overlay.is_none(), "copies would be left out");
        let [first, last] = [range.start, range.end.saturating_sub(1)].map(|number| key(self.table, attribute, number));
        self.pin.run(Name::Heap, [&first, &last], |key| parse(key).map_or(0, |(.., number)| number), known)
    }

    /// A value that is too long for a page.
    pub(crate) fn long_value(&self, reference: OverflowReference) -> Result<Vec<u8>> {
        let OverflowReference { number, length } = reference;
        match self.copied(OVERFLOW, number) {
            Some(Some(bytes)) if bytes.len() == length as usize => Ok(bytes.as_slice().to_vec()),
            Some(found) => {
                let found = found.map_or("it is missing".into(), |bytes| format!("it has {} bytes", bytes.len()));
                let place = format!("long value {number} of table {}", self.name);
                Err(Error::corrupt(place, format!("{found}, {length} were written")))
            }
            None => {
                let environment = self.pin.environment();
                self.pin.read(|transaction| long_value(environment, transaction, &self.name, self.table, reference))
            }
        }
    }

    /// The greatest number of an attribute's page that is not beyond `last`.
    pub(crate) fn last_up_to(&self, attribute: u32, last: u64) -> Result<Option<u64>> {
        let copied = self.overlay.as_ref();
        let mut own = copied.and_then(|overlay| overlay.down_from(attribute, last).find(|(_, there)| *there));
        let mut below = Some(last).filter(|_| !self.is_cleared());
        while let Some(last) = below {
            let Some(found) = self.stored_up_to(attribute, last)? else { break };
            match self.copied(attribute, found) {
                // Removed by the transaction, or counted with its own.
                Some(None) => below = found.checked_sub(1),
                _ => {
                    own = Some((own.map_or(found, |(own, _)| own.max(found)), true));
                    break;
                }
            }
        }
        Ok(own.map(|(number, _)| number))
    }

    fn stored_up_to(&self, attribute: u32, last: u64) -> Result<Option<u64>> {
        let environment = self.pin.environment();
        let (stored, wanted) = (environment.values(Name::Heap)?, key(self.table, attribute, last));
        self.pin.read(|transaction| {
            let found =
                stored.get_lower_than_or_equal_to(transaction, &wanted).map_err(environment.failed("reading"))?;
            let found = found.and_then(|(key, _)| parse(key));
            Ok(found.filter(|(table, own, _)| (*table, *own) == (self.table, attribute)).map(|(.., number)| number))
        })
    }

    /// Calls `visit` with the numbers and bytes of an attribute's pages whose numbers lie in `range`, ascending.
    pub(crate) fn each(
        &self,
        attribute: u32,
        range: Range<u64>,
        mut visit: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else { return Ok(()) };
        let own = self.overlay.iter().flat_map(|overlay| overlay.up_from(attribute, range.start, last));
        let mut own = own.peekable();
        if !self.is_cleared() {
            let environment = self.pin.environment();
            let stored = environment.values(Name::Heap)?;
            let (from, to) = (key(self.table, attribute, range.start), key(self.table, attribute, last));
            self.pin.read(|transaction| -> Result<()> {
                let failed = environment.failed("reading");
                let range = (Bound::Included(&from[..]), Bound::Included(&to[..]));
                for entry in stored.range(transaction, &range).map_err(&failed)? {
                    let (key, bytes) = entry.map_err(&failed)?;
                    let number = parse(key).map_or(0, |(.., number)| number);
                    while let Some((own, copied)) = own.next_if(|(own, _)| *own < number) {
                        copied.map_or(Ok(()), |copied| visit(own, copied))?;
                    }
                    match own.next_if(|(own, _)| *own == number) {
                        Some((_, copied)) => copied.map_or(Ok(()), |copied| visit(number, copied))?,
                        None => visit(number, bytes)?,
                    }
                }
                Ok(())
            })?;
        }
        own.try_for_each(|(number, copied)| copied.map_or(Ok(()), |copied| visit(number, copied)))
    }

    fn is_cleared(&self) -> bool {
        self.overlay.as_ref().is_some_and(|overlay| overlay.cleared)
    }
}

/// A value that is too long for a page of the table `name`, of number `table`.
pub(crate) fn long_value(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    name: &str,
    table: TableId,
    reference: OverflowReference,
) -> Result<Vec<u8>> {
    let key = key(table, OVERFLOW, reference.number);
    match values::get(environment, transaction, Name::Heap, &key)? {
        Some(value) if value.len() == reference.length as usize => Ok(value.to_vec()),
        found => {
            let place = format!("long value {} of table {name}", reference.number);
            let found = found.map_or("it is missing".to_owned(), |value| format!("it has {} bytes", value.len()));
            Err(Error::corrupt(place, format!("{found}, {} were written", reference.length)))
        }
    }
}
