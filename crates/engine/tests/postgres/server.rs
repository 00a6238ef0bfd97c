//! A PostgreSQL of its own: in a temporary folder, on a Unix socket alone, gone when it is dropped or the test dies.

use crate::answer::{Answer, Cell, Outcome, shown};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where Debian has the server's programs; elsewhere `GINGHAM_POSTGRES_BIN` says it.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// Parts the columns of psql's rows.
const COLUMN: char = '\u{1f}';
/// What psql shows for NULL.
const NULL: &str = "\u{1}";
/// Starts the line that psql writes after a statement.
const END: &str = "\u{1e}end";

/// A running server with two databases, which have the same tables.
pub struct Server {
    /// The shell that stops the server as soon as its standard input is closed, be it because this process was killed.
    guard: Child,
    /// The database whose answers count.
    pub first: Session,
    /// One whose rows lie in another order, and whose queries are planned otherwise: a statement to which it has another
    /// answer has more than one.
    pub second: Session,
    _folder: TempDir,
}

/// A psql that is connected to a database.
pub struct Session {
    psql: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Server {
    /// Makes a server, starts it and connects to it.
    pub fn start() -> Self {
        let programs = std::env::var_os("GINGHAM_POSTGRES_BIN").map_or(PathBuf::from(PROGRAMS), PathBuf::from);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let user = unprivileged();
        if let Some((user, group)) = user {
            chown(folder.path(), Some(user), Some(group)).expect("the folder can be given to user postgres");
        }
        let program = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
            command
        };
        let mut initdb = program("initdb");
        initdb.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8"]);
        initdb.args(["--lc-collate=C", "--lc-ctype=C.UTF-8", "--pgdata=data"]);
        let status = become_user(&mut initdb, user).status();
        let status = status.unwrap_or_else(|error| panic!("{}/initdb: {error}", programs.display()));
        assert!(status.success(), "initdb failed");
        let guard = guarded(&programs, folder.path(), user);
        let mut first = Session::connect(folder.path(), "postgres", "");
        // A busy disk may take longer for it than a statement may take.
        let made = ["SET statement_timeout = 0", "CREATE DATABASE reversed", "RESET statement_timeout"];
        first.run(&made.map(str::to_owned)).unwrap_or_else(|error| panic!("{error}"));
        let plans = "-c enable_hashjoin=off -c enable_hashagg=off -c enable_mergejoin=off -c enable_material=off";
        let second = Session::connect(folder.path(), "reversed", plans);
        Self { guard, first, second, _folder: folder }
    }
}

