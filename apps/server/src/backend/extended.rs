//! Statements that are parsed, bound and executed by messages: the extended query of the protocol.

use crate::backend::no_parser::NoParser;
use crate::backend::run::{done, with_rows};
use crate::backend::session::Session;
use crate::backend::{Backend, Out, copy, parameters, rows};
use crate::errors::{Place, error, of_engine};
use crate::statement_log::LoggedStatement;
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use futures::{Sink, SinkExt};
use gingham::wire::{WireFormat, field_type, wire_type};
use gingham::{Connection, Prepared, QueryResult, ScalarValue, StatementKind};
use pgwire::api::portal::{Portal, PortalExecutionState};
use pgwire::api::query::{ExtendedQueryHandler, send_ready_for_query};
use pgwire::api::results::{QueryResponse, Response};
use pgwire::api::stmt::StoredStatement;
use pgwire::api::store::{Entry, PortalStore};
use pgwire::api::{ClientInfo, ClientPortalStore, DEFAULT_NAME, PgWireConnectionState as State};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage as Answer;
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{
    Bind, BindComplete, Close, CloseComplete, Describe, Execute, Parse, ParseComplete, PortalSuspended, Sync as PgSync,
    TARGET_TYPE_BYTE_PORTAL, TARGET_TYPE_BYTE_STATEMENT,
};
use pgwire::messages::response::{EmptyQueryResponse, TransactionStatus};
use std::fmt::Debug;
use std::sync::Arc;

/// A statement that a client has parsed.
#[derive(Debug)]
pub(crate) struct ParsedText {
    sql: String,
    prepared: Prepared,
    kind: StatementKind,
    /// The numbers of its parameters' types.
    parameters: Vec<u32>,
}

/// A parsed statement and, once it is bound, what it is bound to.
#[derive(Debug, Clone)]
pub(crate) struct StoredText {
    parsed: Arc<ParsedText>,
    values: Vec<ScalarValue>,
    formats: Vec<WireFormat>,
}

impl ParsedText {
    fn place(&self) -> Place<'_> {
        Place { text: &self.sql, start: 0 }
    }

    /// The schema of its rows, where that is known before it runs.
    fn schema(&self) -> Option<SchemaRef> {
        match self.kind {
            StatementKind::Alone => Some(Arc::new(Schema::empty())),
            _ => self.prepared.schema(),
        }
    }

    /// Runs it with values.
    async fn run(&self, values: &[ScalarValue]) -> PgWireResult<QueryResult> {
        self.prepared.query_async(values).await.map_err(|error| of_engine(&error, Some(self.place())))
    }
}

/// A portal of pgwire's, whose rows a client may take by portions.
type TextPortal = Portal<StoredText>;

#[async_trait]
impl ExtendedQueryHandler for Backend {
    type Statement = StoredText;
    type QueryParser = NoParser;

    fn query_parser(&self) -> Arc<NoParser> {
        Arc::new(NoParser)
    }

