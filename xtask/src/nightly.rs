//! What is too long for CI, and the build times that CONTRIBUTING.md records.

use crate::process;
use std::path::Path;
use std::time::Instant;

/// Where Debian has the programs of the PostgreSQL that the engine's test of that name asks.
const POSTGRES: &str = "/usr/lib/postgresql/15/bin/postgres";

/// All tests in release with `GINGHAM_NIGHTLY=1`, which property tests read to widen their cases and the TPC-H test to
/// add the published answers at SF 1; where PostgreSQL is installed, with new statements that it answers too. Then Python's, whose
/// threads race for longer.
pub fn run(root: &Path) -> Result<(), String> {
    crate::tidy::run(root)?;
    crate::corpora::tell_age(root)?;
    let mut variables = vec![("GINGHAM_NIGHTLY", "1")];
    if Path::new(POSTGRES).exists() {
        variables.push(("GINGHAM_POSTGRES", "100000"));
    } else {
        println!("no {POSTGRES}: Gingham is not held against it tonight");
    }
    process::run(root, "cargo", &["test", "--release", "--locked"], &variables)?;
    process::run(root, "bash", &[".ci/python"], &variables)
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
