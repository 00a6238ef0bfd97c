//! Readers of heap tables at one commit.
//!
//! | file | what |
//! |---|---|
//! | `reader` | a heap table: its pages, read in place |
//! | `page_source`, `overlay` | where pages lie: in the map, and over that what an open transaction has written |
//! | `verified` | pages whose checksums were verified |
//! | `zones`, `kept_views` | the table as a run of zones with column views, and views that are kept |
//! | `pairs` | pages of DSM's pairs |
//! | `lookup` | records that an index finds |
//! | `direct` | pages value by value, for experiments |

pub(crate) mod direct;
pub(crate) mod kept_views;
pub(crate) mod lookup;
pub(crate) mod overlay;
pub(crate) mod page_source;
pub(crate) mod pairs;
pub(crate) mod reader;
pub(crate) mod verified;
pub(crate) mod zones;
