//! What was typed before: Up finds what begins as the line does, as far as the cursor.

use crate::prompt::margin;
use rustyline::Result;
use rustyline::history::{FileHistory, History, SearchDirection, SearchResult};
use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is searched for, which the keys tell and the history heeds.
#[derive(Debug, Clone, Default)]
pub struct Search {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// What was typed.
    typed: String,
    /// The part of it before the cursor.
    prefix: String,
    /// What was found last.
    found: Option<String>,
}

impl Search {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Up or Down was typed in a line with the cursor at a place: another search begins, unless the line is what was found last.
    pub fn goes_on_from(&self, line: &str, at: usize) {
        let mut state = self.state();
        if state.found.as_deref() != Some(line) {
            *state = State { typed: line.to_owned(), prefix: margin::without(&line[..at]).into_owned(), found: None };
        }
    }
}

/// The history of a prompt, kept in a file.
pub struct PromptHistory {
    file: FileHistory,
    search: Search,
}

impl PromptHistory {
    /// A history that heeds a search.
    pub fn new(file: FileHistory, search: Search) -> Self {
        Self { file, search }
    }

    /// A result as it is edited.
    fn with_margin(result: Option<SearchResult<'_>>) -> Option<SearchResult<'_>> {
        result.map(|found| match found.entry.contains('\n') {
            true => {
                let pos = margin::with(&found.entry[..found.pos]).len();
                SearchResult { entry: Cow::Owned(margin::with(&found.entry)), pos, ..found }
            }
            false => found,
        })
    }
}

impl History for PromptHistory {
    fn get(&self, index: usize, dir: SearchDirection) -> Result<Option<SearchResult<'_>>> {
        let mut state = self.search.state();
        let found = match state.prefix.is_empty() {
            true => self.file.get(index, dir)?,
            false => self.file.starts_with(&state.prefix, index, dir)?,
        };
        let found = Self::with_margin(found);
        match (&found, dir) {
            (Some(found), _) => state.found = Some(found.entry.clone().into_owned()),
            // Behind the last one is what was typed.
            (None, SearchDirection::Forward) => {
                let entry = state.typed.clone();
                state.found = Some(entry.clone());
                let pos = entry.len();
                return Ok(Some(SearchResult { entry: Cow::Owned(entry), idx: self.file.len(), pos }));
            }
            (None, SearchDirection::Reverse) => {}
        }
        Ok(found)
    }

    fn search(&self, term: &str, start: usize, dir: SearchDirection) -> Result<Option<SearchResult<'_>>> {
        Ok(Self::with_margin(self.file.search(term, start, dir)?))
    }

    fn starts_with(&self, term: &str, start: usize, dir: SearchDirection) -> Result<Option<SearchResult<'_>>> {
        Ok(Self::with_margin(self.file.starts_with(term, start, dir)?))
    }

    fn add(&mut self, line: &str) -> Result<bool> {
        self.file.add(line)
    }

    fn add_owned(&mut self, line: String) -> Result<bool> {
        self.file.add_owned(line)
    }

    fn len(&self) -> usize {
        self.file.len()
    }

    fn is_empty(&self) -> bool {
        self.file.is_empty()
    }

    fn set_max_len(&mut self, len: usize) -> Result<()> {
        self.file.set_max_len(len)
    }

    fn ignore_dups(&mut self, yes: bool) -> Result<()> {
        self.file.ignore_dups(yes)
    }

    fn ignore_space(&mut self, yes: bool) {
        self.file.ignore_space(yes);
    }

    fn save(&mut self, path: &Path) -> Result<()> {
        self.file.save(path)
    }

    fn append(&mut self, path: &Path) -> Result<()> {
        self.file.append(path)
    }

    fn load(&mut self, path: &Path) -> Result<()> {
        self.file.load(path)
    }

    fn clear(&mut self) -> Result<()> {
        self.file.clear()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_finds_what_begins_alike() {
        let search = Search::default();
        let mut history = PromptHistory::new(FileHistory::new(), search.clone());
        for line in ["select 1;", "drop table t;", "select\n2;", "show tables;"] {
            history.add(line).expect("room");
        }
        let get = |index, dir| {
            let found = history.get(index, dir).expect("memory");
            found.map(|found| (found.idx, margin::without(&found.entry).into_owned()))
        };
        search.goes_on_from("sel", 3);
        assert_eq!(get(3, SearchDirection::Reverse), Some((2, "select\n2;".to_owned())));
        // The line is now what was found.
        search.goes_on_from(&margin::with("select\n2;"), 5);
        assert_eq!(get(1, SearchDirection::Reverse), Some((0, "select 1;".to_owned())));
        search.goes_on_from("select 1;", 9);
        assert_eq!(get(1, SearchDirection::Forward), Some((2, "select\n2;".to_owned())));
        search.goes_on_from(&margin::with("select\n2;"), 5);
        assert_eq!(get(3, SearchDirection::Forward), Some((4, "sel".to_owned())));
        // Another line, another search.
        search.goes_on_from("", 0);
        assert_eq!(get(3, SearchDirection::Reverse), Some((3, "show tables;".to_owned())));
        search.goes_on_from("nosuch", 6);
        assert_eq!(get(3, SearchDirection::Reverse), None);
    }
}
