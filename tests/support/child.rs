//! Tests whose work may crash or is to be killed: the test program starts itself again, to run one test alone.

use std::path::Path;
use std::process::{Command, Stdio};

const ROLE: &str = "GINGHAM_TEST_ROLE";
const ARGUMENT: &str = "GINGHAM_TEST_ARGUMENT";

/// What this process was started for, when it is a child: the test that carries on reads its argument from here.
pub fn argument(role: &str) -> Option<String> {
    (std::env::var(ROLE).ok()? == role).then(|| std::env::var(ARGUMENT).unwrap_or_default())
}

/// A command that runs the test `role` of this program with `argument`.
pub fn command(role: &str, argument: &str) -> Command {
    command_of(&std::env::current_exe().unwrap(), role, argument)
}

/// A command that runs `program`, a copy of this test, in a role.
pub fn command_of(program: &Path, role: &str, argument: &str) -> Command {
    let mut command = Command::new(program);
    command.args([role, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(ARGUMENT, argument).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
