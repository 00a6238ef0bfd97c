//! What is measured and what measures: experiments with their statistics, and TPC-H as data and answers.
//!
//! | module | what |
//! |---|---|
//! | `tpch` | the generator's rows as Arrow batches and Parquet files, the 22 queries, answers and how to compare them |
//! | `data` | data that experiments are fed with |
//! | `experiment` | experiments as data, their runner, claims and verdicts |
//! | `experiments` | the papers' experiments |
//! | `advisor` | which design of a table suits a workload, measured |
//! | `merge` | results of several machines as one |
//! | `report`, `plot` | results as a page with figures |
//! | `machine` | facts that stand beside every measurement |
//! | `random` | random numbers that a seed determines |
//! | `statistics` | intervals, outliers, comparisons, classes of the best |
//! | `words` | numbers and nouns as people read them |

pub mod advisor;
pub mod data;
pub mod experiment;
pub mod experiments;
pub mod machine;
pub mod merge;
pub mod plot;
pub mod random;
pub mod report;
pub mod statistics;
pub mod tpch;
pub mod words;
