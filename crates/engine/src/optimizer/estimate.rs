//! How many rows a plan gives, what it costs to make them, and where its columns come from.
//!
//! Rows of a table under its filters are sampled ([`GinghamTable::rows_of`]). A join's are those of both sides, over the
//! larger number of distinct values of the columns that are equal: that of their tables, before any filter, so that a
//! filter on one side thins the other out by its share. Columns are taken as independent.

use crate::casts::CAST;
use crate::optimizer::model::{ALL_KEYS, EVALUATE, GROUP, SCAN, SCAN_COLUMN, costs_of_join};
use crate::optimizer::share::{OF_GROUPS, ONE_SIDED, share};
use crate::shared::shared_by;
use crate::table::{GinghamTable, share_left_by_keys};
use datafusion::catalog::TableProvider;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Column, HashMap, JoinType};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Aggregate, Distinct, Expr, FetchType, Join, Limit, LogicalPlan, TableScan};
use gingham_storage::{ColumnId, TableId};
use std::cell::RefCell;
use std::sync::Arc;

/// Rows of a plan of which nothing is known.
const UNKNOWN_ROWS: f64 = 1000.0;
/// The share of a column's range from which on the rest is left aside.
const NEARLY_ALL: f64 = 0.9;
/// Entries of a list, when it is made to rows.
const LIST: f64 = 4.0;

/// What a plan gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) rows: f64,
    /// Nanoseconds to make them.
    pub(super) cost: f64,
}

/// Where an expression's values come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// Distinct values in the table that it comes from, about.
    pub(super) distinct: f64,
    /// Records of that table.
    pub(super) records: f64,
    /// A scan can leave out records by their values, when they are on the probe side of a join.
    pub(super) reached: bool,
    /// The column that they are of, and the one that it REFERENCES.
    column: Option<(TableId, ColumnId)>,
    refers_to: Option<(TableId, ColumnId)>,
    /// Where its integers lie.
    range: Option<(i64, i64)>,
}

impl Origin {
    /// So many values of which nothing else is known.
    pub(super) fn unknown(distinct: f64) -> Self {
        Self { distinct, records: distinct, reached: false, column: None, refers_to: None, range: None }
    }

    /// What is the same values, or some of them, of another column: there are no more than there.
    pub(super) fn within(self, other: &Self) -> Self {
        let refers = self.refers_to.is_some() && self.refers_to == other.column;
        if refers { Self { distinct: self.distinct.min(other.distinct), ..self } } else { self }
    }

    /// Values of either of two columns.
    fn or(self, other: Self) -> Self {
        let range = self.range.zip(other.range).map(|(own, other)| (own.0.min(other.0), own.1.max(other.1)));
        Self {
            distinct: self.distinct.max(other.distinct),
            records: self.records + other.records,
            reached: self.reached && other.reached,
            column: None,
            refers_to: self.refers_to.filter(|_| self.refers_to == other.refers_to),
            range,
        }
    }

    /// The range that all of some columns have in common; `None` where it is not known of each.
    pub(super) fn common_range<'o>(origins: impl Iterator<Item = &'o Self>) -> Option<(i64, i64)> {
        let ranges = origins.map(|origin| origin.range).collect::<Option<Vec<_>>>()?;
        ranges.into_iter().reduce(|(low, high), (other_low, other_high)| (low.max(other_low), high.min(other_high)))
    }

    /// An estimate for the values in a range, and the share of the own range that it is; `None` when that is nearly all of it.
    pub(super) fn clipped(&self, (low, high): (i64, i64)) -> Option<(Self, f64)> {
        let width = |(low, high): (i64, i64)| (high as f64 - low as f64 + 1.0).max(0.0);
        let share = width((low, high)) / width(self.range?);
        let scaled = |values: f64| (values * share).max(1.0);
        let own =
            Self { distinct: scaled(self.distinct), records: scaled(self.records), range: Some((low, high)), ..*self };
        (share < NEARLY_ALL).then_some((own, share))
    }

    /// Distinct values in `rows` of the records.
    pub(super) fn found(&self, rows: f64) -> f64 {
        found(self.distinct, self.records, rows)
    }

    /// The distinct values of two columns that are compared.
    pub(super) fn pair((a, b): &(Self, Self)) -> (f64, f64) {
        (a.within(b).distinct, b.within(a).distinct)
    }
}

