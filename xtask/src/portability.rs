//! Keeping aarch64 compiling: `cargo check` of our own crates for a target that this machine does not run.

use crate::process;
use std::path::Path;

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// Crates without C parts: checked for the target anywhere.
const PURE: &[&str] = &["gingham-kernels"];
/// Crates that need a C compiler for the target (LMDB, zstd).
const WITH_C: &[&str] = &["gingham-storage", "gingham", "gingham-cli"];

/// Checks what can be checked here, and says what was left out and why.
pub fn run(root: &Path) -> Result<(), String> {
    let installed = process::output(root, "rustup", &["target", "list", "--installed"])?;
    if !installed.lines().any(|line| line.trim() == TARGET) {
        return Err(format!("the target {TARGET} is not installed: run `rustup target add {TARGET}`"));
    }
    for name in PURE {
        process::run(root, "cargo", &["check", "--locked", "--target", TARGET, "--package", name], &[])?;
    }
    let compiler = "aarch64-linux-gnu-gcc";
    if process::output(root, compiler, &["--version"]).is_err() {
        println!("left out, because {compiler} is missing and LMDB and zstd are C: {}", WITH_C.join(", "));
        return Ok(());
    }
    for name in WITH_C {
        process::run(root, "cargo", &["check", "--locked", "--target", TARGET, "--package", name], &[])?;
    }
    Ok(())
}
