//! Names of functions that the rewriting of statements calls.

/// The function that INTERVAL '…' is.
pub(crate) const TO_INTERVAL: &str = "to_interval";

/// The function that AT TIME ZONE is.
pub(crate) const AT_TIME_ZONE: &str = "timezone_of";

/// The function that a cast to TIME is: DataFusion would make it one of nanoseconds, which columns are not.
pub(crate) const TIME_OF: &str = "time_of";