    async fn on_parse<C>(&self, client: &mut C, message: Parse) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<Answer> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = StoredText>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        let session = self.session()?;
        let parsed = session.parse(client.portal_store(), message).await;
        self.answered(client, parsed).await?;
        client.feed(Answer::ParseComplete(ParseComplete::new())).await?;
        Ok(())
    }

    async fn on_bind<C>(&self, client: &mut C, message: Bind) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<Answer> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = StoredText>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        let bound = self.session()?.bind(client.portal_store(), &message);
        self.answered(client, bound).await?;
        client.feed(Answer::BindComplete(BindComplete::new())).await?;
        Ok(())
    }

    async fn on_describe<C>(&self, client: &mut C, message: Describe) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<Answer> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = StoredText>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        let described = self.session()?.describe(client.portal_store(), message).await;
        for answer in self.answered(client, described).await? {
            client.feed(answer).await?;
        }
        Ok(())
    }

    async fn on_execute<C>(&self, client: &mut C, message: Execute) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<Answer> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = StoredText>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        let session = self.session()?;
        let name = message.name.as_deref().unwrap_or(DEFAULT_NAME);
        let portal = match client.portal_store().get_portal(name) {
            Some(Entry::Value(portal)) => portal,
            Some(Entry::Empty) => {
                client.feed(Answer::EmptyQueryResponse(EmptyQueryResponse::new())).await?;
                return Ok(());
            }
            None => {
                let missing = Err(error("34000", format!("portal '{}' does not exist", shown(name))));
                return self.answered(client, missing).await;
            }
        };
        client.set_state(State::QueryInProgress);
        let most = usize::try_from(message.max_rows).unwrap_or_default();
        let is_alone = self.is_sync_next.load(std::sync::atomic::Ordering::Relaxed);
        let ran = {
            let mut out = (&mut *client).sink_map_err(PgWireError::from);
            session.execute(&mut out, &portal, most, is_alone).await
        };
        let copies = self.answered(client, ran).await?;
        session.forget(client.portal_store());
        let kind = &portal.statement.statement.parsed.kind;
        if matches!(kind, StatementKind::Commit | StatementKind::Rollback) {
            client.portal_store().clear_portals();
        }
        client.set_state(if copies { State::CopyInProgress(true) } else { State::ReadyForQuery });
        if copies {
            client.flush().await?;
        }
        Ok(())
    }

    async fn on_close<C>(&self, client: &mut C, message: Close) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<Answer> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = StoredText>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        let name = message.name.as_deref().unwrap_or(DEFAULT_NAME);
        match message.target_type {
            TARGET_TYPE_BYTE_STATEMENT => {
                client.portal_store().rm_statement(name);
                self.session()?.statements().remove(name);
            }
            _ => {
                client.portal_store().rm_portal(name);
                let closed = self.session()?.close_cursor(name).await;
                self.answered(client, closed).await?;
            }
        }
        client.feed(Answer::CloseComplete(CloseComplete::new())).await?;
        Ok(())
    }

    async fn on_sync<C>(&self, client: &mut C, _: PgSync) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<Answer> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = StoredText>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        let session = self.session()?;
        if let Err(error) = session.end_implicit().await {
            self.server.log.metrics.failure(error.code());
            let info = pgwire::error::ErrorInfo::from(error);
            client.feed(Answer::ErrorResponse(info.into())).await?;
        }
        let status = session.told_status();
        if status == TransactionStatus::Idle {
            client.portal_store().clear_portals();
        }
        session.tell(&mut (&mut *client).sink_map_err(PgWireError::from)).await?;
        client.set_transaction_status(status);
        send_ready_for_query(client, status).await
    }

    async fn do_query<C>(&self, _: &mut C, _: &TextPortal, _: usize) -> PgWireResult<Response>
    where
        C: ClientInfo + ClientPortalStore + Sink<Answer> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = StoredText>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        // Answers are sent while statements run, by `on_execute`.
        Ok(Response::EmptyQuery)
    }
}

impl Session {
    async fn parse(&self, store: &impl PortalStore<Statement = StoredText>, message: Parse) -> PgWireResult<()> {
        let Parse { name, query, type_oids, .. } = message;
        let name = name.unwrap_or_else(|| DEFAULT_NAME.to_owned());
        if name != DEFAULT_NAME && self.statements().contains(&name) {
            return Err(error("42P05", format!("prepared statement '{name}' already exists")));
        }
        if Connection::split_statements(&query).is_empty() {
            store.put_empty_statement(&name);
            self.statements().insert(name);
            return Ok(());
        }
        let place = Place { text: &query, start: 0 };
        let about = |error: gingham::Error| of_engine(&error, Some(place));
        if self.transaction().has_failed {
            let kind = Connection::statement_kind(&query).map_err(about)?;
            self.admit(&kind, true).await?;
        }
        let types = type_oids.iter().map(|oid| gingham::wire::parameter_type(*oid));
        let types = types.collect::<gingham::Result<Vec<_>>>().map_err(about)?;
        let prepared = self.connection.prepare_with(&query, &types).await.map_err(about)?;
        let own = |(place, known): (usize, &Option<arrow::datatypes::DataType>)| match type_oids.get(place) {
            Some(oid) if types[place].is_some() => *oid,
            _ => prepared
                .parameter_oid(place)
                .unwrap_or_else(|| known.as_ref().map_or(parameters::TEXT, |known| wire_type(known).oid)),
        };
        let parameters = prepared.parameter_types().iter().enumerate().map(own).collect();
        let parsed = Arc::new(ParsedText { kind: prepared.kind(), sql: query, prepared, parameters });
        let stored = StoredText { parsed, values: Vec::new(), formats: Vec::new() };
        store.put_statement(Arc::new(StoredStatement::new(name.clone(), stored, Vec::new())));
        self.statements().insert(name);
        Ok(())
    }

