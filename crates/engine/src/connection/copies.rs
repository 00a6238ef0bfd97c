//! COPY with a stream of the program. Loads read files in several places at once, and files are written whole, so that a stream
//! goes by way of a file in the system's temporary folder.

use crate::connection::Connection;
use crate::connection::launch::{self, Caller};
use crate::session::wait;
use crate::sql::copy::CopyPlace;
use crate::statements::{Statement, parse_single};
use crate::{Error, Result, StatementHandle};
use datafusion::sql::parser::Statement as DataFusionStatement;
use gingham_storage::SqlState;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use tempfile::TempDir;

impl Connection {
    /// Runs `COPY t FROM STDIN (FORMAT csv, …)` with the bytes of `from`, to their end, unless `handle` cancels it. All records
    /// are stored, or none. Gives their number. Without a format, it is CSV.
    ///
    /// ```
    /// use gingham::{Database, StatementHandle};
    ///
    /// let (connection, handle) = (Database::in_memory()?.connect(), StatementHandle::new());
    /// connection.execute("CREATE TABLE fruit (name VARCHAR, price DECIMAL(6,2))")?;
    /// let mut text = "name,price\napple,0.45\nquince,1.20\n".as_bytes();
    /// assert_eq!(connection.copy_in("COPY fruit FROM STDIN (HEADER true)", &mut text, &handle)?, 2);
    /// let error = connection.copy_in("COPY fruit FROM STDIN", &mut "pear,dear\n".as_bytes(), &handle).unwrap_err();
    /// assert!(error.to_string().starts_with("STDIN:1, column 'price': "), "{error}");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn copy_in(&self, sql: &str, from: &mut dyn Read, handle: &StatementHandle) -> Result<u64> {
        let Statement::CopyFrom(mut copy) = parse_single(sql)? else {
            return Err(other("copy_in", "COPY t FROM STDIN"));
        };
        if copy.from != CopyPlace::Stream {
            return Err(other("copy_in", "COPY t FROM STDIN"));
        }
        let folder = temporary()?;
        let file = folder.path().join("STDIN");
        let written = File::create(&file).and_then(|mut to| std::io::copy(from, &mut to));
        written.map_err(|error| Error::Io(format!("reading the stream of COPY: {error}")))?;
        copy.from = CopyPlace::File(file.display().to_string());
        if !copy.options.iter().any(|(name, _)| name == "format") {
            copy.options.push(("format".to_owned(), "csv".to_owned()));
        }
        self.run_copy(Statement::CopyFrom(copy), folder.path(), handle)
    }

    /// Runs `COPY t TO STDOUT (FORMAT csv, …)` or `COPY (SELECT …) TO STDOUT`, and writes its bytes to `to`, unless `handle`
    /// cancels it. Gives the number of records. Without a format, it is CSV.
    ///
    /// ```
    /// use gingham::{Database, StatementHandle};
    ///
    /// let (connection, handle) = (Database::in_memory()?.connect(), StatementHandle::new());
    /// let mut bytes = Vec::new();
    /// let records = connection.copy_out("COPY (SELECT 1 AS a, 'x' AS b) TO STDOUT (HEADER true)", &mut bytes, &handle)?;
    /// assert_eq!((records, bytes.as_slice()), (1, b"a,b\n1,x\n".as_slice()));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn copy_out(&self, sql: &str, to: &mut dyn Write, handle: &StatementHandle) -> Result<u64> {
        let Statement::CopyOut(mut copy) = parse_single(sql)? else {
            return Err(other("copy_out", "COPY … TO STDOUT"));
        };
        let folder = temporary()?;
        // The ending says that it is a file, not a folder of files.
        let file = folder.path().join("STDOUT.rows");
        copy.target = file.display().to_string();
        let statement = Statement::Sql(Box::new(DataFusionStatement::CopyTo(*copy)));
        let records = self.run_copy(statement, folder.path(), handle)?;
        let written = File::open(&file).and_then(|mut from| std::io::copy(&mut from, to));
        written.map_err(|error| Error::Io(format!("writing the stream of COPY: {error}")))?;
        Ok(records)
    }

    /// Runs a COPY with a file of `folder`, which errors do not tell.
    fn run_copy(&self, statement: Statement, folder: &Path, handle: &StatementHandle) -> Result<u64> {
        let caller = Caller::waits_by(self.tables(), handle)?.with_own_files();
        let started = launch::statement(self.session(), &statement, None, caller)?;
        let result = wait(started.result()).map_err(|error| match error {
            Error::InvalidInput(mut problem) => {
                problem.text = problem.text.replace(&format!("{}/", folder.display()), "");
                Error::InvalidInput(problem)
            }
            other => other,
        })?;
        Ok(result.rows_affected().unwrap_or(0))
    }
}

fn temporary() -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix("gingham-copy-")
        .tempdir()
        .map_err(|error| Error::Io(format!("making a folder in {}: {error}", std::env::temp_dir().display())))
}

fn other(method: &str, wanted: &str) -> Error {
    Error::invalid(SqlState::InvalidParameterValue, format!("{method} runs {wanted}, and no other statement"))
}
