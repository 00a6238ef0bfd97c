//! The DataFusion session state that every statement starts from: settings, functions and rules.

use crate::arithmetic::{
    ApproximateWins, CheckedArithmetic, TimeComparison, checked_sum, exact_average, exact_spreads, extremes, roundings,
};
use crate::bytes::{BytesLike, BytesOperators, BytesTypes};
use crate::casts::{OwnCasts, UntypedTexts};
use crate::compile::CompilePipelines;
use crate::datafusion::cancellation::{AskingWindows, StoppableOperators};
use crate::datafusion::fixes::{
    ConstantRegressions, EqualFunctions, EqualWindows, JoinsInMemory, LimitOneGroup, ListsOfColumns, OneZero,
    OrderedStrings, OuterConstants, SharedThresholds, UnlimitOneGroup, UnwaitedJoins, WholeKeys,
};
use crate::datafusion::in_order::FramesInOrder;
use crate::datafusion::shortcuts::{KeyedJoins, SelectJoins, UnlessWhole, in_passes, is_needed, only_where_wanted};
use crate::equality::OneForm;
use crate::guards::{GuardExpressions, GuardedWindows};
use crate::optimizer::JoinOrder;
use crate::percentiles::{WithinGroup, percentiles};
use crate::recording::clear_workload;
use crate::recursion::{BuildOnce, OwnPlanner, Recursions};
use crate::session::settings::merge_reserve;
use crate::session::{Engine, Settings};
use crate::shared::PlanShared;
use crate::table::{CountOnCodes, GatherJoinKeys};
use crate::temporal::zones::ZONE;
use crate::unnest::UnnestSubqueries;
use crate::windows::SlidingAggregates;
use crate::{bytes, functions, temporal, text};
use datafusion::execution::SessionState;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{Analyzer, AnalyzerRule, Optimizer, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::ensure_requirements::EnsureRequirements;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_optimizer::output_requirements::OutputRequirements;
use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;
use datafusion::prelude::SessionConfig;
use gingham_execution::lab::FixedStages;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The one catalog's name.
pub(crate) const CATALOG: &str = "gingham";
/// The schema of names that stand alone: TEMP tables first, then what is in the default schema.
pub(crate) const BARE_NAMES: &str = "gingham_session";

/// A fresh session state for a database, of a session that has its memory from `environment`.
pub(super) fn template(engine: &Engine, environment: &Arc<RuntimeEnv>) -> SessionState {
    let mut config = SessionConfig::new()
        .with_target_partitions(engine.threads)
        // Ours, which the catalog gives, instead of DataFusion's.
        .with_information_schema(false)
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema(CATALOG, BARE_NAMES);
    let options = config.options_mut();
    // 0.1 + 0.2 = 0.3, as a user of SQL expects; see docs/decisions.
    options.sql_parser.parse_float_as_decimal = true;
    // The zone of TIMESTAMP WITH TIME ZONE in expressions is that of columns.
    options.execution.time_zone = Some(ZONE.to_owned());
    // Times of 96 bits reach further than nanoseconds of 64 bits, by which they would come as others.
    options.execution.parquet.coerce_int96 = Some("us".to_owned());
    options.execution.sort_spill_reservation_bytes = merge_reserve(engine.budget.limit());
    // Scans take a join's keys as a set of codes, at a fraction of the cost of probing its table for each record. Those
    // that are no integers come as a list, which costs 200 ns for each record of the build side.
    options.optimizer.hash_join_inlist_pushdown_max_distinct_values = 1 << 12;
    options.optimizer.hash_join_inlist_pushdown_max_size = 64 << 10;
    // It refuses groups over `x IS TRUE` as a column: that is no NULL, but as a physical expression says that it may be.
    options.execution.skip_physical_aggregate_schema_check = true;
    // Another one where it may gain: see `in_passes`.
    options.optimizer.max_passes = 1;
    let settings = Settings::new(engine.threads, engine.budget.limit());
    let lab_stages = engine.has_lab.load(Ordering::Relaxed).then(FixedStages::default);
    options.extensions.insert(Settings { lab_stages, ..settings });
    let mut builder = SessionStateBuilder::new_with_default_features()
        .with_config(config)
        .with_runtime_env(Arc::clone(environment))
        .with_analyzer_rules(analyzer_rules())
        .with_optimizer_rules(optimizer_rules())
        .with_physical_optimizer_rules(physical_rules(engine))
        .with_type_planner(Arc::new(BytesTypes))
        .with_query_planner(Arc::new(OwnPlanner));
    // The last function of a name counts.
    let sums = [checked_sum(), exact_average()].into_iter().chain(extremes()).chain(exact_spreads()).map(Arc::new);
    builder.aggregate_functions().get_or_insert_default().extend(sums.chain(percentiles()));
    builder.scalar_functions().get_or_insert_default().extend(
        roundings()
            .into_iter()
            .chain(functions::all())
            .chain(bytes::all())
            .chain(temporal::functions())
            .chain(text::json::functions()),
    );
    builder.scalar_functions().get_or_insert_default().push(clear_workload(&engine.recorder, None));
    builder.expr_planners().get_or_insert_default().insert(0, Arc::new(UntypedTexts));
    builder.expr_planners().get_or_insert_default().insert(1, Arc::new(TimeComparison));
    builder.expr_planners().get_or_insert_default().insert(2, Arc::new(temporal::TemporalOperators));
    builder.expr_planners().get_or_insert_default().insert(3, Arc::new(OrderedStrings));
    builder.expr_planners().get_or_insert_default().insert(4, Arc::new(WithinGroup));
    builder.expr_planners().get_or_insert_default().insert(5, Arc::new(ConstantRegressions));
    builder.expr_planners().get_or_insert_default().insert(6, Arc::new(BytesOperators));
    builder.build()
}

/// DataFusion's rules, type coercion among them, between those of ours that set types and those that need them.
fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>> = vec![Arc::new(ApproximateWins), Arc::new(BytesLike)];
    rules.extend(Analyzer::new().rules);
    rules.extend([
        Arc::new(OwnCasts) as Arc<dyn AnalyzerRule + Send + Sync>,
        Arc::new(ListsOfColumns),
        Arc::new(CheckedArithmetic::new()),
        Arc::new(SlidingAggregates),
        Arc::new(UnnestSubqueries),
        Arc::new(OneForm),
        Arc::new(GuardedWindows),
    ]);
    rules
}

