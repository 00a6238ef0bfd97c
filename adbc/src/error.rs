//! Errors with the status that ADBC has for their kind, and their SQLSTATE.

use adbc_core::error::{Error, Status};
use std::os::raw::c_char;

/// An error of the engine.
pub(crate) fn told(error: gingham::Error) -> Error {
    let code = error.sqlstate();
    Error { sqlstate: letters(code), ..Error::with_message_and_status(error.to_string(), status(code)) }
}

fn letters(code: &str) -> [c_char; 5] {
    let mut letters = [0; 5];
    for (letter, byte) in letters.iter_mut().zip(code.bytes()) {
        *letter = byte as c_char;
    }
    letters
}

fn status(code: &str) -> Status {
    match code {
        "42P01" | "42703" | "42704" | "42883" | "3F000" | "3D000" | "26000" | "58P01" => Status::NotFound,
        "42P05" | "42P06" | "42P07" | "42701" | "42710" => Status::AlreadyExists,
        "57014" => Status::Cancelled,
        "55P03" => Status::Timeout,
        "42501" => Status::Unauthorized,
        "22023" => Status::InvalidArguments,
        _ => match code.get(..2).unwrap_or_default() {
            "0A" => Status::NotImplemented,
            "21" | "22" => Status::InvalidData,
            "23" | "2B" => Status::Integrity,
            "25" | "3B" | "40" | "55" => Status::InvalidState,
            "42" => Status::InvalidArguments,
            "53" | "58" => Status::IO,
            _ => Status::Internal,
        },
    }
}

/// Something that this driver does not offer.
pub(crate) fn not_offered(what: impl std::fmt::Display) -> Error {
    let text = format!("{what} is not supported");
    Error { sqlstate: letters("0A000"), ..Error::with_message_and_status(text, Status::NotImplemented) }
}

/// A call that makes no sense now.
pub(crate) fn wrong_state(text: impl Into<String>) -> Error {
    Error { sqlstate: letters("55000"), ..Error::with_message_and_status(text, Status::InvalidState) }
}

/// An argument that makes no sense.
pub(crate) fn wrong_argument(text: impl Into<String>) -> Error {
    Error { sqlstate: letters("22023"), ..Error::with_message_and_status(text, Status::InvalidArguments) }
}

/// An option that nobody knows, which ADBC wants as "not found" when it is asked for.
pub(crate) fn unknown_option(key: &str) -> Error {
    Error {
        sqlstate: letters("42704"),
        ..Error::with_message_and_status(format!("option '{key}' is not known"), Status::NotFound)
    }
}
