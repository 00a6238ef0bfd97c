//! Plans that are kept for when the same text comes again.
//!
//! A short query is planned for longer than it runs: a count over one condition on 6 million records took 2.1 ms, of
//! which the scan was 0.6. A plan holds for the very tables that it was made for, so it is kept with the snapshot that
//! it reads, and goes with it at the next commit. What a plan may depend on besides is its text, the session's settings,
//! and tables that only the session or the statement sees; a text that names one of the latter is planned anew.
//!
//! Copies of a plan share nothing that a run changes, but for the values of scalar subqueries, which its expressions hold:
//! such a plan has a [`PlanLease`], and who comes while it is taken plans anew.

use crate::Result;
use crate::bind::{OutputColumns, give_as};
use crate::compile::CompiledExec;
use crate::datafusion::cancellation::StoppableExec;
use crate::datafusion::fixes::UnwaitedJoins;
use crate::session::bound_queries::BoundQueries;
use crate::session::context::stoppable;
use crate::session::{CancelToken, Session, StatementContext, StatementTables, Stopwatch, progress};
use crate::settings::{Fallback, FallbackCounts};
use crate::table::{CountExec, GatherJoinKeys, GinghamTable, JoinKeysExec, ScanExec};
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use gingham_storage::open::{LeasedPages, ResumedPages};
use gingham_storage::snapshot::Snapshot;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most plans kept with a snapshot; the one not used for longest goes first.
const PLANS: usize = 64;
/// Longest text whose plan is kept, in bytes: what is longer is rarely sent twice.
const TEXT_BYTES: usize = 16 << 10;
/// The plans of a snapshot take one part in so many of the memory limit at most.
const SHARE: usize = 64;
/// An operator with its expressions, schema and properties, generously.
const OPERATOR_BYTES: usize = 8 << 10;

/// What is kept with one snapshot.
#[derive(Debug, Default)]
struct Plans {
    /// The plans, the one used last at the end.
    plans: Mutex<VecDeque<CachedPlan>>,
    /// Queries with parameters.
    bound: BoundQueries,
}

/// A plan that was never run: each run is of a copy.
#[derive(Debug, Clone)]
pub(crate) struct CachedPlan {
    text: Arc<str>,
    /// Number of the settings it was made under.
    settings: u64,
    plan: Arc<dyn ExecutionPlan>,
    /// A copy for the next run, made once the one before had ended.
    ready: Arc<Mutex<Option<Arc<dyn ExecutionPlan>>>>,
    task: Arc<TaskContext>,
    /// The schema of its rows, under the names of the query's text.
    schema: SchemaRef,
    /// Scans take filters that joins or sorts make while the query runs.
    dynamic: bool,
    /// Set while a run is under way, when there can be only one.
    busy: Option<Arc<AtomicBool>>,
    /// The heap tables that it reads.
    pages: Option<Arc<LeasedPages>>,
    /// Set in the one that is to be run.
    awake: Option<Arc<ResumedPages>>,
    /// The operators that it leaves to DataFusion, and where its runs are counted.
    fallbacks: Arc<[Fallback]>,
    counts: Arc<FallbackCounts>,
    /// Its bytes, about, of the memory limit.
    held: Arc<MemoryReservation>,
}

/// A run of a plan that is kept.
#[derive(Debug, Default)]
pub(crate) struct PlanLease {
    /// Where there can be only one at a time. The next may begin once the rows of this one were all delivered; when they were not,
    /// tasks of it may still be at work, and the plan is not run again.
    busy: Option<Arc<AtomicBool>>,
    /// The heap tables that it reads.
    awake: Option<Arc<ResumedPages>>,
}

