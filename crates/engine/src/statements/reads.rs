//! Whether a statement leaves the database as it is: what may run where it is open for reading only.

use crate::recording::CLEAR_WORKLOAD;
use crate::sql::ignored::writes;
use crate::sql::parse::Statement;
use crate::sql::session::SessionStatement;
use datafusion::sql::parser::{CopyToSource, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::Statement as Sql;

/// Whether a statement leaves the database as it is. Settings are the connection's alone.
pub(crate) fn only_reads(statement: &Statement) -> bool {
    match statement {
        Statement::Sql(statement) => of_datafusion(statement),
        Statement::Summarize(summarize) => !clears(&summarize.query.to_string()),
        Statement::CopyOut(copy) => !changes(&copy.source) && !clears(&copy.source.to_string()),
        Statement::Explain(explain) => !explain.options.analyze || only_reads(&explain.statement),
        Statement::Session(own) => !matches!(**own, SessionStatement::Lock { .. } | SessionStatement::Analyze(_)),
        Statement::CopyFrom(_) | Statement::AlterDesign(_) | Statement::Define(_) => false,
        // It fails.
        Statement::Refused(_) => true,
    }
}

fn of_datafusion(statement: &DataFusionStatement) -> bool {
    match statement {
        DataFusionStatement::Statement(statement) => of_sql(statement),
        DataFusionStatement::CopyTo(copy) => !changes(&copy.source) && !clears(&copy.to_string()),
        DataFusionStatement::Explain(explain) => !explain.options.analyze || of_datafusion(&explain.statement),
        DataFusionStatement::Reset(_) => true,
        DataFusionStatement::CreateExternalTable(_) => false,
    }
}

fn of_sql(statement: &Sql) -> bool {
    match statement {
        Sql::Query(query) => !writes(query) && !clears(&query.to_string()) && !counts(&query.to_string()),
        Sql::Explain { analyze, statement, .. } => !analyze || of_sql(statement),
        Sql::ExplainTable { .. }
        | Sql::ShowCreate { .. }
        | Sql::ShowFunctions { .. }
        | Sql::ShowTables { .. }
        | Sql::ShowColumns { .. } => true,
        _ => false,
    }
}

/// Whether the query whose rows COPY writes changes records.
pub(crate) fn changes(source: &CopyToSource) -> bool {
    matches!(source, CopyToSource::Query(query) if writes(query))
}

/// Whether a query calls a function that takes values of a sequence.
fn counts(query: &str) -> bool {
    let query = query.to_ascii_lowercase();
    ["nextval", "setval"].iter().any(|name| query.contains(name))
}

/// Whether a query calls the one function that changes something.
fn clears(query: &str) -> bool {
    query.to_ascii_lowercase().contains(CLEAR_WORKLOAD)
}
