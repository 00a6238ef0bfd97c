//! EXPLAIN: what each operator does, in plain words, with the rows that were expected of it and, after EXPLAIN ANALYZE, what was seen.
//!
//! | file | what |
//! |---|---|
//! | `node` | an operator as a node of the tree, and the statement |
//! | `operators` | DataFusion's operators and Gingham's -> nodes |
//! | `draw`, `json`, `html` | the tree as lines of text, as JSON, as a page |
//! | `figures` | numbers as texts |

mod draw;
mod figures;
mod html;
mod json;
mod node;
mod operators;

pub(crate) use crate::explain::node::{ExplainedRun, ExplainedStatement, PlanNode};
pub(crate) use crate::explain::operators::PlanReader;

use crate::sql::explain::{ExplainOptions, PlanFormat};

/// The lines of a statement's plan; a tree of text has so many columns.
pub(crate) fn lines(statement: ExplainedStatement, options: &ExplainOptions, width: usize) -> Vec<String> {
    let summary = options.summary.unwrap_or(statement.run.is_some());
    let statement = statement.of_options(options);
    match options.format {
        PlanFormat::Text => draw::lines(&statement, width, summary),
        PlanFormat::Json => json::lines(&statement, summary),
        PlanFormat::Html => html::lines(&statement, summary),
    }
}
