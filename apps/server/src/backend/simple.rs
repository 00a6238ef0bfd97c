//! Texts of statements: the simple query of the protocol.

use crate::backend::Backend;
use crate::backend::run::Ran;
use crate::backend::session::Session;
use crate::backend::{Out, rows::about};
use crate::errors::{Place, error};
use async_trait::async_trait;
use futures::{Sink, SinkExt};
use gingham::{Connection, StatementKind};
use pgwire::api::query::{SimpleQueryHandler, send_ready_for_query};
use pgwire::api::results::Response;
use pgwire::api::store::PortalStore;
use pgwire::api::{ClientInfo, ClientPortalStore, DEFAULT_NAME, PgWireConnectionState as State};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage as Answer;
use pgwire::messages::response::{EmptyQueryResponse, TransactionStatus};
use pgwire::messages::simplequery::Query;
use std::fmt::Debug;

#[async_trait]
impl SimpleQueryHandler for Backend {
    async fn on_query<C>(&self, client: &mut C, query: Query) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<Answer> + Unpin + Send + Sync,
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        let session = self.session()?;
        client.portal_store().rm_portal(DEFAULT_NAME);
        client.set_state(State::QueryInProgress);
        let ran = session.run_all(&mut (&mut *client).sink_map_err(PgWireError::from), &query.query).await;
        let ran = self.answered(client, ran).await;
        session.forget(client.portal_store());
        if session.told_status() == TransactionStatus::Idle {
            client.portal_store().clear_portals();
        }
        match ran? {
            Ran::Copies => client.set_state(State::CopyInProgress(false)),
            Ran::Done => {
                client.set_state(State::ReadyForQuery);
                send_ready_for_query(client, session.told_status()).await?;
            }
        }
        Ok(())
    }

    async fn do_query<C>(&self, _: &mut C, _: &str) -> PgWireResult<Vec<Response>>
    where
        C: ClientInfo + ClientPortalStore + Sink<Answer> + Unpin + Send + Sync,
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        // Answers are sent while statements run, by `on_query`.
        Ok(Vec::new())
    }
}

impl Session {
    /// Runs the statements of a text, as one transaction where there are several.
    async fn run_all(&self, out: Out<'_>, text: &str) -> PgWireResult<Ran> {
        let statements = Connection::split_statements(text);
        let places = places(text, &statements);
        if statements.is_empty() {
            out.feed(Answer::EmptyQueryResponse(EmptyQueryResponse::new())).await?;
            return Ok(Ran::Done);
        }
        let is_alone = statements.len() == 1;
        if !is_alone {
            check(&statements, &places)?;
        }
        let mut ran = Ran::Done;
        for (number, (sql, place)) in statements.iter().zip(places).enumerate() {
            let is_last = number + 1 == statements.len();
            // What comes after all others needs no transaction of its own when there is none.
            let needs_none = is_alone || is_last && !self.transaction().is_implicit;
            ran = self.run(out, sql, place, needs_none).await?;
        }
        if ran == Ran::Done {
            self.end_implicit().await?;
            self.tell(out).await?;
        }
        Ok(ran)
    }
}

/// Fails where a statement can't be parsed: then none of them is run.
fn check(statements: &[String], places: &[Place<'_>]) -> PgWireResult<()> {
    for (number, (sql, place)) in statements.iter().zip(places).enumerate() {
        let kind = Connection::statement_kind(sql).map_err(|error| about(&error, *place))?;
        if kind == StatementKind::CopyIn && number + 1 < statements.len() {
            return Err(error("0A000", "COPY … FROM STDIN has to be the last statement of its text"));
        }
    }
    Ok(())
}

/// Where the statements of a text lie in it.
fn places<'t>(text: &'t str, statements: &[String]) -> Vec<Place<'t>> {
    let mut from = 0;
    let place = |statement: &String| {
        let start = from + text[from..].find(statement.as_str()).unwrap_or_default();
        from = start + statement.len();
        Place { text, start }
    };
    statements.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_found_in_their_text() {
        let text = " SELECT 1; -- one\n SELECT 1;SELECT 1";
        let statements = Connection::split_statements(text);
        let starts: Vec<usize> = places(text, &statements).iter().map(|place| place.start).collect();
        assert_eq!(statements.len(), 3);
        assert_eq!(starts, [1, 11, 28]);
    }
}
