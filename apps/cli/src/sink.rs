//! Where results go: standard output, or what `.output` and `.once` name: a file, or a command that reads them.

use crate::failure::Failure;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Stdout, Write};
use std::process::{Child, Command, Stdio};

/// Bytes that are written at once.
const BUFFER: usize = 1 << 16;

/// The end of all that is shown.
#[derive(Debug)]
pub struct Sink {
    stdout: BufWriter<Stdout>,
    elsewhere: Option<Elsewhere>,
    /// Whether one statement or command alone is written elsewhere.
    once: bool,
    /// Whether the reader of standard output has left.
    is_broken: bool,
}

#[derive(Debug)]
enum Elsewhere {
    File(BufWriter<File>, String),
    /// A shell's command that reads what is written.
    Command(BufWriter<std::process::ChildStdin>, Child, String),
}

impl Sink {
    /// Standard output.
    pub fn stdout() -> Self {
        let stdout = BufWriter::with_capacity(BUFFER, std::io::stdout());
        Self { stdout, elsewhere: None, once: false, is_broken: false }
    }

    /// Whether what is written now goes to standard output.
    pub fn is_stdout(&self) -> bool {
        self.elsewhere.is_none()
    }

    /// Whether the reader of standard output has left.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Writes to a file from here on, which is made anew, or to a command when the name begins with `|`. `once` is for the next
    /// statement or command alone.
    pub fn redirect(&mut self, name: &str, once: bool) -> Result<(), Failure> {
        self.restore()?;
        self.elsewhere = Some(match name.strip_prefix('|') {
            Some(command) => {
                let mut child = shell(command.trim())
                    .stdin(Stdio::piped())
                    .spawn()
                    .map_err(|error| Failure::failed(format!("can't run '{}': {error}", command.trim())))?;
                let Some(stdin) = child.stdin.take() else {
                    return Err(Failure::failed(format!("'{}' takes no input", command.trim())));
                };
                Elsewhere::Command(BufWriter::with_capacity(BUFFER, stdin), child, command.trim().to_owned())
            }
            None => match File::create(name) {
                Ok(file) => Elsewhere::File(BufWriter::with_capacity(BUFFER, file), name.to_owned()),
                Err(error) => return Err(Failure::failed(format!("can't write {name}: {error}"))),
            },
        });
        self.once = once;
        Ok(())
    }

    /// Writes to standard output from here on, after what was written elsewhere is there.
    pub fn restore(&mut self) -> Result<(), Failure> {
        self.once = false;
        match self.elsewhere.take() {
            None => {}
            Some(Elsewhere::File(mut file, name)) => {
                file.flush().map_err(|error| Failure::failed(format!("can't write {name}: {error}")))?;
            }
            Some(Elsewhere::Command(input, mut child, name)) => {
                // A command that has read enough leaves early, as behind a pipe of the shell's.
                drop(input);
                child.wait().map_err(|error| Failure::failed(format!("can't wait for '{name}': {error}")))?;
            }
        }
        Ok(())
    }

    /// Whether the next statement or command alone is written elsewhere.
    pub fn is_once(&self) -> bool {
        self.once
    }

    fn now(&mut self) -> &mut dyn Write {
        match &mut self.elsewhere {
            None => &mut self.stdout,
            Some(Elsewhere::File(file, _)) => file,
            Some(Elsewhere::Command(input, ..)) => input,
        }
    }

    fn noted<T>(&mut self, done: std::io::Result<T>) -> std::io::Result<T> {
        self.is_broken |= self.is_stdout() && done.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        done
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.now().write(bytes) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe && !self.is_stdout() => Ok(bytes.len()),
            written => self.noted(written),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self.now().flush() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe && !self.is_stdout() => Ok(()),
            flushed => self.noted(flushed),
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if let Err(failure) = self.restore() {
            eprintln!("error: {}", failure.message());
        }
    }
}

/// A command of the shell's.
pub fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]);
    shell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_commands_get_what_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, copy) = (folder.path().join("a.txt"), folder.path().join("b.txt"));
        let mut sink = Sink::stdout();
        sink.redirect(&file.display().to_string(), false).expect("a file");
        writeln!(sink, "one").expect("room");
        sink.redirect(&format!("| tr a-z A-Z > '{}'", copy.display()), true).expect("a command");
        writeln!(sink, "two").expect("room");
        assert!(sink.is_once() && !sink.is_stdout());
        sink.restore().expect("the end");
        assert!(sink.is_stdout());
        let read = |file| std::fs::read_to_string(file).expect("text");
        assert_eq!((read(file), read(copy)), ("one\n".to_owned(), "TWO\n".to_owned()));
        assert!(sink.redirect("/nowhere/a.txt", false).is_err_and(|error| error.message().contains("/nowhere/a.txt")));
    }

    #[test]
    fn a_command_may_leave_early() {
        let mut sink = Sink::stdout();
        sink.redirect("| true", false).expect("a command");
        for _ in 0..10_000 {
            writeln!(sink, "more than a pipe holds").expect("nobody minds");
        }
        sink.restore().expect("the end");
    }
}
