//! Who a client is, and the session that it gets.

use crate::backend::Backend;
use crate::backend::session::Session;
use crate::errors::{fatal, of_engine};
use crate::server::Comers;
use crate::users::{User, Users, UsersError};
use async_trait::async_trait;
use futures::Sink;
use gingham::{Role, SessionOptions};
use pgwire::api::auth::driver::AuthOutcome;
use pgwire::api::auth::mechanism::AuthMechanismFactory;
use pgwire::api::auth::sasl::scram::{ScramAuth, ScramSecret};
use pgwire::api::auth::{
    AuthDriver, AuthSource, LoginInfo, Password, ServerParameterProvider, StartupHandler, protocol_negotiation,
    save_startup_parameters_to_metadata,
};
use pgwire::api::cancel::CancelHandler;
use pgwire::api::{ClientInfo, METADATA_DATABASE, METADATA_USER, PidSecretKeyGenerator};
use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use pgwire::messages::cancel::CancelRequest;
use pgwire::messages::startup::SecretKey;
use pgwire::messages::{PgWireBackendMessage as Answer, PgWireFrontendMessage as Message, ProtocolVersion};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Settings that sessions of a server begin with, on which PostgreSQL's clients rely.
const DEFAULTS: [(&str, &str); 2] =
    [("gingham.column_names", "postgres"), ("default_transaction_isolation", "read committed")];

/// Names by which clients may know the database, besides its own and the user's.
const NAMES: [&str; 2] = ["gingham", "postgres"];

#[async_trait]
impl StartupHandler for Backend {
    async fn on_startup<C>(&self, client: &mut C, message: Message) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<Answer> + Unpin + Send + Sync,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        let driver =
            AuthDriver::<FromSession, User>::new(FromSession).with_pid_secret_key_generator(Arc::new(FromSession));
        let outcome = match message {
            Message::Startup(startup) => {
                protocol_negotiation(client, &startup).await?;
                save_startup_parameters_to_metadata(client, &startup);
                self.check_startup(client)?;
                match &self.server.comers {
                    Comers::All(_) => AuthOutcome::Authenticated { identity: None, final_message: None },
                    Comers::Users(users) => {
                        let mechanism = self.scram(users, client.is_secure()).create();
                        driver.begin_authentication(client, mechanism).await?
                    }
                }
            }
            Message::PasswordMessageFamily(message) => {
                self.has_method.store(true, Ordering::Relaxed);
                driver.advance_authentication(client, message).await?
            }
            _ => return Err(fatal("08P01", "a first message was expected".into())),
        };
        match outcome {
            AuthOutcome::InProgress => Ok(()),
            AuthOutcome::Authenticated { identity, final_message } => {
                let role = match (identity, &self.server.comers) {
                    (Some(user), _) => user.role,
                    (None, Comers::All(role)) => *role,
                    (None, Comers::Users(_)) => {
                        let user = client.metadata().get(METADATA_USER).cloned().unwrap_or_default();
                        return Err(PgWireError::InvalidPassword(user));
                    }
                };
                self.enter(client, role).map_err(as_fatal)?;
                self.server.log.metrics.connections.inc();
                driver.complete_authentication(client, final_message).await
            }
        }
    }
}

#[async_trait]
impl CancelHandler for Backend {
    async fn on_cancel_request(&self, request: CancelRequest) {
        self.server.cancel(request.pid, &request.secret_key);
    }
}

impl Backend {
    /// Refuses what is not to be had, before anybody proves who they are.
    fn check_startup<C: ClientInfo>(&self, client: &C) -> PgWireResult<()> {
        let given = |name: &str| client.metadata().get(name).map(String::as_str).filter(|value| !value.is_empty());
        let Some(user) = given(METADATA_USER) else {
            return Err(fatal("28000", "the client names no user".into()));
        };
        if given("replication").is_some_and(|value| !matches!(value, "false" | "off" | "no" | "0")) {
            return Err(fatal("0A000", "replication by PostgreSQL's protocol is not supported".into()));
        }
        let own = &self.server.name;
        match given(METADATA_DATABASE) {
            Some(name) if name != own && name != user && !NAMES.contains(&name) => {
                let text = format!("database \"{name}\" does not exist; this server has \"{own}\"");
                Err(fatal("3D000", text))
            }
            _ => Ok(()),
        }
    }

    /// The method by which users prove who they are, with channel binding where the connection is encrypted.
    fn scram(&self, users: &Arc<Users>, is_secure: bool) -> ScramAuth<User> {
        let mut scram = ScramAuth::new(Arc::clone(users) as Arc<dyn AuthSource<User>>);
        if let Some(certificate) = self.server.certificate.as_ref().filter(|_| is_secure)
            && let Err(error) = scram.configure_certificate(certificate)
        {
            tracing::debug!("no channel binding: {error}");
        }
        scram
    }

