//! The prompt as people have it: on a terminal, key by key.
#![cfg(unix)]

use nix::pty::{Winsize, openpty};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr;

/// How long an answer may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// The command on a terminal.
struct Terminal {
    keys: File,
    child: Child,
    output: Receiver<Vec<u8>>,
    /// What was written since the last thing that was waited for, without what only moves and colours.
    seen: String,
    bytes: Vec<u8>,
}

impl Terminal {
    /// Starts the command in a folder, which is its user's.
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::start_with(folder, arguments, &[], 100)
    }

    /// Starts it under variables of the environment, on a terminal of so many columns.
    fn start_with(folder: &Path, arguments: &[&str], variables: &[(&str, &str)], columns: u16) -> Self {
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pair = openpty(&size, None).expect("a terminal");
        let side = || pair.slave.try_clone().expect("the terminal's other side");
        // The terminal is the one that Ctrl-C of it reaches the command by.
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait", env!("CARGO_BIN_EXE_gingham")]).args(arguments);
        command.current_dir(folder).env("HOME", folder).env("TERM", "xterm-256color").env_remove("NO_COLOR");
        command.envs(variables.iter().copied());
        command.stdin(side()).stdout(side()).stderr(side());
        let child = command.spawn().expect("setsid, of util-linux, is there");
        drop(pair.slave);
        let keys = File::from(pair.master);
        let mut screen = keys.try_clone().expect("the terminal");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { keys, child, output, seen: String::new(), bytes: Vec::new() }
    }

    /// Starts it, and waits for its prompt.
    fn at_prompt(folder: &Path, arguments: &[&str]) -> Self {
        let mut terminal = Self::start(folder, arguments);
        terminal.expect("gingham> ");
        terminal
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until the terminal shows a text; what it showed before.
    fn expect(&mut self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Some(at) = self.seen.find(text) {
                let before = self.seen[..at].to_owned();
                self.seen.drain(..at + text.len());
                return before;
            }
            match self.output.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(bytes) => self.show(&bytes),
                Err(RecvTimeoutError::Timeout) => panic!("there is no {text:?} in {:?}", self.seen),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended without {text:?}: {:?}", self.seen),
            }
        }
    }

    fn show(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        // The last character may not have come as a whole, nor the last code.
        let text = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&self.bytes[..error.valid_up_to()]).expect("it was looked at"),
        };
        let (shown, length) = plain(text);
        self.seen.push_str(&shown);
        self.bytes.drain(..length);
    }

    /// Runs a line; what is written up to the next prompt.
    fn answer(&mut self, line: &str) -> String {
        self.types(&format!("{line}\r"));
        // The line is shown while it is typed, and once more when it is done.
        self.expect("\n");
        self.expect("gingham> ")
    }

    /// Waits for the end; the exit status.
    fn end(mut self) -> i32 {
        while self.output.recv_timeout(PATIENCE).is_ok() {}
        self.child.wait().expect("it ends").code().unwrap_or(-1)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A text without the codes that move the cursor and colour, and how much of it has been looked at.
fn plain(text: &str) -> (String, usize) {
    let (mut plain, mut at) = (String::new(), 0);
    while let Some(c) = text[at..].chars().next() {
        if c != '\u{1b}' {
            if c != '\r' && c != '\u{7}' {
                plain.push(c);
            }
            at += c.len_utf8();
            continue;
        }
        let code = &text[at..];
        let end = match code.strip_prefix("\u{1b}[") {
            Some(rest) => rest.find(|c: char| ('@'..='~').contains(&c)).map(|end| end + 3),
            None => code.chars().nth(1).map(|c| 1 + c.len_utf8()),
        };
        match end {
            Some(end) => at += end,
            None => break,
        }
    }
    (plain, at)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn statements_are_answered_and_words_leave() {
    let folder = folder();
    for leaves in ["quit\r", "exit;\r", ".quit\r", "\\q\r", "\u{4}"] {
        let mut terminal = Terminal::start(folder.path(), &[]);
        assert!(terminal.expect("gingham> ").contains("on a scratch database, which is gone at the end"));
        let answer = terminal.answer("select 6 * 7 as n;");
        assert!(answer.contains("│ 42 │") && answer.contains("(1 row)"), "{answer}");
        terminal.types(leaves);
        assert_eq!(terminal.end(), 0, "{leaves:?}");
    }
    let mut terminal = Terminal::at_prompt(folder.path(), &["db"]);
    assert!(terminal.answer("help").contains(".import FILE TABLE"));
    assert!(terminal.answer("create table t (a int);").contains("done"));
    assert!(terminal.answer("insert into t values (1), (2);").contains("2 rows"));
    terminal.types(".exit 3\r");
    assert_eq!(terminal.end(), 3);
}

#[test]
fn lines_go_on_with_a_prompt_that_says_within_what() {
    let folder = folder();
    let mut terminal = Terminal::at_prompt(folder.path(), &["--format", "csv"]);
    terminal.types("select 'a\rb' as x, (1\r+ 1) as n, /* a\r*/ \"Y\rz\"\rfrom (select 1 as \"Y\rz\");\r");
    let answer = terminal.expect("(1 row)");
    for prompt in ["\n      '> ", "\n      (> ", "\n      *> ", "\n      \"> ", "\n      -> "] {
        assert!(answer.contains(prompt), "{prompt:?}: {answer}");
    }
    assert!(answer.ends_with("x,n,\"Y\nz\"\n\"a\nb\",2,1\n"), "{answer}");
}

#[test]
fn several_lines_are_edited_as_one() {
    let folder = folder();
    let mut terminal = Terminal::at_prompt(folder.path(), &["--format", "csv"]);
    // Up from the end of the second line to the same place of the first, where a digit is put in; down, and on.
    terminal.types("select 1,\r       3\u{1b}[A2\u{1b}[B\u{1b}[F as n\r");
    terminal.expect("-> ");
    // Backspace at the begin of a line joins it with the one before, to whose begin Home goes, and Left to the first one's end.
    terminal.types("\u{7f} from (values (1));\u{1b}[H\u{1b}[D 9,\r");
    let answer = terminal.expect("(1 row)");
    assert!(answer.contains("select 12, 9,\n      ->        3 as n from (values (1));"), "{answer}");
    // As one it comes again.
    terminal.expect("gingham> ");
    terminal.types("\u{1b}[A\r");
    let again = terminal.expect("(1 row)");
    assert_eq!(again.lines().last(), answer.lines().last());
}

#[test]
fn tab_completes_and_lists_at_once() {
    let folder = folder();
    let mut terminal = Terminal::at_prompt(folder.path(), &[]);
    terminal.answer("create table fruit (fruit_id int, fruit_name varchar);");
    terminal.types("select * from fr\t");
    terminal.expect("from fruit");
    terminal.types(" where fruit_\t");
    let list = terminal.expect("fruit_name");
    assert!(list.contains("fruit_id"), "{list}");
    terminal.types("id = 1;\r");
    terminal.expect("(0 rows)");
    terminal.expect("gingham> ");
    std::fs::write(folder.path().join("some data.csv"), "a\n7\n").expect("a file");
    terminal.types("select * from 'som\t;\r");
    assert!(terminal.expect("(1 row)").contains("'some data.csv';"));
    terminal.expect("gingham> ");
    terminal.types(".tim\t");
    terminal.expect(".timing");
}

#[test]
fn control_c_cancels_and_clears_and_twice_leaves() {
    let folder = folder();
    let mut terminal = Terminal::at_prompt(folder.path(), &[]);
    terminal.types(
        "select sum(a.value * b.value % 7) from generate_series(1, 10000000) a, generate_series(1, 10000000) b;\r",
    );
    terminal.expect("(Ctrl-C cancels)");
    terminal.types("\u{3}");
    terminal.expect("error: cancelled");
    terminal.expect("gingham> ");
    terminal.types("select 'half a line\u{3}");
    terminal.expect("half a line\n");
    terminal.expect("gingham> ");
    assert!(terminal.answer("select 1 as n;").contains("(1 row)"));
    terminal.types("\u{3}");
    terminal.expect("(Ctrl-C once more leaves, as Ctrl-D and .quit do)");
    terminal.expect("gingham> ");
    // A line between them is none of both.
    assert!(terminal.answer("select 2 as n;").contains("(1 row)"));
    terminal.types("\u{3}");
    terminal.expect("once more leaves");
    terminal.expect("gingham> ");
    terminal.types("\u{3}");
    assert_eq!(terminal.end(), 0);
}

#[test]
fn up_finds_what_began_alike() {
    let folder = folder();
    let mut terminal = Terminal::at_prompt(folder.path(), &["--format", "csv"]);
    terminal.answer("select 41 as first;");
    terminal.answer("show tables;");
    terminal.types("sel\u{1b}[A\r");
    assert!(terminal.expect("(1 row)").ends_with("first\n41\n"));
    terminal.types(".quit\r");
    assert_eq!(terminal.end(), 0);
    // The next session knows it; Ctrl-R searches within lines.
    let mut terminal = Terminal::at_prompt(folder.path(), &["--format", "csv"]);
    terminal.types("\u{12}41\r");
    assert!(terminal.expect("(1 row)").ends_with("first\n41\n"));
}

#[test]
fn mistakes_are_pointed_at() {
    let folder = folder();
    let mut terminal = Terminal::at_prompt(folder.path(), &[]);
    let answer = terminal.answer("select 1 as one, tow;");
    assert!(answer.contains("error: column 'tow' does not exist"), "{answer}");
    assert!(answer.contains("LINE 1: select 1 as one, tow;\n                         ^\n"), "{answer}");
}

#[test]
fn the_prompts_file_is_run_first() {
    let folder = folder();
    std::fs::write(folder.path().join(".ginghamrc"), ".mode csv\nselect nosuch;\n").expect("a file");
    let mut terminal = Terminal::start(folder.path(), &[]);
    assert!(terminal.expect("gingham> ").contains(".ginghamrc:2: column 'nosuch' does not exist"));
    assert!(terminal.answer("select 1 as n;").contains("n\n1\n"));
    let mut terminal = Terminal::start(folder.path(), &["--init", "/dev/null"]);
    assert!(!terminal.expect("gingham> ").contains(".ginghamrc"));
    assert!(terminal.answer("select 1 as n;").contains("│ 1 │"));
}

#[test]
fn colours_are_shown_unless_they_are_not_wanted() {
    let folder = folder();
    for (wanted, variables) in [(true, &[][..]), (false, &[("NO_COLOR", "1")])] {
        let mut terminal = Terminal::start_with(folder.path(), &[], variables, 100);
        terminal.expect("gingham> ");
        terminal.types("select 'x");
        let begun = Instant::now();
        let mut bytes: Vec<u8> = Vec::new();
        while !String::from_utf8_lossy(&bytes).contains("'x") && begun.elapsed() < PATIENCE {
            if let Ok(more) = terminal.output.recv_timeout(PATIENCE) {
                bytes.extend(more);
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.contains("\u{1b}[1;34mselect"), wanted, "{text:?}");
    }
}

#[test]
fn answers_fit_the_screen() {
    let folder = folder();
    let wide = "select value as number, 'über 日本語 ' || value as text, repeat('語', 90) as kanji, value * 1000000007 as large, \
                timestamp '2024-02-29 12:30:00' as at, repeat('x', 120) as xs from generate_series(1, 60);";
    std::fs::write(folder.path().join("wide.sql"), wide).expect("a file");
    let plan = "explain analyze select sum(value * 3 + 1), count(*) from generate_series(1, 9) where value > 2;";
    std::fs::write(folder.path().join("plan.sql"), plan).expect("a file");
    for columns in [60, 200] {
        let mut terminal = Terminal::start_with(folder.path(), &[], &[], columns);
        terminal.expect("gingham> ");
        let answer = terminal.answer(".read wide.sql");
        let rows: Vec<&str> = answer.lines().filter(|line| line.starts_with(['┌', '│', '├', '└'])).collect();
        assert_eq!(rows.len(), 3 + 20 + 1 + 20 + 1, "a head of 20 rows and a tail of 20: {answer}");
        let widths: Vec<usize> = rows.iter().map(|row| row.width()).collect();
        assert!(widths.iter().all(|width| *width == widths[0] && *width <= usize::from(columns)), "{answer}");
        assert!(answer.contains("(60 rows, 40 shown") && answer.contains("日本語"), "{answer}");
        let plan = terminal.answer(".read plan.sql");
        let lines: Vec<&str> = plan.lines().filter(|line| line.contains("one group")).collect();
        assert!(!lines.is_empty() && plan.contains("planning "), "{plan}");
        assert!(lines.iter().all(|line| line.width() <= usize::from(columns)), "{plan}");
    }
}

#[test]
fn a_pager_has_all_rows_and_may_be_left() {
    let folder = folder();
    let mut terminal = Terminal::start_with(folder.path(), &[], &[("PAGER", "sed s/^/paged:/")], 100);
    terminal.expect("gingham> ");
    terminal.answer(".maxrows 0");
    let answer = terminal.answer("select value from generate_series(1, 100);");
    assert!(answer.contains("paged:│    50 │") && answer.contains("paged:(100 rows)"), "{answer}");
    // What fits the screen needs none.
    assert!(!terminal.answer("select 1 as n;").contains("paged"));
    let mut terminal = Terminal::start_with(folder.path(), &[], &[("PAGER", "head -n 4")], 100);
    terminal.expect("gingham> ");
    terminal.answer(".maxrows 0");
    let answer = terminal.answer("select value from generate_series(1, 3000000);");
    assert!(answer.contains("│     1 │") && !answer.contains("error") && !answer.contains("│   100 │"), "{answer}");
    assert!(terminal.answer("select 'still here' as s;").contains("still here"));
}
