//! Statements that define in a grammar of Gingham's, each in its own file.

use crate::Result;
use crate::session::{Outcome, StatementContext};
use crate::sql::define::Define;
use crate::statements::ddl::{comment, identity, rename, sequence};

/// Runs one of them.
pub(crate) async fn run(context: &StatementContext, statement: Define) -> Result<Outcome> {
    match statement {
        Define::CreateSequence { temporary, if_not_exists, name, options } => {
            sequence::create(context, temporary, if_not_exists, &name, &options).await
        }
        Define::AlterSequence { if_exists, name, options } => {
            sequence::alter(context, if_exists, &name, &options).await
        }
        Define::Rename { kind, if_exists, name, to } => rename::run(context, kind, if_exists, &name, &to).await,
        Define::Comment { on, text } => comment::run(context, on, text).await,
        Define::AlterGenerated { if_exists, table, column, change } => {
            identity::alter(context, if_exists, &table, &column, change).await
        }
    }
}
