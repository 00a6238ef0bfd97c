//! The commit of a checkout, from git's own files: a build needs no git, and no rights that git would ask for.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Digits of a commit that are told.
const DIGITS: usize = 8;

/// What is known of a checkout.
#[derive(Debug)]
pub(crate) struct Checkout {
    /// The first digits of its commit; `None` where git keeps it in a way that is not known here.
    pub(crate) commit: Option<String>,
    /// The files of git that change when another commit is checked out or made.
    pub(crate) files: Vec<PathBuf>,
}

/// What is known of the checkout at `root`; `None` for a folder that is none, such as that of a source archive.
pub(crate) fn of(root: &Path) -> Option<Checkout> {
    let own = git_folder(root)?;
    let head_file = own.join("HEAD");
    let head = read_to_string(&head_file).ok()?;
    let head = head.trim();
    // Every new HEAD, by a commit or otherwise, is a line more of its log. A file that is missing would have the script run each time.
    let mut files = vec![head_file, own.join("logs/HEAD")];
    let hash = match head.strip_prefix("ref: ") {
        None => Some(head.to_owned()),
        Some(name) => {
            // Worktrees have their HEAD apart, and branches in common.
            let common = read_to_string(own.join("commondir")).map_or_else(|_| own.clone(), |to| own.join(to.trim()));
            let (loose, packed) = (common.join(name), common.join("packed-refs"));
            let found = read_to_string(&loose).ok().or_else(|| packed_reference(&packed, name));
            files.extend([loose, packed]);
            found
        }
    };
    files.retain(|file| file.is_file());
    let commit = hash.and_then(|hash| hash.trim().get(..DIGITS).map(str::to_owned));
    let commit = commit.filter(|commit| commit.bytes().all(|digit| digit.is_ascii_hexdigit()));
    Some(Checkout { commit, files })
}

/// Where git keeps what is of this checkout alone: the folder `.git`, or the one that a worktree's file of that name tells.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = read_to_string(git).ok()?;
    Some(root.join(text.strip_prefix("gitdir: ")?.trim()))
}

/// A branch's commit among those that git has put into one file.
fn packed_reference(packed: &Path, name: &str) -> Option<String> {
    let text = read_to_string(packed).ok()?;
    let found = text.lines().filter_map(|line| line.split_once(' ')).find(|(_, reference)| *reference == name);
    found.map(|(hash, _)| hash.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

    /// A folder with these files in it.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            create_dir_all(path.parent().expect("a folder")).expect("a folder");
            write(path, text).expect("a file");
        }
        folder
    }

    fn commit(files: &[(&str, &str)], root: &str) -> Option<String> {
        of(&folder(files).path().join(root)).and_then(|found| found.commit)
    }

    #[test]
    fn commits_are_found_where_git_keeps_them() {
        let (line, packed) = (format!("{HASH}\n"), format!("# pack-refs\n{HASH} refs/heads/main\n^{HASH}\n"));
        let on_main = (".git/HEAD", "ref: refs/heads/main\n");
        let expected = Some("01234567".to_owned());
        assert_eq!(commit(&[(".git/HEAD", &line)], ""), expected);
        assert_eq!(commit(&[on_main, (".git/refs/heads/main", &line)], ""), expected);
        assert_eq!(commit(&[on_main, (".git/packed-refs", &packed)], ""), expected);
        let worktree = [
            ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n"),
            ("main/.git/worktrees/tree/HEAD", "ref: refs/heads/main\n"),
            ("main/.git/worktrees/tree/commondir", "../..\n"),
            ("main/.git/refs/heads/main", line.as_str()),
        ];
        assert_eq!(commit(&worktree, "tree"), expected);
    }

    #[test]
    fn what_is_no_commit_is_none() {
        assert!(of(folder(&[("Cargo.toml", "")]).path()).is_none());
        assert_eq!(commit(&[(".git/HEAD", "ref: refs/heads/main\n")], ""), None);
        assert_eq!(
            commit(&[(".git/HEAD", "ref: refs/heads/.invalid\n"), (".git/refs/heads/.invalid", "reftable")], ""),
            None
        );
    }

    #[test]
    fn only_files_that_exist_are_watched() {
        let checkout = folder(&[(".git/HEAD", "ref: refs/heads/main\n"), (".git/logs/HEAD", "")]);
        let found = of(checkout.path()).expect("a checkout");
        let git = checkout.path().join(".git");
        assert_eq!(found.files, [git.join("HEAD"), git.join("logs/HEAD")]);
    }
}
