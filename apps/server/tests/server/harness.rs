//! A server of the test's own, and clients of it.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// A server that ends with the test.
pub(crate) struct Served {
    child: Child,
    port: u16,
    metrics: Option<u16>,
    folder: TempDir,
    _out: BufReader<ChildStdout>,
}

impl Served {
    /// A server of a new database in memory.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// A server with options, in which `FOLDER` stands for a folder of its own.
    pub(crate) fn with(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::within(folder, ":memory:", options)
    }

    /// A server of a database, whose files are in a folder of its own.
    pub(crate) fn within(folder: TempDir, database: &str, options: &[&str]) -> Self {
        let own = |text: &str| text.replace("FOLDER", folder.path().to_str().unwrap());
        let mut command = Command::new(program());
        command.arg("serve").arg(own(database));
        if !options.contains(&"--postgres") {
            command.args(["--postgres", "127.0.0.1:0"]);
        }
        command.args(options.iter().map(|option| own(option)));
        let log = File::create(folder.path().join("log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let port_behind = |word: &str| line.split(word).nth(1)?.split('/').next()?.parse().ok();
        let port = port_behind("postgresql://127.0.0.1:").unwrap_or_else(|| panic!("the server said {line:?}"));
        let metrics = port_behind("http://127.0.0.1:");
        Self { child, port, metrics, folder, _out: out }
    }

    /// A server of a new database in memory, whose users are `ada` (admin), `eve` (write) and `bob` (read); their passwords are their
    /// names. Their file is `users` in its folder.
    pub(crate) fn with_users(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, role) in [("ada", "admin"), ("eve", "write"), ("bob", "read")] {
            add_user(&folder.path().join("users"), name, role, name);
        }
        Self::within(folder, ":memory:", &[&["--users", "FOLDER/users"], options].concat())
    }

    /// The port of `--metrics 127.0.0.1:0`.
    pub(crate) fn metrics(&self) -> u16 {
        self.metrics.unwrap()
    }

    /// A folder of its own.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The lines that the server has written on standard error.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Waits until it has told something.
    pub(crate) fn tells(&self, what: &str) -> String {
        wait_until(what, || self.log().contains(what));
        self.log()
    }

    /// A user of [`Served::with_users`].
    pub(crate) async fn user(&self, name: &str) -> Client {
        self.connect(&format!("user={name} password={name}")).await.unwrap()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A client that may do everything.
    pub(crate) async fn client(&self) -> Client {
        self.connect("user=tester").await.unwrap()
    }

    /// A client that connects so.
    pub(crate) async fn connect(&self, how: &str) -> Result<Client, tokio_postgres::Error> {
        let config = format!("host=127.0.0.1 port={} {how}", self.port);
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Tells it to end.
    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, signal).unwrap();
    }

    /// Waits until it has ended.
    pub(crate) fn wait(mut self) -> (ExitStatus, TempDir) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not end");
            std::thread::sleep(Duration::from_millis(10));
        };
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        (status, folder)
    }

    /// The memory, handles and threads that the server has now.
    pub(crate) fn holds(&self) -> Holds {
        let proc = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = std::fs::read_to_string(proc.join("status")).unwrap();
        let number = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches("kB").trim().parse().unwrap()
        };
        let handles = std::fs::read_dir(proc.join("fd")).unwrap().count();
        Holds { bytes: number("RssAnon:") << 10, handles, threads: number("Threads:") }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The memory, handles and threads of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holds {
    /// Memory that is its own.
    pub(crate) bytes: u64,
    pub(crate) handles: usize,
    pub(crate) threads: u64,
}

/// Waits until something holds, for as long as it may take on a busy machine.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Adds a user to a file by the program.
pub(crate) fn add_user(users: &Path, name: &str, role: &str, password: &str) {
    let mut child = Command::new(program())
        .args(["user", "add", name, "--role", role, "--users"])
        .arg(users)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{password}").unwrap();
    assert!(child.wait().unwrap().success());
}

/// The program, unless `GINGHAM_SERVER` names another: one of the release profile, say.
pub(crate) fn program() -> String {
    std::env::var("GINGHAM_SERVER").unwrap_or_else(|_| env!("CARGO_BIN_EXE_gingham-server").to_owned())
}

/// The code of a client's error.
pub(crate) fn code(error: &tokio_postgres::Error) -> String {
    error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned())
}

/// The code and the text of a client's error.
pub(crate) fn told(error: &tokio_postgres::Error) -> (String, String) {
    let text = error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
    (code(error), text)
}
