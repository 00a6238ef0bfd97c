//! A small file beside the database's own, that is written as a whole: a line that names it, a checksum, and what it keeps.
//!
//! ```text
//! gingham workload, format 1
//! 9a0b1c2d                      CRC-32C of all that follows, in hexadecimal digits
//! …
//! ```

use crate::{Error, Result};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes the file anew: whoever reads it finds all of it, or what was there before.
pub fn write_kept_file(path: &Path, head: &str, content: &[u8]) -> Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new).map_err(Error::io("creating", &new))?;
    let write = |file: &mut File| {
        write!(file, "{head}\n{:08x}\n", crc32c::crc32c(content))?;
        file.write_all(content)?;
        file.sync_all()
    };
    write(&mut file).map_err(Error::io("writing", &new))?;
    fs::rename(&new, path).map_err(Error::io("renaming", &new))
}

/// What the file keeps; `None` when there is none. Fails when it has another head, or was damaged.
pub fn read_kept_file(path: &Path, head: &str) -> Result<Option<Vec<u8>>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("reading", path)(error)),
    };
    let corrupt = |detail: &str| Error::corrupt(path.display().to_string(), detail);
    let rest = bytes.strip_prefix(head.as_bytes()).and_then(|rest| rest.strip_prefix(b"\n"));
    let rest = rest.ok_or_else(|| corrupt(&format!("its first line is not '{head}'")))?;
    let (digits, content) = rest.split_at_checked(9).ok_or_else(|| corrupt("it ends in its second line"))?;
    if digits != format!("{:08x}\n", crc32c::crc32c(content)).as_bytes() {
        return Err(corrupt("its checksum is not that of its content"));
    }
    Ok(Some(content.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_file_is_read_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        assert_eq!(read_kept_file(&path, "head").unwrap(), None);
        for content in [&b"first"[..], b"", b"second\nline"] {
            write_kept_file(&path, "head", content).unwrap();
            assert_eq!(read_kept_file(&path, "head").unwrap().as_deref(), Some(content));
        }
        assert!(read_kept_file(&path, "other").unwrap_err().to_string().contains("first line is not 'other'"));
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(read_kept_file(&path, "head").is_err(), "{length}");
        }
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            fs::write(&path, changed).unwrap();
            assert!(read_kept_file(&path, "head").is_err(), "{place}");
        }
    }
}
