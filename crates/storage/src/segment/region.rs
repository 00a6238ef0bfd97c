//! Memory of one column of one segment: a mapping that is filled zone by zone and read through Arrow buffers.
//!
//! A region holds two runs one after the other: the codes (or values, or string offsets) of all zones, contiguous, and
//! the string bytes of all zones. Each zone's parts are written once, under the zone's lock, before anybody can get a
//! buffer of them, and never again; the buffers keep the region alive. Regions of 2 MiB and more ask for huge pages.

use crate::io::memory::CacheCharge;
use crate::{Error, Result};
use arrow::buffer::Buffer;
use gingham_kernels::Code;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Bytes that may be read past the end of a run.
pub(crate) const PADDING: usize = 64;
/// Alignment of both runs.
const ALIGNMENT: usize = 64;
/// From this size on a region is a mapping of its own with huge pages asked for.
const HUGE: usize = 2 << 20;

/// Bytes of the two runs that one zone occupies, relative to the run.
#[derive(Debug, Clone)]
pub(crate) struct ZoneParts {
    /// In the run of codes, values or offsets.
    pub codes: Range<usize>,
    /// In the run of string bytes.
    pub bytes: Range<usize>,
}

/// A region with its zones; `M` is what is known of a zone once it is filled.
#[derive(Debug)]
pub(crate) struct ZonedRegion<M> {
    memory: Allocation,
    bytes_start: usize,
    zones: Vec<RegionZone<M>>,
    /// The cache's account, held as long as the memory.
    _charge: Option<CacheCharge>,
}

#[derive(Debug)]
struct RegionZone<M> {
    parts: ZoneParts,
    filling: Mutex<()>,
    filled: OnceLock<M>,
}

impl<M> ZonedRegion<M> {
    /// Bytes that a region for `zones` takes.
    pub fn size(zones: &[ZoneParts]) -> usize {
        let codes = zones.last().map_or(0, |zone| zone.codes.end);
        let bytes = zones.last().map_or(0, |zone| zone.bytes.end);
        Self::bytes_start(codes) + if bytes == 0 { 0 } else { bytes + PADDING }
    }

    fn bytes_start(codes: usize) -> usize {
        (codes + PADDING).next_multiple_of(ALIGNMENT)
    }

    /// A region with nothing filled. The parts must follow one another in both runs, from 0.
    pub fn new(zones: Vec<ZoneParts>, charge: Option<CacheCharge>) -> Result<Self> {
        let mut codes = 0;
        let mut bytes = 0;
        for zone in &zones {
            assert!(zone.codes.start == codes && zone.codes.end >= codes, "zones follow one another");
            assert!(zone.bytes.start == bytes && zone.bytes.end >= bytes, "zones follow one another");
            (codes, bytes) = (zone.codes.end, zone.bytes.end);
        }
        let size = Self::size(&zones);
        let memory = Allocation::new(size)
            .ok_or_else(|| Error::OutOfMemory(format!("the system gives no {size} bytes for a column of a segment")))?;
        let zones = zones
            .into_iter()
            .map(|parts| RegionZone { parts, filling: Mutex::new(()), filled: OnceLock::new() })
            .collect();
        Ok(Self { memory, bytes_start: Self::bytes_start(codes), zones, _charge: charge })
    }

    /// Whether a zone is filled.
    pub fn is_filled(&self, zone: usize) -> bool {
        self.zones[zone].filled.get().is_some()
    }

    /// What is known of `zone`, which `fill` writes first when nobody has: it gets the zone's codes and string bytes.
    /// One caller fills while others wait; when it fails, the next one tries again.
    pub fn fill(&self, zone: usize, fill: impl FnOnce(&mut [u8], &mut [u8]) -> Result<M>) -> Result<&M> {
        let zone = &self.zones[zone];
        if let Some(known) = zone.filled.get() {
            return Ok(known);
        }
        let _filling = zone.filling.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = zone.filled.get() {
            return Ok(known);
        }
        let (codes, bytes) = (&zone.parts.codes, &zone.parts.bytes);
        // SAFETY: both ranges lie within the allocation (`new` sized it by the last zone and checked that zones follow
        // one another, so they are also disjoint from every other zone's). Nobody else reads or writes them: writers
        // hold this zone's lock, and `buffers` gives the zone out only after `filled` is set, which happens below when
        // these slices are no longer used. The memory was zeroed, so it is initialised.
        let (codes, bytes) = unsafe {
            let base = self.memory.pointer.as_ptr();
            (
                std::slice::from_raw_parts_mut(base.add(codes.start), codes.len()),
                std::slice::from_raw_parts_mut(base.add(self.bytes_start + bytes.start), bytes.len()),
            )
        };
        let known = fill(codes, bytes)?;
        Ok(zone.filled.get_or_init(|| known))
    }
}

impl<M: Send + Sync + 'static> ZonedRegion<M> {
    /// Codes and string bytes of a filled zone, and what is known of it; `None` when it is not filled. Each buffer may
    /// be read [`PADDING`] bytes past its end.
    pub fn buffers(self: &Arc<Self>, zone: usize) -> Option<(Buffer, Buffer, &M)> {
        let parts = &self.zones[zone].parts;
        let known = self.zones[zone].filled.get()?;
        let codes = self.buffer(parts.codes.clone());
        let bytes = if parts.bytes.is_empty() {
            Buffer::from(Vec::<u8>::new())
        } else {
            self.buffer(self.bytes_start + parts.bytes.start..self.bytes_start + parts.bytes.end)
        };
        Some((codes, bytes, known))
    }

    fn buffer(self: &Arc<Self>, range: Range<usize>) -> Buffer {
        let owner = Arc::new(KeepAlive { _region: Arc::clone(self) });
        // SAFETY: the range lies within the allocation, as in `fill`; the zone is filled, so nobody writes it again;
        // the owner keeps the allocation alive as long as the buffer.
        unsafe { Buffer::from_custom_allocation(self.memory.pointer.add(range.start), range.len(), owner) }
    }
}

