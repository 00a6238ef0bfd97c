//! A folder in which tests run the command, as its users do.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A folder.
pub struct Place {
    pub folder: tempfile::TempDir,
}

/// What a run of the command gave.
#[derive(Debug)]
pub struct Run {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self { status: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file.
    pub fn file(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).expect("a file");
    }

    /// Runs the command with an input.
    pub fn run(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gingham"));
        command.args(arguments).current_dir(self.path()).env("HOME", self.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        // One that ends early leaves the rest unread.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        child.wait_with_output().expect("the command ends").into()
    }

    /// Runs the command, which succeeds and tells nothing but that a database is new; what it wrote.
    pub fn good(&self, arguments: &[&str], input: &str) -> String {
        let run = self.run(arguments, input);
        let told = run.err.lines().filter(|line| !line.starts_with("made a new database at ")).count();
        assert_eq!((run.status, told), (0, 0), "{arguments:?}: {run:?}");
        run.out
    }
}