    fn bind(&self, store: &impl PortalStore<Statement = StoredText>, message: &Bind) -> PgWireResult<()> {
        let name = message.statement_name.as_deref().unwrap_or(DEFAULT_NAME);
        let portal = message.portal_name.as_deref().unwrap_or(DEFAULT_NAME);
        if portal != DEFAULT_NAME && store.get_portal(portal).is_some() {
            return Err(error("42P03", format!("portal '{portal}' already exists")));
        }
        let stored = match store.get_statement(name) {
            Some(Entry::Value(stored)) => stored,
            Some(Entry::Empty) if message.parameters.is_empty() => {
                store.put_empty_portal(portal);
                return Ok(());
            }
            Some(Entry::Empty) => return Err(parameters::wrong_number(message.parameters.len(), 0)),
            None => {
                return Err(error("26000", format!("prepared statement '{}' does not exist", shown(name))));
            }
        };
        let parsed = Arc::clone(&stored.statement.parsed);
        let kind = &parsed.kind;
        let ends = matches!(kind, StatementKind::Commit | StatementKind::Rollback | StatementKind::RollbackTo);
        if self.transaction().has_failed && !ends {
            return Err(self.aborted());
        }
        let values = parameters::values(message, &parsed.parameters)?;
        let columns = parsed.schema().map(|schema| schema.fields().len());
        let formats = parameters::formats(&message.result_column_format_codes, columns)?;
        let bound = StoredText { parsed, values, formats };
        let statement = Arc::new(StoredStatement::new(name.to_owned(), bound, Vec::new()));
        // What it is bound to is known; pgwire's portal is to know its name.
        let own = Bind::new(message.portal_name.clone(), message.statement_name.clone(), vec![], vec![], vec![]);
        store.put_portal(Arc::new(Portal::try_new(&own, statement)?));
        Ok(())
    }

    async fn describe(
        &self,
        store: &impl PortalStore<Statement = StoredText>,
        message: Describe,
    ) -> PgWireResult<Vec<Answer>> {
        let name = message.name.as_deref().unwrap_or(DEFAULT_NAME);
        if message.target_type == TARGET_TYPE_BYTE_PORTAL {
            return match store.get_portal(name) {
                Some(Entry::Value(portal)) => Ok(vec![self.describe_portal(&portal).await?]),
                Some(Entry::Empty) => Ok(vec![Answer::NoData(NoData::new())]),
                // A cursor of DECLARE is a portal in PostgreSQL.
                None => match self.connection.cursor_schema(name) {
                    Ok(schema) => Ok(vec![rows::description(&schema, &[])]),
                    Err(_) => Err(error("34000", format!("portal '{}' does not exist", shown(name)))),
                },
            };
        }
        let (parameters, described) = match store.get_statement(name) {
            Some(Entry::Value(stored)) => {
                let parsed = &stored.statement.parsed;
                let schema = match parsed.schema() {
                    Some(schema) => schema,
                    // Only running it tells.
                    None => parsed.run(&[]).await?.schema(),
                };
                (parsed.parameters.clone(), rows::description(&schema, &[]))
            }
            Some(Entry::Empty) => (Vec::new(), Answer::NoData(NoData::new())),
            None => return Err(error("26000", format!("prepared statement '{}' does not exist", shown(name)))),
        };
        Ok(vec![Answer::ParameterDescription(ParameterDescription::new(parameters)), described])
    }

    /// Closes a cursor of DECLARE, which is a portal in PostgreSQL.
    async fn close_cursor(&self, name: &str) -> PgWireResult<()> {
        match self.connection.cursor_schema(name) {
            Ok(_) => self.run_text(&format!("CLOSE \"{}\"", name.replace('"', "\"\""))).await,
            Err(_) => Ok(()),
        }
    }

    async fn describe_portal(&self, portal: &TextPortal) -> PgWireResult<Answer> {
        let StoredText { parsed, values, formats } = &portal.statement.statement;
        if let Some(schema) = parsed.schema() {
            return Ok(rows::description(&schema, formats));
        }
        let result = parsed.run(values).await?;
        let described =
            rows::description(&result.schema(), &parameters::spread(formats, result.schema().fields().len()));
        portal.start(response(result, formats)).await;
        Ok(described)
    }