/// A rule over logical plans.
type Logical = Arc<dyn OptimizerRule + Send + Sync>;

/// DataFusion's rules and ours: one in the place of its own, two about one, and the order of joins last.
fn optimizer_rules() -> Vec<Logical> {
    let (crosses, conditions) = (EliminateCrossJoin::new(), PushDownFilter::new());
    let mut rules: Vec<Logical> = Vec::new();
    for rule in Optimizer::new().rules.into_iter().filter(|rule| is_needed(rule.name())) {
        match rule.name() {
            name if name == crosses.name() => rules.push(Arc::new(KeyedJoins)),
            name if name == conditions.name() => {
                rules.extend([Arc::new(LimitOneGroup) as Logical, rule, Arc::new(UnlimitOneGroup)])
            }
            "simplify_expressions" => {
                let own: [Logical; 2] = [Arc::new(temporal::CompareDays), Arc::new(EqualWindows)];
                rules.push(only_where_wanted(rule));
                rules.extend(own);
            }
            name if WholeKeys::is_for(name) => rules.extend([Arc::new(WholeKeys) as Logical, only_where_wanted(rule)]),
            _ => rules.push(only_where_wanted(rule)),
        }
    }
    rules.push(Arc::new(OneZero));
    let mut rules = in_passes(rules, Arc::new(JoinOrder));
    rules.extend([Arc::new(AskingWindows) as Logical, Arc::new(Recursions)]);
    rules.push(Arc::new(PlanShared::new(rules.clone())));
    rules
}

/// A rule over physical plans.
type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// DataFusion's rules, but for the one that would choose the sides of joins anew, then ours. Pipelines take their parts of a plan
/// before it is distributed over threads; the rules behind that see what is left to DataFusion.
fn physical_rules(engine: &Engine) -> Vec<Rule> {
    physical_rules_spared(engine, |rule| Arc::new(UnlessWhole { rule }))
}