/// Estimates of plans, which live as long as these: each is looked at once, however many plans above it ask.
pub(super) struct Estimator<'a> {
    options: &'a ConfigOptions,
    /// By where a plan lies.
    sizes: RefCell<HashMap<*const LogicalPlan, Size>>,
}

impl<'a> Estimator<'a> {
    pub(super) fn new(options: &'a ConfigOptions) -> Self {
        Self { options, sizes: RefCell::default() }
    }

    /// Rows that a plan gives, and what they cost.
    pub(super) fn size(&self, plan: &'a LogicalPlan) -> Size {
        let known = self.sizes.borrow().get(&std::ptr::from_ref(plan)).copied();
        known.unwrap_or_else(|| {
            let size = self.size_of(plan);
            self.sizes.borrow_mut().insert(plan, size);
            size
        })
    }

    fn size_of(&self, plan: &'a LogicalPlan) -> Size {
        match plan {
            LogicalPlan::TableScan(scan) => self.scan(scan),
            LogicalPlan::Filter(filter) => {
                let Size { rows, cost } = self.size(&filter.input);
                let one_sided = if is_of_groups(&filter.input) { OF_GROUPS } else { ONE_SIDED };
                let distinct = |column: &Column| self.column(&filter.input, column).distinct;
                let left = rows * share(&filter.predicate, one_sided, &distinct);
                Size { rows: left, cost: cost + rows * EVALUATE }
            }
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let Size { rows, cost } = self.size(input);
                let columns = input.schema().columns();
                Size {
                    rows: self.groups(input, columns.into_iter().map(Expr::Column), rows),
                    cost: cost + rows * GROUP,
                }
            }
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Union(union) => {
                let sizes = union.inputs.iter().map(|input| self.size(input));
                sizes.fold(Size { rows: 0.0, cost: 0.0 }, |a, b| Size { rows: a.rows + b.rows, cost: a.cost + b.cost })
            }
            LogicalPlan::Limit(limit) => self.limit(limit),
            LogicalPlan::Sort(sort) => {
                let Size { rows, cost } = self.size(&sort.input);
                let rows_given = sort.fetch.map_or(rows, |fetch| rows.min(fetch as f64));
                Size { rows: rows_given, cost: cost + rows * GROUP }
            }
            LogicalPlan::Unnest(unnest) => {
                let Size { rows, cost } = self.size(&unnest.input);
                Size { rows: rows * LIST, cost: cost + rows * EVALUATE }
            }
            LogicalPlan::Values(values) => Size { rows: values.values.len() as f64, cost: 0.0 },
            LogicalPlan::EmptyRelation(empty) => Size { rows: f64::from(u8::from(empty.produce_one_row)), cost: 0.0 },
            other => match other.inputs().as_slice() {
                [input] => self.size(input),
                _ => Size { rows: UNKNOWN_ROWS, cost: UNKNOWN_ROWS * SCAN },
            },
        }
    }

    fn scan(&self, scan: &'a TableScan) -> Size {
        if let Some(shared) = shared_by(scan) {
            // Its own cost is that of all readers together.
            let rows = Estimator::new(self.options).size(shared.plan()).rows;
            return Size { rows, cost: rows * SCAN };
        }
        let rows = with_table(scan, |table| table.rows_of(&scan.filters, self.options)).unwrap_or(UNKNOWN_ROWS);
        let rows = scan.fetch.map_or(rows, |fetch| rows.min(fetch as f64));
        Size { rows, cost: rows * (SCAN + SCAN_COLUMN * scan.projected_schema.fields().len() as f64) }
    }

    fn limit(&self, limit: &'a Limit) -> Size {
        let Size { rows, cost } = self.size(&limit.input);
        match limit.get_fetch_type() {
            Ok(FetchType::Literal(Some(fetch))) => Size { rows: rows.min(fetch as f64), cost },
            _ => Size { rows, cost },
        }
    }

    fn aggregate(&self, aggregate: &'a Aggregate) -> Size {
        let Size { rows, cost } = self.size(&aggregate.input);
        let groups = self.groups(&aggregate.input, aggregate.group_expr.iter().cloned(), rows);
        Size { rows: groups, cost: cost + rows * GROUP }
    }

    /// Distinct combinations of expressions in `rows` rows of a plan.
    fn groups(&self, plan: &'a LogicalPlan, expressions: impl Iterator<Item = Expr>, rows: f64) -> f64 {
        let origins = expressions.map(|expression| self.origin(plan, &expression));
        let (all, records) = origins.fold((1.0, rows), |(all, records): (f64, f64), origin| {
            (all * origin.distinct, records.max(origin.records))
        });
        found(all, records, rows)
    }

    fn join(&self, join: &'a Join) -> Size {
        let (left, right) = (self.size(&join.left), self.size(&join.right));
        let (mut keys, mut inside) = (Vec::new(), (1.0, 1.0));
        for (a, b) in &join.on {
            let (a, b) = (self.origin(&join.left, a), self.origin(&join.right, b));
            let ((a, inside_a), (b, inside_b)) = self.meeting((&join.left, a), (&join.right, b));
            keys.push((a, b));
            inside = (inside.0 * inside_a, inside.1 * inside_b);
        }
        let distinct: Vec<_> = keys.iter().map(Origin::pair).collect();
        let whole = (self.whole(&join.left), self.whole(&join.right));
        let residual = join.filter.as_ref().map_or(1.0, |filter| share(filter, ONE_SIDED, &|_| UNKNOWN_ROWS));
        let (meeting_left, meeting_right) = (left.rows * inside.0, right.rows * inside.1);
        let matches = meeting_left * meeting_right * share_of_keys(&distinct, whole) * residual;
        let kept_left = inside.0 * share_found(&keys, whole.0, meeting_right) * residual;
        let flipped: Vec<_> = keys.iter().map(|(a, b)| (*b, *a)).collect();
        let kept_right = inside.1 * share_found(&flipped, whole.1, meeting_left) * residual;
        let rows = match join.join_type {
            JoinType::Inner => matches,
            JoinType::Left => matches.max(left.rows),
            JoinType::Right => matches.max(right.rows),
            JoinType::Full => matches.max(left.rows + right.rows),
            JoinType::LeftSemi => left.rows * kept_left,
            JoinType::RightSemi => right.rows * kept_right,
            JoinType::LeftAnti => left.rows * unfound(kept_left),
            JoinType::RightAnti => right.rows * unfound(kept_right),
            JoinType::LeftMark => left.rows,
            JoinType::RightMark => right.rows,
        };
        let on = join.on.iter().map(|(a, b)| (a, b));
        let narrowing = self.narrowing((&join.left, &join.right), join.join_type, on, left.rows);
        let (fixed, stream) = costs_of_join(left, right, narrowing, rows);
        Size { rows, cost: fixed + stream }
    }

    /// The share of the probe side's rows that the build side's keys leave, where scans can tell. `join_type` has the build
    /// side on its left.
    pub(super) fn narrowing(
        &self,
        (build, probe): (&'a LogicalPlan, &'a LogicalPlan),
        join_type: JoinType,
        on: impl Iterator<Item = (&'a Expr, &'a Expr)>,
        built: f64,
    ) -> f64 {
        let takes_keys = matches!(
            join_type,
            JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::RightSemi
        );
        if !takes_keys {
            return ALL_KEYS;
        }
        narrowing(on.map(|(a, b)| (self.origin(build, a), self.origin(probe, b))), built)
    }

    /// Records of the table that a plan reads, before any filter; else its rows.
    pub(super) fn whole(&self, plan: &'a LogicalPlan) -> f64 {
        match plan {
            LogicalPlan::TableScan(scan) if shared_by(scan).is_none() => {
                with_table(scan, |table| table.rows() as f64).unwrap_or(UNKNOWN_ROWS)
            }
            LogicalPlan::Filter(filter) => self.whole(&filter.input),
            LogicalPlan::Projection(projection) => self.whole(&projection.input),
            LogicalPlan::SubqueryAlias(alias) => self.whole(&alias.input),
            other => self.size(other).rows,
        }
    }

    /// Where the values of an expression over a plan's rows come from.
    pub(super) fn origin(&self, plan: &'a LogicalPlan, expression: &Expr) -> Origin {
        match expression {
            Expr::Column(column) => self.column(plan, column),
            Expr::Alias(alias) => self.origin(plan, &alias.expr),
            Expr::Cast(cast) => Origin { reached: false, column: None, range: None, ..self.origin(plan, &cast.expr) },
            Expr::ScalarFunction(call) if call.name() == CAST && call.args.len() == 1 => {
                Origin { reached: false, column: None, range: None, ..self.origin(plan, &call.args[0]) }
            }
            other => {
                let columns = other.column_refs();
                let distinct = columns.into_iter().map(|column| self.column(plan, column).distinct).product();
                Origin::unknown(distinct)
            }
        }
    }

    /// Columns of two plans that are equal: each within the range that both have in common, and the share of its plan's rows
    /// that lies there.
    pub(super) fn meeting(
        &self,
        (plan, origin): (&'a LogicalPlan, Origin),
        (other_plan, other): (&'a LogicalPlan, Origin),
    ) -> ((Origin, f64), (Origin, f64)) {
        let common = Origin::common_range([&origin, &other].into_iter());
        (self.within(plan, origin, common), self.within(other_plan, other, common))
    }

    /// A column of a plan within a range, and the share of the plan's rows that lies there: what a scan's other conditions leave
    /// may all do so, or none of it.
    pub(super) fn within(&self, plan: &'a LogicalPlan, origin: Origin, range: Option<(i64, i64)>) -> (Origin, f64) {
        let Some((clipped, share)) = range.and_then(|range| origin.clipped(range)) else { return (origin, 1.0) };
        let rows = self.size(plan).rows.max(1.0);
        let counted = match (plan, origin.column, range) {
            (LogicalPlan::TableScan(scan), Some((_, column)), Some(range)) if !scan.filters.is_empty() => {
                with_table(scan, |table| table.rows_within(&scan.filters, column, range, self.options))
            }
            _ => None,
        };
        (clipped, counted.map_or(share, |counted| counted / rows).clamp(1.0 / rows, 1.0))
    }

    fn column(&self, plan: &'a LogicalPlan, column: &Column) -> Origin {
        let unreached = |origin: Origin| Origin { reached: false, ..origin };
        let unknown = || Origin::unknown(self.size(plan).rows.max(1.0));
        let place = plan.schema().index_of_column(column);
        match plan {
            LogicalPlan::TableScan(scan) => {
                let values = with_table(scan, |table| table.values_of(&column.name)).flatten();
                values.map_or_else(unknown, |values| Origin {
                    distinct: values.distinct,
                    records: values.records,
                    reached: values.gathered,
                    column: Some(values.column),
                    refers_to: values.refers_to,
                    range: values.range,
                })
            }
            LogicalPlan::Projection(projection) => match place.map(|place| &projection.expr[place]) {
                Ok(expression) => self.origin(&projection.input, expression),
                Err(_) => unknown(),
            },
            LogicalPlan::SubqueryAlias(alias) => match place {
                Ok(place) => self.column(&alias.input, &Column::from(alias.input.schema().qualified_field(place))),
                Err(_) => unknown(),
            },
            LogicalPlan::Aggregate(aggregate) => match place.map(|place| aggregate.group_expr.get(place)) {
                Ok(Some(expression)) if !matches!(expression, Expr::GroupingSet(_)) => {
                    self.origin(&aggregate.input, expression)
                }
                _ => unknown(),
            },
            LogicalPlan::Filter(filter) => self.column(&filter.input, column),
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.column(&sort.input, column),
            LogicalPlan::Sort(sort) => unreached(self.column(&sort.input, column)),
            LogicalPlan::Limit(limit) => unreached(self.column(&limit.input, column)),
            LogicalPlan::Distinct(Distinct::All(input)) => self.column(input, column),
            LogicalPlan::Window(window) if window.input.schema().has_column(column) => {
                unreached(self.column(&window.input, column))
            }
            LogicalPlan::Join(join) => self.column_of_join(join, column).unwrap_or_else(unknown),
            LogicalPlan::Union(union) => match place {
                Ok(place) => {
                    let of = |input: &'a Arc<LogicalPlan>| {
                        self.column(input, &Column::from(input.schema().qualified_field(place)))
                    };
                    union.inputs.iter().map(of).reduce(Origin::or).unwrap_or_else(unknown)
                }
                Err(_) => unknown(),
            },
            _ => unknown(),
        }
    }

    fn column_of_join(&self, join: &'a Join, column: &Column) -> Option<Origin> {
        let (side, reached) = if join.left.schema().has_column(column) {
            (&join.left, !matches!(join.join_type, JoinType::Right | JoinType::Full))
        } else if join.right.schema().has_column(column) {
            (&join.right, !matches!(join.join_type, JoinType::Left | JoinType::Full))
        } else {
            return None;
        };
        let origin = self.column(side, column);
        Some(Origin { reached: origin.reached && reached, ..origin })
    }
}

