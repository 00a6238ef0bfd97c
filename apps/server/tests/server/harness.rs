//! A server of the test's own, and clients of it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// A server that ends with the test.
pub(crate) struct Served {
    child: Child,
    port: u16,
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
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()?.parse().ok());
        let port = port.unwrap_or_else(|| panic!("the server said {line:?}"));
        Self { child, port, folder, _out: out }
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

    /// Bytes of memory that are its own, and handles that it has.
    pub(crate) fn holds(&self) -> (u64, usize) {
        let proc = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = std::fs::read_to_string(proc.join("status")).unwrap();
        let memory = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix("kB")?.trim().parse().ok());
        (memory.unwrap_or(0_u64) << 10, std::fs::read_dir(proc.join("fd")).unwrap().count())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program, unless `GINGHAM_SERVER` names another: one of the release profile, say.
pub(crate) fn program() -> String {
    std::env::var("GINGHAM_SERVER").unwrap_or_else(|_| env!("CARGO_BIN_EXE_gingham-server").to_owned())
}

/// The code of a client's error.
pub(crate) fn code(error: &tokio_postgres::Error) -> String {
    error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned())
}