impl PlanLease {
    /// Gives rows and ends with them.
    pub(crate) fn give(self, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
        if self.busy.is_none() && self.awake.is_none() {
            return rows;
        }
        let schema = rows.schema();
        // The rows are dropped before the turn ends.
        let rows = futures::stream::unfold(Some((rows, self)), async |turn| {
            let (mut rows, turn) = turn?;
            match rows.next().await {
                Some(Ok(batch)) => Some((Ok(batch), Some((rows, turn)))),
                Some(Err(error)) => Some((Err(error), None)),
                None => {
                    drop(rows);
                    turn.busy.inspect(|busy| busy.store(false, Ordering::Release));
                    None
                }
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }
}

/// What is known of a plan that may be kept, before it is optimised.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanTraits {
    /// It reads tables in heap pages.
    reads_pages: bool,
}

impl CachedPlan {
    /// The plan kept for `text` under the session's settings and the latest snapshot, unless it has to be waited for.
    pub(crate) fn find(session: &Session, tables: &StatementTables, text: &str) -> Result<Option<Self>> {
        if text.len() > TEXT_BYTES || session.in_transaction() || names_own_table(session, tables, text)? {
            return Ok(None);
        }
        let store = &session.engine.store;
        let Some(snapshot) = store.taken_snapshot()? else { return Ok(None) };
        let Some(mut plans) = plans(&snapshot) else { return Ok(None) };
        let settings = session.settings_number();
        let found = plans.iter().position(|kept| kept.settings == settings && *kept.text == *text);
        let Some(kept) = found.and_then(|at| plans.remove(at)) else { return Ok(None) };
        plans.push_back(kept.clone());
        drop(plans);
        let awake = match &kept.pages {
            None => None,
            Some(pages) => match pages.wake(store)? {
                // Somebody has committed meanwhile.
                None => return Ok(None),
                awake => awake.map(Arc::new),
            },
        };
        let taken = kept.busy.as_ref().is_some_and(|busy| busy.swap(true, Ordering::Acquire));
        Ok((!taken).then_some(Self { awake, ..kept }))
    }

    /// Whether the plan of a statement may be kept, as far as its text and its logical plan, not yet optimised, tell.
    pub(crate) fn wanted(context: &StatementContext, logical: &LogicalPlan) -> Result<Option<PlanTraits>> {
        let Some(text) = &context.text else { return Ok(None) };
        Ok(if context.may_keep(text)? { wanted_of(logical, false) } else { None })
    }

    /// Keeps the plan of a statement that is about to run, when it is wanted and would be the same again. Its rows are given by
    /// the turn.
    pub(crate) fn keep(
        context: &StatementContext,
        wanted: Option<PlanTraits>,
        plan: &Arc<dyn ExecutionPlan>,
        columns: &OutputColumns,
    ) -> Result<PlanLease> {
        let Some((text, wanted)) = context.text.as_ref().zip(wanted) else { return Ok(PlanLease::default()) };
        if !is_repeatable(plan, true) {
            return Ok(PlanLease::default());
        }
        let Some(mut plans) = plans(&context.snapshot) else { return Ok(PlanLease::default()) };
        // One that is busy, or was given up.
        plans.retain(|kept| kept.settings != context.settings_number || *kept.text != **text);
        let task = context.task();
        let Some(held) = hold(&mut plans, text.len() + 2 * bytes(plan), &task) else {
            return Ok(PlanLease::default());
        };
        let (pages, awake) = match wanted.reads_pages.then(|| context.snapshot.lend_pages()).transpose()?.flatten() {
            Some((pages, awake)) => (Some(Arc::new(pages)), Some(Arc::new(awake))),
            None => (None, None),
        };
        let alone = plan.exists(|plan| Ok(plan.is::<ScalarSubqueryExec>()))?;
        let busy = alone.then(|| Arc::new(AtomicBool::new(true)));
        plans.push_back(Self {
            text: Arc::clone(text),
            settings: context.settings_number,
            plan: reset_plan_states(Arc::clone(plan))?,
            ready: Arc::default(),
            task,
            schema: Arc::new(columns.rename(&plan.schema())),
            dynamic: plan.exists(|plan| Ok(plan.downcast_ref::<ScanExec>().is_some_and(ScanExec::is_dynamic)))?,
            busy: busy.clone(),
            pages,
            awake: None,
            fallbacks: context.settings().fallbacks.all(),
            counts: Arc::clone(&context.session.engine.fallbacks),
            held: Arc::new(held),
        });
        Ok(PlanLease { busy, awake })
    }

    /// This plan, while it does not run.
    pub(crate) fn at_rest(&self) -> Self {
        Self { awake: None, ..self.clone() }
    }

    /// The schema of its rows.
    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Starts a copy of the plan, which tells by `cancel` how far it is, and `watch` how long it compiles.
    pub(crate) fn rows(&self, cancel: &CancelToken, watch: &Arc<Stopwatch>) -> Result<SendableRecordBatchStream> {
        let ready = self.ready().take();
        let plan = ready.map_or_else(|| self.copy(), Ok)?;
        progress::watch(cancel, &plan);
        self.counts.count(&self.fallbacks);
        let rows = give_as(&self.schema, execute_stream(plan, self.task_of(cancel, watch))?);
        Ok(PlanLease { busy: self.busy.clone(), awake: self.awake.clone() }.give(rows))
    }

    /// The context of a run that `cancel` stops; that of the plan has the first run's.
    fn task_of(&self, cancel: &CancelToken, watch: &Arc<Stopwatch>) -> Arc<TaskContext> {
        let task = &self.task;
        stoppable(task.session_id(), task.session_config().clone(), task.runtime_env(), (cancel, watch))
    }

    /// Makes the copy for the next run, which need not wait for it then.
    pub(crate) fn make_ready(&self) {
        // A copy of one that runs alone would take the values of its subqueries from a run that has begun meanwhile.
        if self.busy.is_some() || self.ready().is_some() {
            return;
        }
        // What fails here fails where it is run, too, and is told there.
        if let Ok(plan) = self.copy() {
            *self.ready() = Some(plan);
        }
    }

    fn ready(&self) -> MutexGuard<'_, Option<Arc<dyn ExecutionPlan>>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn copy(&self) -> Result<Arc<dyn ExecutionPlan>> {
        let mut plan = reset_plan_states(Arc::clone(&self.plan))?;
        if self.dynamic {
            // The filters belonged to the run before.
            let options = self.task.session_config().options();
            plan = FilterPushdown::new_post_optimization().optimize(plan, options)?;
            plan = UnwaitedJoins.optimize(plan, options)?;
            plan = GatherJoinKeys.optimize(plan, options)?;
        }
        Ok(plan)
    }
}

/// Takes `bytes` of the memory limit for another plan, in the place of others where they would be too many; `None` when
/// that is not enough.
fn hold(plans: &mut VecDeque<CachedPlan>, bytes: usize, task: &TaskContext) -> Option<MemoryReservation> {
    let pool = task.memory_pool();
    let most = match pool.memory_limit() {
        MemoryLimit::Finite(limit) => limit / SHARE,
        _ => usize::MAX,
    };
    if bytes > most {
        return None;
    }
    while plans.len() >= PLANS || plans.iter().map(|kept| kept.held.size()).sum::<usize>() > most - bytes {
        plans.pop_front()?;
    }
    let held = MemoryConsumer::new("cached plans").register(pool);
    held.try_grow(bytes).ok().map(|()| held)
}

/// Bytes that a plan takes, about.
fn bytes(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let own = plan.downcast_ref::<ScanExec>().map_or(0, ScanExec::bytes);
    own + OPERATOR_BYTES + plan.children().into_iter().map(bytes).sum::<usize>()
}

fn kept(snapshot: &Snapshot) -> Option<&Plans> {
    snapshot.kept.get_or_init(|| Arc::new(Plans::default())).downcast_ref::<Plans>()
}

fn plans(snapshot: &Snapshot) -> Option<MutexGuard<'_, VecDeque<CachedPlan>>> {
    Some(kept(snapshot)?.plans.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The queries with parameters that are kept with a snapshot.
pub(super) fn bound_queries(snapshot: &Snapshot) -> Option<&BoundQueries> {
    Some(&kept(snapshot)?.bound)
}

/// Bytes that a bound query takes, about; `None` for one that would not be the same when it is bound again, and for one of tables in
/// heap pages, whose room others need.
pub(super) fn bytes_of_bound(text: &str, plan: &LogicalPlan) -> Option<usize> {
    if wanted_of(plan, true)?.reads_pages {
        return None;
    }
    let mut nodes = 0;
    let counted = plan.apply_with_subqueries(|_| {
        nodes += 1;
        Ok(TreeNodeRecursion::Continue)
    });
    counted.ok().map(|_| text.len() + nodes * OPERATOR_BYTES)
}

impl StatementContext {
    /// Whether what is made of a text may be kept for others who send it: the snapshot of a transaction is nobody else's.
    pub(super) fn may_keep(&self, text: &str) -> Result<bool> {
        let may = self.transaction.is_none() && text.len() <= TEXT_BYTES && self.settings().cache_plans;
        Ok(may && !names_own_table(&self.session, &self.tables, text)?)
    }
}

/// True when a text may name a table that only this session or this statement sees, so that it means something else to others.
/// Views of the database see no such table.
fn names_own_table(session: &Session, tables: &StatementTables, text: &str) -> Result<bool> {
    let mut own = session.own_names()?;
    own.extend(tables.names().map(str::to_owned));
    if own.is_empty() {
        return Ok(false);
    }
    let text = text.to_lowercase();
    // A quote within a name is doubled in the text.
    Ok(own.iter().any(|name| name.contains(['"', '`']) || has_word(&text, &name.to_lowercase())))
}

/// Whether a text has a word that is not a part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let goes_on = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    text.match_indices(word).any(|(at, found)| {
        !goes_on(text[..at].chars().next_back()) && !goes_on(text[at + found.len()..].chars().next())
    })
}

