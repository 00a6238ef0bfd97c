//! libc's calls that change files, defined in this program.
//!
//! The linker takes a program's own definition before a shared library's, so that LMDB, which is compiled into this program, and
//! Rust's standard library call these. Each makes the same system call as libc's and notes what it did when the recorder knows
//! the file. Barriers are noted but never made: the disk that counts is the replayer's, and what a killed process wrote stays
//! with the system. A call that is missing here would show
//! when a recorded log is held against the folder (`disk.rs`).

use crate::faults::{self, CallKind};
use crate::recorder::{self, Event, Inode, Name, NodeId, Recorder};
use libc::{
    AT_FDCWD, AT_REMOVEDIR, SYS_unlinkat, SYS_write, SYS_writev, c_char, c_int, c_long, c_uint, c_void, iovec, mode_t,
    stat,
};
use libc::{SYS_ftruncate, SYS_mkdirat, SYS_openat, SYS_pwrite64, SYS_pwritev, SYS_renameat2};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Defines functions under their C names.
macro_rules! interposed {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) -> $result:ty $body:block)*) => {$(
        // SAFETY: the symbol, its arguments and its result are those of the C library; callers owe what they owe libc's, and
        // the body hands all of it on to the same system call.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> $result $body
    )*};
}

/// A system call with its arguments as the kernel takes them; sets errno as libc's functions do.
macro_rules! system {
    ($number:expr $(, $argument:expr)*) => {
        // SAFETY: these are the caller's own arguments, for the call that it made.
        unsafe { libc::syscall($number $(, $argument)*) }
    };
}

interposed! {
    fn write(file: c_int, bytes: *const c_void, length: usize) -> isize {
        on_write(file, None, || Parts::One(bytes, length), || system!(SYS_write, file, bytes, length))
    }
    fn pwrite(file: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
        on_write(file, Some(at), || Parts::One(bytes, length), || system!(SYS_pwrite64, file, bytes, length, at))
    }
    fn pwrite64(file: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
        pwrite(file, bytes, length, at)
    }
    fn writev(file: c_int, parts: *const iovec, count: c_int) -> isize {
        on_write(file, None, || Parts::Many(parts, count), || system!(SYS_writev, file, parts, count))
    }
    fn pwritev(file: c_int, parts: *const iovec, count: c_int, at: i64) -> isize {
        on_write(file, Some(at), || Parts::Many(parts, count), || system!(SYS_pwritev, file, parts, count, at, 0))
    }
    fn pwritev64(file: c_int, parts: *const iovec, count: c_int, at: i64) -> isize {
        pwritev(file, parts, count, at)
    }
    fn fsync(file: c_int) -> c_int {
        on_sync(file)
    }
    fn fdatasync(file: c_int) -> c_int {
        on_sync(file)
    }
    fn ftruncate(file: c_int, length: i64) -> c_int {
        on_truncate(file, length)
    }
    fn ftruncate64(file: c_int, length: i64) -> c_int {
        on_truncate(file, length)
    }
    fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        on_open(AT_FDCWD, path, flags, mode)
    }
    fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        on_open(AT_FDCWD, path, flags, mode)
    }
    fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        on_open(folder, path, flags, mode)
    }
    fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        on_open(folder, path, flags, mode)
    }
    fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
        on_make_folder(path, mode)
    }
    fn rename(from: *const c_char, to: *const c_char) -> c_int {
        on_rename(from, to)
    }
    fn renameat2(one_folder: c_int, one: *const c_char, other_folder: c_int, other: *const c_char, flags: c_uint) -> c_int {
        on_exchange((one_folder, one), (other_folder, other), flags)
    }
    fn unlink(path: *const c_char) -> c_int {
        on_remove(AT_FDCWD, path, 0)
    }
    fn rmdir(path: *const c_char) -> c_int {
        on_remove(AT_FDCWD, path, AT_REMOVEDIR)
    }
    fn unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
        on_remove(folder, path, flags)
    }
}

/// Raises the limit on the size of files to what the process may have.
pub fn allow_large_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is room for one limit, which the first call writes and the second reads.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
}

/// What a call writes.
enum Parts {
    One(*const c_void, usize),
    Many(*const iovec, c_int),
}

impl Parts {
    /// Bytes of all.
    fn length(self) -> usize {
        match self {
            Self::One(_, own) => own,
            Self::Many(parts, count) => {
                // SAFETY: the caller of the C function owes `count` descriptions of buffers here.
                let parts = unsafe { std::slice::from_raw_parts(parts, count as usize) };
                parts.iter().map(|part| part.iov_len).sum()
            }
        }
    }

