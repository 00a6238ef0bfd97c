//! Questions to the operating system: the limit on open files, whether a folder lies on a network, which file a name stands
//! for; and the exchange of two names.

use std::io;
use std::path::Path;

/// Raises the soft limit of open files to the hard limit: a snapshot holds every segment file of its tables open.
/// A refusal is not an error; opening a file says so later.
#[cfg(unix)]
pub(crate) fn raise_open_file_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit that lives through both calls; getrlimit only writes it, setrlimit only reads it.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// Nothing to raise elsewhere.
#[cfg(not(unix))]
pub(crate) fn raise_open_file_limit() {}

/// The process that holds a file's lock, as the system lists them; none where it does not tell, as of processes outside of this
/// one's container.
#[cfg(target_os = "linux")]
pub(crate) fn lock_holder(file: &std::fs::File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let facts = file.metadata().ok()?;
    let (device, inode) = (facts.dev(), facts.ino());
    let place = format!("{:02x}:{:02x}:{inode}", libc::major(device), libc::minor(device));
    // A line: `1: FLOCK ADVISORY WRITE 4711 fe:00:9980224 0 EOF`; with `->` it is of one who waits.
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [_, "FLOCK", _, "WRITE", process, at, ..] if at == place => process.parse().ok().filter(|process| *process > 0),
        _ => None,
    })
}

/// Not asked elsewhere.
#[cfg(not(target_os = "linux"))]
pub(crate) fn lock_holder(_file: &std::fs::File) -> Option<u32> {
    None
}

/// The kind of network file system that `path` lies on, by statfs's magic numbers.
#[cfg(target_os = "linux")]
pub(crate) fn network_file_system(path: &Path) -> Option<&'static str> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut facts = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: `path` is a NUL-terminated string and `facts` is room for one statfs; both live through the call.
    let facts = unsafe {
        if libc::statfs(path.as_ptr(), facts.as_mut_ptr()) != 0 {
            return None;
        }
        facts.assume_init()
    };
    match facts.f_type as u32 {
        0x6969 => Some("NFS"),
        0x517B => Some("SMB"),
        0xFF53_4D42 => Some("CIFS"),
        0xFE53_4D42 => Some("SMB2"),
        0x0102_1997 => Some("9P"),
        0x5346_414F => Some("AFS"),
        0x7375_7245 => Some("Coda"),
        0x00C3_6400 => Some("Ceph"),
        0x0BD0_0BD0 => Some("Lustre"),
        _ => None,
    }
}

/// Not asked elsewhere.
#[cfg(not(target_os = "linux"))]
pub(crate) fn network_file_system(_path: &Path) -> Option<&'static str> {
    None
}

/// Bytes that may still be written to the file system that `path` lies on; `None` where the system does not say.
#[cfg(unix)]
pub fn free_bytes(path: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut facts = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: `path` is a NUL-terminated string and `facts` is room for one statvfs; both live through the call.
    let facts = unsafe {
        if libc::statvfs(path.as_ptr(), facts.as_mut_ptr()) != 0 {
            return None;
        }
        facts.assume_init()
    };
    // The widths of both differ between systems.
    #[allow(clippy::unnecessary_cast)]
    (facts.f_bavail as u64).checked_mul(facts.f_frsize as u64)
}

/// Not asked elsewhere.
#[cfg(not(unix))]
pub fn free_bytes(_path: &Path) -> Option<u64> {
    None
}

/// What tells one start of the system from the next; `None` where it does not say.
pub(crate) fn boot() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned()).filter(|boot| !boot.is_empty())
}

/// Time that the process has computed so far, on all of its threads.
#[cfg(unix)]
pub(crate) fn process_time() -> std::time::Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is room for one timespec, which the call writes or leaves.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    std::time::Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Not asked elsewhere.
#[cfg(not(unix))]
pub(crate) fn process_time() -> std::time::Duration {
    std::time::Duration::ZERO
}

/// Which file or folder a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity(u64, u64);

impl FileIdentity {
    /// What stands under `path` now.
    #[cfg(unix)]
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).map(|facts| Self(facts.dev(), facts.ino()))
    }

    /// Not known elsewhere.
    #[cfg(not(unix))]
    pub(crate) fn of(_path: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// What tells a file from another one, or from what it was before: nobody restores a file without changing one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    identity: Option<FileIdentity>,
    bytes: u64,
    modified: Option<std::time::SystemTime>,
    changed: (i64, i64),
}

impl FileState {
    /// The state of what stands under `path` now; `None` when that can't be told.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let facts = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        let changed = {
            use std::os::unix::fs::MetadataExt;
            (facts.ctime(), facts.ctime_nsec())
        };
        #[cfg(not(unix))]
        let changed = (0, 0);
        let (bytes, modified) = (facts.len(), facts.modified().ok());
        Some(Self { identity: FileIdentity::of(path).ok(), bytes, modified, changed })
    }
}

/// Makes `link` another name for the file `to`.
#[cfg(unix)]
pub(crate) fn link(to: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, link)
}

/// Not needed elsewhere.
#[cfg(not(unix))]
pub(crate) fn link(_to: &Path, _link: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Exchanges what two names stand for, in one step: at no moment is one of them missing.
#[cfg(target_os = "linux")]
pub(crate) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let (one, other) =
        (std::ffi::CString::new(one.as_os_str().as_bytes())?, std::ffi::CString::new(other.as_os_str().as_bytes())?);
    let here = libc::AT_FDCWD;
    // SAFETY: both are NUL-terminated strings that live through the call.
    match unsafe { libc::renameat2(here, one.as_ptr(), here, other.as_ptr(), libc::RENAME_EXCHANGE) } {
        0 => Ok(()),
        _ => Err(match io::Error::last_os_error() {
            // A file system that knows no exchange, or not of what lies in several layers.
            error if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::EXDEV)) => {
                io::ErrorKind::Unsupported.into()
            }
            error => error,
        }),
    }
}

/// Not offered elsewhere.
#[cfg(not(target_os = "linux"))]
pub(crate) fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Reads once into `bytes` from `offset` of a file on, whoever else reads it; gives how many bytes came.
#[cfg(unix)]
pub(crate) fn read_some_at(file: &std::fs::File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

/// Reads once into `bytes` from `offset` of a file on, whoever else reads it; gives how many bytes came.
#[cfg(windows)]
pub(crate) fn read_some_at(file: &std::fs::File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

/// Fills `bytes` from `offset` of a file on, whoever else reads it.
#[cfg(unix)]
pub(crate) fn read_at(file: &std::fs::File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

/// Fills `bytes` from `offset` of a file on, whoever else reads it.
#[cfg(windows)]
pub(crate) fn read_at(file: &std::fs::File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = &mut bytes[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}
