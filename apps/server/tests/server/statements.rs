//! What clients are told besides rows: tags, notices, places of mistakes, settings.

use crate::harness::Served;
use crate::messages::{Wire, field, query, shown};
use tokio_postgres::SimpleQueryMessage;

#[test]
fn mistakes_have_places() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    for (sql, place) in [("SELECT 'é', nosuch", "13"), ("SELECT 1;\nSELECT\n  nosuch", "20"), ("SELEKT 1", "1")] {
        wire.send(&query(sql));
        let answers = wire.until_ready();
        let error = &answers.iter().find(|(letter, _)| *letter == b'E').unwrap().1;
        assert_eq!(field(error, b'P'), place, "{sql}");
        assert!(!field(error, b'M').contains("line"), "{sql}");
        assert_eq!((field(error, b'S'), field(error, b'V')), ("ERROR".into(), "ERROR".into()));
    }
}

#[test]
fn settings_that_change_are_told() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    let told = |wire: &mut Wire, sql: &str| {
        wire.send(&query(sql));
        let answers = wire.until_ready();
        let settings: Vec<String> = answers
            .iter()
            .filter(|(letter, _)| *letter == b'S')
            .map(|(_, body)| String::from_utf8_lossy(body).replace('\0', "="))
            .collect();
        (settings, shown(&answers))
    };
    assert_eq!(told(&mut wire, "SET application_name = 'a'").0, ["application_name=a="]);
    assert_eq!(told(&mut wire, "SET application_name = 'a'").0, Vec::<String>::new());
    assert_eq!(told(&mut wire, "SELECT set_config('application_name', 'b', false)").0, ["application_name=b="]);
    assert_eq!(told(&mut wire, "BEGIN; SET LOCAL application_name = 'c'").0, ["application_name=c="]);
    assert_eq!(told(&mut wire, "COMMIT").0, ["application_name=b="]);
    // A zone has no effect, which is said.
    assert_eq!(told(&mut wire, "SET TimeZone = 'Europe/Berlin'").1, "N S C[SET] ZI");
}

#[tokio::test]
async fn settings_come_with_the_connection() {
    let served = Served::start();
    let client =
        served.connect("user=tester application_name=report options='-c statement_timeout=1234'").await.unwrap();
    let show = async |name: &str| match &client.simple_query(&format!("SHOW {name}")).await.unwrap()[1] {
        SimpleQueryMessage::Row(row) => row.get(0).unwrap().to_owned(),
        _ => panic!("SHOW gives a row"),
    };
    assert_eq!(show("application_name").await, "report");
    assert_eq!(show("statement_timeout").await, "1234ms");
    assert_eq!(show("transaction_isolation").await, "read committed");
    assert!(show("server_version").await.starts_with("15.0 (Gingham "));
    let error = served.connect("user=tester options='-c nosuch=1'").await.unwrap_err();
    assert_eq!(crate::harness::code(&error), "42704");
}

/// Columns are called what PostgreSQL calls them.
#[tokio::test]
async fn columns_have_the_names_of_postgresql() {
    let served = Served::start();
    let client = served.client().await;
    let statement = client.prepare("SELECT count(*), 1 + 1, CAST(1 AS TEXT), now() - now(), 'x' AS y").await.unwrap();
    let names: Vec<&str> = statement.columns().iter().map(tokio_postgres::Column::name).collect();
    assert_eq!(names, ["count", "?column?", "text", "?column?", "y"]);
}

#[tokio::test]
async fn names_of_databases_are_checked() {
    let served = Served::start();
    for name in ["tester", "postgres", "gingham"] {
        assert!(served.connect(&format!("user=tester dbname={name}")).await.is_ok(), "{name}");
    }
    let error = served.connect("user=tester dbname=other").await.unwrap_err();
    assert_eq!(crate::harness::code(&error), "3D000");
}
