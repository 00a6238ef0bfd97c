//! Instructions and cache misses counted by a simulated processor, valgrind's callgrind, for machines that grant no
//! counters. valgrind is optional: where it is not installed, or fails, nothing is counted, never zeros.
//!
//! The work runs in a process of its own, and what is counted of it are the calls of one function. Each call leaves a
//! file. valgrind knows no AVX-512, and tells programs so: what is counted is AVX2 code.

use super::Counts;
use gingham::storage::Caches;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Caches of the simulated processor: small, so that data need not be large to exceed them, as it is made by the
/// simulated processor too. There is no second cache; work that is to fit it fits the last.
pub const SIMULATED: Caches = Caches { l1: 32 << 10, l2: 64 << 10, last: 128 << 10, known: true };

/// A simulated cache.
#[derive(Debug, Clone, Copy)]
pub struct Cache {
    /// Its size.
    pub bytes: usize,
    /// Lines of a set.
    pub ways: usize,
    /// Bytes of a line.
    pub line: usize,
}

/// The caches of a simulated processor: two levels, the second for instructions and data.
#[derive(Debug, Clone, Copy)]
pub struct Hierarchy {
    /// The first level's for instructions.
    pub instructions: Cache,
    /// The first level's for data.
    pub data: Cache,
    /// The second level.
    pub last: Cache,
}

/// The caches of [`SIMULATED`].
pub const SMALL: Hierarchy = {
    let first = Cache { bytes: SIMULATED.l1, ways: 8, line: 64 };
    Hierarchy { instructions: first, data: first, last: Cache { bytes: SIMULATED.last, ..first } }
};

/// What was counted of a call, by callgrind's names: Ir instructions, Dr and Dw data that was read and written, I1mr, D1mr and
/// D1mw misses of the first level, ILmr, DLmr and DLmw misses of the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Events(BTreeMap<String, u64>);

impl Events {
    /// How often an event occurred; an error when it was not counted.
    pub fn of(&self, event: &str) -> Result<u64, String> {
        self.0.get(event).copied().ok_or(format!("no event {event} was counted"))
    }

    /// Instructions, and misses of the last cache.
    pub fn counts(&self) -> Result<Counts, String> {
        let cache_misses = self.of("DLmr")? + self.of("DLmw")?;
        Ok(Counts { instructions: self.of("Ir")?, cache_misses })
    }
}

/// What a run under callgrind leaves.
#[derive(Debug)]
pub struct Callgrind {
    /// What the program wrote to its standard output.
    pub output: String,
    /// What was counted of each call of the function, in their order.
    pub events: Vec<Events>,
}

/// The version of valgrind, as it names itself; `None` where it is not installed.
pub fn version() -> Option<String> {
    let answer = Command::new("valgrind").arg("--version").stdin(Stdio::null()).output().ok()?;
    let version = String::from_utf8(answer.stdout).ok()?;
    answer.status.success().then(|| version.trim().to_owned())
}

/// How often a program that is counted is asked whether it has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs a program under callgrind with these caches, for no longer than `limit`, and counts the calls of `function`, given by
/// its path. `folder` is empty, for the files.
///
/// # Errors
/// When valgrind or the program fails or takes longer, or a file can't be read: the message says which.
pub fn run(
    program: &Path,
    arguments: &[impl AsRef<OsStr>],
    (function, caches): (&str, &Hierarchy),
    folder: &Path,
    limit: Duration,
) -> Result<Callgrind, String> {
    let file = folder.join("callgrind");
    let (output, errors) = (folder.join("output"), folder.join("errors"));
    let create = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
    let read = |path: &Path| std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let cache = |name: &str, of: Cache| format!("--{name}={},{},{}", of.bytes, of.ways, of.line);
    let mut out = std::ffi::OsString::from("--callgrind-out-file=");
    out.push(&file);
    let mut child = Command::new("valgrind")
        .args(["--tool=callgrind", "--cache-sim=yes"])
        .args([cache("I1", caches.instructions), cache("D1", caches.data), cache("LL", caches.last)])
        .args([format!("--toggle-collect={function}"), format!("--dump-after={function}")])
        .arg(out)
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(create(&output)?)
        .stderr(create(&errors)?)
        .spawn()
        .map_err(|error| format!("valgrind can't be started: {error}"))?;
    let status = wait(&mut child, limit)?;
    if !status.success() {
        let errors = read(&errors)?;
        let errors = String::from_utf8_lossy(&errors);
        // valgrind's own lines begin with ==.
        let said = errors.lines().rev().find(|line| !line.starts_with("==") && !line.is_empty()).unwrap_or("no reason");
        return Err(format!("valgrind ended with {status}: {said}"));
    }
    let files = (1..).map(|number| numbered(&file, number)).take_while(|file| file.exists());
    let events = files.map(|file| {
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string());
        text.and_then(|text| parse(&text)).map_err(|error| format!("{}: {error}", file.display()))
    });
    Ok(Callgrind {
        output: String::from_utf8_lossy(&read(&output)?).into_owned(),
        events: events.collect::<Result<_, _>>()?,
    })
}

