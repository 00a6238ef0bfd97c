//! Tables as DataFusion sees them: scans, filters on codes, statistics.

mod provider;

pub(crate) use provider::GinghamTable;
