//! The server as its clients see it: the program is started, and talked to by tokio-postgres and by bare messages.

mod ending;
mod harness;
mod hostile;
mod login;
mod messages;
mod portals;
mod published;
mod statements;
mod transactions;
mod values;
