//! Chores of the project: `cargo xtask tidy | nightly | corpora | clients | aarch64 | measure-build`.
//!
//! No dependencies, so that it is built in a second and CI can afford it first.

mod clients;
mod corpora;
mod nightly;
mod portability;
mod process;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask tidy             check the habits that STYLE.md asks for
cargo xtask nightly          what is too long for CI: wide property tests, TPC-H answers at SF 1, in release
cargo xtask corpora DIR      SQLite's, DuckDB's, DataFusion's and PostgreSQL's SQL tests in DIR, with PostgreSQL to decide
cargo xtask clients          PostgreSQL's clients of several languages against the server
cargo xtask aarch64          compile our own crates for aarch64, as far as their C parts allow it
cargo xtask measure-build    time a build from nothing: dev with tests, then release (CONTRIBUTING.md has the table)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = root();
    let outcome = match names.as_slice() {
        ["tidy"] => tidy::run(&root),
        ["nightly"] => nightly::run(&root),
        ["corpora", dir, options @ ..] => corpora::run(&root, dir, options),
        ["clients", options @ ..] => clients::run(&root, options),
        ["aarch64"] => portability::run(&root),
        ["measure-build"] => nightly::measure_build(&root),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("unknown chore: {}\n{USAGE}", names.join(" "));
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The checkout: the folder above this crate's, which cargo names when it runs the program. The name at build time
/// is only the second choice: checkouts that share a target folder share the program too.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().unwrap_or(&here).to_path_buf()
}
