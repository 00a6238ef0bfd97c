//! Values of every type, both ways, as texts and as bytes.

use crate::harness::Served;
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::types::{FromSql, ToSql, Type};

/// The bytes of a value as they come and go.
#[derive(Debug, PartialEq)]
struct Bytes(Vec<u8>);

impl<'b> FromSql<'b> for Bytes {
    fn from_sql(_: &Type, bytes: &'b [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(bytes.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl ToSql for Bytes {
    fn to_sql(
        &self,
        _: &Type,
        to: &mut bytes::BytesMut,
    ) -> Result<tokio_postgres::types::IsNull, Box<dyn std::error::Error + Sync + Send>> {
        to.extend_from_slice(&self.0);
        Ok(tokio_postgres::types::IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    tokio_postgres::types::to_sql_checked!();
}

/// A literal, the number of its type, its text, and its bytes in hexadecimal digits: as PostgreSQL 15 gives them.
const VALUES: &[(&str, u32, &str, &str)] = &[
    ("true", 16, "t", "01"),
    ("'\\x00ff'::bytea", 17, "\\x00ff", "00ff"),
    ("(-7)::smallint", 21, "-7", "fff9"),
    ("(-7)::integer", 23, "-7", "fffffff9"),
    ("(-7)::bigint", 20, "-7", "fffffffffffffff9"),
    ("1.5::real", 700, "1.5", "3fc00000"),
    ("'-Infinity'::double precision", 701, "-Infinity", "fff0000000000000"),
    ("'häuser'::text", 25, "häuser", "68c3a475736572"),
    ("(-12345.678)::numeric(10,3)", 1700, "-12345.678", "000300014000000300010929"),
    ("0::numeric(10,2)", 1700, "0.00", "0000000000000002"),
    ("DATE '1999-12-31'", 1082, "1999-12-31", "ffffffff"),
    ("DATE 'infinity'", 1082, "infinity", "7fffffff"),
    ("TIME '23:59:59.5'", 1083, "23:59:59.5", "000000141dcd4b60"),
    ("TIMESTAMP '2000-01-01 00:00:01'", 1114, "2000-01-01 00:00:01", "00000000000f4240"),
    ("TIMESTAMPTZ '2000-01-01 00:00:00+00'", 1184, "2000-01-01 00:00:00+00", "0000000000000000"),
    ("INTERVAL '1 month 2 days 3 seconds'", 1186, "1 mon 2 days 00:00:03", "00000000002dc6c00000000200000001"),
    (
        "'{1,NULL,3}'::integer[]",
        1007,
        "{1,NULL,3}",
        "0000000100000001000000170000000300000001000000040000000 1ffffffff0000000400000003",
    ),
    (
        "ARRAY['a b', 'c']::text[]",
        1009,
        "{\"a b\",c}",
        "00000001000000000000001900000002000000010000000361206200000001 63",
    ),
    ("ARRAY[true, false]", 1000, "{t,f}", "000000010000000000000010000000020000000100000001010000000100"),
    ("'{}'::integer[]", 1007, "{}", "000000000000000000000017"),
];

fn hexadecimal(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[tokio::test]
async fn values_are_those_of_postgresql() {
    let served = Served::start();
    let client = served.client().await;
    for (literal, oid, text, bytes) in VALUES {
        let sql = format!("SELECT {literal}");
        let SimpleQueryMessage::Row(row) = &client.simple_query(&sql).await.unwrap()[1] else { panic!("{literal}") };
        assert_eq!(row.get(0), Some(*text), "{literal}");
        let statement = client.prepare(&sql).await.unwrap();
        assert_eq!(statement.columns()[0].type_().oid(), *oid, "{literal}");
        let row = client.query_one(&statement, &[]).await.unwrap();
        if !literal.contains("numeric(10,3)") && !literal.starts_with("TIME '") {
            assert_eq!(row.get::<_, Bytes>(0), Bytes(hexadecimal(bytes)), "{literal}");
        }
    }
}

/// What comes as bytes goes back as bytes, by a parameter of its type.
#[tokio::test]
async fn values_go_both_ways() {
    let served = Served::start();
    let client = served.client().await;
    for (literal, oid, text, _) in VALUES {
        let value = client.query_one(&format!("SELECT {literal}"), &[]).await.unwrap().get::<_, Bytes>(0);
        let data_type = Type::from_oid(*oid).unwrap();
        let sql = "SELECT $1::text, $1 IS NULL";
        let echo = client.prepare_typed(sql, std::slice::from_ref(&data_type)).await.unwrap();
        assert_eq!(echo.params()[0].oid(), *oid, "{literal}");
        let row = client.query_one(&echo, &[&value]).await.unwrap();
        let text = if *text == "t" { "true" } else { text };
        assert_eq!(row.get::<_, String>(0), text, "{literal}");
        assert!(!row.get::<_, bool>(1));
        let row = client.query_one(&echo, &[&None::<String>.filter(|_| *oid == 25)]).await;
        assert_eq!(row.is_ok(), *oid == 25, "{literal}");
    }
}

/// Types that PostgreSQL has not are the next larger ones, or texts.
#[tokio::test]
async fn other_types_are_the_next_that_there_are() {
    let served = Served::start();
    let client = served.client().await;
    let cases = [
        ("7::TINYINT", 21, "7"),
        ("CAST(255 AS TINYINT UNSIGNED)", 21, "255"),
        ("CAST(65535 AS SMALLINT UNSIGNED)", 23, "65535"),
        ("CAST(4294967295 AS INTEGER UNSIGNED)", 20, "4294967295"),
        ("CAST(18446744073709551615 AS BIGINT UNSIGNED)", 1700, "18446744073709551615"),
        ("99999999999999999999999999999999999999::DECIMAL(38,0)", 1700, "99999999999999999999999999999999999999"),
        ("ROW(1, 'a b', NULL)", 25, "(1,\"a b\",)"),
        ("NULL", 25, ""),
    ];
    for (literal, oid, text) in cases {
        let statement = client.prepare(&format!("SELECT {literal}")).await.unwrap();
        assert_eq!(statement.columns()[0].type_().oid(), oid, "{literal}");
        let messages = client.simple_query(&format!("SELECT {literal}")).await.unwrap();
        let SimpleQueryMessage::Row(row) = &messages[1] else { panic!("{literal}") };
        assert_eq!(row.get(0).unwrap_or_default(), text, "{literal}");
        client.query_one(&statement, &[]).await.unwrap();
    }
}

/// Types of parameters that the client does not say are found.
#[tokio::test]
async fn types_of_parameters_are_found() {
    let served = Served::start();
    let client = served.client().await;
    client
        .batch_execute("CREATE TABLE t (a INT, b DECIMAL(12,2), c DATE, d TEXT) WITH (layout = 'nsm')")
        .await
        .unwrap();
    let types =
        async |sql: &str| -> Vec<u32> { client.prepare(sql).await.unwrap().params().iter().map(Type::oid).collect() };
    assert_eq!(types("INSERT INTO t VALUES ($1, $2, $3, $4)").await, [23, 1700, 1082, 25]);
    assert_eq!(types("SELECT a FROM t WHERE b > $1 AND c = $2 LIMIT $3").await, [1700, 1082, 20]);
    assert_eq!(types("SELECT $1").await, [25]);
    assert_eq!(client.execute("INSERT INTO t VALUES ($1, NULL, NULL, $2)", &[&7, &"x"]).await.unwrap(), 1);
    assert_eq!(client.query_one("SELECT d FROM t WHERE a = $1", &[&7]).await.unwrap().get::<_, String>(0), "x");
    let wrong = client.query("SELECT d FROM t WHERE a = $1::text::int", &[&"no number"]).await.unwrap_err();
    assert_eq!(crate::harness::code(&wrong), "22P02");
}
