//! What is measured and what measures: TPC-H as data and answers, for the demo, the tests and the benchmark.
//!
//! | module | what |
//! |---|---|
//! | `tpch` | the generator's rows as Arrow batches and Parquet files, the 22 queries, answers and how to compare them |
//! | `machine` | facts that stand beside every measurement |
//! | `statistics` | medians and means |

pub mod machine;
pub mod statistics;
pub mod tpch;
