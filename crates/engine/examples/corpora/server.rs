//! A PostgreSQL server for the time of a run: in a folder of its own, reached by a socket in that folder only, and not safe
//! against power failures, which nothing asks for here. The corpora's statements run as a user who may read and write no
//! files of the server.

use crate::order::words;
use crate::wire::{Reply, Wire};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const PORT: &str = "5432";
const USER: &str = "asker";
/// What every connection begins with. Gingham's transactions read one state of the database, as those of this level do.
const SETTINGS: &str = "SET default_transaction_isolation = 'repeatable read'; SET statement_timeout = '10s'; SET lock_timeout = '2s'; SET timezone = 'UTC';
    SET client_min_messages = error; SET synchronous_commit = off";

/// A shell that runs the server until its own input ends, which happens when this process ends, in whatever way.
const AS_LONG_AS_WE: &str = r#""$0" "$@" < /dev/null & cat > /dev/null; kill -QUIT $!; wait"#;

/// The database that all others are copies of.
const TEMPLATE: &str = "asked";

/// Names of types and functions in DuckDB's files, with what they are in PostgreSQL. Without them few of those files would
/// get as far as their queries.
const HELP: &[(&str, &str)] = &[
    ("tinyint", "CREATE DOMAIN help.tinyint AS smallint"),
    ("utinyint", "CREATE DOMAIN help.utinyint AS smallint"),
    ("usmallint", "CREATE DOMAIN help.usmallint AS integer"),
    ("uinteger", "CREATE DOMAIN help.uinteger AS bigint"),
    ("ubigint", "CREATE DOMAIN help.ubigint AS numeric(20)"),
    ("hugeint", "CREATE DOMAIN help.hugeint AS numeric(39)"),
    ("double", "CREATE DOMAIN help.double AS double precision"),
    ("string", "CREATE DOMAIN help.string AS text"),
    ("blob", "CREATE DOMAIN help.blob AS bytea"),
    ("datetime", "CREATE DOMAIN help.datetime AS timestamp"),
    (
        "range",
        "CREATE FUNCTION help.range(n bigint, OUT range bigint) RETURNS SETOF bigint LANGUAGE sql IMMUTABLE
             AS 'SELECT generate_series(0, n - 1)';
         CREATE FUNCTION help.range(a bigint, b bigint, OUT range bigint) RETURNS SETOF bigint LANGUAGE sql IMMUTABLE
             AS 'SELECT generate_series(a, b - 1)'",
    ),
];

/// Whether PostgreSQL takes `sql` only because of the help.
pub fn is_helped(sql: &str) -> bool {
    words(sql).any(|word| HELP.iter().any(|(name, _)| *name == word))
}

/// A running server.
pub struct Server {
    folder: tempfile::TempDir,
    process: Child,
    /// Databases made so far.
    made: AtomicUsize,
    /// Those of them that nobody uses now, and that are empty.
    unused: Mutex<Vec<String>>,
}

impl Server {
    /// Starts a server when PostgreSQL is installed; `None` when it is not.
    pub fn start() -> Result<Option<Self>, String> {
        let Some(binaries) = binaries() else { return Ok(None) };
        let folder =
            tempfile::Builder::new().prefix("gingham-corpora-").tempdir().map_err(|error| error.to_string())?;
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(folder.path()))?;
        }
        let data = folder.path().join("data");
        run(user_command(&binaries.join("initdb"))
            .args(["--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D"])
            .arg(&data))?;
        let process = user_command(Path::new("sh"))
            .args(["-c", AS_LONG_AS_WE])
            .arg(binaries.join("postgres"))
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(folder.path())
            .args(["-p", PORT, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off"])
            .args(["-c", "autovacuum=off", "-c", "max_wal_size=4GB", "-c", "max_stack_depth=6MB", "-c", "jit=off"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("can't start PostgreSQL: {error}"))?;
        let server = Self { folder, process, made: AtomicUsize::new(0), unused: Mutex::default() };
        server.wait()?;
        server.make_template()?;
        Ok(Some(server))
    }

    fn make_template(&self) -> Result<(), String> {
        self.admin("postgres", &format!("CREATE ROLE {USER} LOGIN; ALTER ROLE {USER} SET search_path = public, help"))?;
        self.admin("postgres", &format!("CREATE DATABASE {TEMPLATE} TEMPLATE template0"))?;
        self.admin(TEMPLATE, "CREATE SCHEMA help; GRANT USAGE ON SCHEMA help TO public")?;
        HELP.iter().try_for_each(|(_, sql)| self.admin(TEMPLATE, sql))
    }

    /// PostgreSQL's version, as it names it.
    pub fn version(&self) -> Result<String, String> {
        match self.wire("postgres", "postgres")?.ask("SHOW server_version").map_err(|error| error.to_string())? {
            Reply::Rows { table, .. } => {
                Ok(table.rows.first().and_then(|row| row.first().cloned().flatten()).unwrap_or_default())
            }
            Reply::Refused { message, .. } => Err(message),
        }
    }

    /// The name of an empty database, for the caller alone.
    pub fn database(&self) -> Result<String, String> {
        if let Some(name) = self.unused.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(name);
        }
        let name = format!("asked_{}", self.made.fetch_add(1, Ordering::Relaxed));
        self.admin("postgres", &format!("CREATE DATABASE {name} OWNER {USER} TEMPLATE {TEMPLATE}"))?;
        Ok(name)
    }

    /// Takes a database back, and empties it for the next one: making a new one takes ten times as long. One that can't be
    /// emptied is left alone.
    pub fn give_back(&self, name: String) {
        if self.admin(&name, &format!("DROP OWNED BY {USER} CASCADE")).is_ok() {
            self.unused.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        }
    }

    /// A connection to a database that [`Server::database`] made.
    pub fn connect(&self, database: &str) -> Result<Wire, String> {
        let mut wire = self.wire(USER, database)?;
        settle(&mut wire)?;
        Ok(wire)
    }

    fn admin(&self, database: &str, sql: &str) -> Result<(), String> {
        match self.wire("postgres", database)?.ask(sql).map_err(|error| error.to_string())? {
            Reply::Rows { .. } => Ok(()),
            Reply::Refused { message, .. } => Err(format!("{sql}: {message}")),
        }
    }

    fn wire(&self, user: &str, database: &str) -> Result<Wire, String> {
        let socket = self.folder.path().join(format!(".s.PGSQL.{PORT}"));
        Wire::connect(&socket, user, database).map_err(|error| format!("PostgreSQL's socket: {error}"))
    }

    fn wait(&self) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            match self.wire("postgres", "postgres") {
                Ok(_) => return Ok(()),
                Err(error) if begun.elapsed() > Duration::from_secs(30) => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}

/// Gives a connection the settings that it begins with, once more when a file has changed some of them.
pub fn settle(wire: &mut Wire) -> Result<(), String> {
    wire.ask(SETTINGS).map(|_| ()).map_err(|error| error.to_string())
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // It has ended, and there is no one left to tell about how.
        let _ = self.process.wait();
    }
}

/// The folder of the newest PostgreSQL that Debian's packages have installed.
fn binaries() -> Option<PathBuf> {
    let entries = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let version = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let newest =
        entries.flatten().map(|entry| entry.path()).filter(|path| version(path).is_some()).max_by_key(version)?;
    let folder = newest.join("bin");
    folder.join("initdb").exists().then_some(folder)
}

/// PostgreSQL's programs refuse to be run by root, and are run by the user of its packages then.
fn user_command(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program).current_dir("/");
    command
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == "0")
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
