//! Threads, and whose turn it is at them.
//!
//! | file | what |
//! |---|---|
//! | `pool` | the threads, which run pipelines a morsel at a time |
//! | `fair` | which query is next at a thread |
//! | `helpers` | work that threads share behind a pipeline's last morsel |

pub(crate) mod fair;
pub(crate) mod helpers;
pub(crate) mod pool;
