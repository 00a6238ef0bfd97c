//! The file of users: a line for each, with the role and PostgreSQL's verifier of the password, from which the password can't be had.
//!
//! ```text
//! ada<tab>admin<tab>SCRAM-SHA-256$4096:salt$stored key:server key
//! ```

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gingham::Role;
use pgwire::api::auth::sasl::scram::{SCRAM_ITERATIONS, ScramSecret, gen_salted_password};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes of a salt, as PostgreSQL makes them.
const SALT: usize = 16;
/// Bytes of a key.
const KEY: usize = 32;
const METHOD: &str = "SCRAM-SHA-256";

/// The role of a name.
pub(crate) fn role_of(name: &str) -> Result<Role, String> {
    let known = [Role::Read, Role::Write, Role::Admin].into_iter().find(|role| role.to_string() == name);
    known.ok_or_else(|| format!("there is no role '{name}'; the roles are read, write and admin"))
}

/// A user.
#[derive(Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) role: Role,
    verifier: Verifier,
}

#[derive(Clone)]
struct Verifier {
    iterations: usize,
    salt: Vec<u8>,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl User {
    /// A user with a password.
    pub(crate) fn new(name: &str, role: Role, password: &str) -> Result<Self, UsersError> {
        check_name(name)?;
        if password.is_empty() {
            return Err(UsersError::Invalid("the password is empty".into()));
        }
        let mut salt = vec![0; SALT];
        getrandom::fill(&mut salt).map_err(io::Error::from)?;
        let salted = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
        match ScramSecret::verifier_from_salted_password(salt, salted, SCRAM_ITERATIONS) {
            ScramSecret::Verifier { salt, iterations, stored_key, server_key } => {
                let verifier = Verifier { iterations, salt, stored_key, server_key };
                Ok(Self { name: name.into(), role, verifier })
            }
            ScramSecret::SaltedPassword { .. } => Err(UsersError::Invalid("no verifier was made".into())),
        }
    }

    /// What the user's password is checked by.
    pub(crate) fn secret(&self) -> ScramSecret {
        let Verifier { iterations, salt, stored_key, server_key } = self.verifier.clone();
        ScramSecret::Verifier { iterations, salt, stored_key, server_key }
    }

    fn of_line(line: &str) -> Option<Self> {
        let mut parts = line.split('\t');
        let (name, role, verifier) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || check_name(name).is_err() {
            return None;
        }
        let role = role_of(role).ok()?;
        Some(Self { name: name.into(), role, verifier: Verifier::of_text(verifier)? })
    }

    fn line(&self) -> String {
        let Verifier { iterations, salt, stored_key, server_key } = &self.verifier;
        let [salt, stored_key, server_key] = [salt, stored_key, server_key].map(|bytes| STANDARD.encode(bytes));
        format!("{}\t{}\t{METHOD}${iterations}:{salt}${stored_key}:{server_key}\n", self.name, self.role)
    }
}

impl Verifier {
    fn of_text(text: &str) -> Option<Self> {
        let (method, rest) = text.trim_end().split_once('$')?;
        let (first, second) = rest.split_once('$')?;
        let ((iterations, salt), (stored, server)) = (first.split_once(':')?, second.split_once(':')?);
        let bytes = |text: &str| STANDARD.decode(text).ok();
        let own = Self {
            iterations: iterations.parse().ok().filter(|count| (SCRAM_ITERATIONS..10_000_000).contains(count))?,
            salt: bytes(salt)?,
            stored_key: bytes(stored)?,
            server_key: bytes(server)?,
        };
        (method == METHOD && own.stored_key.len() == KEY && own.server_key.len() == KEY && !own.salt.is_empty())
            .then_some(own)
    }
}

fn check_name(name: &str) -> Result<(), UsersError> {
    if name.is_empty() || name.len() > 63 || name.contains(|letter: char| letter.is_control() || letter.is_whitespace())
    {
        let text = format!("'{}' can't be a user's name: it has 1 to 63 bytes, and no blanks", name.escape_debug());
        return Err(UsersError::Invalid(text));
    }
    Ok(())
}

/// Why the users can't be had or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsersError {
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file or what was asked of it is wrong.
    #[error("{0}")]
    Invalid(String),
}

