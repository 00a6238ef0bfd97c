//! The server as its clients see it: the program is started, and talked to by tokio-postgres and by bare messages.

mod certificates;
mod crowds;
mod draining;
mod encryption;
mod ending;
mod ending_others;
mod harness;
mod hostile;
mod load;
mod log;
mod login;
mod messages;
mod metrics;
mod portals;
mod published;
mod roles;
mod statements;
mod timeouts;
mod transactions;
mod values;