/// Keeps a region alive for a buffer.
struct KeepAlive<M> {
    _region: Arc<ZonedRegion<M>>,
}

// A panic can't leave a region half changed for later readers: a zone is given out only when it is filled.
impl<M> std::panic::RefUnwindSafe for KeepAlive<M> {}

/// A zone's bytes as native codes.
pub(crate) fn as_codes<C: Code>(bytes: &mut [u8]) -> &mut [C] {
    // SAFETY: `Code` is implemented for the unsigned integers only, which any bytes are a value of.
    let (before, codes, after) = unsafe { bytes.align_to_mut::<C>() };
    assert!(before.is_empty() && after.is_empty(), "zones of codes are aligned to the code's width");
    codes
}

/// Zeroed memory, aligned to [`ALIGNMENT`].
#[derive(Debug)]
struct Allocation {
    pointer: NonNull<u8>,
    size: usize,
}

// SAFETY: the allocation is owned memory without thread affinity; `ZonedRegion` orders all access to it.
unsafe impl Send for Allocation {}
// SAFETY: as above; a shared reference gives nothing but the address.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// `size` zeroed bytes (at least one); `None` when the system has none.
    fn new(size: usize) -> Option<Self> {
        let size = size.max(1);
        let pointer = if is_mapped(size) { map(size) } else { allocate(size) };
        pointer.map(|pointer| Self { pointer, size })
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if is_mapped(self.size) {
            unmap(self.pointer, self.size);
        } else if let Some(layout) = layout(self.size) {
            // SAFETY: allocated by `allocate` with the same layout, and freed only here.
            unsafe { std::alloc::dealloc(self.pointer.as_ptr(), layout) };
        }
    }
}

fn is_mapped(size: usize) -> bool {
    cfg!(target_os = "linux") && size >= HUGE
}

fn layout(size: usize) -> Option<std::alloc::Layout> {
    std::alloc::Layout::from_size_align(size, ALIGNMENT).ok()
}

fn allocate(size: usize) -> Option<NonNull<u8>> {
    // SAFETY: the layout's size is not zero, `Allocation::new` sees to that.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(layout(size)?) })
}

#[cfg(target_os = "linux")]
fn map(size: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new private anonymous mapping touches no existing memory; the kernel zeroes it.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: advice about the mapping just made; failure (no huge pages here) is harmless.
    unsafe { libc::madvise(address, size, libc::MADV_HUGEPAGE) };
    NonNull::new(address.cast())
}

#[cfg(target_os = "linux")]
fn unmap(pointer: NonNull<u8>, size: usize) {
    // SAFETY: exactly the mapping that `map` made, unmapped only here; no buffer refers to it any more.
    unsafe { libc::munmap(pointer.as_ptr().cast(), size) };
}

#[cfg(not(target_os = "linux"))]
fn map(size: usize) -> Option<NonNull<u8>> {
    allocate(size)
}

#[cfg(not(target_os = "linux"))]
fn unmap(_pointer: NonNull<u8>, _size: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn zones(sizes: &[(usize, usize)]) -> Vec<ZoneParts> {
        let (mut codes, mut bytes) = (0, 0);
        sizes
            .iter()
            .map(|&(c, b)| {
                let parts = ZoneParts { codes: codes..codes + c, bytes: bytes..bytes + b };
                (codes, bytes) = (codes + c, bytes + b);
                parts
            })
            .collect()
    }

    #[test]
    fn zones_are_filled_once_and_outlive_the_region() {
        for scale in [1, 3 << 20] {
            let region = Arc::new(ZonedRegion::new(zones(&[(8, 5), (4 * scale, scale)]), None).unwrap());
            assert!(region.buffers(1).is_none());
            region
                .fill(1, |codes, bytes| {
                    codes.fill(7);
                    bytes.fill(9);
                    Ok("one")
                })
                .unwrap();
            let (codes, bytes, known) = region.buffers(1).unwrap();
            assert_eq!(*known, "one");
            let again = region.fill(1, |_, _| panic!("filled twice")).unwrap();
            assert_eq!(*again, "one");
            assert!(region.buffers(0).is_none());
            drop(region);
            assert!(codes.len() == 4 * scale && codes.iter().all(|byte| *byte == 7));
            assert!(bytes.len() == scale && bytes.iter().all(|byte| *byte == 9));
        }
    }

    #[test]
    fn a_failed_fill_is_tried_again() {
        let region = Arc::new(ZonedRegion::new(zones(&[(8, 0)]), None).unwrap());
        assert!(region.fill(0, |_, _| Err::<(), _>(Error::Cancelled)).is_err());
        assert!(region.buffers(0).is_none());
        region
            .fill(0, |codes, _| {
                codes.fill(1);
                Ok(())
            })
            .unwrap();
        assert_eq!(region.buffers(0).unwrap().0.as_slice(), [1; 8]);
    }
}
