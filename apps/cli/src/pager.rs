//! Long results through a pager, as psql shows them: `$PAGER`, or `less`.
//!
//! Nothing is started for what the screen has room for. Whoever leaves the pager early has seen enough: the statement ends without a
//! word. While the pager has the screen, Ctrl-C is its own.

use crate::interrupt::paging;
use crate::output::Screen;
use std::io::{ErrorKind, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use unicode_width::UnicodeWidthStr;

/// The pager where the environment names none.
const LESS: &str = "less";
/// What `less` is told by way of the environment, where that does not say it: lines are not wrapped (arrows go to the right), colours are
/// shown, and what was seen stays on the screen.
const LESS_OPTIONS: &str = "SRX";
/// Bytes of a result that are held back to see whether it needs the pager.
const HELD: usize = 1 << 20;

/// Writes to a pager once the text is more than the screen has room for, and else to what is below.
#[derive(Debug)]
pub struct Paged<'o, W: Write> {
    below: &'o mut W,
    /// How the pager is started, where there is one.
    pager: Option<Command>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// All goes below.
    Plain,
    /// It may still fit the screen.
    Held { text: Vec<u8>, lines: usize, seen: usize, screen: Screen },
    /// The pager has the screen.
    Pager(Pager),
}

impl<'o, W: Write> Paged<'o, W> {
    /// A writer that needs a pager for more than the screen has room for; none at all without a screen.
    pub fn new(below: &'o mut W, screen: Option<Screen>) -> Self {
        Self::with(below, screen, command())
    }

    fn with(below: &'o mut W, screen: Option<Screen>, pager: Option<Command>) -> Self {
        let held = |screen| State::Held { text: Vec::new(), lines: 0, seen: 0, screen };
        Self { below, state: screen.filter(|_| pager.is_some()).map_or(State::Plain, held), pager }
    }

    /// Writes what was held back, or waits until the pager is left. True when that was before it had all.
    pub fn close(mut self) -> std::io::Result<bool> {
        match std::mem::replace(&mut self.state, State::Plain) {
            State::Plain => Ok(false),
            State::Held { text, .. } => self.below.write_all(&text).map(|()| false),
            State::Pager(pager) => Ok(pager.close()),
        }
    }

    fn hold(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let State::Held { text, lines, seen, screen } = &mut self.state else { return Ok(()) };
        text.extend_from_slice(bytes);
        let mut is_wide = false;
        while let Some(length) = text[*seen..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&text[*seen..*seen + length]);
            is_wide |= line.width() > screen.columns;
            *lines += 1;
            *seen += length + 1;
        }
        // The prompt takes a line, too.
        if !is_wide && *lines < screen.rows && text.len() < HELD {
            return Ok(());
        }
        let text = std::mem::take(text);
        self.below.flush()?;
        self.state = self.pager.take().and_then(Pager::start).map_or(State::Plain, State::Pager);
        self.write_all(&text)
    }
}

impl<W: Write> Write for Paged<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.state {
            State::Plain => self.below.write(bytes),
            State::Held { .. } => self.hold(bytes).map(|()| bytes.len()),
            State::Pager(pager) => pager.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self.state {
            State::Plain => self.below.flush(),
            State::Held { .. } => Ok(()),
            State::Pager(ref mut pager) => pager.give(),
        }
    }
}

/// A pager that runs.
#[derive(Debug)]
struct Pager {
    input: ChildStdin,
    /// Bytes that were not given yet.
    buffer: Vec<u8>,
    /// Whether it was left.
    left: Arc<AtomicBool>,
    /// Whether it was left before it had all.
    missed: bool,
    waiting: JoinHandle<()>,
}

impl Pager {
    /// Bytes given at once.
    const BUFFER: usize = 1 << 14;

    /// Starts the pager; none where it can't be started, as where no `less` is installed.
    fn start(mut command: Command) -> Option<Self> {
        paging(true);
        let child = command.stdin(Stdio::piped()).spawn();
        let Some((input, child)) = child.ok().and_then(|mut child| Some((child.stdin.take()?, child))) else {
            paging(false);
            return None;
        };
        let left = Arc::new(AtomicBool::new(false));
        let waiting = std::thread::spawn({
            let left = Arc::clone(&left);
            move || await_end(child, &left)
        });
        Some(Self { input, buffer: Vec::with_capacity(Self::BUFFER), left, missed: false, waiting })
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= Self::BUFFER {
            self.give()?;
        }
        Ok(bytes.len())
    }

