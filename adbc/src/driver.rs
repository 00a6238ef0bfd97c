//! The driver, and a database that it opens.

use crate::connection::PlainConnection;
use crate::error::{not_offered, told, unknown_option};
use crate::options;
use adbc_core::error::Result;
use adbc_core::options::{OptionConnection, OptionDatabase, OptionValue};
use adbc_core::{Database, Driver, Optionable};
use gingham::DatabaseOptions;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The key of the option that gives the memory limit in bytes.
const MEMORY_LIMIT: &str = "gingham.memory_limit";
/// The key of the option that gives the threads of a query.
const THREADS: &str = "gingham.threads";
/// The key of the option that opens a database for reading alone.
const READ_ONLY: &str = "gingham.read_only";

/// The driver, whose panics are others' to catch.
#[derive(Debug, Default)]
pub struct PlainDriver;

impl Driver for PlainDriver {
    type DatabaseType = PlainDatabase;

    fn new_database(&mut self) -> Result<PlainDatabase> {
        gingham::built_from(gingham_commit::COMMIT);
        Ok(PlainDatabase::default())
    }

    fn new_database_with_opts(
        &mut self,
        opts: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<PlainDatabase> {
        let mut database = self.new_database()?;
        opts.into_iter().try_for_each(|(key, value)| database.set_option(key, value))?;
        Ok(database)
    }
}

/// A database, opened by its first connection.
#[derive(Debug, Default)]
pub struct PlainDatabase {
    options: BTreeMap<String, String>,
    opened: Mutex<Option<gingham::Database>>,
}

impl PlainDatabase {
    fn open(&self) -> Result<gingham::Database> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = opened.as_ref() {
            return Ok(database.clone());
        }
        let given = |key: &str| self.options.get(key).map(|text| OptionValue::String(text.clone()));
        let number = |key: &str| given(key).map(|value| options::number(key, &value)).transpose();
        let read_only = given(READ_ONLY).map(|value| options::truth(READ_ONLY, &value)).transpose()?.unwrap_or(false);
        let how = DatabaseOptions::new().read_only(read_only).create(!read_only);
        let how = how.memory_limit(number(MEMORY_LIMIT)?).threads(number(THREADS)?);
        let path = self.options.get(OptionDatabase::Uri.as_ref()).map(|uri| path_of(uri));
        let database = match path {
            None | Some("" | ":memory:") => how.temporary(),
            Some(path) => how.open(path),
        };
        Ok(opened.insert(database.map_err(told)?).clone())
    }
}

/// The path that a URI names.
fn path_of(uri: &str) -> &str {
    let path = uri.strip_prefix("file:").or_else(|| uri.strip_prefix("gingham:")).unwrap_or(uri);
    path.strip_prefix("//").unwrap_or(path)
}

impl Optionable for PlainDatabase {
    type Option = OptionDatabase;

    fn set_option(&mut self, key: OptionDatabase, value: OptionValue) -> Result<()> {
        match &key {
            OptionDatabase::Uri => {}
            OptionDatabase::Other(name) if [MEMORY_LIMIT, THREADS].contains(&name.as_str()) => {
                options::number(name, &value)?;
            }
            OptionDatabase::Other(name) if name == READ_ONLY => {
                options::truth(name, &value)?;
            }
            other => return Err(not_offered(format!("option '{}' of a database", other.as_ref()))),
        }
        if self.opened.get_mut().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Err(crate::error::wrong_state(format!(
                "option '{}' is set before the first connection",
                key.as_ref()
            )));
        }
        let text = options::text(key.as_ref(), &value)?;
        self.options.insert(key.as_ref().to_owned(), text);
        Ok(())
    }

    fn get_option_string(&self, key: OptionDatabase) -> Result<String> {
        self.options.get(key.as_ref()).cloned().ok_or_else(|| unknown_option(key.as_ref()))
    }

    options::only_texts!(OptionDatabase);
}

impl Database for PlainDatabase {
    type ConnectionType = PlainConnection;

    fn new_connection(&self) -> Result<PlainConnection> {
        Ok(PlainConnection::new(self.open()?.connect()))
    }

    fn new_connection_with_opts(
        &self,
        opts: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<PlainConnection> {
        let mut connection = self.new_connection()?;
        opts.into_iter().try_for_each(|(key, value)| connection.set_option(key, value))?;
        Ok(connection)
    }
}
