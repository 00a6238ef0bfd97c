//! A catalog brought to a local folder, where LMDB can open it: portion by portion, with requests for the next ones under way.

use crate::io::remote::files::{RemoteFile, RemoteFiles};
use crate::published::manifest::Manifest;
use crate::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are written at a time.
const PORTION: u64 = 4 << 20;
/// Portions that are read ahead.
const AHEAD: u64 = 8;

/// Writes the catalog of a manifest into the new file `to`, and verifies its checksum.
pub(crate) fn fetch_catalog(files: &Arc<RemoteFiles>, manifest: &Manifest, to: &Path) -> Result<()> {
    let remote = files.file(manifest.catalog_name(), manifest.catalog_length);
    let mut file = File::create_new(to).map_err(Error::io("creating", to))?;
    let (mut sum, mut ahead) = (0, 0);
    for start in (0..manifest.catalog_length).step_by(PORTION as usize) {
        while ahead < manifest.catalog_length && ahead <= start + AHEAD * PORTION {
            remote.read_ahead(std::iter::once((ahead, portion(&remote, ahead))));
            ahead += PORTION;
        }
        let bytes = remote.read(start, portion(&remote, start))?;
        sum = crc32c::crc32c_append(sum, &bytes);
        file.write_all(&bytes).map_err(Error::io("writing", to))?;
    }
    if sum == manifest.catalog_checksum {
        return Ok(());
    }
    remote.forget(0, usize::try_from(manifest.catalog_length).unwrap_or(usize::MAX));
    let detail = format!(
        "the catalog's checksum is {sum:08x} where the manifest has {:08x} (bytes 0 to {})",
        manifest.catalog_checksum, manifest.catalog_length
    );
    Err(Error::corrupt(remote.place(), detail))
}

fn portion(remote: &RemoteFile, start: u64) -> usize {
    (remote.length() - start).min(PORTION) as usize
}