/// DataFusion's rules and ours, where `spared` says which plans the rules behind pipelines see.
fn physical_rules_spared(engine: &Engine, spared: fn(Rule) -> Rule) -> Vec<Rule> {
    let select: Rule = Arc::new(SelectJoins);
    let distributing = EnsureRequirements::new();
    let own = |rule: Rule| if rule.name() == select.name() { Arc::clone(&select) } else { rule };
    let mut rules: Vec<Rule> = PhysicalOptimizer::new().rules.into_iter().map(own).collect();
    let at = rules.iter().position(|rule| rule.name() == distributing.name()).unwrap_or(rules.len());
    let (marks, projections, guards) =
        (OutputRequirements::new_remove_mode(), ProjectionPushdown::new(), GuardExpressions);
    let mut later = rules.split_off(at);
    later.insert(later.len().min(1), Arc::new(SharedThresholds));
    later.splice(0..0, [Arc::new(OuterConstants) as Rule, Arc::new(EqualFunctions)]);
    later.extend([Arc::new(CountOnCodes) as Rule, Arc::new(UnwaitedJoins), Arc::new(GatherJoinKeys)]);
    later.extend([Arc::new(GuardExpressions) as Rule, Arc::new(StoppableOperators), Arc::new(JoinsInMemory)]);
    let seen = |rule: Rule| match rule.name() {
        name if [marks.name(), projections.name(), guards.name()].contains(&name) => rule,
        _ => spared(rule),
    };
    let later: Vec<Rule> = later.into_iter().map(seen).collect();
    rules.push(Arc::new(BuildOnce));
    rules.push(Arc::new(CompilePipelines::new(Arc::clone(&engine.pool), later.clone())));
    rules.extend(later);
    rules.push(Arc::new(FramesInOrder));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Connection;
    use crate::session::{CancelToken, Session, wait};
    use datafusion::physical_plan::displayable;
    use gingham_storage::io::MemoryBudget;
    use gingham_storage::store::Store;

    /// A query's physical plan under these rules.
    fn plan(session: &Arc<Session>, sql: &str, rules: &[Rule]) -> String {
        let context = session.begin(CancelToken::new()).unwrap();
        let builder = SessionStateBuilder::new_from_existing((*context.state).clone());
        let state = builder.with_physical_optimizer_rules(rules.to_vec()).build();
        let statement = state.sql_to_statement(sql, &state.config_options().sql_parser.dialect).unwrap();
        let logical = state.optimize(&wait(context.plan(statement, None)).unwrap()).unwrap();
        let plan = wait(state.query_planner().create_physical_plan(&logical, &state)).unwrap();
        displayable(plan.as_ref()).indent(true).to_string()
    }

    fn plans_are_the_same() {
        let budget = MemoryBudget::new(1 << 30);
        let store = Store::scratch(Arc::clone(&budget)).unwrap();
        let session = Session::new(Engine::start(store, budget, Some(2)).unwrap());
        let tables =
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, c VARCHAR); CREATE TABLE u (a INTEGER, d INTEGER);
            INSERT INTO t SELECT value, value % 7, 'x' || (value % 3) FROM generate_series(1, 3000);
            INSERT INTO u SELECT value % 500, value FROM generate_series(1, 9000)";
        Connection::new(Arc::clone(&session)).execute(tables).unwrap();
        let (rules, all) = (physical_rules(&session.engine), physical_rules_spared(&session.engine, |rule| rule));
        for (sql, whole) in [
            ("SELECT b, count(*), sum(a) FROM t GROUP BY b", true),
            ("SELECT b, count(*) AS n FROM t WHERE c = 'x1' GROUP BY b ORDER BY n DESC, b LIMIT 3", true),
            ("SELECT c, sum(d) FROM t JOIN u ON t.a = u.a GROUP BY c HAVING sum(d) > 5 ORDER BY c", true),
            ("SELECT t.a, u.d FROM t, u WHERE t.a = u.a AND u.d > 8000 ORDER BY u.d", true),
            ("SELECT 2 * x FROM (SELECT max(d) AS x FROM u GROUP BY a) ORDER BY 1", true),
            ("SELECT a FROM t WHERE b > 3", false),
            ("SELECT b, sum(a) OVER (PARTITION BY b ORDER BY a) FROM t", false),
            ("SELECT count(*) FROM t", false),
            ("SELECT a FROM t WHERE b = (SELECT max(b) FROM t WHERE c = 'x0') ORDER BY a", false),
            ("SELECT b FROM t GROUP BY b UNION ALL SELECT d FROM u ORDER BY 1 LIMIT 4", false),
        ] {
            let spared = plan(&session, sql, &rules);
            assert_eq!(spared, plan(&session, sql, &all), "{sql}");
            assert!(!whole || spared.contains("CompiledExec"), "{sql}: {spared}");
        }
    }

    #[test]
    fn rules_that_are_spared_change_nothing() {
        // Debug builds have large frames.
        let thread = std::thread::Builder::new().stack_size(32 << 20).spawn(plans_are_the_same).unwrap();
        thread.join().unwrap();
    }
}