/// The users of a file, which is read anew for each who comes.
pub(crate) struct Users {
    path: PathBuf,
    /// What the verifiers of users are made of that there are not.
    nobody: [u8; KEY],
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Users").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Users {
    /// The users of a file, which has to be there and be readable by its owner alone.
    pub(crate) fn open(path: &Path) -> Result<Self, UsersError> {
        let mut nobody = [0; KEY];
        getrandom::fill(&mut nobody).map_err(io::Error::from)?;
        let own = Self { path: path.to_path_buf(), nobody };
        own.read()?;
        Ok(own)
    }

    fn read(&self) -> Result<Vec<User>, UsersError> {
        read(&self.path)
    }

    /// The user of a name, and what the password is checked by. A name that nobody has gets what no password fits, always the same, so
    /// that nobody learns which names there are.
    pub(crate) fn secret_of(&self, name: &str) -> Result<(ScramSecret, Option<User>), UsersError> {
        if let Some(user) = self.read()?.into_iter().find(|user| user.name == name) {
            return Ok((user.secret(), Some(user)));
        }
        let salted = gen_salted_password(name, &self.nobody, 1);
        let salt = salted[..SALT].to_vec();
        let nobody = gen_salted_password(name, &salted, 1);
        Ok((ScramSecret::verifier_from_salted_password(salt, nobody, SCRAM_ITERATIONS), None))
    }
}

/// The users of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<User>, UsersError> {
    let about = |error: io::Error| UsersError::Io(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
    check_mode(path).map_err(|error| match error {
        UsersError::Io(error) => about(error),
        other => other,
    })?;
    let text = fs::read_to_string(path).map_err(about)?;
    let mut users = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
    {
        let user = User::of_line(line).ok_or_else(|| {
            let text = format!(
                "{}, line {}: this is no user; `gingham-server user add` writes them",
                path.display(),
                number + 1
            );
            UsersError::Invalid(text)
        })?;
        users.push(user);
    }
    Ok(users)
}

#[cfg(unix)]
fn check_mode(path: &Path) -> Result<(), UsersError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        let text = format!("{} may be read by others than its owner: chmod 600 {0}", path.display());
        return Err(UsersError::Invalid(text));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &Path) -> Result<(), UsersError> {
    Ok(())
}

/// Writes the users of a file, whole or not at all.
pub(crate) fn write(path: &Path, users: &[User]) -> Result<(), UsersError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    for user in users {
        file.write_all(user.line().as_bytes())?;
    }
    file.sync_all()?;
    Ok(fs::rename(&beside, path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        let ada = User::new("ada", Role::Admin, "secret").unwrap();
        write(&path, &[ada.clone(), User::new("bob", Role::Read, "pässword").unwrap()]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("ada\tadmin\tSCRAM-SHA-256$4096:") && !text.contains("secret"), "{text}");
        let users = read(&path).unwrap();
        assert_eq!(users.len(), 2);
        assert_eq!((users[1].name.as_str(), users[1].role), ("bob", Role::Read));
        assert_eq!(users[0].line(), ada.line());
    }

    /// As PostgreSQL 15 keeps it for `CREATE ROLE … PASSWORD 'pencil'` with the salt of RFC 7677.
    #[test]
    fn verifiers_are_those_of_postgresql() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let salted = gen_salted_password("pencil", &salt, 4096);
        let ScramSecret::Verifier { stored_key, server_key, .. } =
            ScramSecret::verifier_from_salted_password(salt, salted, 4096)
        else {
            panic!("it is one")
        };
        assert_eq!(STANDARD.encode(stored_key), "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=");
        assert_eq!(STANDARD.encode(server_key), "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=");
    }

    #[test]
    fn what_is_no_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        for line in ["ada", "ada\troot\tSCRAM-SHA-256$4096:AA==$AA==:AA==", "ada\tread\tmd5abc"] {
            write(&path, &[]).unwrap();
            fs::write(&path, line).unwrap();
            let error = read(&path).err().unwrap().to_string();
            assert!(error.contains("line 1"), "{error}");
        }
        assert!(User::new("a b", Role::Read, "x").is_err());
        assert!(User::new("ada", Role::Read, "").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        write(&path, &[]).unwrap();
        assert!(read(&path).is_ok());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read(&path).err().unwrap().to_string().contains("chmod 600"));
    }
}
