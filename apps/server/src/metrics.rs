//! What Prometheus is told, at `/metrics`, and whether the server is well, at `/healthz`.

use crate::server::Server;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;

/// What is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    statements: Family<OfCommand, Counter>,
    failures: Family<OfState, Counter>,
    seconds: Histogram,
    rows: Counter,
    pub(crate) connections: Counter,
    pub(crate) refused: Counter,
    /// Bytes of the protocol, inside of TLS where there is that.
    pub(crate) received: Counter,
    pub(crate) sent: Counter,
    sessions: Family<InState, Gauge>,
    registry: Mutex<Registry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfCommand {
    command: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    sqlstate: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InState {
    state: String,
}

impl Metrics {
    pub(crate) fn new() -> Arc<Self> {
        // From a tenth of a millisecond to a hundred seconds.
        let bounds = (-8..=4).map(|power| 10_f64.powf(f64::from(power) / 2.0));
        let own = Self {
            statements: Family::default(),
            failures: Family::default(),
            seconds: Histogram::new(bounds),
            rows: Counter::default(),
            connections: Counter::default(),
            refused: Counter::default(),
            received: Counter::default(),
            sent: Counter::default(),
            sessions: Family::default(),
            registry: Mutex::default(),
        };
        let mut registry = Registry::with_prefix("gingham");
        registry.register("statements", "Statements that have run, by their tags", own.statements.clone());
        registry.register(
            "failed_statements",
            "Errors of statements that clients were told, by their SQLSTATE",
            own.failures.clone(),
        );
        registry.register("statement_seconds", "How long statements took", own.seconds.clone());
        registry.register("rows_sent", "Rows that clients were sent", own.rows.clone());
        registry.register("connections", "Clients that were let in", own.connections.clone());
        registry.register("refused_connections", "Clients that were not let in", own.refused.clone());
        registry.register("received_bytes", "Bytes that clients have sent", own.received.clone());
        registry.register("sent_bytes", "Bytes that clients were sent", own.sent.clone());
        registry.register("sessions", "Sessions that are there, by what they do", own.sessions.clone());
        *own.registry.lock().unwrap_or_else(PoisonError::into_inner) = registry;
        Arc::new(own)
    }

    /// A statement has run.
    pub(crate) fn statement(&self, command: &str, took: Duration, rows: usize) {
        self.statements.get_or_create(&OfCommand { command: command.to_owned() }).inc();
        self.seconds.observe(took.as_secs_f64());
        self.rows_sent(rows);
    }

    /// A client was sent rows.
    pub(crate) fn rows_sent(&self, rows: usize) {
        self.rows.inc_by(rows as u64);
    }

    /// A client was told an error.
    pub(crate) fn failure(&self, sqlstate: &str) {
        self.failures.get_or_create(&OfState { sqlstate: sqlstate.to_owned() }).inc();
    }

    /// All of it as Prometheus reads it.
    fn text(&self, server: &Server) -> Result<String, std::fmt::Error> {
        self.sessions.clear();
        for session in server.database.sessions() {
            self.sessions.get_or_create(&InState { state: session.state.to_string() }).inc();
        }
        let mut text = String::new();
        encode(&mut text, &self.registry.lock().unwrap_or_else(PoisonError::into_inner))?;
        Ok(text)
    }
}

/// Answers Prometheus, also while the server drains.
pub(crate) async fn serve(listener: TcpListener, server: Arc<Server>) {
    let routes = axum::Router::new().route("/healthz", get(health)).route("/metrics", get(metrics)).with_state(server);
    if let Err(error) = axum::serve(listener, routes).await {
        tracing::error!("--metrics: {error}");
    }
}

/// Whether clients may come, and a statement runs.
async fn health(State(server): State<Arc<Server>>) -> impl IntoResponse {
    if server.is_ending() {
        return (StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down\n".to_owned());
    }
    match server.database.connect().query_async("SELECT 1").await {
        Ok(_) => (StatusCode::OK, "ok\n".to_owned()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")),
    }
}

async fn metrics(State(server): State<Arc<Server>>) -> impl IntoResponse {
    match server.log.metrics.text(&server) {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            (StatusCode::OK, [(CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
