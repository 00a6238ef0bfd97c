//! The program `gingham-server`. What it does is in the library beside it, so that tests may serve a database in their own process.

use std::process::ExitCode;

fn main() -> ExitCode {
    gingham::built_from(gingham_commit::COMMIT);
    gingham_server::run()
}
