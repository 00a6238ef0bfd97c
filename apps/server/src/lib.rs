//! A database behind PostgreSQL's protocol: what the program `gingham-server` does. The engine does the work; this translates.
//!
//! | file | what |
//! |---|---|
//! | `commands` | the program's commands |
//! | `options` | the command line |
//! | `serve` | the server from its start to its end |
//! | `publishing` | publishing while the database is served |
//! | `server` | what all connections share |
//! | `connection/` | one client's messages |
//! | `backend/` | what answers them |
//! | `users`, `tls` | who may come, and how connections are encrypted |
//! | `errors` | errors as clients take them |
//! | `statement_log` | what is written down of statements |
//! | `metrics` | what Prometheus is told |
//! | `failure` | why the program ends early |

mod backend;
mod commands;
mod connection;
mod errors;
mod failure;
mod metrics;
mod options;
mod publishing;
mod serve;
mod server;
mod statement_log;
mod tls;
mod users;

pub use commands::run;
pub use connection::serve_unix;
pub use server::Server;
