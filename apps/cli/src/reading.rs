//! Whether a script leaves the database as it is, which is decided before it is opened.

use crate::{commands, script};
use gingham::{Connection, ScriptPart};

/// Scripts within each other that are looked at.
const NESTED: usize = 10;

/// Whether all statements and commands of a script leave the database as it is. One that can't be read fails before it changes
/// anything.
pub fn only_reads(text: &str) -> bool {
    reads(text, NESTED)
}

fn reads(text: &str, nested: usize) -> bool {
    nested > 0
        && script::parts(text).iter().all(|part| match part {
            ScriptPart::Statement { text, .. } => Connection::only_reads(text).unwrap_or(true),
            ScriptPart::Command { text, .. } => commands::only_reads(text, &|text| reads(text, nested - 1)),
        })
}

#[cfg(test)]
mod tests {
    use super::only_reads;

    #[test]
    fn scripts_that_only_read_are_known() {
        for script in [
            "",
            "SUMMARIZE t; SELECT 1; WITH w AS (SELECT 1) SELECT * FROM w; VALUES (1); TABLE t",
            "EXPLAIN DELETE FROM t; EXPLAIN ANALYZE SELECT 1; SHOW TABLES; DESCRIBE t; SET gingham.threads = 1;",
            ".mode csv\n.tables\nSELECT 1;\n\\d t\n\\copy t TO a.csv\n.dump\n",
            "COPY t TO 'a.csv'; COPY t TO STDOUT",
            "SELEKT 1",
        ] {
            assert!(only_reads(script), "{script}");
        }
        for script in [
            "SELECT 1; INSERT INTO t VALUES (1)",
            "CREATE TABLE t (a INT)",
            "EXPLAIN ANALYZE DELETE FROM t",
            "WITH w AS (SELECT 1 AS n) INSERT INTO t SELECT n FROM w",
            "SELECT gingham_clear_workload()",
            "COPY t FROM 'a.csv'",
            "OPTIMIZE TABLE t",
            ".import a.csv t",
            "\\copy t FROM a.csv",
            ".read nosuch.sql",
        ] {
            assert!(!only_reads(script), "{script}");
        }
    }

    #[test]
    fn scripts_within_are_looked_at() {
        let folder = tempfile::tempdir().expect("a folder");
        let (reads, writes, itself) =
            (folder.path().join("reads.sql"), folder.path().join("writes.sql"), folder.path().join("itself.sql"));
        std::fs::write(&reads, "SELECT 1").expect("a file");
        std::fs::write(&writes, "VACUUM").expect("a file");
        std::fs::write(&itself, format!(".read {}", itself.display())).expect("a file");
        assert!(only_reads(&format!(".read {}", reads.display())));
        assert!(!only_reads(&format!(".read {}", writes.display())));
        assert!(!only_reads(&format!("\\i {}", itself.display())));
    }
}