    /// Makes the session of a client that is known.
    fn enter<C: ClientInfo>(&self, client: &C, role: Role) -> PgWireResult<()> {
        let place = self.server.place().map_err(|most| {
            fatal("53300", format!("there are {most} sessions, as many as may be (--max-connections)"))
        })?;
        let address = self.address.map_or_else(|| "[local]".to_owned(), |address| address.to_string());
        let user = client.metadata().get(METADATA_USER).cloned().unwrap_or_default();
        let mut options = SessionOptions::new().user(user).role(role).client_address(address).of_server(true);
        for (name, value) in DEFAULTS {
            options = options.setting(name, value);
        }
        for (name, value) in settings_of(client.metadata())? {
            options = options.setting(name, value);
        }
        let connection = self.server.database.connect_with(&options).map_err(|error| of_engine(&error, None))?;
        // What was said of settings is no news to a client that has asked for nothing.
        drop(connection.notices().take());
        let key = self.server.key_for(&connection).map_err(PgWireError::IoError)?;
        let session = Session::new(connection, key, Arc::clone(&self.server));
        let is_short = client.protocol_version() == ProtocolVersion::PROTOCOL3_0;
        let told = Told {
            settings: session.untold_settings().into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            pid: session.key.pid,
            secret: session.key.secret(is_short),
        };
        client.session_extensions().insert(told);
        client.session_extensions().insert(place);
        self.session.set(session).map_err(|_| fatal("08P01", "the client has said who it is before".into()))
    }
}

/// An error that ends a connection that has just begun.
fn as_fatal(error: PgWireError) -> PgWireError {
    match error {
        PgWireError::IoError(error) => PgWireError::IoError(error),
        other => {
            let info = ErrorInfo::from(other);
            fatal(&info.code, info.message)
        }
    }
}

/// The settings that a client asks for at the start, those of `options` first.
fn settings_of(metadata: &HashMap<String, String>) -> PgWireResult<Vec<(String, String)>> {
    let mut settings = match metadata.get("options") {
        Some(options) => settings_of_options(options)?,
        None => Vec::new(),
    };
    let not_set = ["user", "database", "options", "replication"];
    let own = metadata.iter().filter(|(name, _)| !not_set.contains(&name.as_str()) && !name.starts_with("_pq_."));
    settings.extend(own.map(|(name, value)| (name.clone(), value.clone())));
    Ok(settings)
}

/// The settings of `-c name=value --name=value`; a backslash takes what follows it for a letter.
fn settings_of_options(options: &str) -> PgWireResult<Vec<(String, String)>> {
    let (mut words, mut word, mut letters) = (Vec::new(), None::<String>, options.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => word.get_or_insert_default().extend(letters.next()),
            blank if blank.is_ascii_whitespace() => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    let wrong = || fatal("42601", format!("options '{options}' are not of the form -c name=value or --name=value"));
    let (mut settings, mut words) = (Vec::new(), words.into_iter());
    while let Some(word) = words.next() {
        let setting = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
            (Some(setting), _) => setting.to_owned(),
            (None, Some("")) => words.next().ok_or_else(wrong)?,
            (None, Some(setting)) => setting.to_owned(),
            (None, None) => return Err(wrong()),
        };
        let (name, value) = setting.split_once('=').ok_or_else(wrong)?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

#[async_trait]
impl AuthSource<User> for Users {
    async fn get_password(&self, _: &LoginInfo) -> PgWireResult<Password> {
        Err(fatal("28000", "passwords are not kept, only what they are checked by".into()))
    }

    async fn get_scram_secret(&self, login: &LoginInfo) -> PgWireResult<(ScramSecret, Option<User>)> {
        self.secret_of(login.user().unwrap_or_default()).map_err(|error| {
            tracing::error!("the users can't be read: {error}");
            match error {
                UsersError::Io(_) | UsersError::Invalid(_) => fatal("58030", "the server can't read its users".into()),
            }
        })
    }
}

/// A session's answer to its client at the start.
struct Told {
    settings: HashMap<String, String>,
    pid: i32,
    secret: SecretKey,
}

/// Gives pgwire what the session tells.
struct FromSession;

impl ServerParameterProvider for FromSession {
    fn server_parameters<C: ClientInfo>(&self, client: &C) -> Option<HashMap<String, String>> {
        Some(client.session_extensions().get::<Told>()?.settings.clone())
    }
}

impl PidSecretKeyGenerator for FromSession {
    fn generate(&self, client: &dyn ClientInfo) -> (i32, SecretKey) {
        match client.session_extensions().get::<Told>() {
            Some(told) => (told.pid, told.secret.clone()),
            None => (0, SecretKey::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_settings() {
        let read = |options: &str| settings_of_options(options).ok();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(read(""), Some(vec![]));
        assert_eq!(read("-c a=b  -cc=d --e-f=g"), Some(vec![pair("a", "b"), pair("c", "d"), pair("e_f", "g")]));
        assert_eq!(read(r"-c search_path=a,\ b\\c"), Some(vec![pair("search_path", r"a, b\c")]));
        assert_eq!(read("-c"), None);
        assert_eq!(read("-x a=b"), None);
    }
}
