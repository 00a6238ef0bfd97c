//! Who is connected to what, and since when.

use crate::functions::catalog::function::{CatalogFunction, CatalogValue, Gives};
use crate::functions::waiting;
use crate::{Error, Result};
use gingham_storage::SqlState;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a sleep goes on before it looks whether it was cancelled.
const NAP: Duration = Duration::from_millis(10);
/// The longest sleep that is taken: about a year.
const LONGEST: f64 = 3.2e7;

pub(super) fn all() -> Vec<CatalogFunction> {
    vec![
        CatalogFunction::new("current_user", 0..=0, Gives::Text, |_, names| Ok(CatalogValue::Text(names.user())))
            .alias("session_user")
            .alias("user")
            .alias("current_role"),
        CatalogFunction::new("current_database", 0..=0, Gives::Text, |_, names| {
            Ok(CatalogValue::Text(names.database()))
        })
        .alias("current_catalog"),
        CatalogFunction::new("current_schema", 0..=0, Gives::Text, |_, names| {
            Ok(names.search_path().into_iter().next().into())
        }),
        CatalogFunction::new("current_schemas", 1..=1, Gives::Texts, |own, names| {
            let system = (own[0] == CatalogValue::Truth(true)).then(|| "pg_catalog".to_owned());
            Ok(CatalogValue::Texts(system.into_iter().chain(names.search_path()).collect()))
        }),
        CatalogFunction::new("pg_backend_pid", 0..=0, Gives::Integer, |_, names| {
            Ok(CatalogValue::Integer(names.session_id()))
        }),
        CatalogFunction::new("pg_cancel_backend", 1..=1, Gives::Truth, |own, names| {
            Ok(CatalogValue::Truth(names.cancel_session(number("pg_cancel_backend", &own[0])?)?))
        })
        .volatile(),
        CatalogFunction::new("pg_terminate_backend", 1..=2, Gives::Truth, |own, names| {
            let of = |value| number("pg_terminate_backend", value);
            let patience = match own.get(1).map(of).transpose()?.unwrap_or(0) {
                0 => None,
                milliseconds => Some(u64::try_from(milliseconds).map(Duration::from_millis).map_err(|_| {
                    let text = "the timeout of pg_terminate_backend is not negative";
                    Error::invalid(SqlState::NumericValueOutOfRange, text)
                })?),
            };
            Ok(CatalogValue::Truth(names.terminate_session(of(&own[0])?, patience)?))
        })
        .volatile(),
        CatalogFunction::new("pg_is_in_recovery", 0..=0, Gives::Truth, |_, _| Ok(CatalogValue::Truth(false))),
        CatalogFunction::new("pg_postmaster_start_time", 0..=0, Gives::Moment, |_, _| {
            Ok(CatalogValue::Moment(started()))
        })
        .alias("pg_conf_load_time"),
        CatalogFunction::new("txid_current", 0..=0, Gives::Integer, |_, names| {
            Ok(CatalogValue::Integer(names.commit()))
        })
        .alias("pg_current_xact_id"),
        CatalogFunction::new("inet_server_addr", 0..=0, Gives::Text, |_, _| Ok(CatalogValue::Null)),
        CatalogFunction::new("inet_client_addr", 0..=0, Gives::Text, |_, names| Ok(names.client_address().into())),
        CatalogFunction::new("inet_server_port", 0..=0, Gives::Integer, |_, _| Ok(CatalogValue::Null))
            .alias("inet_client_port"),
        CatalogFunction::new("pg_client_encoding", 0..=0, Gives::Text, |_, _| {
            Ok(CatalogValue::Text("UTF8".to_owned()))
        })
        .alias("getdatabaseencoding"),
        CatalogFunction::new("pg_my_temp_schema", 0..=0, Gives::Integer, |_, _| Ok(CatalogValue::Integer(0))),
        CatalogFunction::new("pg_is_other_temp_schema", 1..=1, Gives::Truth, |_, _| Ok(CatalogValue::Truth(false))),
        CatalogFunction::new("pg_sleep", 1..=1, Gives::Text, |own, names| {
            let seconds = seconds(&own[0])?;
            let end = Instant::now() + Duration::from_secs_f64(seconds);
            waiting(|| {
                loop {
                    if names.is_cancelled() {
                        return Err(Error::Cancelled);
                    }
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(CatalogValue::Text(String::new()));
                    }
                    std::thread::sleep(left.min(NAP));
                }
            })
        })
        .volatile(),
    ]
}

/// The whole number that an argument of a function is.
fn number(function: &str, value: &CatalogValue) -> Result<i64> {
    value.integer().ok_or_else(|| {
        let text = format!("{function} takes a whole number, not '{}'", value.text());
        Error::invalid(SqlState::UndefinedFunction, text)
    })
}

fn seconds(value: &CatalogValue) -> Result<f64> {
    let text = value.text();
    let seconds: f64 = text.trim().parse().map_err(|_| {
        Error::invalid(SqlState::InvalidParameterValue, format!("pg_sleep takes seconds as a number, not '{text}'"))
    })?;
    Ok(if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, LONGEST) })
}

/// When this was asked first, which a program does that opens a database, in microseconds since 1970.
pub(crate) fn started() -> i64 {
    static STARTED: OnceLock<i64> = OnceLock::new();
    *STARTED.get_or_init(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}
