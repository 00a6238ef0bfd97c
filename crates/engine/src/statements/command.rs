//! What a statement is called: the word that a driver is told when it has run, as PostgreSQL's command tags.

use crate::sql::ignored as query;
use crate::sql::parse::Statement;
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::{ObjectType, SetExpr, Statement as Sql};

/// The name of a statement: `INSERT`, `CREATE TABLE`.
pub(crate) fn command(statement: &Statement) -> &'static str {
    match statement {
        Statement::Sql(statement) => match &**statement {
            DataFusionStatement::Statement(statement) => of_sql(statement),
            DataFusionStatement::CreateExternalTable(_) => "CREATE EXTERNAL TABLE",
            DataFusionStatement::CopyTo(_) => "COPY",
            DataFusionStatement::Explain(_) => "EXPLAIN",
            DataFusionStatement::Reset(_) => "RESET",
        },
        Statement::CopyFrom(_) | Statement::CopyOut(_) => "COPY",
        Statement::Explain(_) => "EXPLAIN",
        Statement::Session(own) => own.command(),
        Statement::AlterDesign(_) => "ALTER TABLE",
        Statement::Summarize(_) => "SUMMARIZE",
        Statement::Define(define) => define.command(),
        Statement::Refused(_) => "",
    }
}

fn of_sql(statement: &Sql) -> &'static str {
    match statement {
        Sql::Query(query) if query::changes(query) => match &*query.body {
            SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) => {
                of_sql(inner)
            }
            _ => "SELECT",
        },
        Sql::Query(_) => "SELECT",
        Sql::Insert(_) => "INSERT",
        Sql::Update(_) => "UPDATE",
        Sql::Delete(_) => "DELETE",
        Sql::Merge(_) => "MERGE",
        Sql::CreateTable(table) if table.query.is_some() => "SELECT",
        Sql::CreateTable(_) => "CREATE TABLE",
        Sql::CreateView(_) => "CREATE VIEW",
        Sql::CreateIndex(_) => "CREATE INDEX",
        Sql::CreateSchema { .. } => "CREATE SCHEMA",
        Sql::AlterTable(_) => "ALTER TABLE",
        Sql::Drop { object_type, .. } => match object_type {
            ObjectType::Table => "DROP TABLE",
            ObjectType::View => "DROP VIEW",
            ObjectType::Index => "DROP INDEX",
            ObjectType::Schema => "DROP SCHEMA",
            ObjectType::Sequence => "DROP SEQUENCE",
            _ => "DROP",
        },
        Sql::Truncate(_) => "TRUNCATE TABLE",
        Sql::Vacuum(_) => "VACUUM",
        Sql::OptimizeTable { .. } => "OPTIMIZE TABLE",
        Sql::Rollback { .. } => "ROLLBACK",
        Sql::Savepoint { .. } => "SAVEPOINT",
        Sql::ReleaseSavepoint { .. } => "RELEASE",
        Sql::Prepare { .. } => "PREPARE",
        Sql::Execute { .. } => "EXECUTE",
        Sql::Deallocate { .. } => "DEALLOCATE",
        Sql::ExplainTable { .. } | Sql::Explain { .. } => "EXPLAIN",
        Sql::ShowCreate { .. } | Sql::ShowFunctions { .. } => "SHOW",
        Sql::ShowTables { .. } | Sql::ShowColumns { .. } => "SHOW",
        _ => "",
    }
}
