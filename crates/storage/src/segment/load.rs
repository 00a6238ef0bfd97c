//! A zone of a column from its file to memory: as its group lies, in the cache, or alone.

use crate::io::pool;
use crate::model::view::PhysicalLayout;
use crate::segment::decode::{Expected, decode};
use crate::segment::dense::read::{ZonePages, span};
use crate::segment::group::Form;
use crate::segment::memo::ZoneMemo;
use crate::segment::reader::Opened;
use crate::segment::region::{PADDING, ZoneParts};
use crate::segment::scratch;
use crate::segment::source::ReadBytes;
use crate::{Error, Result};
use arrow::buffer::{BooleanBuffer, Buffer};

impl Opened {
    /// A zone of a column: as its group lies, in the cache, or the column alone when the budget has no room. `name` is
    /// the column's, for errors.
    pub(super) fn load<'a>(
        &'a self,
        place: usize,
        zone: usize,
        name: &str,
        memo: &ZoneMemo<'a>,
    ) -> Result<(PhysicalLayout, Option<BooleanBuffer>)> {
        let (group, member) = self.members[place];
        let form = &self.forms[group];
        let region = if form.regions() > 1 { member } else { 0 };
        let alone = || {
            let (codes, bytes, validity) = self.load_alone(place, zone, Some(name), memo)?;
            Ok((self.directory.columns[place].native().shape(codes, bytes), validity))
        };
        if memo.is_direct() {
            return alone();
        }
        let Some(memory) = self.cache.group((self.key, self.regions[group] + region), || self.parts(group, region))?
        else {
            return alone();
        };
        memory.fill(zone, |codes, bytes| match form {
            Form::Dense(_) => Ok(vec![self.decode_dense(place, zone, Some(name), memo, codes, bytes)?]),
            _ => self.fill(group, zone, (place, name), codes, bytes),
        })?;
        let Some((codes, bytes, validity)) = memory.buffers(zone) else {
            return Err(Error::corrupt(&self.place, "a block was lost while it was read"));
        };
        let rows = self.directory.zone(zone).len();
        let validity = if let Form::Dense(_) = form { &validity[0] } else { &validity[member] };
        Ok((form.shape(member, rows, codes, bytes), validity.clone()))
    }

    /// Where the zones of a group lie in one of its regions.
    fn parts(&self, group: usize, region: usize) -> Vec<ZoneParts> {
        let (form, members) = (&self.forms[group], &self.directory.groups[group].columns);
        let members = if form.regions() > 1 { &members[region..=region] } else { members };
        let (mut codes, mut bytes) = (0, 0);
        (0..self.directory.zones())
            .map(|zone| {
                let start = (codes, bytes);
                codes += form.length(region, self.directory.zone(zone).len());
                let strings = |place: &usize| self.directory.block(*place, zone).string_bytes as usize;
                bytes += members.iter().map(strings).sum::<usize>();
                ZoneParts { codes: start.0..codes, bytes: start.1..bytes }
            })
            .collect()
    }

    /// Reads, verifies and lays out a zone of a group: its blocks lie one behind the other. `named` is a column's place
    /// and its name in errors.
    fn fill(
        &self,
        group: usize,
        zone: usize,
        named: (usize, &str),
        codes: &mut [u8],
        bytes: &mut [u8],
    ) -> Result<Vec<Option<BooleanBuffer>>> {
        let columns = &self.directory.groups[group].columns;
        let name = |place: usize| Some(named.1).filter(|_| place == named.0);
        let blocks = || columns.iter().map(|place| self.directory.block(*place, zone));
        let offset = blocks().map(|block| block.offset).min().unwrap_or_default();
        let read = self.source.read(offset, blocks().map(|block| block.length as usize).sum())?;
        if let Form::Alone(_) = self.forms[group] {
            return Ok(vec![self.decode(columns[0], zone, name(columns[0]), &read, codes, bytes)?]);
        }
        let rows = self.directory.zone(zone).len();
        let lengths = |place: &usize| {
            let strings = self.directory.block(*place, zone).string_bytes as usize;
            (self.directory.columns[*place].native().length(rows), strings)
        };
        let lengths: Vec<(usize, usize)> = columns.iter().map(lengths).collect();
        scratch::with_columns(&lengths, |natives| {
            let mut validity = Vec::with_capacity(columns.len());
            for (place, (codes, bytes)) in columns.iter().zip(&mut *natives) {
                let entry = self.directory.block(*place, zone);
                let block = &read[(entry.offset - offset) as usize..][..entry.length as usize];
                validity.push(self.decode(*place, zone, name(*place), block, codes, bytes)?);
            }
            self.forms[group].lay_out(rows, natives, codes, bytes);
            Ok(validity)
        })
    }

    /// Reads a zone of one column past the cache, native, into memory of its own.
    pub(super) fn load_alone<'a>(
        &'a self,
        place: usize,
        zone: usize,
        name: Option<&str>,
        memo: &ZoneMemo<'a>,
    ) -> Result<(Buffer, Buffer, Option<BooleanBuffer>)> {
        let entry = self.directory.block(place, zone);
        let rows = self.directory.zone(zone).len();
        let lengths = [self.directory.columns[place].native().length(rows), entry.string_bytes as usize];
        let [mut codes, mut bytes] = lengths.map(|length| pool::take_any(length + PADDING));
        let (out, strings) = (&mut codes[..lengths[0]], &mut bytes[..lengths[1]]);
        let validity = match self.forms[self.members[place].0] {
            Form::Dense(_) => self.decode_dense(place, zone, name, memo, out, strings)?,
            _ => {
                let block = self.read(entry.offset, entry.length as usize, memo)?;
                self.decode(place, zone, name, &block, out, strings)?
            }
        };
        let lend = |buffer, length| pool::lend(buffer).slice_with_length(0, length);
        Ok((lend(codes, lengths[0]), lend(bytes, lengths[1]), validity))
    }

    /// Bytes of the file, past the system's cache where the reader wants that and has planned it.
    fn read(&self, offset: u64, length: usize, memo: &ZoneMemo<'_>) -> Result<ReadBytes<'_>> {
        match memo.bytes(self.key, offset, length)? {
            Some(bytes) => Ok(ReadBytes::Direct(bytes)),
            None => self.source.read(offset, length).map(ReadBytes::Source),
        }
    }

    /// Where the bytes of a zone of a column lie.
    pub(super) fn span(&self, place: usize, zone: usize) -> (u64, usize) {
        match &self.directory.groups[self.members[place].0].dense {
            Some(dense) => span(dense, &self.directory.zone(zone)),
            None => {
                let entry = self.directory.block(place, zone);
                (entry.offset, entry.length as usize)
            }
        }
    }

    /// What has to be read of the file before a zone of a column can be loaded, offset and length; `None` when it is in the cache.
    pub(super) fn unread(&self, place: usize, zone: usize) -> Option<(u64, usize)> {
        let (group, member) = self.members[place];
        let form = &self.forms[group];
        let region = if form.regions() > 1 { member } else { 0 };
        if self.cache.has((self.key, self.regions[group] + region), zone) {
            return None;
        }
        if matches!(form, Form::Dense(_) | Form::Alone(_)) {
            return Some(self.span(place, zone));
        }
        // The group is loaded as a whole.
        let blocks = || self.directory.groups[group].columns.iter().map(|place| self.directory.block(*place, zone));
        let offset = blocks().map(|block| block.offset).min()?;
        Some((offset, blocks().map(|block| block.length as usize).sum()))
    }

    /// Verifies and decodes a zone of a column that lies in dense pages.
    fn decode_dense<'a>(
        &'a self,
        place: usize,
        zone: usize,
        name: Option<&str>,
        memo: &ZoneMemo<'a>,
        codes: &mut [u8],
        bytes: &mut [u8],
    ) -> Result<Option<BooleanBuffer>> {
        let (group, member) = self.members[place];
        let (Form::Dense(form), Some(meta)) = (&self.forms[group], &self.directory.groups[group].dense) else {
            return Err(Error::Internal(format!("group {group} has no dense pages")));
        };
        let records = self.directory.zone(zone);
        let read = || {
            let (offset, length) = span(meta, &records);
            let buffer = self.read(offset, length, memo)?;
            ZonePages::parse((meta, form), (group, &self.resume), records, self.directory.rows, buffer).map_err(
                |detail| {
                    self.source.is_damaged(offset, length);
                    Error::corrupt(&self.place, detail)
                },
            )
        };
        let entry = self.directory.block(place, zone);
        let decoded = match form.fields.len() {
            1 => read()?.decode(member, entry, codes, bytes),
            _ => memo.pages((self.key, group), read)?.decode(member, entry, codes, bytes),
        };
        decoded.map_err(|detail| {
            let (offset, length) = span(meta, &self.directory.zone(zone));
            self.source.is_damaged(offset, length);
            Error::corrupt(&self.place, format!("{} zone {zone}: {detail}", self.column_text(place, name)))
        })
    }

    /// A column in errors.
    fn column_text(&self, place: usize, name: Option<&str>) -> String {
        let number = self.directory.columns[place].column;
        name.map_or_else(|| format!("column {number}"), |name| format!("column '{name}'"))
    }

    /// Verifies and decodes one block, given its column's name where that is known.
    fn decode(
        &self,
        place: usize,
        zone: usize,
        name: Option<&str>,
        block: &[u8],
        codes: &mut [u8],
        bytes: &mut [u8],
    ) -> Result<Option<BooleanBuffer>> {
        let (entry, meta) = (*self.directory.block(place, zone), &self.directory.columns[place]);
        let expected = Expected { rows: self.directory.zone(zone).len(), native: meta.native(), entry };
        decode(block, &expected, codes, bytes).map_err(|detail| {
            let column = self.column_text(place, name);
            self.source.is_damaged(entry.offset, entry.length as usize);
            Error::corrupt(&self.place, format!("{column} zone {zone} (at byte {}): {detail}", entry.offset))
        })
    }
}