    /// The first `length` of the bytes.
    fn bytes(self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length);
        let mut add = |start: *const c_void, own: usize| {
            let own = own.min(length - bytes.len());
            // SAFETY: the system call has just read `length` bytes from these buffers, in this order.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(start.cast(), own) });
        };
        match self {
            Self::One(start, own) => add(start, own),
            Self::Many(parts, count) => {
                // SAFETY: the system call has just read `count` descriptions of buffers from here.
                for part in unsafe { std::slice::from_raw_parts(parts, count as usize) } {
                    add(part.iov_base, part.iov_len);
                }
            }
        }
        bytes
    }
}

/// The answer of a system without room.
fn no_room() -> c_int {
    // SAFETY: libc's own place for the error number of this thread.
    unsafe { *libc::__errno_location() = libc::ENOSPC };
    -1
}

/// Whether the disk refuses a call for an open file.
fn refuses(kind: CallKind, file: c_int) -> bool {
    faults::refuses(kind, || std::fs::read_link(format!("/proc/self/fd/{file}")).ok())
}

/// Whether the disk refuses to make a file or folder of this path.
fn refuses_to_create(folder: c_int, path: *const c_char) -> bool {
    faults::refuses(CallKind::Create, || {
        let path = whole(folder, path);
        let parent = path.parent()?.canonicalize().ok()?.join(path.file_name()?);
        (!path.exists()).then_some(parent)
    })
}

fn on_write(file: c_int, at: Option<i64>, parts: impl Fn() -> Parts, call: impl FnOnce() -> c_long) -> isize {
    let bytes = parts().length();
    if bytes > 0 && refuses(CallKind::Write(bytes, at), file) {
        return no_room() as isize;
    }
    recorder::with_recorder(|recorder| {
        let Some((recorder, node)) = known(recorder, file) else { return call() as isize };
        // SAFETY: questions about an open file, which change nothing.
        let (flags, current) = unsafe { (libc::fcntl(file, libc::F_GETFL), libc::lseek(file, 0, libc::SEEK_CUR)) };
        let at = if flags & libc::O_APPEND == 0 {
            at.unwrap_or(current)
        } else {
            facts(file).map_or(0, |facts| facts.st_size)
        };
        let written = call() as isize;
        if written > 0 {
            let synced = flags & libc::O_DSYNC != 0;
            let bytes = parts().bytes(written as usize);
            recorder.push(Event::Write { node, at: at as u64, bytes, synced });
        }
        written
    })
}

fn on_sync(file: c_int) -> c_int {
    if refuses(CallKind::Sync, file) {
        return no_room();
    }
    recorder::with_recorder(|recorder| {
        let Some((recorder, node)) = known(recorder, file) else { return 0 };
        if recorder.fails(node) {
            // SAFETY: libc's own place for the error number of this thread.
            unsafe { *libc::__errno_location() = libc::EIO };
            return -1;
        }
        recorder.push(Event::Sync { node });
        0
    })
}

fn on_truncate(file: c_int, length: i64) -> c_int {
    let grows = || facts(file).is_some_and(|facts| facts.st_size < length);
    if faults::is_armed() && grows() && refuses(CallKind::Lengthen, file) {
        return no_room();
    }
    recorder::with_recorder(|recorder| {
        let done = system!(SYS_ftruncate, file, length) as c_int;
        if let (0, Some((recorder, node))) = (done, known(recorder, file)) {
            recorder.push(Event::Truncate { node, length: length as u64 });
        }
        done
    })
}

fn on_open(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    let call = || system!(SYS_openat, folder, path, flags, mode) as c_int;
    if flags & libc::O_DSYNC != 0 && !recorder::is_recording() {
        return system!(SYS_openat, folder, path, flags & !libc::O_DSYNC, mode) as c_int;
    }
    if flags & (libc::O_CREAT | libc::O_TRUNC) == 0 {
        return call();
    }
    if flags & libc::O_CREAT != 0 && refuses_to_create(folder, path) {
        return no_room();
    }
    recorder::with_recorder(|recorder| {
        let named = recorder.and_then(|recorder| name(recorder, folder, path).map(|name| (recorder, name)));
        let Some((recorder, (name, path))) = named else { return call() };
        let existed = recorder::inode(&path).is_some();
        let file = call();
        if let Some(inode) = facts(file).map(|facts| (facts.st_dev, facts.st_ino)) {
            match recorder.node(inode) {
                _ if !existed => recorder.create(name, inode, false),
                Some(node) if flags & libc::O_TRUNC != 0 => recorder.push(Event::Truncate { node, length: 0 }),
                _ => {}
            }
        }
        file
    })
}

