//! A compiled program that runs loops when it is told so. It is another process: one that dies, hangs or is wrong takes nothing with it.

use super::data::MappedFile;
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Patience with one loop: many times what the slowest takes over the largest data.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that runs.
#[derive(Debug)]
pub struct Program {
    /// The set-up that made it.
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<std::io::Result<String>>,
    patience: Duration,
}

/// The answer of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Nanoseconds that it took.
    pub nanoseconds: u64,
    /// The loop's result.
    pub result: i64,
}

impl Program {
    /// Starts a program, known by the set-up that made it.
    pub fn start(name: &str, path: &Path) -> Result<Self, String> {
        let mut command = Command::new(path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{name}: {}: {error}", path.display()))?;
        let (sender, answers) = channel();
        if let Some(output) = child.stdout.take() {
            // A thread of its own, so that an answer that does not come can be given up. It ends with the program.
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines() {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let input = child.stdin.take();
        Ok(Self { name: name.to_owned(), child, input, answers, patience: PATIENCE })
    }

    /// The program's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Maps a file; gives the KiB of the program's memory that lie in huge pages then.
    pub fn map(&mut self, slot: usize, file: &MappedFile, huge: bool) -> Result<u64, String> {
        let pages = if huge { "huge" } else { "small" };
        let said = self.ask(&format!("map {slot} {} {pages} {}", file.bytes, file.path().display()))?;
        let kib = said.strip_prefix("ok ").and_then(|kib| kib.parse().ok());
        kib.ok_or_else(|| self.refused("mapping its data", &said))
    }

    /// Runs a loop over the records of a mapped file, in chunks of `k`.
    pub fn run(&mut self, own: &str, slot: usize, records: usize, k: usize) -> Result<Answer, String> {
        let said = self.ask(&format!("run {own} {slot} {records} {k}"))?;
        let parsed = said.split_once(' ').and_then(|(nanoseconds, result)| {
            Some(Answer { nanoseconds: nanoseconds.parse().ok()?, result: result.parse().ok()? })
        });
        parsed.ok_or_else(|| self.refused(own, &said))
    }

    fn refused(&self, what: &str, said: &str) -> String {
        format!("{}, {what}: '{said}' instead of an answer", self.name)
    }

    fn ask(&mut self, line: &str) -> Result<String, String> {
        let sent = self.input.as_mut().map(|input| writeln!(input, "{line}").and_then(|()| input.flush()));
        if !matches!(sent, Some(Ok(()))) {
            return Err(self.died(line));
        }
        match self.answers.recv_timeout(self.patience) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(format!("{}, {line}: {error}", self.name)),
            Err(RecvTimeoutError::Disconnected) => Err(self.died(line)),
            Err(RecvTimeoutError::Timeout) => {
                // A late answer would be taken for that of the next line.
                let _ = self.child.kill();
                Err(format!("{}, {line}: no answer within {} s", self.name, self.patience.as_secs_f64()))
            }
        }
    }

    fn died(&mut self, line: &str) -> String {
        let how = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        format!("{}, {line}: the program ended with {how}", self.name)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.input = None;
        // It ends when its input does, unless it hangs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that variants share.
pub type SharedProgram = std::rc::Rc<RefCell<Program>>;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// The answer, or the error, of a program that is this script.
    fn told(script: &str) -> Result<Answer, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loops");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut program = Program::start("fake -O1", &path).unwrap();
        program.patience = Duration::from_millis(300);
        program.run("char4_min_row", 0, 10, 1)
    }

    #[test]
    fn what_goes_wrong_is_told_by_name() {
        assert_eq!(told("read line; echo 12 -34; read line"), Ok(Answer { nanoseconds: 12, result: -34 }));
        assert_eq!(
            told("read line; echo error no loop; read line").unwrap_err(),
            "fake -O1, char4_min_row: 'error no loop' instead of an answer"
        );
        let dead = told("read line; exit 7").unwrap_err();
        assert_eq!(dead, "fake -O1, run char4_min_row 0 10 1: the program ended with exit status: 7");
        assert_eq!(
            told("read line; exec sleep 600").unwrap_err(),
            "fake -O1, run char4_min_row 0 10 1: no answer within 0.3 s"
        );
    }
}