    /// Executes a portal, or goes on with it. Whether the client is to send the rows of a COPY.
    async fn execute(&self, out: Out<'_>, portal: &TextPortal, most: usize, is_alone: bool) -> PgWireResult<bool> {
        let StoredText { parsed, values, .. } = &portal.statement.statement;
        let logged = self.begin(&parsed.sql, values);
        let executed = self.execute_logged(out, portal, most, (is_alone, &logged)).await;
        executed.inspect_err(|error| logged.failed(error))
    }

    async fn execute_logged(
        &self,
        out: Out<'_>,
        portal: &TextPortal,
        most: usize,
        (is_alone, logged): (bool, &LoggedStatement<'_>),
    ) -> PgWireResult<bool> {
        let StoredText { parsed, values, formats } = &portal.statement.statement;
        let state = portal.state();
        let mut state = state.lock().await;
        let has_begun = !matches!(*state, PortalExecutionState::Initial);
        if has_begun && self.transaction().has_failed {
            return Err(self.aborted());
        }
        if !has_begun {
            let alone = is_alone || parsed.kind == StatementKind::Alone;
            let admitted = self.admit(&parsed.kind, alone).await?;
            let tag = match self.instead(out, (&parsed.sql, &parsed.kind), admitted).await? {
                Some(tag) => Some(tag),
                None => match parsed.kind {
                    StatementKind::CopyIn => {
                        copy::begin(self, out, logged, parsed.place(), false).await?;
                        return Ok(true);
                    }
                    StatementKind::CopyOut => {
                        copy::send(self, out, logged, parsed.place()).await?;
                        *state = PortalExecutionState::Finished;
                        self.has_run(&parsed.kind);
                        return Ok(false);
                    }
                    _ => match self.deallocated(&parsed.kind) {
                        Some(tag) => Some(tag),
                        None => {
                            let result = parsed.run(values).await?;
                            check_schema(parsed, &result)?;
                            if parsed.kind == StatementKind::Alone || result.schema().fields().is_empty() {
                                Some(done(result).await.map_err(|error| of_engine(&error, Some(parsed.place())))?)
                            } else {
                                *state = PortalExecutionState::Suspended(response(result, formats));
                                None
                            }
                        }
                    },
                },
            };
            self.has_run(&parsed.kind);
            if let Some(tag) = tag {
                *state = PortalExecutionState::Finished;
                self.complete(out, logged, &tag, 0).await?;
                return Ok(false);
            }
        }
        let PortalExecutionState::Suspended(response) = &mut *state else {
            let text = format!("portal '{}' has run already", shown(&portal.name));
            return Err(error("55000", text));
        };
        let tag = response.command_tag().to_owned();
        let (sent, may_have_more) = rows::send(out, response.data_rows(), most).await?;
        if may_have_more {
            logged.has_sent(sent);
            self.tell(out).await?;
            out.feed(Answer::PortalSuspended(PortalSuspended::new())).await?;
        } else {
            // Executed again, it gives no rows.
            response.data_rows = Box::pin(futures::stream::empty());
            self.complete(out, logged, &with_rows(&tag, sent), sent).await?;
        }
        Ok(false)
    }
}

/// A result whose rows pgwire's portal holds.
fn response(result: QueryResult, formats: &[WireFormat]) -> QueryResponse {
    let tag = result.tag().to_string();
    let formats = parameters::spread(formats, result.schema().fields().len());
    let mut response = QueryResponse::new(Arc::new(Vec::new()), rows::Rows::new(result, formats));
    response.set_command_tag(&tag);
    response
}

/// Fails where the rows are not those that the client was told of: a table has changed since.
fn check_schema(parsed: &ParsedText, result: &QueryResult) -> PgWireResult<()> {
    let Some(told) = parsed.schema() else { return Ok(()) };
    let types = |schema: &Schema| -> Vec<u32> { schema.fields().iter().map(|field| field_type(field).oid).collect() };
    if parsed.kind == StatementKind::Alone || types(&told) == types(&result.schema()) {
        return Ok(());
    }
    Err(error("0A000", "cached plan must not change result type: a table has changed since the statement was prepared"))
}

/// The name of a statement or a portal as it is shown.
fn shown(name: &str) -> &str {
    if name == DEFAULT_NAME { "" } else { name }
}