fn on_make_folder(path: *const c_char, mode: mode_t) -> c_int {
    if refuses_to_create(AT_FDCWD, path) {
        return no_room();
    }
    recorder::with_recorder(|recorder| {
        let done = system!(SYS_mkdirat, AT_FDCWD, path, mode) as c_int;
        if let (0, Some(recorder)) = (done, recorder)
            && let Some((name, path)) = name(recorder, AT_FDCWD, path)
            && let Some(inode) = recorder::inode(&path)
        {
            recorder.create(name, inode, true);
        }
        done
    })
}

fn on_rename(from: *const c_char, to: *const c_char) -> c_int {
    recorder::with_recorder(|recorder| {
        let gone = recorder.as_ref().and_then(|recorder| recorder::inode(&name(recorder, AT_FDCWD, to)?.1));
        let done = system!(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0) as c_int;
        if let (0, Some(recorder)) = (done, recorder)
            && let Some((from, _)) = name(recorder, AT_FDCWD, from)
            && let Some((to, path)) = name(recorder, AT_FDCWD, to)
            && let Some(node) = recorder::inode(&path).and_then(|inode| recorder.node(inode))
        {
            recorder.push(Event::Rename { from, to, node });
            recorder.forget(gone);
        }
        done
    })
}

/// The one use of this call: two names change places.
fn on_exchange(one: (c_int, *const c_char), other: (c_int, *const c_char), flags: c_uint) -> c_int {
    recorder::with_recorder(|recorder| {
        let done = system!(SYS_renameat2, one.0, one.1, other.0, other.1, flags) as c_int;
        let Some(recorder) = recorder.filter(|_| done == 0) else { return done };
        assert_eq!(flags, libc::RENAME_EXCHANGE, "a way to rename that is not recorded");
        let found = |(folder, path): (c_int, *const c_char)| {
            let (name, path) = name(recorder, folder, path)?;
            Some((name, recorder.node(recorder::inode(&path)?)?))
        };
        if let (Some(one), Some(other)) = (found(one), found(other)) {
            recorder.push(Event::Exchange { one, other });
        }
        done
    })
}

fn on_remove(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
    recorder::with_recorder(|recorder| {
        let gone = recorder.as_ref().and_then(|recorder| recorder::inode(&name(recorder, folder, path)?.1));
        let done = system!(SYS_unlinkat, folder, path, flags) as c_int;
        if let (0, Some(recorder)) = (done, recorder)
            && let Some((name, _)) = name(recorder, folder, path)
        {
            recorder.push(Event::Remove { name });
            recorder.forget(gone);
        }
        done
    })
}

/// The recorder and a file's number, when something is recorded and the file is a part of it.
fn known(recorder: Option<&mut Recorder>, file: c_int) -> Option<(&mut Recorder, NodeId)> {
    let recorder = recorder?;
    let facts = facts(file)?;
    let node = recorder.node((facts.st_dev, facts.st_ino))?;
    Some((recorder, node))
}

/// What the system knows of an open file.
fn facts(file: c_int) -> Option<stat> {
    let mut facts = std::mem::MaybeUninit::<stat>::zeroed();
    // SAFETY: `facts` is room for one answer, which zeros are too; it is used only when the call succeeded.
    (file >= 0 && unsafe { libc::fstat(file, facts.as_mut_ptr()) } == 0).then(|| unsafe { facts.assume_init() })
}

/// The path that a call names.
fn whole(folder: c_int, path: *const c_char) -> PathBuf {
    // SAFETY: the caller of open, rename and the like passes a NUL-terminated string.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    match folder {
        AT_FDCWD => path.to_path_buf(),
        _ => Path::new("/proc/self/fd").join(folder.to_string()).join(path),
    }
}

/// A path as folder and name, when the folder is recorded; and the path from the root.
fn name(recorder: &Recorder, folder: c_int, path: *const c_char) -> Option<(Name, PathBuf)> {
    let path = whole(folder, path);
    let inode: Inode = recorder::inode(path.parent()?)?;
    Some(((recorder.node(inode)?, path.file_name()?.as_bytes().to_vec()), path))
}
