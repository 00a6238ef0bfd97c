//! What is too long for CI, and the build times that CONTRIBUTING.md records.

use crate::process;
use std::path::Path;
use std::time::Instant;

/// All tests in release with `GINGHAM_NIGHTLY=1`, which property tests read to widen their cases and the TPC-H test to
/// add the published answers at SF 1.
pub fn run(root: &Path) -> Result<(), String> {
    crate::tidy::run(root)?;
    process::run(root, "cargo", &["test", "--release", "--locked"], &[("GINGHAM_NIGHTLY", "1")])
}

/// Builds from nothing in a folder of its own, and prints the seconds of each profile.
pub fn measure_build(root: &Path) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("gingham-measure-build-{}", std::process::id()));
    let target = folder.to_string_lossy().into_owned();
    let result = measure(root, &target);
    std::fs::remove_dir_all(&folder).map_err(|error| format!("can't remove {target}: {error}"))?;
    result
}

fn measure(root: &Path, target: &str) -> Result<(), String> {
    for arguments in [["test", "--no-run", "--locked"], ["build", "--release", "--locked"]] {
        let start = Instant::now();
        process::run(root, "cargo", &arguments, &[("CARGO_TARGET_DIR", target)])?;
        println!("cargo {}: {:.0} s from nothing", arguments.join(" "), start.elapsed().as_secs_f64());
    }
    Ok(())
}