    fn give(&mut self) -> std::io::Result<()> {
        let given = match self.left.load(Ordering::SeqCst) {
            true => Err(ErrorKind::BrokenPipe.into()),
            false => self.input.write_all(&self.buffer),
        };
        self.missed |= given.is_err();
        self.buffer.clear();
        given
    }

    /// Gives what is left and waits until the pager is left.
    fn close(mut self) -> bool {
        let _ = self.give();
        drop(self.input);
        let _ = self.waiting.join();
        self.missed
    }
}

fn await_end(mut child: Child, left: &AtomicBool) {
    // One that can't be waited for is as good as gone.
    let _ = child.wait();
    paging(false);
    left.store(true, Ordering::SeqCst);
}

/// How the pager is started: `$PAGER` by the shell; when it is empty, by nothing.
fn command() -> Option<Command> {
    let set = |name| std::env::var_os(name).is_some();
    let mut command = match std::env::var("PAGER") {
        Ok(pager) if pager.trim().is_empty() => return None,
        Ok(pager) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", &pager]);
            shell
        }
        Err(_) => Command::new(LESS),
    };
    if !set("LESS") {
        command.env("LESS", LESS_OPTIONS);
    }
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Screen = Screen { columns: 10, rows: 5 };

    fn shell(command: &str) -> Option<Command> {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        Some(shell)
    }

    /// What goes below, and what a pager gets, of lines with these texts.
    fn paged(lines: &[&str], screen: Option<Screen>) -> (String, Option<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("seen");
        let mut below = Vec::new();
        let mut out = Paged::with(&mut below, screen, shell(&format!("cat > '{}'", file.display())));
        for line in lines {
            writeln!(out, "{line}").expect("room");
        }
        assert!(!out.close().expect("the end"), "the pager has all");
        (String::from_utf8(below).expect("text"), std::fs::read_to_string(file).ok())
    }

    #[test]
    fn a_pager_is_for_what_the_screen_has_no_room_for() {
        assert_eq!(paged(&["a"; 4], Some(SCREEN)), ("a\n".repeat(4), None));
        assert_eq!(paged(&["a"; 5], Some(SCREEN)), (String::new(), Some("a\n".repeat(5))));
        assert_eq!(paged(&["a"; 9999], Some(SCREEN)), (String::new(), Some("a\n".repeat(9999))));
        assert_eq!(paged(&["日本語日本"], Some(SCREEN)).1, None, "as wide as the screen");
        assert_eq!(paged(&["日本語日本!"], Some(SCREEN)), (String::new(), Some("日本語日本!\n".to_owned())));
        assert_eq!(paged(&["a"; 9], None), ("a\n".repeat(9), None));
        assert_eq!(paged(&[], Some(SCREEN)), (String::new(), None));
    }

    #[test]
    fn a_pager_that_is_left_early_breaks_the_pipe() {
        let mut below = Vec::new();
        let mut out = Paged::with(&mut below, Some(SCREEN), shell("head -n 1 > /dev/null"));
        let broken = (0..1_000_000).find_map(|_| writeln!(out, "a line").err());
        assert_eq!(broken.map(|error| error.kind()), Some(ErrorKind::BrokenPipe));
        assert!(out.close().expect("the end"));
        assert!(below.is_empty());
    }

    #[test]
    fn without_a_pager_all_is_plain() {
        let mut below = Vec::new();
        let mut out = Paged::with(&mut below, Some(SCREEN), Some(Command::new("/nowhere/less")));
        write!(out, "{}", "a\n".repeat(9)).expect("room");
        assert!(!out.close().expect("the end"));
        assert_eq!(below, "a\n".repeat(9).as_bytes());
        let mut below = Vec::new();
        write!(Paged::with(&mut below, Some(SCREEN), None), "a").expect("room");
        assert_eq!(below, b"a");
    }
}
