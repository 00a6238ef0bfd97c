//! `cargo xtask clients`: PostgreSQL's clients of several languages against the server. Their packages come from the registries of
//! their languages; a client whose language is not here is left out, which is said.
//!
//! The checks lie in `apps/server/clients`. Each prints a line for each thing it checks: `ok NAME`, or `no NAME: why`.

use crate::process;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Packages of Python, with what they need.
const PYTHON: [&str; 5] =
    ["psycopg[binary]==3.3.9", "asyncpg==0.32.0", "SQLAlchemy==2.1.9", "pandas==3.1.1", "numpy==2.4.6"];
const PASSWORD: &str = "pencil";
/// How long a client's checks may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// A client: its name, the folder of its checks, what prepares it and what runs it. The first word is the program that has to be there.
struct Client {
    name: &'static str,
    folder: &'static str,
    prepare: &'static [&'static [&'static str]],
    run: &'static [&'static str],
}

const CLIENTS: &[Client] = &[
    Client { name: "psql", folder: "", prepare: &[&["psql", "--version"]], run: &["bash", "psql.sh"] },
    Client { name: "psycopg", folder: "", prepare: &[&["PYTHON"]], run: &["PYTHON", "psycopg_client.py"] },
    Client { name: "asyncpg", folder: "", prepare: &[&["PYTHON"]], run: &["PYTHON", "asyncpg_client.py"] },
    Client { name: "sqlalchemy", folder: "", prepare: &[&["PYTHON"]], run: &["PYTHON", "sqlalchemy_client.py"] },
    Client {
        name: "node-postgres",
        folder: "node",
        prepare: &[&["npm", "install", "--silent", "--no-audit", "--no-fund"]],
        run: &["node", "client.js"],
    },
    Client {
        name: "pgjdbc",
        folder: "jdbc",
        prepare: &[
            &["mvn", "-q", "dependency:copy-dependencies", "-DoutputDirectory=lib"],
            &["javac", "-cp", "lib/*", "Jdbc.java"],
        ],
        run: &["java", "-cp", "lib/*:.", "Jdbc"],
    },
    Client { name: "pgx", folder: "pgx", prepare: &[&["go", "mod", "tidy"]], run: &["go", "run", "."] },
    Client { name: "pgbench", folder: "", prepare: &[&["pgbench", "--version"]], run: &["bash", "pgbench.sh"] },
];

