//! The ADBC driver as a library of its own, for programs that load drivers by their file: R, Go, C and others.

gingham_adbc::export!();
