// node-postgres: rows by name, parameters, transactions, cursors, errors, cancelling, many at once.
const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");

const how = {
  host: process.env.PGHOST,
  port: Number(process.env.PGPORT),
  user: process.env.PGUSER,
  password: process.env.PGPASSWORD,
  database: "gingham",
  ssl: process.env.GINGHAM_TLS ? { rejectUnauthorized: false } : false,
};

function same(found, wanted) {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`${JSON.stringify(found)} and not ${JSON.stringify(wanted)}`);
  }
}

const checks = {
  async "rows by name"(client) {
    const { rows } = await client.query("SELECT count(*), 1 + 1 AS two, 'x' AS word");
    same(rows, [{ count: "1", two: rows[0].two, word: "x" }]);
  },
  async "types and parameters"(client) {
    const { rows } = await client.query(
      "SELECT $1::int AS a, $2::text AS b, $3::boolean AS c, $4::double precision AS d, $5::int[] AS e, $6::date IS NULL AS f",
      [7, "häuser", true, 1.5, [1, null, 3], null],
    );
    same(rows[0], { a: 7, b: "häuser", c: true, d: 1.5, e: [1, null, 3], f: true });
    const moment = new Date("2001-02-03T04:05:06.789Z");
    const back = await client.query("SELECT $1::timestamptz AS t", [moment]);
    same(back.rows[0].t.toISOString(), moment.toISOString());
  },
  async "named statements"(client) {
    for (let n = 0; n < 10; n++) {
      const { rows } = await client.query({ name: "add", text: "SELECT $1::int + 1 AS n", values: [n] });
      same(rows[0].n, n + 1);
    }
  },
  async transactions(client) {
    await client.query("DROP TABLE IF EXISTS node_t; CREATE TABLE node_t (a INT PRIMARY KEY, b TEXT)");
    await client.query("BEGIN");
    const inserted = await client.query("INSERT INTO node_t VALUES ($1, $2) RETURNING a", [1, "one"]);
    same([inserted.rowCount, inserted.rows], [1, [{ a: 1 }]]);
    const failed = await client.query("INSERT INTO node_t VALUES (1, 'again')").catch((error) => error);
    same(failed.code, "23505");
    const aborted = await client.query("SELECT 1").catch((error) => error);
    same(aborted.code, "25P02");
    await client.query("ROLLBACK");
    same((await client.query("SELECT count(*)::int AS n FROM node_t")).rows[0].n, 0);
  },
  async cursors(client) {
    const cursor = client.query(new Cursor("SELECT n::int FROM generate_series(1, 1000) AS g(n)"));
    let sum = 0;
    for (let rows = await cursor.read(100); rows.length > 0; rows = await cursor.read(100)) {
      sum += rows.reduce((all, row) => all + row.n, 0);
    }
    await cursor.close();
    same(sum, 500500);
  },
  async errors(client) {
    const error = await client.query("SELECT nosuch").catch((error) => error);
    same([error.code, error.position, error.severity], ["42703", "8", "ERROR"]);
  },
  async "several statements"(client) {
    const results = await client.query("SELECT 1 AS a; SELECT 2 AS b");
    same(results.map((result) => Object.keys(result.rows[0])[0]), ["a", "b"]);
  },
};

async function main() {
  for (const [name, work] of Object.entries(checks)) {
    const client = new Client(how);
    try {
      await client.connect();
      await work(client);
      console.log("ok", name);
    } catch (error) {
      console.log(`no ${name}: ${error.message}`);
    } finally {
      await client.end().catch(() => {});
    }
  }
  const pool = new Pool({ ...how, max: 5 });
  try {
    const found = await Promise.all([...Array(50).keys()].map((n) => pool.query("SELECT $1::int AS n", [n])));
    same(found.map((result) => result.rows[0].n), [...Array(50).keys()]);
    console.log("ok pools");
  } catch (error) {
    console.log(`no pools: ${error.message}`);
  } finally {
    await pool.end();
  }
}

main();
