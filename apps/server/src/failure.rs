//! Why the program ends early.

/// A failure, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Failure(pub(crate) String);

impl From<gingham::Error> for Failure {
    fn from(error: gingham::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<crate::users::UsersError> for Failure {
    fn from(error: crate::users::UsersError) -> Self {
        Self(error.to_string())
    }
}