impl Session {
    /// A psql that is connected, once the server takes connections.
    fn connect(folder: &Path, database: &str, options: &str) -> Self {
        let command = || {
            let mut psql = Command::new("psql");
            psql.args(["-X", "-q", "-A", "-t", "-U", "postgres", "-d", database, "-h"]).arg(folder);
            psql.arg("-F").arg(COLUMN.to_string()).arg("-P").arg(format!("null={NULL}"));
            psql.env("PGOPTIONS", format!("-c statement_timeout=5000 -c client_min_messages=error {options}"));
            psql.stderr(Stdio::null());
            psql
        };
        let until = Instant::now() + Duration::from_secs(60);
        while !command().args(["-c", "SELECT 1"]).stdout(Stdio::null()).status().expect("psql is installed").success() {
            let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
            assert!(Instant::now() < until, "the server did not start: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut psql = command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("psql is installed");
        let (ask, answers) = (psql.stdin.take(), psql.stdout.take().expect("it is a pipe"));
        Self { psql, ask, answers: BufReader::new(answers) }
    }

    /// What the server calls itself.
    pub fn version(&mut self) -> String {
        match self.ask("SHOW server_version") {
            Outcome::Answer(rows) => rows[0][0].clone().unwrap_or_default(),
            Outcome::Error(_, text) => panic!("{text}"),
        }
    }

    /// Runs one statement and gives its rows. Values of CHAR(n) come without the blanks at their end, which Gingham does not show.
    pub fn ask(&mut self, sql: &str) -> Outcome<Vec<Vec<Cell>>> {
        let outcome = self.told(&format!("{sql};"));
        let Outcome::Answer(mut rows) = outcome else { return outcome };
        let is_padded = |cell: &Cell| cell.as_ref().is_some_and(|text| text.ends_with(' '));
        if rows.iter().flatten().any(is_padded) {
            // The name and the type of each column.
            let Outcome::Answer(columns) = self.told(&format!("{sql} \\gdesc")) else { return Outcome::Answer(rows) };
            for (at, column) in columns.iter().enumerate() {
                let is_char = column[1].as_ref().is_some_and(|kind| kind.starts_with("character(") || kind == "bpchar");
                for cell in rows.iter_mut().filter_map(|row| row[at].as_mut()).filter(|_| is_char) {
                    cell.truncate(cell.trim_end_matches(' ').len());
                }
            }
        }
        Outcome::Answer(rows)
    }

    /// The rows or the error that psql writes for a command.
    fn told(&mut self, command: &str) -> Outcome<Vec<Vec<Cell>>> {
        let ask = self.ask.as_mut().expect("psql is open until it is dropped");
        writeln!(ask, "{command}\n\\echo {END} :ERROR :SQLSTATE :LAST_ERROR_MESSAGE").expect("psql takes statements");
        ask.flush().expect("psql takes statements");
        let mut rows = Vec::new();
        loop {
            let mut line = String::new();
            let bytes = self.answers.read_line(&mut line).expect("psql answers in UTF-8");
            assert!(bytes > 0, "psql ended at: {command}");
            let line = line.trim_end_matches('\n');
            if let Some(end) = line.strip_prefix(END) {
                let mut words = end.trim_start().splitn(3, ' ');
                let (failed, code) = (words.next() == Some("true"), words.next().unwrap_or_default());
                let text = words.next().unwrap_or_default();
                return if failed { Outcome::Error(code.to_owned(), text.to_owned()) } else { Outcome::Answer(rows) };
            }
            rows.push(line.split(COLUMN).map(|cell| (cell != NULL).then(|| cell.to_owned())).collect());
        }
    }

    /// Runs statements one after the other until one fails.
    pub fn run(&mut self, script: &[String]) -> Result<(), String> {
        for sql in script {
            if let Outcome::Error(_, text) = self.ask(sql) {
                return Err(format!("{text}: {sql}"));
            }
        }
        Ok(())
    }

    /// The answer to a query, or to a statement that changes `table` as [`shown`] shows it, which is rolled back.
    pub fn answer(&mut self, sql: &str, table: Option<&str>) -> Outcome<Answer> {
        let Some(table) = table else {
            return match self.ask(sql) {
                Outcome::Answer(rows) => Outcome::Answer(Answer { rows, after: None }),
                Outcome::Error(code, text) => Outcome::Error(code, text),
            };
        };
        self.ask("BEGIN");
        let outcome = match self.ask(sql) {
            Outcome::Answer(rows) => match self.ask(&shown(table)) {
                Outcome::Answer(after) => Outcome::Answer(Answer { rows, after: Some(after) }),
                Outcome::Error(code, text) => Outcome::Error(code, text),
            },
            Outcome::Error(code, text) => Outcome::Error(code, text),
        };
        self.ask("ROLLBACK");
        outcome
    }
}

impl Drop for Server {
    /// Has the server stop. A failure can't be told from here, and the folder is removed all the same.
    fn drop(&mut self) {
        for session in [&mut self.first, &mut self.second] {
            session.ask.take();
            session.psql.wait().ok();
        }
        self.guard.stdin.take();
        self.guard.wait().ok();
    }
}

/// The user and group of `postgres` when this process is root's, whom the server refuses.
fn unprivileged() -> Option<(u32, u32)> {
    let own = std::fs::metadata("/proc/self").expect("Linux has /proc").uid();
    if own != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").expect("there is a list of users");
    let line = users.lines().find(|line| line.starts_with("postgres:")).expect("there is a user postgres");
    let fields: Vec<&str> = line.split(':').collect();
    Some((fields[2].parse().expect("a number"), fields[3].parse().expect("a number")))
}

fn become_user(command: &mut Command, user: Option<(u32, u32)>) -> &mut Command {
    match user {
        Some((user, group)) => command.uid(user).gid(group),
        None => command,
    }
}

/// Starts the server below a shell that stops it when its standard input ends.
fn guarded(programs: &Path, folder: &Path, user: Option<(u32, u32)>) -> Child {
    let script = format!(
        "'{0}'/postgres -D '{1}/data' -k '{1}' -c listen_addresses= -c fsync=off -c full_page_writes=off \
         -c autovacuum=off -c jit=off 2>'{1}/log' & server=$!; cat; kill -QUIT $server; wait $server; rm -rf '{1}'",
        programs.display(),
        folder.display()
    );
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::null());
    become_user(&mut shell, user).spawn().expect("a shell")
}
