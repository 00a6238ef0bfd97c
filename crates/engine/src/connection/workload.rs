//! Workloads as connections see them: what their statements ask of tables, and those that were recorded.

use crate::advisor::{StatementUse, Workload, WorkloadStatement, recorded};
use crate::connection::{Connection, launch};
use crate::sql::parse::parse_single;
use crate::statements::uses::uses_of;
use crate::{Error, Result};
use gingham_storage::SqlState;

impl Connection {
    /// The recorded workload: up to three statements of each shape, which share its weight. Errors when nothing is recorded.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// assert!(connection.recorded_workload().is_err());
    /// connection.execute("SET gingham.record_workload = true")?;
    /// for value in [1, 2, 2, 1] {
    ///     connection.execute(&format!("SELECT {value}"))?;
    /// }
    /// let weights: Vec<f64> = connection.recorded_workload()?.statements.iter().map(|one| one.weight).collect();
    /// assert_eq!(weights, [2.0, 2.0]);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn recorded_workload(&self) -> Result<Workload> {
        self.session().require_admin("the recorded workload")?;
        let statements = recorded(&self.session().engine.recorder);
        if statements.is_empty() {
            return Err(Error::invalid(
                SqlState::ObjectNotInPrerequisiteState,
                "no workload is recorded: SET gingham.record_workload = true, and run statements",
            ));
        }
        Ok(Workload { statements, origin: "recorded workload".into() })
    }

    /// What a statement of a workload asks of the database's tables, as they are now. Errors are those of binding it, with the
    /// file's name and the place in the file; what a writing statement's values are is not looked at.
    ///
    /// ```
    /// use gingham::advisor::Workload;
    ///
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t AS SELECT value AS a, value % 10 AS b FROM generate_series(1, 1000)")?;
    /// let workload = Workload::parse("SELECT sum(a) FROM t WHERE b = 3", "w.sql")?;
    /// let uses = connection.workload_use(&workload.statements[0], &workload.origin)?;
    /// assert_eq!((uses.tables[0].columns.len(), uses.tables[0].rows), (1, 100.0));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn workload_use(&self, statement: &WorkloadStatement, origin: &str) -> Result<StatementUse> {
        let context = self.context()?;
        let parsed = parse_single(&statement.placed)?;
        let found = launch::wait_for(self.session(), async move { uses_of(&context, parsed).await });
        found.map_err(|error| error.about(origin))
    }
}
