//! `gingham DB serve`: starts the server of PostgreSQL's protocol, which is a program of its own that lies beside this one.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "gingham-server";

/// Becomes the server of a database.
pub(crate) fn run(database: &Path, options: &[String]) -> Result<(), Failure> {
    let program = beside()?;
    if !program.is_file() {
        return Err(Failure::usage(format!(
            "the server is a program of its own, and {} is not there: build it with `cargo build --release --package {PROGRAM}`",
            program.display()
        )));
    }
    let mut command = Command::new(&program);
    command.arg("serve").arg(database).args(options);
    become_it(&mut command).map_err(|error| Failure::usage(format!("starting {}: {error}", program.display())))
}

/// Where the server lies when it was built with this program.
fn beside() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::usage(format!("finding this program: {error}")))?;
    Ok(own.with_file_name(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX)))
}

/// Goes on as another program, so that signals reach it.
#[cfg(unix)]
fn become_it(command: &mut Command) -> std::io::Result<()> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

/// Runs another program to its end.
#[cfg(not(unix))]
fn become_it(command: &mut Command) -> std::io::Result<()> {
    command.status().map(drop)
}
