//! A server that publishes what it serves, and one that serves what was published.

use crate::harness::Served;
use gingham::Database;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_served_database_is_published_and_served_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", folder.path().join("place").display());
    let options = ["--publish", "file://FOLDER/place", "--publish-every", "1s", "--publish-keep", "1h"];
    let writer = Served::within(folder, "FOLDER/db", &options);
    let client = writer.client().await;
    client.batch_execute("CREATE TABLE t (n BIGINT); INSERT INTO t SELECT generate_series(1, 30000)").await.unwrap();
    let begun = Instant::now();
    let published = loop {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing was published");
        match Database::open_url(&url) {
            Ok(found) if found.connect().table("t").is_ok_and(|table| table.rows() == 30_000) => break found,
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    assert!(published.published_number().is_some());
    let reader = Served::within(tempfile::tempdir().unwrap(), &url, &["--cache", "FOLDER/cache"]);
    let other = reader.client().await;
    let count = || async { other.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get::<_, i64>(0) };
    assert_eq!(count().await, 30_000);
    assert!(other.batch_execute("INSERT INTO t VALUES (0)").await.is_err());
    client.batch_execute("INSERT INTO t VALUES (0)").await.unwrap();
    while count().await != 30_001 {
        assert!(begun.elapsed() < Duration::from_secs(120), "the newer state was not found");
        tokio::time::sleep(Duration::from_millis(200)).await;
        other.batch_execute("REFRESH").await.unwrap();
    }
    assert!(other.batch_execute("BEGIN; REFRESH").await.is_err());
}
