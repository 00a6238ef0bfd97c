//! The text of SQL, before anything is planned: parsed, refused where nothing reads it, and put right where the parser or
//! DataFusion's planner would misread it.
//!
//! | file | what |
//! |---|---|
//! | `parse` | text to statements |
//! | `split`, `splitter` | a script cut into statements without parsing them, and while it arrives |
//! | `dialect`, `infix` | the dialect, and operators that the parser does not know |
//! | `tokens`, `adjacent`, `clauses`, `unicode`, `writes` | what is put right among the tokens |
//! | `refuse`, `ignored` | statements that are not offered, and clauses that nothing reads: refused by name |
//! | `walk` | one walk over syntax trees for every visitor |
//! | `column_types` | types of columns |
//! | `lengths` | how many characters a CHAR or VARCHAR has |
//! | `layout` | layouts, packings and encodings as texts |
//! | `definitions`, `alter_table`, `recursive_views` | clauses of CREATE TABLE, ALTER TABLE and CREATE VIEW that the parser does not know |
//! | `alter_design`, `copy`, `define`, `explain`, `summarize` | statements that the parser does not know |
//! | `session/` | statements about the session: SET, BEGIN, cursors |
//! | `headings` | what columns of a result are called |
//! | `names`, `quoted` | identifiers as names, and names as identifiers |
//! | `places` | where a token stands |
//! | `parameters` | `$1`, `?` and `$name` |
//! | `depth` | deep expressions |
//! | `derived` | queries over the rows of others |
//! | `calls`, `hypothetical`, `precedence`, `untyped`, `into`, `operators`, `forms`, `literals`, `sequence_calls` | corrections of what is parsed |
//! | `sequence_names` | names of sequences in texts |
//! | `postgres`, `arrays`, `array_queries` | names of PostgreSQL's catalog, and arrays as it reads them |

mod adjacent;
pub(crate) mod alter_design;
mod alter_table;
pub(crate) mod array_queries;
pub(crate) mod arrays;
pub(crate) mod calls;
pub(crate) mod clauses;
pub(crate) mod column_types;
pub(crate) mod copy;
pub(crate) mod copy_feed;
pub(crate) mod copy_options;
pub(crate) mod define;
pub(crate) mod definitions;
pub(crate) mod depth;
pub(crate) mod derived;
pub(crate) mod dialect;
pub(crate) mod explain;
pub(crate) mod forms;
pub(crate) mod headings;
mod hypothetical;
pub(crate) mod ignored;
pub(crate) mod infix;
pub(crate) mod into;
pub(crate) mod layout;
pub(crate) mod lengths;
pub(crate) mod literals;
pub(crate) mod names;
pub(crate) mod operators;
pub(crate) mod parameters;
pub(crate) mod parse;
pub(crate) mod places;
pub(crate) mod postgres;
pub(crate) mod precedence;
pub(crate) mod quoted;
mod recursive_views;
pub(crate) mod refuse;
mod sequence_calls;
pub(crate) mod sequence_names;
pub(crate) mod session;
pub(crate) mod split;
pub(crate) mod splitter;
pub(crate) mod summarize;
pub(crate) mod tokens;
mod unicode;
pub(crate) mod untyped;
pub(crate) mod walk;
pub(crate) mod writes;