fn is_of_groups(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(_) => true,
        LogicalPlan::Projection(projection) => is_of_groups(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_of_groups(&alias.input),
        _ => false,
    }
}

/// Calls `with` with the table of ours that a scan reads.
pub(super) fn with_table<T>(scan: &TableScan, with: impl FnOnce(&GinghamTable) -> T) -> Option<T> {
    let provider: Arc<dyn TableProvider> = source_as_provider(&scan.source).ok()?;
    provider.downcast_ref::<GinghamTable>().map(with)
}

/// Distinct values in `rows` of `records`, which have `all` of them, each as often.
fn found(all: f64, records: f64, rows: f64) -> f64 {
    let all = all.min(records).max(1.0);
    let missed = (1.0 - (rows / records.max(1.0)).min(1.0)).powf(records / all);
    (all * (1.0 - missed)).clamp(rows.min(1.0), rows.max(1.0))
}

/// The share of pairs of rows of two sides that are equal in several keys, given the distinct values of each and the
/// records of both tables, which bound their combinations.
pub(super) fn share_of_keys(distinct: &[(f64, f64)], whole: (f64, f64)) -> f64 {
    let share: f64 = distinct.iter().map(|(a, b)| 1.0 / a.max(*b).max(1.0)).product();
    if distinct.len() < 2 {
        return share;
    }
    let left = distinct.iter().map(|(a, _)| a).product::<f64>().min(whole.0);
    let right = distinct.iter().map(|(_, b)| b).product::<f64>().min(whole.1);
    share.max(1.0 / left.min(right).max(1.0))
}

