//! Many clients at once, for as many seconds as `GINGHAM_LOAD_SECONDS` says: reads and updates of records by their key, and scans.
//! Updates that were acknowledged are there at the end, also when the server was killed meanwhile.

use crate::harness::Served;
use nix::sys::signal::Signal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_postgres::Client;

const CLIENTS: usize = 64;
const UPDATERS: usize = 24;
const SCANNERS: usize = 8;
const RECORDS: i64 = 20_000;
const FACTS: i64 = 300_000;
const MEMORY: u64 = 512 << 20;
const OPTIONS: [&str; 2] = ["--memory", "512MB"];

/// The updates as the clients know them.
struct Updates {
    /// The number of those that were sent, by record.
    sent: Vec<AtomicI64>,
    /// The number of those that were answered, by record.
    acknowledged: Vec<AtomicI64>,
    /// Set before the server is killed: connections may break from now on.
    breaks: AtomicBool,
}

impl Updates {
    fn new() -> Arc<Self> {
        let zeros = || (0..RECORDS).map(|_| AtomicI64::new(0)).collect();
        Arc::new(Self { sent: zeros(), acknowledged: zeros(), breaks: AtomicBool::new(false) })
    }

    fn sum(of: &[AtomicI64]) -> i64 {
        of.iter().map(|own| own.load(SeqCst)).sum()
    }
}

fn seconds() -> Duration {
    let given = std::env::var("GINGHAM_LOAD_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(given.unwrap_or(4))
}

fn serve(folder: TempDir) -> Served {
    Served::within(folder, "FOLDER/load.gingham", &OPTIONS)
}

async fn filled(served: &Served) {
    let sql = format!(
        "CREATE TABLE records (id BIGINT PRIMARY KEY, a BIGINT NOT NULL, b TEXT NOT NULL) WITH (layout = 'nsm');
         INSERT INTO records SELECT n, 0, 'record ' || n FROM generate_series(0, {RECORDS} - 1) AS g(n);
         CREATE TABLE facts AS SELECT n, n % 1000 AS g, 'text ' || n % 77 AS t FROM generate_series(1, {FACTS}) AS s(n)"
    );
    served.client().await.batch_execute(&sql).await.unwrap();
}

/// One client's statements until `end`. Errors with what went wrong.
async fn work(client: Client, number: usize, updates: &Updates, end: Instant) -> Result<usize, tokio_postgres::Error> {
    let (mut done, mut place) = (0, number);
    if number < UPDATERS {
        let update = client.prepare("UPDATE records SET a = a + 1 WHERE id = $1").await?;
        while Instant::now() < end {
            // Each record is one client's.
            place = (place + 7 * UPDATERS) % RECORDS as usize / UPDATERS * UPDATERS + number;
            if place >= RECORDS as usize {
                continue;
            }
            updates.sent[place].fetch_add(1, SeqCst);
            assert_eq!(client.execute(&update, &[&(place as i64)]).await?, 1);
            updates.acknowledged[place].fetch_add(1, SeqCst);
            done += 1;
        }
    } else if number < UPDATERS + SCANNERS {
        while Instant::now() < end {
            let row = client.query_one("SELECT count(*), sum(g)::bigint, count(DISTINCT t) FROM facts", &[]).await?;
            assert_eq!((row.get(0), row.get(1), row.get(2)), (FACTS, FACTS / 1000 * 499_500, 77_i64));
            let least = Updates::sum(&updates.acknowledged);
            let row = client.query_one("SELECT count(*), sum(a)::bigint FROM records", &[]).await?;
            let (records, sum): (i64, i64) = (row.get(0), row.get(1));
            assert!(records == RECORDS && (least..=Updates::sum(&updates.sent)).contains(&sum), "{records} {sum}");
            done += 2;
        }
    } else {
        let read = client.prepare("SELECT a, b FROM records WHERE id = $1").await?;
        while Instant::now() < end {
            place = (place + 7919) % RECORDS as usize;
            let row = client.query_one(&read, &[&(place as i64)]).await?;
            assert_eq!(row.get::<_, &str>(1), format!("record {place}"));
            done += 1;
        }
    }
    Ok(done)
}

/// Starts all clients for a time, each as a task that gives how many statements it has run.
async fn run(served: &Served, updates: &Arc<Updates>, time: Duration) -> tokio::task::JoinSet<usize> {
    let (mut clients, end) = (tokio::task::JoinSet::new(), Instant::now() + time);
    for number in 0..CLIENTS {
        let (client, updates) = (served.client().await, Arc::clone(updates));
        clients.spawn(async move {
            match work(client, number, &updates, end).await {
                Ok(done) => done,
                Err(error) if updates.breaks.load(SeqCst) && error.as_db_error().is_none() => 0,
                Err(error) => panic!("client {number}: {error:?}"),
            }
        });
    }
    clients
}

/// Waits for the clients while it looks at the memory of the server.
async fn watched(served: &Served, mut clients: tokio::task::JoinSet<usize>) {
    let mut done = 0;
    loop {
        let memory = served.holds().bytes;
        assert!(memory < MEMORY, "{memory} bytes");
        match tokio::time::timeout(Duration::from_millis(200), clients.join_next()).await {
            Ok(Some(own)) => done += own.unwrap(),
            Ok(None) => break,
            Err(_) => {}
        }
    }
    println!("{done} statements");
    assert!(done > CLIENTS, "hardly anything was done");
}

/// Each record has the updates that were acknowledged, and perhaps one whose answer did not come.
async fn verify(served: &Served, updates: &Updates) {
    let client = served.client().await;
    let rows = client.query("SELECT id, a FROM records ORDER BY id", &[]).await.unwrap();
    assert_eq!(rows.len() as i64, RECORDS);
    for (place, row) in rows.iter().enumerate() {
        let (id, a): (i64, i64) = (row.get(0), row.get(1));
        let (acknowledged, sent) = (updates.acknowledged[place].load(SeqCst), updates.sent[place].load(SeqCst));
        assert!(id == place as i64 && (acknowledged..=sent).contains(&a), "{id}: {acknowledged} <= {a} <= {sent}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_lose_nothing() {
    let (served, updates) = (serve(tempfile::tempdir().unwrap()), Updates::new());
    filled(&served).await;
    let clients = run(&served, &updates, seconds()).await;
    watched(&served, clients).await;
    assert_eq!(Updates::sum(&updates.sent), Updates::sum(&updates.acknowledged));
    verify(&served, &updates).await;
    served.signal(Signal::SIGTERM);
    assert!(served.wait().0.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_loses_nothing_that_was_acknowledged() {
    let (served, updates) = (serve(tempfile::tempdir().unwrap()), Updates::new());
    filled(&served).await;
    let clients = run(&served, &updates, seconds()).await;
    tokio::time::sleep(seconds() / 2).await;
    updates.breaks.store(true, SeqCst);
    served.signal(Signal::SIGKILL);
    clients.join_all().await;
    let (status, folder) = served.wait();
    assert!(!status.success());
    updates.breaks.store(false, SeqCst);
    let served = serve(folder);
    verify(&served, &updates).await;
    let clients = run(&served, &updates, seconds() / 2).await;
    watched(&served, clients).await;
    verify(&served, &updates).await;
}
