//! The search for files: which are meant, and what they hold.

use crate::files::options::FileFormat;
use crate::files::source::io_error;
use crate::{Error, Result};
use gingham_storage::SqlState;
use std::path::{Path, PathBuf};

/// The endings of files that are read; a packed file of text has `.gz` or `.zst` behind one.
const ENDINGS: &str = ".csv, .tsv, .txt, .tbl, .parquet, .arrow, .feather, .ipc, .json, .ndjson, .jsonl";

/// The files and folders that `patterns` name, each a path or a pattern with `*`, `?` and `[…]`; those of a pattern by name.
pub(crate) fn matching(patterns: &[String]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for pattern in patterns {
        let path = pattern.strip_prefix("file://").unwrap_or(pattern);
        // What exists by that very name is meant, whatever characters it has.
        if !path.contains(['*', '?', '[']) || Path::new(path).exists() {
            if !Path::new(path).exists() {
                return Err(Error::invalid(SqlState::UndefinedFile, format!("file '{pattern}' does not exist")));
            }
            all.push(PathBuf::from(path));
            continue;
        }
        let wrong = |error: glob::PatternError| {
            let text = format!("'{pattern}' is no pattern of files: {}", error.msg);
            Error::invalid(SqlState::InvalidParameterValue, text)
        };
        let before = all.len();
        for found in glob::glob(path).map_err(wrong)? {
            let found = found.map_err(|error| Error::Io(format!("{}: {}", error.path().display(), error.error())))?;
            if found.is_file() {
                all.push(found);
            }
        }
        if all.len() == before {
            return Err(Error::invalid(SqlState::UndefinedFile, format!("no file is found at '{pattern}'")));
        }
    }
    Ok(all)
}

/// The files of `given`, folders replaced by the files in them (those of a known format, by name), and their one
/// format: `format` when it is given, otherwise what their names say.
pub(crate) fn resolve(given: &[PathBuf], format: Option<FileFormat>) -> Result<(Vec<PathBuf>, FileFormat)> {
    let mut files = Vec::new();
    for path in given {
        let metadata = std::fs::metadata(path).map_err(|error| io_error(path, &error))?;
        if metadata.is_dir() {
            files.extend(in_folder(path, format)?);
        } else if metadata.is_file() {
            files.push(path.clone());
        } else {
            // Opening a pipe waits for whoever writes it, perhaps for ever.
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "{} is no regular file but a pipe or a device, which can't be read in parts; write it to a file first",
                    path.display()
                ),
            ));
        }
    }
    let mut found = format;
    for path in files.iter().filter(|_| format.is_none()) {
        let Some(this) = of_name(path) else {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("{}: its name does not tell what it holds ({ENDINGS}); say it (format)", path.display()),
            ));
        };
        if found.is_some_and(|found| found != this) {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "{} and {} are of different formats; load them one after the other",
                    files[0].display(),
                    path.display()
                ),
            ));
        }
        found = Some(this);
    }
    match found {
        Some(format) if !files.is_empty() => Ok((files, format)),
        _ => Err(Error::invalid(SqlState::UndefinedFile, "there is no file to load".to_owned())),
    }
}

/// The format that a file's name tells; `.tbl.1` is a part of a `.tbl`.
pub(crate) fn of_name(path: &Path) -> Option<FileFormat> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let (name, is_packed) = match name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")) {
        Some(unpacked) => (unpacked, true),
        None => (&*name, false),
    };
    let name = match name.rsplit_once('.') {
        Some((rest, part)) if part.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => name,
    };
    let format = match name.rsplit_once('.')?.1 {
        "csv" | "tsv" | "txt" => Some(FileFormat::Csv),
        "tbl" => Some(FileFormat::Tbl),
        "parquet" | "pq" => Some(FileFormat::Parquet),
        "arrow" | "arrows" | "feather" | "ipc" => Some(FileFormat::Arrow),
        "json" | "ndjson" | "jsonl" => Some(FileFormat::Json),
        _ => None,
    }?;
    let is_text = matches!(format, FileFormat::Csv | FileFormat::Tbl | FileFormat::Json);
    (is_text || !is_packed).then_some(format)
}

/// The files of a known format in a folder and the folders in it, but not in hidden ones.
fn in_folder(folder: &Path, format: Option<FileFormat>) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    add_folder(folder, format, &mut files)?;
    if files.is_empty() {
        return Err(Error::invalid(
            SqlState::UndefinedFile,
            format!("{} is a folder without files that can be read", folder.display()),
        ));
    }
    files.sort();
    Ok(files)
}

fn add_folder(folder: &Path, format: Option<FileFormat>, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(|error| io_error(folder, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| io_error(folder, &error))?;
        let (path, name) = (entry.path(), entry.file_name());
        if name.to_string_lossy().starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() {
            add_folder(&path, format, files)?;
        } else if of_name(&path).is_some_and(|found| format.is_none_or(|format| format == found)) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        let of = |name: &str| of_name(Path::new(name));
        assert_eq!(of("a/b.CSV"), Some(FileFormat::Csv));
        assert_eq!(of("lineitem.tbl.3"), Some(FileFormat::Tbl));
        assert_eq!(of("x.parquet"), Some(FileFormat::Parquet));
        assert_eq!((of("x.csv.gz"), of("x.JSON.zst")), (Some(FileFormat::Csv), Some(FileFormat::Json)));
        assert_eq!((of("x.parquet.gz"), of("x.gz"), of("x.csv.bz2")), (None, None, None));
        assert_eq!(of("x"), None);
    }

    #[test]
    fn folders_give_their_files_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["b.parquet", "a.parquet", "_SUCCESS", ".hidden"] {
            std::fs::write(folder.path().join(name), "x").expect("a file");
        }
        let (files, format) = resolve(&[folder.path().to_owned()], None).expect("files");
        assert_eq!(format, FileFormat::Parquet);
        assert_eq!(files, [folder.path().join("a.parquet"), folder.path().join("b.parquet")]);
        std::fs::write(folder.path().join("c.csv"), "x").expect("a file");
        assert!(resolve(&[folder.path().to_owned()], None).is_err());
        assert!(resolve(&[folder.path().join("missing")], None).expect_err("missing").to_string().contains("missing"));
        assert!(resolve(&[], None).is_err());
        let device = resolve(&[PathBuf::from("/dev/null")], Some(FileFormat::Csv));
        assert!(device.expect_err("a device").to_string().contains("no regular file"));
    }
}