/// Waits for a child; one that takes longer than `limit` is ended.
fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus, String> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if start.elapsed() < limit => std::thread::sleep(PAUSE),
            ended => {
                // It may have ended by itself meanwhile, which is as well.
                let _ = child.kill();
                let _ = child.wait();
                return Err(match ended {
                    Err(error) => format!("waiting for valgrind: {error}"),
                    Ok(_) => format!("valgrind would take longer than {:.1} s: raise --budget", limit.as_secs_f64()),
                });
            }
        }
    }
}

fn numbered(file: &Path, number: usize) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// What a file of callgrind counted in all: its line `events:` names what is counted, `summary:` has the numbers, of
/// which zeros at the end are left out.
pub fn parse(text: &str) -> Result<Events, String> {
    let of =
        |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).ok_or(format!("there is no line '{key}'"));
    let events: Vec<&str> = of("events:")?.split_whitespace().collect();
    let numbers: Vec<&str> = of("summary:")?.split_whitespace().collect();
    if numbers.len() > events.len() {
        return Err(format!("{} numbers for {} events", numbers.len(), events.len()));
    }
    let count = |(place, event): (usize, &&str)| {
        let number = numbers.get(place).map_or(Ok(0), |number| number.parse());
        number.map(|number| ((*event).to_owned(), number)).map_err(|error| format!("{event}: {error}"))
    };
    events.iter().enumerate().map(count).collect::<Result<_, _>>().map(Events)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What valgrind 3.19 left of a call, without the lines for each function.
    pub(crate) const FILE: &str = include_str!("callgrind-3.19.out");

    #[test]
    fn reads_what_callgrind_writes() {
        let counts = |text: &str| parse(text).and_then(|events| events.counts());
        assert_eq!(counts(FILE), Ok(Counts { instructions: 163_849, cache_misses: 32_769 }));
        // Misses of writes, left out above, count too; misses of instructions and of the first cache don't.
        let more = FILE.replace("0 0 32769\n", "7 0 32769 5\n");
        assert_ne!(more, FILE);
        assert_eq!(counts(&more), Ok(Counts { instructions: 163_849, cache_misses: 32_774 }));
        let none = FILE.replace("summary: 163849 32769 0 0 32769 0 0 32769\n", "summary: 0\n");
        assert_eq!(counts(&none), Ok(Counts { instructions: 0, cache_misses: 0 }));
    }

    #[test]
    fn what_callgrind_did_not_count_is_no_zero() {
        let without =
            |line: &str, other: &str| parse(&FILE.replace(line, other)).and_then(|events| events.counts()).unwrap_err();
        assert_eq!(without("summary:", "sum:"), "there is no line 'summary:'");
        assert_eq!(without("events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw", "events: Ir"), "8 numbers for 1 events");
        assert_eq!(without("DLmw", "other"), "no event DLmw was counted");
        assert_eq!(without("summary: 163849", "summary: many"), "Ir: invalid digit found in string");
        assert!(parse("").is_err());
    }

    #[test]
    fn a_program_that_fails_is_an_error() {
        if version().is_none() {
            // Nothing to test where valgrind is not installed.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(60);
        let error = run(Path::new("/bin/false"), &[""; 0], ("none", &SMALL), folder.path(), limit).unwrap_err();
        assert!(error.contains("exit status: 1"), "{error}");
        let none = run(Path::new("/bin/echo"), &["two words"], ("none", &SMALL), folder.path(), limit).unwrap();
        assert_eq!((none.output.as_str(), none.events.len()), ("two words\n", 0));
        let error = run(Path::new("/bin/sleep"), &["60"], ("none", &SMALL), folder.path(), Duration::ZERO).unwrap_err();
        assert_eq!(error, "valgrind would take longer than 0.0 s: raise --budget");
    }
}
