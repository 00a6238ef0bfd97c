//! Files that are read past the system's cache (read-optimized paper, section 5.3), and memory that such reads go to.
//!
//! A file is opened a second time for that, by the descriptor that is open already, so that it may be unlinked meanwhile. Where the file
//! system refuses O_DIRECT, it is read through the cache, which is told afterwards that nobody needs the bytes again.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Alignment of offsets, lengths and memory where the system does not tell it.
const ALIGNMENT: usize = 4096;

/// Set by tests: O_DIRECT is refused, as some file systems do.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Refuses O_DIRECT from now on, or no longer: for tests.
pub fn refuse_direct(refused: bool) {
    REFUSED.store(refused, Ordering::Relaxed);
}

/// A file that is read past the cache.
#[derive(Debug)]
pub(crate) struct DirectFile {
    file: File,
    is_direct: bool,
    alignment: usize,
}

impl DirectFile {
    /// The file that is open as `file`.
    pub fn reopen(file: &File) -> io::Result<Self> {
        if !REFUSED.load(Ordering::Relaxed)
            && let Ok(direct) = open_direct(file)
        {
            return Ok(Self { alignment: alignment(&direct).unwrap_or(ALIGNMENT), file: direct, is_direct: true });
        }
        Ok(Self { file: file.try_clone()?, is_direct: false, alignment: ALIGNMENT })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// False where the system's cache is used for want of anything else.
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// The power of two that offsets and lengths of reads are multiples of.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Reads once into `bytes` from `offset` on; gives how many bytes came, 0 at the end of the file.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        crate::io::system::read_some_at(&self.file, bytes, offset)
    }

    /// Tells the system that nobody needs bytes again that were read through its cache.
    pub fn forget(&self, offset: u64, length: usize) {
        if !self.is_direct {
            forget(&self.file, offset, length);
        }
    }
}

#[cfg(target_os = "linux")]
fn open_direct(file: &File) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)
}

/// Not offered elsewhere.
#[cfg(not(target_os = "linux"))]
fn open_direct(_file: &File) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The alignment that the file system asks of direct reads; `None` where it does not say.
#[cfg(target_os = "linux")]
fn alignment(file: &File) -> Option<usize> {
    use std::os::fd::AsRawFd;
    let mut facts = std::mem::MaybeUninit::<libc::statx>::zeroed();
    let (flags, wanted) = (libc::AT_EMPTY_PATH, libc::STATX_DIOALIGN);
    // SAFETY: the path is an empty NUL-terminated string, the descriptor is the open file's, and `facts` is room for one statx;
    // all of them live through the call. Zeroes are a statx too, so it is initialised whatever the system wrote.
    let facts = unsafe {
        if libc::statx(file.as_raw_fd(), c"".as_ptr(), flags, wanted, facts.as_mut_ptr()) != 0 {
            return None;
        }
        facts.assume_init()
    };
    let told = facts.stx_mask & wanted != 0;
    let alignment = facts.stx_dio_offset_align.max(facts.stx_dio_mem_align) as usize;
    // Reads of whole pages suit every device, and are no more than these.
    (told && alignment.is_power_of_two()).then(|| alignment.max(ALIGNMENT))
}

#[cfg(not(target_os = "linux"))]
fn alignment(_file: &File) -> Option<usize> {
    None
}

#[cfg(target_os = "linux")]
fn forget(file: &File, offset: u64, length: usize) {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is the open file's; the call reads and writes no memory of ours. Its failure is harmless.
    unsafe {
        libc::posix_fadvise(file.as_raw_fd(), offset as i64, length as i64, libc::POSIX_FADV_DONTNEED);
    }
}

#[cfg(not(target_os = "linux"))]
fn forget(_file: &File, _offset: u64, _length: usize) {}

/// Memory for one read, aligned for any file.
#[derive(Debug, Default)]
pub(crate) struct ReadBuffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl ReadBuffer {
    /// Memory for `length` bytes at a multiple of `alignment`; `None` when the system has none.
    pub fn new(length: usize, alignment: usize) -> Option<Self> {
        let mut memory = Vec::new();
        memory.try_reserve_exact(length.checked_add(alignment)?).ok()?;
        memory.resize(length + alignment, 0);
        let start = memory.as_ptr().align_offset(alignment);
        Some(Self { memory, start, length })
    }

    /// The bytes of the read.
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }

    /// The bytes, to be read into.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}
