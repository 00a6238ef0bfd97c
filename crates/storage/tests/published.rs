//! Manifests of published databases that earlier builds have written.

use gingham_storage::published::Manifest;
use std::path::Path;
use std::time::{Duration, SystemTime};

#[test]
fn a_manifest_of_version_1_is_read() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/published-v1");
    let read = |name: &str| std::fs::read(place.join(name)).expect("an object");
    let bytes = read("manifests/00000000000000000002");
    assert!(read("latest") == bytes);
    let manifest = Manifest::parse(&bytes, "here").expect("a manifest");
    let first = Manifest::parse(&read("manifests/00000000000000000001"), "here").expect("a manifest");
    assert_eq!((first.number, manifest.number), (1, 2));
    assert_eq!(first.database, manifest.database);
    assert_eq!((manifest.format, first.commit < manifest.commit), (11, true));
    let year = Duration::from_secs(366 * 86_400);
    assert!(manifest.time > SystemTime::UNIX_EPOCH + 56 * year && manifest.time > first.time);
    assert_eq!((manifest.segments.len(), &manifest.segments[..1]), (2, &first.segments[..]));
    for name in manifest.objects().chain(first.objects()) {
        let object = read(&name);
        assert!(name.ends_with(&format!("-{:08x}", crc32c::crc32c(&object))), "{name}");
    }
    assert_eq!(manifest.to_bytes(), bytes);
}