/// Runs the clients that `options` name behind `--only`, or all.
pub fn run(root: &Path, options: &[&str]) -> Result<(), String> {
    let only: Option<Vec<&str>> = match options {
        [] => None,
        ["--only", names] => Some(names.split(',').collect()),
        _ => return Err("cargo xtask clients [--only psql,psycopg,…]".into()),
    };
    // The build that its tests are run by: another one would build all that it stands on anew, with other features.
    process::run(root, "cargo", &["test", "--package", "gingham-server", "--no-run", "--locked"], &[])?;
    let work = target(root).join("clients");
    let places = Places { program: target(root).join("debug/gingham-server"), work: work.clone() };
    fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    copy(&root.join("apps/server/clients"), &work)?;
    let known = known(root)?;
    let (mut wrong, mut out) = (Vec::new(), Vec::new());
    for client in CLIENTS {
        if only.as_ref().is_some_and(|only| !only.contains(&client.name)) {
            continue;
        }
        if let Err(why) = prepare(client, &work) {
            println!("{}: left out: {why}", client.name);
            out.push(client.name);
            continue;
        }
        for is_secure in [false, true] {
            let how = if is_secure { "TLS and SCRAM" } else { "plain" };
            // One that can't be run at all has failed like one that ends with an error; the others are run all the same.
            let lines = check(client, &places, is_secure).unwrap_or_else(|why| vec![format!("no start: {why}")]);
            let done = lines.iter().filter(|line| line.starts_with("ok ")).count();
            let failed: Vec<&String> = lines.iter().filter(|line| line.starts_with("no ")).collect();
            println!("{}, {how}: {done} ok, {} not", client.name, failed.len());
            for line in &failed {
                let is_known = known.contains(&format!("{}: {}", client.name, named(line)));
                println!("    {}{line}", if is_known { "(known) " } else { "" });
                if !is_known {
                    wrong.push(format!("{}, {how}: {line}", client.name));
                }
            }
            if done == 0 && failed.is_empty() {
                wrong.push(format!("{}, {how}: nothing was checked", client.name));
            }
        }
    }
    if !out.is_empty() {
        println!("left out: {}", out.join(", "));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

struct Places {
    program: PathBuf,
    work: PathBuf,
}

fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// What is known not to work, as docs/clients.md says: `client: check` a line.
fn known(root: &Path) -> Result<BTreeSet<String>, String> {
    let path = root.join("apps/server/clients/known.txt");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

/// The name of a check in its line.
fn named(line: &str) -> &str {
    let line = line.split_once(' ').map_or(line, |(_, rest)| rest);
    line.split_once(": ").map_or(line, |(name, _)| name)
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let about = |error: std::io::Error| format!("{}: {error}", from.display());
    for entry in fs::read_dir(from).map_err(about)? {
        let entry = entry.map_err(about)?;
        let place = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&place).map_err(about)?;
            copy(&entry.path(), &place)?;
        } else {
            fs::copy(entry.path(), &place).map_err(about)?;
        }
    }
    Ok(())
}

/// The program of a word; `PYTHON` is one with the packages, which are installed when they are wanted first.
fn program(word: &str, work: &Path) -> String {
    match word {
        "PYTHON" => work.join("python/bin/python").display().to_string(),
        word => word.to_owned(),
    }
}

fn prepare(client: &Client, work: &Path) -> Result<(), String> {
    let folder = work.join(client.folder);
    for words in client.prepare {
        match words {
            ["PYTHON"] => python(work)?,
            [first, rest @ ..] => {
                process::output(&folder, &program(first, work), rest)?;
            }
            [] => {}
        }
    }
    Ok(())
}

/// An environment of Python with the packages.
fn python(work: &Path) -> Result<(), String> {
    let (environment, noted) = (work.join("python"), work.join("python/packages"));
    let wanted = PYTHON.join("\n");
    if fs::read_to_string(&noted).is_ok_and(|noted| noted == wanted) {
        return Ok(());
    }
    drop(fs::remove_dir_all(&environment));
    process::output(work, "python3", &["-m", "venv", "python"])?;
    let mut words = vec!["-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--retries", "1"];
    words.extend(PYTHON);
    process::output(work, &program("PYTHON", work), &words)?;
    fs::write(&noted, wanted).map_err(|error| format!("{}: {error}", noted.display()))
}

/// A server that ends with this.
struct Served {
    child: Child,
    port: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn serve(places: &Places, is_secure: bool) -> Result<Served, String> {
    let mut command = Command::new(&places.program);
    command.args(["serve", ":memory:", "--postgres", "127.0.0.1:0"]).current_dir(&places.work);
    if is_secure {
        make_users(places)?;
        make_certificate(&places.work)?;
        command.args(["--users", "users", "--tls", "server.crt", "server.key"]);
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(|error| error.to_string())?;
    let out = child.stdout.take().ok_or("the server has no output")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
    let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()).map(str::to_owned);
    let served = Served { child, port: port.unwrap_or_default() };
    if served.port.is_empty() { Err(format!("the server said {line:?}")) } else { Ok(served) }
}

fn make_users(places: &Places) -> Result<(), String> {
    use std::io::Write;
    let mut child = Command::new(&places.program)
        .args(["user", "add", "tester", "--role", "admin", "--users", "users"])
        .current_dir(&places.work)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut to) = child.stdin.take() {
        writeln!(to, "{PASSWORD}").map_err(|error| error.to_string())?;
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err("no user could be added".into()) }
}

fn make_certificate(work: &Path) -> Result<(), String> {
    let words = "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -keyout server.key -out server.crt";
    process::output(work, "openssl", &words.split(' ').collect::<Vec<_>>()).map(drop)
}

/// Runs a client's checks: the lines that it prints.
fn check(client: &Client, places: &Places, is_secure: bool) -> Result<Vec<String>, String> {
    let served = serve(places, is_secure)?;
    let [first, rest @ ..] = client.run else { return Err("there is nothing to run".into()) };
    let mut command = Command::new(program(first, &places.work));
    let mode = if is_secure { "require" } else { "disable" };
    let secret = if is_secure { format!(" password={PASSWORD}") } else { String::new() };
    let dsn = format!("host=127.0.0.1 port={} user=tester dbname=gingham sslmode={mode}{secret}", served.port);
    command
        .args(rest)
        .current_dir(places.work.join(client.folder))
        .env("PYTHONUNBUFFERED", "1")
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", &served.port)
        .env("PGUSER", "tester")
        .env("PGDATABASE", "gingham")
        .env("PGSSLMODE", mode)
        .env("GINGHAM_DSN", dsn);
    if is_secure {
        command.env("PGPASSWORD", PASSWORD).env("GINGHAM_TLS", "1");
    }
    // A file takes as much as comes; a pipe that nobody reads would hold up the client.
    let path = places.work.join(format!("{}.out", client.name));
    let output = fs::File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut child = command.stdout(output).spawn().map_err(|error| format!("{first}: {error}"))?;
    let begun = Instant::now();
    let ended = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break Some(status),
            None if begun.elapsed() > PATIENCE => break None,
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    if ended.is_none() {
        drop(child.kill());
        drop(child.wait());
    }
    let printed = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut lines: Vec<String> = String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect();
    match ended {
        Some(status) if status.success() => {}
        Some(status) => lines.push(format!("no end: it ended with {status}")),
        None => lines.push("no end: it took too long".into()),
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_have_names() {
        assert_eq!(named("no COPY: DataError: bad"), "COPY");
        assert_eq!(named("ok types"), "types");
    }
}
