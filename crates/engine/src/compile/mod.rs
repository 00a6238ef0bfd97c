//! From DataFusion's physical plans to compiled pipelines: which parts are taken, and the operator that runs them.
//!
//! | file | what |
//! |---|---|
//! | `rule` | the physical rule that replaces what is supported |
//! | `not_compiled` | why something is left to DataFusion's operators |
//! | `sorted` | sorts of what is neither |
//! | `filtered` | filters that scans can't do, a morsel at a time |
//! | `subtree` | a part of a plan as a query of pipelines |
//! | `draft` | pipelines in the making: scans, filters, projections |
//! | `joined` | the joins that pipelines may do, as one description |
//! | `predicate` | a scan's predicate as an expression over integers |
//! | `join` | joins as probes and marks |
//! | `union` | rows of several pipelines as those of one |
//! | `groups` | aggregations as ends of pipelines |
//! | `calls` | their functions as words of states, or apart from these |
//! | `grouping_sets` | ROLLUP, CUBE and GROUPING SETS as groups of groups |
//! | `group_join` | aggregations before the join whose key they group by |
//! | `translate` | physical expressions -> expressions over integers |
//! | `numbers` | what numbers of any type become: arithmetic, comparisons, casts |
//! | `lookup_table` | any expression over one column -> its results by value |
//! | `entries` | strings as codes of those that occur |
//! | `evaluate` | what DataFusion computes of a pipeline's records |
//! | `given` | rows of DataFusion's operators as a source of pipelines |
//! | `functions` | the same while a query runs |
//! | `entry_numbers` | numbers of strings that functions make of a dictionary's entries |
//! | `exec` | `CompiledExec`, the operator |
//! | `clock` | how long code is made while a statement runs |
//! | `expected` | the rows that are expected of pipelines |
//! | `explained` | its pipelines in plain words |
//! | `wanted` | which of its rows, and in which order |
//! | `first_texts` | the first rows in an order of strings without codes |
//! | `results` | rows -> Arrow arrays |

mod branches;
mod by_records;
mod calls;
mod clock;
mod common_subplans;
mod draft;
mod entries;
mod entry_numbers;
mod evaluate;
mod exec;
mod expected;
mod explained;
mod filtered;
mod first_texts;
mod functions;
mod given;
mod group_join;
mod grouping_sets;
mod groups;
mod join;
mod joined;
mod lookup_table;
mod not_compiled;
mod numbers;
mod predicate;
mod results;
mod rule;
mod sorted;
mod subtree;
mod translate;
mod union;
mod wanted;

pub(crate) use clock::CompileClock;
pub(crate) use exec::CompiledExec;
pub(crate) use explained::{ExplainedPipeline, expected_rows};
pub(crate) use rule::CompilePipelines;
