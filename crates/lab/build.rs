//! Hands the name of the cargo profile to the build: a figure without its profile means nothing. Cargo tells a build
//! script only `debug` or `release`, so the name is taken from the folder that it builds in.

use std::path::Path;

fn main() {
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    // OUT_DIR is TARGET/PROFILE/build/PACKAGE-HASH/out; the profile `dev` builds in `debug`.
    let profile = Path::new(&out).ancestors().nth(3).and_then(|folder| folder.file_name()?.to_str());
    println!("cargo:rustc-env=GINGHAM_PROFILE={}", profile.unwrap_or("unknown"));
    println!("cargo:rerun-if-changed=build.rs");
}
