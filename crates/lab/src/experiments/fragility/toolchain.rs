//! Compilers that are here, and programs compiled by them: kept by what they were made of.

use super::source::Language;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// The compiler's name in results.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// The language that it compiles.
    pub language: Language,
    /// The first line of what it says of its version.
    pub version: String,
}

/// The compilers that are looked for. The paper's icc is no longer to be had.
const KNOWN: [(&str, Language); 4] =
    [("gcc", Language::C), ("clang", Language::C), ("cc", Language::C), ("rustc", Language::Rust)];
/// Patience with a compiler that says its version, and with one that compiles.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(240));

/// The compilers here, and what a reader must know of those that are not.
pub fn found() -> (Vec<Compiler>, Vec<String>) {
    let mut compilers: Vec<Compiler> = Vec::new();
    let mut notes = vec!["icc, the paper's third compiler, is no longer to be had".to_owned()];
    for (name, language) in KNOWN {
        match Compiler::probe(name, Path::new(name), language) {
            Ok(compiler) if compilers.iter().any(|known| known.version == compiler.version) => {}
            Ok(compiler) => compilers.push(compiler),
            Err(reason) => notes.push(format!("{name} is left out: {reason}")),
        }
    }
    (compilers, notes)
}

impl Compiler {
    /// The compiler that a program is, if it answers.
    pub fn probe(name: &str, program: &Path, language: Language) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.arg("--version");
        let said = output(&mut command, PATIENCE.0)?;
        let version = said.lines().next().unwrap_or_default().trim().to_owned();
        // cc and gcc name themselves, and are the same compiler.
        let version = version.split_once(' ').map_or(version.clone(), |(_, rest)| rest.to_owned());
        if version.is_empty() {
            return Err("it does not tell its version".to_owned());
        }
        Ok(Self { name: name.to_owned(), program: program.to_owned(), language, version })
    }

    /// The arguments that ask for a level of optimisation, 1 to 3; for this processor, where `native`.
    fn arguments(&self, level: u8, native: bool) -> Vec<String> {
        let mut arguments: Vec<String> = match self.language {
            Language::C => vec!["-std=gnu11".to_owned(), format!("-O{level}")],
            Language::Rust => {
                let codegen = |option: String| ["-C".to_owned(), option];
                ["--edition=2021".to_owned()]
                    .into_iter()
                    .chain(codegen(format!("opt-level={level}")))
                    .chain(codegen("panic=abort".to_owned()))
                    .chain(["--crate-name=loops".to_owned(), "-Awarnings".to_owned()])
                    .collect()
            }
        };
        if native {
            arguments.extend(match self.language {
                Language::C => vec!["-march=native".to_owned()],
                Language::Rust => vec!["-C".to_owned(), "target-cpu=native".to_owned()],
            });
        }
        arguments
    }

    /// Compiles a source at a level of optimisation, unless the program is there already; gives its path.
    pub fn compile(&self, source: &str, level: u8, native: bool, folder: &Path) -> Result<PathBuf, String> {
        let arguments = self.arguments(level, native);
        let made_of = [source, &self.version, &self.program.to_string_lossy(), &arguments.join(" ")].join("\0");
        let program = folder.join(format!("{}-O{level}-{:032x}", self.name, fingerprint(made_of.as_bytes())));
        if program.is_file() {
            return Ok(program);
        }
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(failed)?;
        // Its own folder, so that two runs at once don't meet; the last step puts the finished program in its place.
        let own = tempfile::tempdir_in(folder).map_err(failed)?;
        let input = own.path().join(format!("loops.{}", self.language.extension()));
        fs::write(&input, source).map_err(failed)?;
        let output_path = own.path().join("loops");
        let mut command = Command::new(&self.program);
        command.args(&arguments).arg("-o").arg(&output_path).arg(&input);
        output(&mut command, PATIENCE.1)?;
        if !output_path.is_file() {
            return Err("it made no program".to_owned());
        }
        fs::rename(&output_path, &program).map_err(failed)?;
        Ok(program)
    }
}

