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
        let held = |screen| State::Held { text: Vec::new(), lines: 0, seen: 0, screen };
        Self { below, state: screen.map_or(State::Plain, held) }
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
        self.state = Pager::start().map_or(State::Plain, State::Pager);
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
            // The pager gets each write at once.
            State::Held { .. } | State::Pager(_) => Ok(()),
        }
    }
}

/// A pager that runs.
#[derive(Debug)]
struct Pager {
    input: ChildStdin,
    /// Bytes that were not given yet.
    buffer: Vec<u8>,
    left: Arc<AtomicBool>,
    waiting: JoinHandle<()>,
}

impl Pager {
    /// Bytes given at once.
    const BUFFER: usize = 1 << 14;

    /// Starts the pager; none where there is none to start.
    fn start() -> Option<Self> {
        let mut child = command()?.stdin(Stdio::piped()).spawn().ok()?;
        paging(true);
        let input = child.stdin.take()?;
        let left = Arc::new(AtomicBool::new(false));
        let waiting = std::thread::spawn({
            let left = Arc::clone(&left);
            move || await_end(child, &left)
        });
        Some(Self { input, buffer: Vec::with_capacity(Self::BUFFER), left, waiting })
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.left.load(Ordering::SeqCst) {
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= Self::BUFFER {
            self.give()?;
        }
        Ok(bytes.len())
    }

    fn give(&mut self) -> std::io::Result<()> {
        let given = self.input.write_all(&self.buffer);
        self.buffer.clear();
        given
    }

    /// Gives what is left and waits until the pager is left.
    fn close(mut self) -> bool {
        let given = self.give();
        drop(self.input);
        let _ = self.waiting.join();
        given.is_err()
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
