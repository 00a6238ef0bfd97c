//! Opening the database of the arguments: a scratch one without a name, a new one that is told of, and one that another process writes.

use crate::args::{Arguments, Verb};
use crate::failure::Failure;
use crate::script::Place;
use gingham::{Database, DatabaseOptions, Error};
use std::path::Path;

/// The name of a scratch database, as others have it.
const MEMORY: &str = ":memory:";

/// Opens the database of the arguments, or a scratch one. Only running SQL and loading make a missing database; the
/// other verbs read it, beside another process that writes and where nothing can be written. When another process writes and
/// `only_reads` tells that nothing is to be written, it is opened for reading, too.
pub fn open(arguments: &Arguments, only_reads: bool) -> Result<(Database, Place), Failure> {
    let path = match &arguments.database {
        Some(path) if path.as_os_str() != MEMORY => path,
        _ if matches!(arguments.verb, Some(Verb::Publish(_))) => {
            return Err(Failure::usage("publish needs a database that stays: gingham DB publish URL"));
        }
        _ => {
            let place = Place { name: "a scratch database, which is gone at the end".to_owned(), read_only: false };
            return Ok((Database::in_memory()?, place));
        }
    };
    if let Some(url) = path.to_str().filter(|text| gingham::is_url(text)) {
        let place = Place { name: url.to_owned(), read_only: true };
        return Ok((open_url(arguments, url)?, place));
    }
    if arguments.as_of.is_some() || arguments.cache.is_some() {
        return Err(Failure::usage(
            "--as-of and --cache are about published databases: gingham file:///srv/shop --as-of 7",
        ));
    }
    let makes = matches!(arguments.verb, None | Some(Verb::Load(_)));
    let applies = matches!(&arguments.verb, Some(Verb::Advise(advise)) if advise.apply);
    if applies && arguments.read_only {
        return Err(Failure::usage("--apply writes, which --read-only forbids"));
    }
    let publishes = matches!(arguments.verb, Some(Verb::Publish(_)));
    let writes = (makes || applies || publishes) && !arguments.read_only;
    let is_new = makes && writes && is_vacant(path);
    if is_new {
        require_parent(path)?;
    }
    let place = |read_only| Place { name: path.display().to_string(), read_only };
    let failed = |error: Error| Failure::failed(format!("{}: {error}", path.display()));
    match DatabaseOptions::new().create(makes && writes).read_only(!writes).open(path) {
        Ok(database) => {
            if is_new {
                eprintln!("made a new database at {}", path.display());
            }
            Ok((database, place(!writes)))
        }
        Err(Error::Locked(why)) if writes && only_reads => {
            let database = DatabaseOptions::new().create(false).read_only(true).open(path).map_err(failed)?;
            // Without what could be done about it.
            let why = why.rsplit_once("; ").map_or(why.as_str(), |(why, _)| why);
            let what = if publishes { "it is published" } else { "these statements read only, so it is read" };
            eprintln!("notice: {why}; {what} as it is now");
            Ok((database, place(true)))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Opens the database of the arguments for reading, beside whoever writes.
pub fn open_for_reading(arguments: &Arguments) -> Result<Database, Failure> {
    let path = arguments.database.as_deref().unwrap_or(Path::new(""));
    let opened = DatabaseOptions::new().create(false).read_only(true).open(path);
    opened.map_err(|error| Failure::failed(format!("{}: {error}", path.display())))
}

/// Opens a published database.
fn open_url(arguments: &Arguments, url: &str) -> Result<Database, Failure> {
    match &arguments.verb {
        None | Some(Verb::Layout { .. } | Verb::Check) => {}
        Some(verb) => {
            let name = verb.name().0;
            return Err(Failure::usage(format!(
                "{name} needs the folder of a database; {url} is published, and read alone"
            )));
        }
    }
    let mut options = DatabaseOptions::new().as_of(arguments.as_of);
    if let Some(folder) = &arguments.cache {
        options = options.url_cache(folder, None);
    }
    Ok(options.open_url(url)?)
}

/// Whether there is nothing at a path, or an empty folder.
fn is_vacant(path: &Path) -> bool {
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Refuses a path whose folder is missing, which is more often a mistake than a wish.
fn require_parent(path: &Path) -> Result<(), Failure> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) if !parent.exists() => Err(Failure::failed(format!(
            "there is no database {}, and no folder {} to make it in: mind the path, or make the folder first",
            path.display(),
            parent.display()
        ))),
        _ => Ok(()),
    }
}