/// The folder of programs that are kept from run to run.
pub fn kept_programs() -> PathBuf {
    let of = |variable: &str| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("gingham").join("lab-programs")
}

/// The text that a command writes, when it succeeds in time; otherwise its complaint.
fn output(command: &mut Command, patience: Duration) -> Result<String, String> {
    let name =
        Path::new(command.get_program()).file_name().unwrap_or(OsStr::new("compiler")).to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{name} can't be started: {error}"))?;
    // Both pipes are read at once: a compiler with much to say would wait for ever.
    let (said, complained) = (child.stdout.take().map(read_all), child.stderr.take().map(read_all));
    let ended = wait(&mut child, patience);
    let text = |reader: Option<std::thread::JoinHandle<String>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    let Some(status) = ended.map_err(|error| format!("{name}: {error}"))? else {
        return Err(format!("{name} did not end within {} s", patience.as_secs_f64()));
    };
    let (said, complained) = (text(said), text(complained));
    if status.success() {
        return Ok(said);
    }
    let first =
        complained.lines().chain(said.lines()).find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    Err(format!("{name} ended with {status}: {}", first.trim()))
}

fn read_all(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is all that there is to show.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for a child; ends it when it takes too long, and gives `None`.
fn wait(child: &mut Child, patience: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() >= patience {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// FNV-1a of 128 bits: it only has to tell sources apart, and never to change.
fn fingerprint(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash: u128, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A script that stands for a compiler.
    fn fake(folder: &Path, script: &str) -> PathBuf {
        let path = folder.join("fakec");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn compiler(program: PathBuf) -> Compiler {
        Compiler { name: "fake".to_owned(), program, language: Language::C, version: "1".to_owned() }
    }

    #[test]
    fn failures_are_told_with_their_message() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        let told = |script: &str| compiler(fake(folder.path(), script)).compile("", 1, false, &kept).unwrap_err();
        assert_eq!(
            told("echo 'loops.c:1: no such luck' >&2; exit 3"),
            "fakec ended with exit status: 3: loops.c:1: no such luck"
        );
        assert_eq!(told("exit 0"), "it made no program");
        assert_eq!(fs::read_dir(&kept).unwrap().count(), 0, "nothing is left of what failed");
        let missing = Compiler::probe("nocc", &folder.path().join("nocc"), Language::C).unwrap_err();
        assert!(missing.starts_with("nocc can't be started"), "{missing}");
        assert_eq!(
            Compiler::probe("fake", &fake(folder.path(), "exit 0"), Language::C),
            Err("it does not tell its version".to_owned())
        );
    }

    #[test]
    fn one_that_hangs_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(fake(folder.path(), "exec sleep 600"));
        let told = output(&mut command, Duration::from_millis(100)).unwrap_err();
        assert_eq!(told, "fakec did not end within 0.1 s");
    }

    #[test]
    fn programs_are_kept_by_what_they_are_made_of() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        // It counts its calls, and makes a program of that.
        let script = format!(
            "echo x >> {0}/calls; while [ \"$1\" != -o ]; do shift; done; cp {0}/calls \"$2\"",
            folder.path().display()
        );
        let compiler = compiler(fake(folder.path(), &script));
        let first = compiler.compile("a", 1, false, &kept).unwrap();
        assert_eq!(compiler.compile("a", 1, false, &kept).unwrap(), first);
        let others = [("b", 1, false), ("a", 2, false), ("a", 1, true)]
            .map(|(source, level, native)| compiler.compile(source, level, native, &kept).unwrap());
        assert!(others.iter().all(|other| *other != first && other.is_file()));
        assert_eq!(fs::read_to_string(folder.path().join("calls")).unwrap().lines().count(), 4);
        let newer = Compiler { version: "2".to_owned(), ..compiler };
        assert_ne!(newer.compile("a", 1, false, &kept).unwrap(), first);
    }
}
