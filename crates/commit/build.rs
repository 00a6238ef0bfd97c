//! Hands the checkout's commit to the compiler, and asks to be run again when that changes.

#[path = "src/checkout.rs"]
mod checkout;

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/checkout.rs");
    // Cargo runs a build script in the folder of its package.
    let found = checkout::of(&Path::new("..").join(".."));
    for file in found.iter().flat_map(|found| &found.files) {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    let mut version = env!("CARGO_PKG_VERSION").to_owned();
    if let Some(commit) = found.and_then(|found| found.commit) {
        println!("cargo:rustc-env=GINGHAM_COMMIT={commit}");
        version.push_str(&format!(" ({commit})"));
    }
    println!("cargo:rustc-env=GINGHAM_VERSION={version}");
}