/// The share of a side's rows that find an equal one among `rows` of the other, by the origins of both sides' keys; `whole`
/// are the records of its table.
pub(super) fn share_found(keys: &[(Origin, Origin)], whole: f64, rows: f64) -> f64 {
    if keys.is_empty() {
        return 1.0;
    }
    let others = keys.iter().map(|(_, other)| other.distinct).product();
    let records = keys.iter().map(|(_, other)| other.records).fold(rows, f64::max);
    let others = found(others, records, rows);
    let all: f64 = keys.iter().map(Origin::pair).map(|(a, b)| a.max(b)).product();
    (others / all.min(whole.max(others)).max(1.0)).min(1.0)
}

/// The share of rows that an anti join leaves, of which a semi join leaves `found`: never none at all, since a
/// semi join's is an upper bound.
pub(super) fn unfound(found: f64) -> f64 {
    (1.0 - found).max(0.1)
}

/// The share of a probe side that is left by the keys of `built` rows, the best of them. They reach a scan only
/// together: of columns from two tables, none is looked for.
pub(super) fn narrowing(keys: impl Iterator<Item = (Origin, Origin)>, built: f64) -> f64 {
    let (mut table, mut left) = (None, ALL_KEYS);
    for (build, probed) in keys {
        let Some((of, _)) = probed.column else { return ALL_KEYS };
        if *table.get_or_insert(of) != of {
            return ALL_KEYS;
        }
        if probed.reached {
            left = left.min(share_left_by_keys(build.found(built), probed.distinct));
        }
    }
    left
}
