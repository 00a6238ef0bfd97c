//! Single values of PAX pages: where few records of a zone qualify, the lines of the cache that hold their values are all that is
//! touched of a minipage.

use crate::io::lmdb::PinnedRun;
use crate::io::pool;
use crate::model::view::{ColumnView, PhysicalLayout};
use crate::pages::attribute::{Attribute, AttributeForm};
use crate::pages::gather::bare::Minipages;
use crate::pages::gather::{PADDING, padded};

/// The view of `own`, attribute `at`, in pages of so many records together, all of which was checked before. At `tids`, ascending, it
/// has the records' values, elsewhere any. None of them is NULL. `None` where that takes more than copying codes: the column is of byte
/// strings, there are gaps between records, or a page is no longer as it was when it was checked.
pub(crate) fn picked(
    own: &Attribute,
    at: usize,
    minipages: &Minipages,
    pages: &PinnedRun,
    rows: usize,
    tids: &[u32],
) -> Option<ColumnView> {
    let AttributeForm::Fixed(width) = own.kind else { return None };
    let mut bytes = pool::take_any(width * rows + PADDING);
    bytes.truncate(width * rows);
    let codes = bytes.as_slice_mut();
    let fits = match width {
        1 => pick::<1>(codes, at, minipages, pages, tids),
        2 => pick::<2>(codes, at, minipages, pages, tids),
        4 => pick::<4>(codes, at, minipages, pages, tids),
        8 => pick::<8>(codes, at, minipages, pages, tids),
        16 => pick::<16>(codes, at, minipages, pages, tids),
        _ => None,
    };
    fits?;
    let values = padded(bytes, pool::lend);
    let shape = match width {
        16 => PhysicalLayout::Wide { values },
        _ => PhysicalLayout::Contiguous { codes: values, width: width as u8 },
    };
    Some(ColumnView { rows, logical_type: own.logical_type.clone(), validity: None, shape, meaning: own.meaning() })
}

/// Copies the codes of records to their places among all.
fn pick<const WIDTH: usize>(
    codes: &mut [u8],
    at: usize,
    minipages: &Minipages,
    pages: &PinnedRun,
    tids: &[u32],
) -> Option<()> {
    let (codes, _) = codes.as_chunks_mut::<WIDTH>();
    let (mut first, mut rest) = (0, tids);
    // Memory is asked for all of them before the first is read.
    let mut found = Vec::with_capacity(tids.len());
    for (place, (_, page)) in pages.iter().enumerate() {
        let minipage = minipages.get(place, at)?;
        let end = first + minipage.records;
        let here = rest.iter().take_while(|tid| (**tid as usize) < end).count();
        if here > 0 {
            let (values, _) = page.get(minipage.bytes)?.as_chunks::<WIDTH>();
            for tid in &rest[..here] {
                let value = values.get((*tid as usize).checked_sub(first)?)?;
                gingham_kernels::fetch_ahead(value);
                found.push((*tid as usize, value));
            }
        }
        (first, rest) = (end, &rest[here..]);
    }
    for (tid, value) in found {
        *codes.get_mut(tid)? = *value;
    }
    (rest.is_empty() && first == codes.len()).then_some(())
}
