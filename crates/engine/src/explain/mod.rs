//! EXPLAIN as a tree: what each operator does, in plain words, with the rows that were expected of it and, after EXPLAIN ANALYZE, the
//! rows and the time that were seen.
//!
//! | file | what |
//! |---|---|
//! | `node` | an operator as a node of the tree |
//! | `operators` | DataFusion's operators and Gingham's -> nodes |
//! | `draw` | the tree as lines of text |

mod draw;
mod node;
mod operators;

pub(crate) use crate::explain::draw::lines;
pub(crate) use crate::explain::operators::tree;
