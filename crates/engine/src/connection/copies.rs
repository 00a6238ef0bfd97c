//! COPY with a stream of the program, piece by piece or as a whole.

use crate::connection::copy_in::PIECE_BYTES;
use crate::connection::launch::{self, Caller};
use crate::connection::{Connection, CopyIn, CopyOut};
use crate::session::wait;
use crate::sql::copy::{CopyFrom, CopyPlace, CopyToStream, to_file};
use crate::sql::copy_feed::CopyFeed;
use crate::sql::copy_options::CopyOption;
use crate::statements::transfer::streams::options::{Direction, StreamOptions, is_whole, named_format};
use crate::statements::{Statement, parse_single};
use crate::{Error, Result, StatementHandle};
use bytes::BytesMut;
use futures::StreamExt;
use gingham_storage::SqlState;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

impl Connection {
    /// Runs `COPY t FROM STDIN` with the bytes of `from`, to their end, unless `handle` cancels it. All records are stored, or none.
    /// Gives their number. As in PostgreSQL the format is text where none is named, and csv and binary are the others. Records of the
    /// formats json, parquet and arrow, of which it takes the whole, go by a file in the system's temporary folder.
    ///
    /// ```
    /// use gingham::{Database, StatementHandle};
    ///
    /// let (connection, handle) = (Database::in_memory()?.connect(), StatementHandle::new());
    /// connection.execute("CREATE TABLE fruit (name VARCHAR, price DECIMAL(6,2))")?;
    /// let mut text = "apple\t0.45\nquince\t1.20\n".as_bytes();
    /// assert_eq!(connection.copy_in("COPY fruit FROM STDIN", &mut text, &handle)?, 2);
    /// let error = connection.copy_in("COPY fruit FROM STDIN (FORMAT csv)", &mut "pear,dear\n".as_bytes(), &handle).unwrap_err();
    /// assert_eq!(error.to_string(), "COPY fruit, line 1, column 'price': value 'dear' is not a valid DECIMAL(6,2)");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn copy_in(&self, sql: &str, from: &mut dyn Read, handle: &StatementHandle) -> Result<u64> {
        let copy = copy_from(sql, "copy_in")?;
        if goes_by_file(&copy.options) {
            return self.by_file_in(copy, from, handle);
        }
        let mut copy = wait(self.begin_copy_in(copy, sql, handle))?;
        loop {
            let mut piece = BytesMut::zeroed(PIECE_BYTES);
            match from.read(&mut piece) {
                Ok(0) => return wait(copy.finish()),
                Ok(length) => wait(copy.send(piece.split_to(length).freeze()))?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    drop(wait(copy.fail("the stream could not be read")));
                    return Err(Error::Io(format!("reading the stream of COPY: {error}")));
                }
            }
        }
    }

    /// Runs `COPY t TO STDOUT` or `COPY (SELECT …) TO STDOUT`, and writes its bytes to `to`, unless `handle` cancels it. Gives the
    /// number of records. As in PostgreSQL the format is text where none is named, and csv and binary are the others. json, parquet
    /// and arrow go by a file in the system's temporary folder.
    ///
    /// ```
    /// use gingham::{Database, StatementHandle};
    ///
    /// let (connection, handle) = (Database::in_memory()?.connect(), StatementHandle::new());
    /// let mut bytes = Vec::new();
    /// let sql = "COPY (SELECT 1 AS a, 'x,y' AS b) TO STDOUT (FORMAT csv, HEADER true)";
    /// assert_eq!(connection.copy_out(sql, &mut bytes, &handle)?, 1);
    /// assert_eq!(bytes, b"a,b\n1,\"x,y\"\n");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn copy_out(&self, sql: &str, to: &mut dyn Write, handle: &StatementHandle) -> Result<u64> {
        let copy = copy_to(sql, "copy_out")?;
        if goes_by_file(&copy.options) {
            return self.by_file_out(copy, to, handle);
        }
        let mut copy = wait(self.begin_copy_out(copy, sql, handle))?;
        while let Some(piece) = wait(copy.next()) {
            to.write_all(&piece?).map_err(|error| unwritable(&error))?;
        }
        Ok(copy.records())
    }

    /// Starts `COPY t FROM STDIN`, whose bytes are then sent piece by piece: see [`CopyIn`]. Comes back when the statement waits for
    /// them, or has failed before. `handle` cancels it. The formats are text, csv and binary; those that are read as a whole are for
    /// [`Connection::copy_in`].
    ///
    /// ```
    /// use gingham::{Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let error = futures::executor::block_on(connection.start_copy_in("COPY t FROM STDIN", &StatementHandle::new())).unwrap_err();
    /// assert_eq!(error.sqlstate(), "42P01");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub async fn start_copy_in(&self, sql: &str, handle: &StatementHandle) -> Result<CopyIn> {
        self.begin_copy_in(copy_from(sql, "start_copy_in")?, sql, handle).await
    }

    /// Starts `COPY … TO STDOUT`, whose bytes then come piece by piece: see [`CopyOut`]. Comes back when the statement is planned.
    /// `handle` cancels it. The formats are text, csv and binary; those that are written as a whole are for [`Connection::copy_out`].
    ///
    /// ```
    /// use gingham::{Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let handle = StatementHandle::new();
    /// let copy = connection.start_copy_out("COPY (SELECT 1) TO STDOUT (FORMAT parquet)", &handle);
    /// assert_eq!(futures::executor::block_on(copy).unwrap_err().sqlstate(), "0A000");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub async fn start_copy_out(&self, sql: &str, handle: &StatementHandle) -> Result<CopyOut> {
        self.begin_copy_out(copy_to(sql, "start_copy_out")?, sql, handle).await
    }

    async fn begin_copy_in(&self, mut copy: CopyFrom, sql: &str, handle: &StatementHandle) -> Result<CopyIn> {
        let (feed, pieces, head) = CopyFeed::new();
        copy.feed = Some(feed);
        let caller = Caller::goes_on_by(self.tables(), handle)?.of_text(&Arc::from(sql));
        let started = launch::statement(self.session(), &Statement::CopyFrom(Box::new(copy)), None, caller)?;
        match head.await {
            Ok(head) => Ok(CopyIn::new(head, pieces, started)),
            // It has ended before it asked for records.
            Err(_) => match started.result().await {
                Err(error) => Err(error),
                Ok(_) => Err(Error::Internal("COPY has ended without its records".into())),
            },
        }
    }

    async fn begin_copy_out(&self, mut copy: CopyToStream, sql: &str, handle: &StatementHandle) -> Result<CopyOut> {
        let options = StreamOptions::of(&copy.options, Direction::To)?;
        copy.is_taken = true;
        let caller = Caller::goes_on_by(self.tables(), handle)?.of_text(&Arc::from(sql));
        let started = launch::statement(self.session(), &Statement::CopyOut(Box::new(copy)), None, caller)?;
        let rows = started.result().await?;
        let threads = self.session().with_settings(|settings| settings.threads);
        CopyOut::new(rows, options, self.session().engine.handle()?, threads)
    }

    /// Reads the records of a format that is read as a whole.
    fn by_file_in(&self, mut copy: CopyFrom, from: &mut dyn Read, handle: &StatementHandle) -> Result<u64> {
        let folder = temporary()?;
        let file = folder.path().join("STDIN");
        let written = File::create(&file).and_then(|mut to| std::io::copy(from, &mut to));
        written.map_err(|error| Error::Io(format!("reading the stream of COPY: {error}")))?;
        copy.from = CopyPlace::File(file.display().to_string());
        self.run_copy(Statement::CopyFrom(Box::new(copy)), folder.path(), handle)
    }

    /// Writes the records in a format that is written as a whole.
    fn by_file_out(&self, copy: CopyToStream, to: &mut dyn Write, handle: &StatementHandle) -> Result<u64> {
        let folder = temporary()?;
        // The ending says that it is a file, not a folder of files.
        let file = folder.path().join("STDOUT.rows");
        let CopyToStream { source, columns, options, .. } = copy;
        let statement = to_file(source, &columns, file.display().to_string(), Vec::new(), options)?;
        let records = self.run_copy(statement, folder.path(), handle)?;
        let written = File::open(&file).and_then(|mut from| std::io::copy(&mut from, to));
        written.map_err(|error| unwritable(&error))?;
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

/// Whether records are of a format that is read and written as a whole.
fn goes_by_file(options: &[CopyOption]) -> bool {
    named_format(options).is_some_and(|format| is_whole(&format))
}

fn copy_from(sql: &str, method: &str) -> Result<CopyFrom> {
    match parse_single(sql)? {
        Statement::CopyFrom(copy) if copy.from == CopyPlace::Stream => Ok(*copy),
        _ => Err(other(method, "COPY t FROM STDIN")),
    }
}

fn copy_to(sql: &str, method: &str) -> Result<CopyToStream> {
    match parse_single(sql)? {
        Statement::CopyOut(copy) => Ok(*copy),
        _ => Err(other(method, "COPY … TO STDOUT")),
    }
}

fn unwritable(error: &std::io::Error) -> Error {
    Error::Io(format!("writing the stream of COPY: {error}"))
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