/// What is known of a plan whose text must give the same when it is planned again: all tables are of the snapshot, and no
/// expression is computed from something else while it is planned, as now() is, but for parameters where these are `open`. `None` for
/// other plans.
fn wanted_of(plan: &LogicalPlan, open: bool) -> Option<PlanTraits> {
    let (mut lasting, mut reads_pages) = (true, false);
    let visited = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let table = source_as_provider(&scan.source)?;
            let own = table.downcast_ref::<GinghamTable>();
            lasting &= own.is_some();
            reads_pages |= own.is_some_and(|own| own.table.heap.is_some());
        }
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                lasting &= match part {
                    Expr::ScalarFunction(call) => call.func.signature().volatility == Volatility::Immutable,
                    Expr::ScalarVariable(..) => false,
                    Expr::Placeholder(_) => open,
                    _ => true,
                };
                Ok(if lasting { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
            })
        })
    });
    (visited.is_ok() && lasting).then_some(PlanTraits { reads_pages })
}

/// True when copies of the plan share nothing that a run changes, but for the values of subqueries that are all computed
/// before the first row of the plan that needs them: `root` says whether it is at the top of one, where it ends when its
/// rows do.
fn is_repeatable(plan: &Arc<dyn ExecutionPlan>, root: bool) -> bool {
    if let Some(level) = plan.downcast_ref::<ScalarSubqueryExec>() {
        let subqueries = level.subqueries().iter().all(|subquery| is_repeatable(&subquery.plan, true));
        return root && subqueries && is_repeatable(level.input(), false);
    }
    let passes = plan.is::<CoalescePartitionsExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<StoppableExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<SortPreservingMergeExec>();
    let repeatable = passes
        || plan.is::<ScanExec>()
        || plan.is::<CompiledExec>()
        || plan.is::<CountExec>()
        || plan.is::<EmptyExec>()
        || plan.is::<FilterExec>()
        || plan.is::<GlobalLimitExec>()
        || plan.is::<HashJoinExec>()
        || plan.is::<JoinKeysExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<PlaceholderRowExec>()
        || plan.is::<RepartitionExec>()
        || plan.is::<SortExec>()
        || plan.is::<UnionExec>()
        // Copies would share the bounds of MIN and MAX.
        || plan.is::<AggregateExec>() && plan.dynamic_expressions_produced().is_empty();
    // With a limit, rows may end before those below have.
    let root = root && passes && plan.fetch().is_none();
    repeatable && plan.children().into_iter().all(|child| is_repeatable(child, root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Connection;
    use crate::session::Engine;
    use gingham_storage::io::MemoryBudget;
    use gingham_storage::store::Store;

    fn session() -> (Arc<Session>, Connection) {
        let budget = MemoryBudget::new(1 << 30);
        let store = Store::scratch(Arc::clone(&budget)).unwrap();
        let session = Session::new(Engine::start(store, budget, None).unwrap());
        let connection = Connection::new(Arc::clone(&session));
        (session, connection)
    }

    fn find(session: &Session, text: &str) -> Result<Option<CachedPlan>> {
        CachedPlan::find(session, &StatementTables::new(), text)
    }

    #[test]
    fn the_next_run_finds_its_copy_made() {
        let (session, connection) = session();
        connection
            .execute("CREATE TABLE t (a INTEGER, b INTEGER); INSERT INTO t VALUES (1, 5), (2, 6), (3, 1)")
            .unwrap();
        let sql = "SELECT x.b FROM t x JOIN t y ON x.a = y.b ORDER BY x.b LIMIT 1";
        for run in 0..4 {
            let batches = connection.query(sql).unwrap().collect_batches().unwrap();
            assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
            let kept = find(&session, sql).unwrap().unwrap();
            // Nothing is made for what may never come again.
            while run > 0 && kept.ready().is_none() {
                std::thread::yield_now();
            }
        }
        let alone = "SELECT a FROM t WHERE a > (SELECT min(a) FROM t)";
        for _ in 0..2 {
            connection.query(alone).unwrap().collect_batches().unwrap();
        }
        let kept = find(&session, alone).unwrap().unwrap();
        kept.make_ready();
        assert!(kept.ready().is_none(), "a run may have begun");
    }

    #[test]
    fn plans_are_kept_where_they_last() {
        let (session, connection) = session();
        connection
            .execute(
                "CREATE TABLE t (a INTEGER, b VARCHAR); INSERT INTO t VALUES (1, 'x'), (2, NULL);
                 CREATE TABLE p (a INTEGER, b VARCHAR) WITH (layout = 'nsm'); INSERT INTO p SELECT * FROM t;
                 CREATE VIEW v AS SELECT a FROM t; CREATE VIEW clock AS SELECT now() AS n FROM t",
            )
            .unwrap();
        let is_kept = |sql: &str| {
            connection.query(sql).unwrap().collect_batches().unwrap();
            find(&session, sql).unwrap().is_some()
        };
        for sql in [
            "SELECT count(*) FROM t WHERE a > 1",
            "SELECT upper(b), sum(a) FROM t GROUP BY b LIMIT 3",
            "SELECT x.a FROM t x JOIN t y ON x.a = y.a WHERE x.b IN (SELECT b FROM t)",
            "SELECT a FROM t WHERE a = 1 UNION ALL SELECT a FROM t WHERE a = 2",
            "SELECT a FROM v",
            "SELECT a FROM t WHERE a > (SELECT min(a) FROM t)",
            "SELECT a, (SELECT sum(a) FROM t) FROM t WHERE a > (SELECT avg(a) FROM t WHERE a < (SELECT 5)) ORDER BY a",
            "SELECT a FROM p WHERE b = 'x'",
            "SELECT t.a FROM t JOIN p ON t.a = p.a",
        ] {
            assert!(is_kept(sql), "{sql}");
        }
        for sql in [
            "SELECT a, now() FROM t",
            "SELECT a FROM t WHERE a > random()",
            "SELECT n FROM clock",
            "SELECT * FROM gingham_tables",
            "SELECT value FROM generate_series(1, 3)",
            "EXPLAIN SELECT a FROM t",
            "SHOW TABLES",
        ] {
            assert!(!is_kept(sql), "{sql}");
        }
        let sql = "SELECT a FROM t WHERE b = 'x'";
        assert!(is_kept(sql));
        connection.execute("INSERT INTO t VALUES (3, 'x')").unwrap();
        assert!(find(&session, sql).unwrap().is_none(), "it was of another snapshot");
        // A table of the session's own stands in the way of the texts that name it, and of no other.
        assert!(is_kept(sql));
        connection.execute("CREATE TEMP TABLE mine AS SELECT 1 AS a").unwrap();
        assert!(is_kept(sql) && !is_kept("SELECT a FROM t JOIN Mine USING (a)") && !is_kept("SELECT a FROM\nmine"));
        assert!(is_kept("SELECT a AS mined, b AS _mine FROM t") && !is_kept("SELECT a FROM \"mine\""));
        connection.execute("CREATE TEMP TABLE t AS SELECT 1 AS a, 'x' AS b").unwrap();
        assert!(!is_kept(sql) && !is_kept("SELECT a FROM \"t\""));
        connection.execute("DROP TABLE t").unwrap();
        assert!(is_kept(sql), "the table of the database again");
        connection.execute("SET gingham.cache_plans = false").unwrap();
        assert!(!is_kept(sql));
        connection.execute("SET gingham.cache_plans = true").unwrap();
        assert!(is_kept(sql));
        for number in 0..PLANS {
            assert!(is_kept(&format!("SELECT a + {number} FROM t")));
        }
        assert!(find(&session, sql).unwrap().is_none(), "it made room for those used later");
    }
}
