//! The binder: from a query's syntax tree to DataFusion's logical plan, each name resolved once.
//!
//! DataFusion tells columns apart by qualifier and name, so that equal names of an inner and an outer query, of two schemas,
//! of a USING pair, of a select list and a table become one column. Here every new column of a statement gets a name that
//! occurs once in it, and names mean what SQL's scopes say. What the user calls a column stays beside the plan. Scalar
//! expressions, their names replaced and their subqueries taken out, are planned by DataFusion
//! (docs/decisions/0052-names-resolved-once.md).
//!
//! | file | what |
//! |---|---|
//! | `statement` | a statement's query from look-up to plan; the names of its columns |
//! | `tables` | the tables and views that a statement names |
//! | `binder` | the state of binding, and where a query stands |
//! | `names` | names that occur once |
//! | `mentioned` | which columns of its tables a statement names |
//! | `scope` | what a name may mean |
//! | `query`, `with`, `ties`, `pipe` | WITH, ORDER BY, LIMIT and FETCH around a query; operators behind it |
//! | `recursive` | WITH RECURSIVE |
//! | `shared` | queries of WITH that are computed once |
//! | `set` | UNION, INTERSECT, EXCEPT, VALUES |
//! | `select`, `items`, `group`, `window`, `frame`, `frame_exclusion`, `order`, `unnest` | the clauses of SELECT |
//! | `from`, `functions`, `sample`, `join` | the members of FROM |
//! | `merge` | the one query of MERGE: target and source joined, the clause that takes each row, the values that it gives |
//! | `keys` | keys of tables, kept from DataFusion where they mislead it |
//! | `expression`, `subquery`, `row`, `outer` | scalar expressions, the queries in them, comparisons of rows, aggregates of queries around |
//! | `whole_row` | rows of tables as values |
//! | `typed` | calls that are others for other types |
//! | `fixed` | CHAR(n), and casts to CHAR(n) and VARCHAR(n) |
//! | `patterns` | regular expressions and patterns of LIKE as PostgreSQL reads them |
//! | `error` | errors with the place in the text |

mod binder;
mod error;
mod expression;
mod fixed;
mod frame;
mod frame_exclusion;
mod from;
mod functions;
mod group;
mod items;
mod join;
mod keys;
mod mentioned;
mod merge;
mod names;
mod order;
mod outer;
mod passed_on;
mod patterns;
mod pipe;
mod query;
mod recursive;
mod row;
mod sample;
mod scope;
mod select;
mod set;
mod shared;
mod statement;
mod subquery;
mod tables;
mod ties;
mod told;
mod typed;
mod unnest;
mod whole_row;
mod window;
mod with;
mod with_order;

pub(crate) use binder::{Beside, Instead, MERGE_ACTION};
pub(crate) use items::heading;
pub(crate) use mentioned::constraint;
pub(crate) use merge::{BoundMerge, MergeClauseShape, MergeShape, MergeSide, bind_merge};
pub(crate) use statement::{BoundQuery, OutputColumns, bind, give_as};
pub(crate) use tables::{FoundView, KnownRelation, Looked, Lookup};
pub(crate) use with_order::{in_order, tables_read};
