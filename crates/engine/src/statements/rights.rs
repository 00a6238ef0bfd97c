//! Whether who may only read may run a statement.

use crate::session::Session;
use crate::sql::ignored::writes;
use crate::sql::parse::Statement;
use crate::sql::session::SessionStatement;
use crate::statements::admin::prepare;
use crate::statements::reads;
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::Statement as Sql;

/// Whether a statement is not for those who may only read: it writes the database or tables of the session, or would keep others
/// from writing. What a function does is found where that is called.
pub(crate) fn needs_writer(session: &Session, statement: &Statement) -> bool {
    match statement {
        Statement::Sql(statement) => of_datafusion(session, statement),
        Statement::CopyOut(copy) => reads::changes(&copy.source),
        Statement::Explain(explain) => explain.options.analyze && needs_writer(session, &explain.statement),
        Statement::Session(own) => matches!(**own, SessionStatement::Lock { .. } | SessionStatement::Analyze(_)),
        Statement::CopyFrom(_) | Statement::AlterDesign(_) | Statement::Define(_) => true,
        // The latter fails.
        Statement::Summarize(_) | Statement::Refused(_) => false,
    }
}

fn of_datafusion(session: &Session, statement: &DataFusionStatement) -> bool {
    match statement {
        DataFusionStatement::Statement(statement) => of_sql(session, statement),
        DataFusionStatement::CopyTo(copy) => reads::changes(&copy.source),
        DataFusionStatement::Explain(explain) => explain.options.analyze && of_datafusion(session, &explain.statement),
        DataFusionStatement::Reset(_) => false,
        DataFusionStatement::CreateExternalTable(_) => true,
    }
}

fn of_sql(session: &Session, statement: &Sql) -> bool {
    match statement {
        Sql::Query(query) => writes(query),
        Sql::Explain { analyze, statement, .. } => *analyze && of_sql(session, statement),
        Sql::Execute { name, .. } => {
            let prepared = prepare::named(session, name.as_ref());
            prepared.is_some_and(|prepared| needs_writer(session, &prepared.statement))
        }
        Sql::ExplainTable { .. }
        | Sql::ShowCreate { .. }
        | Sql::ShowFunctions { .. }
        | Sql::ShowTables { .. }
        | Sql::ShowColumns { .. }
        | Sql::Prepare { .. }
        | Sql::Deallocate { .. }
        | Sql::Savepoint { .. }
        | Sql::ReleaseSavepoint { .. }
        | Sql::Rollback { .. } => false,
        _ => true,
    }
}
