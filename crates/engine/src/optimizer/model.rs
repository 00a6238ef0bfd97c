//! What is known of a cluster: how many rows each part of it gives, and what it costs to join two parts
//! (docs/decisions/0021-join-order.md).
//!
//! A cost has two parts: what is fixed, and what grows with the rows that stream through the probe sides. The keys of a
//! join's build side reach the scans of its probe side, and thin the stream out.

use crate::optimizer::cluster::{Cluster, ClusterRelation, Filtering, RelationExpression, Relations};
use crate::optimizer::estimate::{Estimator, Origin, Size, narrowing, share_found, share_of_keys, unfound};
use crate::optimizer::share::{ONE_SIDED, share};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, Join, LogicalPlan};

/// Nanoseconds for a record that a scan gives, and for each of its columns.
pub(super) const SCAN: f64 = 4.0;
pub(super) const SCAN_COLUMN: f64 = 3.0;
/// For a row of which a condition is evaluated.
pub(super) const EVALUATE: f64 = 8.0;
/// For a row that is grouped or sorted.
pub(super) const GROUP: f64 = 60.0;
/// For a row of a join's build side, and of its probe side, when the table is in cache; and for a row that it gives.
const BUILD: f64 = 35.0;
const PROBE: f64 = 15.0;
const OUTPUT: f64 = 15.0;
/// A row of a build side costs so many times as much when its table is far from the caches.
const FAR: f64 = 3.0;
/// Rows of tables, as powers of two, between which it leaves the caches.
const NEAR_BITS: f64 = 15.0;
const FAR_BITS: f64 = 21.0;
/// The share that is left when keys leave out nothing.
pub(super) const ALL_KEYS: f64 = 1.0;

/// What one relation gives.
struct RelationEstimate {
    size: Size,
    /// Records of its table, before any filter.
    whole: f64,
}

/// Equal columns: of each member its relation, where it comes from, and the share of its relation's rows whose value any
/// member may have; fewest distinct values first.
struct EqualColumns {
    members: Vec<(Relations, Origin, f64)>,
    /// All of their relations.
    relations: Relations,
}

impl EqualColumns {
    fn of(&self, relations: Relations) -> impl Iterator<Item = &Origin> {
        self.members.iter().filter(move |(relation, ..)| relation & relations != 0).map(|(_, origin, _)| origin)
    }

    /// The share of all combinations of rows of `relations` in which the columns are equal.
    fn share(&self, relations: Relations) -> f64 {
        if (self.relations & relations).count_ones() < 2 {
            return 1.0;
        }
        let members = self.members.iter().filter(|(relation, ..)| relation & relations != 0);
        let inside: f64 = members.map(|(_, _, inside)| inside).product();
        inside / self.of(relations).skip(1).map(|origin| origin.distinct).product::<f64>()
    }
}

/// The estimates for a cluster.
pub(super) struct Model {
    given: Vec<RelationEstimate>,
    classes: Vec<EqualColumns>,
    /// Pairs of relations that are equal in several columns, and how many times as many rows that gives than if the
    /// columns were independent.
    together: Vec<(Relations, f64)>,
    /// Conditions, with the relations that they name and the share of rows that they leave.
    residuals: Vec<(Relations, f64)>,
    /// Those of them that are equalities.
    equalities: Vec<(Relations, Relations)>,
    filterings: Vec<Filter>,
}

/// A relation that filters others.
struct Filter {
    own: Relations,
    needs: Relations,
    anti: bool,
    /// Origins of the keys: of the filtered side, and its own.
    keys: Vec<(Origin, Origin)>,
    /// The share of rows that it leaves.
    share: f64,
}

impl Model {
    pub(super) fn new<'a>(cluster: &'a Cluster, estimator: &Estimator<'a>) -> Self {
        let given: Vec<RelationEstimate> = cluster
            .relations
            .iter()
            .map(|relation| RelationEstimate {
                size: estimator.size(&relation.plan),
                whole: estimator.whole(&relation.plan),
            })
            .collect();
        let classes: Vec<_> = cluster.classes.iter().map(|class| equal_columns(cluster, estimator, class)).collect();
        let together = together(&classes, &given);
        let residuals = cluster.residuals.iter().map(|(condition, of)| {
            let distinct = |column: &Column| origin(cluster, estimator, &Expr::Column(column.clone())).distinct;
            (*of, share(condition, ONE_SIDED, &distinct))
        });
        let equalities = cluster.equalities.iter().map(|equality| {
            let rows = |of: Relations| rows_of(&given, of);
            (equality.left_of | equality.right_of, 1.0 / rows(equality.left_of).max(rows(equality.right_of)).max(1.0))
        });
        Self {
            residuals: residuals.chain(equalities).collect(),
            equalities: cluster.equalities.iter().map(|known| (known.left_of, known.right_of)).collect(),
            filterings: filterings(cluster, estimator, &given),
            classes,
            together,
            given,
        }
    }

    /// How many relations there are.
    pub(super) fn relations(&self) -> usize {
        self.given.len()
    }

    /// What one relation costs, and its rows.
    pub(super) fn size(&self, relation: usize) -> Size {
        self.given[relation].size
    }

    /// Rows of the join of `relations`.
    pub(super) fn rows(&self, relations: Relations) -> f64 {
        if relations.count_ones() == 1 {
            return self.given[relations.trailing_zeros() as usize].size.rows;
        }
        let filtering = self.filterings.iter().fold(0, |all, filter| all | filter.own);
        let mut rows = rows_of(&self.given, relations & !filtering);
        rows *= self.classes.iter().map(|class| class.share(relations)).product::<f64>();
        let within = |of: &Relations| of & !relations == 0;
        let residuals = self.residuals.iter().chain(&self.together).filter(|(of, _)| within(of));
        rows *= residuals.map(|(_, share)| share).product::<f64>();
        rows * self.filterings.iter().filter(|filter| within(&filter.own)).map(|filter| filter.share).product::<f64>()
    }

    /// The relation that filters, when `relations` is one.
    fn filter(&self, relations: Relations) -> Option<&Filter> {
        self.filterings.iter().find(|filter| filter.own == relations)
    }

    /// Whether there is a condition to join two parts by. A relation that filters comes alone, and after those it needs.
    pub(super) fn are_joined(&self, a: Relations, b: Relations) -> bool {
        match (self.filter(a), self.filter(b)) {
            (Some(_), Some(_)) => false,
            (Some(filter), None) => filter.needs & !b == 0,
            (None, Some(filter)) => filter.needs & !a == 0,
            (None, None) => {
                let (in_a, in_b) = (|of: Relations| of & !a == 0, |of: Relations| of & !b == 0);
                self.classes.iter().any(|class| class.relations & a != 0 && class.relations & b != 0)
                    || self
                        .equalities
                        .iter()
                        .any(|(left, right)| in_a(*left) && in_b(*right) || in_b(*left) && in_a(*right))
            }
        }
    }

    /// Whether two parts may be joined at all, if only each row with each.
    pub(super) fn may_be_joined(&self, a: Relations, b: Relations) -> bool {
        (self.filter(a).is_none() && self.filter(b).is_none()) || self.are_joined(a, b)
    }

    /// The parts of the cluster between which there is no condition to join by.
    pub(super) fn components(&self) -> Vec<Relations> {
        let mut parts: Vec<Relations> = (0..self.relations()).map(|relation| 1 << relation).collect();
        let classes = self.classes.iter().map(|class| class.relations);
        let equalities = self.equalities.iter().map(|(left, right)| left | right);
        let filterings = self.filterings.iter().map(|filter| filter.own | filter.needs);
        for edge in classes.chain(equalities).chain(filterings) {
            let (touched, mut apart): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part & edge != 0);
            apart.push(touched.into_iter().fold(0, |all, part| all | part));
            parts = apart;
        }
        parts.sort_unstable();
        parts
    }

    /// The share of `probed` that is left by the keys of `built`, which gives `rows`.
    pub(super) fn narrowing(&self, built: Relations, probed: Relations, rows: f64) -> f64 {
        match (self.filter(built), self.filter(probed)) {
            (Some(filter), _) if filter.anti => ALL_KEYS,
            (Some(filter), _) => narrowing(filter.keys.iter().map(|(kept, own)| (*own, *kept)), rows),
            (None, Some(filter)) => narrowing(filter.keys.iter().copied(), rows),
            (None, None) => {
                let Some(reached) = self.reached(built, probed) else { return ALL_KEYS };
                let pairs = self
                    .classes
                    .iter()
                    .filter_map(|class| Some((*class.of(built).next()?, *class.of(reached).next()?)));
                narrowing(pairs, rows)
            }
        }
    }

    /// The relation of `probed` that the keys of `built` reach: the largest that has all of the columns that they are
    /// equal to, which DataFusion hands down only together.
    pub(super) fn reached(&self, built: Relations, probed: Relations) -> Option<Relations> {
        if self.equalities.iter().any(|(left, right)| (left | right) & built != 0 && (left | right) & probed != 0) {
            return None;
        }
        let between = self.classes.iter().filter(|class| class.relations & built != 0 && class.relations & probed != 0);
        let common = between.map(|class| class.relations & probed).reduce(|all, members| all & members)?;
        let relations = (0..self.relations()).filter(|relation| common & 1 << relation != 0);
        let largest = relations.max_by(|a, b| self.size(*a).rows.total_cmp(&self.size(*b).rows))?;
        Some(1 << largest)
    }
}

/// Where the members of a class come from.
fn equal_columns<'a>(cluster: &'a Cluster, estimator: &Estimator<'a>, class: &[RelationExpression]) -> EqualColumns {
    let origins = class.iter().map(|member| {
        let plan = &cluster.relations[member.relation].plan;
        (1 << member.relation, estimator.origin(plan, &member.expression))
    });
    let (relations, all): (Vec<Relations>, Vec<Origin>) = origins.unzip();
    let common = Origin::common_range(all.iter());
    let bounded = |origin: Origin| all.iter().fold(origin, |origin, other| origin.within(other));
    let member = |(number, origin): (usize, &Origin)| {
        let plan = &cluster.relations[class[number].relation].plan;
        let (origin, inside) = estimator.within(plan, *origin, common);
        (relations[number], bounded(origin), inside)
    };
    let mut members: Vec<_> = all.iter().enumerate().map(member).collect();
    members.sort_by(|(_, a, _), (_, b, _)| a.distinct.total_cmp(&b.distinct));
    EqualColumns { relations: relations.iter().fold(0, |all, relation| all | relation), members }
}

/// Where the values of an expression over some relation of a cluster come from.
fn origin<'a>(cluster: &'a Cluster, estimator: &Estimator<'a>, expression: &Expr) -> Origin {
    placed(cluster, estimator, expression).map_or(Origin::unknown(1.0), |(_, origin)| origin)
}

/// Where an expression's values come from, with the relation that has them; `None` when there is none such.
fn placed<'a>(cluster: &'a Cluster, estimator: &Estimator<'a>, expression: &Expr) -> Option<(&'a LogicalPlan, Origin)> {
    let columns = expression.column_refs();
    let gives = |relation: &&ClusterRelation| columns.iter().all(|column| relation.plan.schema().has_column(column));
    let relation = cluster.relations.iter().find(gives)?;
    Some((&relation.plan, estimator.origin(&relation.plan, expression)))
}

fn rows_of(given: &[RelationEstimate], relations: Relations) -> f64 {
    let within = |number: usize| relations & (1 << number) != 0;
    given.iter().enumerate().filter(|(number, _)| within(*number)).map(|(_, given)| given.size.rows).product()
}

/// What joining by several columns of two relations at once gives, against the columns one by one.
fn together(classes: &[EqualColumns], given: &[RelationEstimate]) -> Vec<(Relations, f64)> {
    let mut together = Vec::new();
    for a in 0..given.len() {
        for b in 0..a {
            let pairs = classes.iter().filter_map(|class| {
                let distinct = |relation: usize| class.of(1 << relation).next().map(|origin| origin.distinct);
                Some((distinct(a)?, distinct(b)?))
            });
            let pairs: Vec<_> = pairs.collect();
            if pairs.len() > 1 {
                let one_by_one: f64 = pairs.iter().map(|pair| share_of_keys(&[*pair], (1.0, 1.0))).product();
                let factor = share_of_keys(&pairs, (given[a].whole, given[b].whole)) / one_by_one;
                together.push((1 << a | 1 << b, factor));
            }
        }
    }
    together
}

fn filterings<'a>(cluster: &'a Cluster, estimator: &Estimator<'a>, given: &[RelationEstimate]) -> Vec<Filter> {
    let filter = |(number, relation): (usize, &ClusterRelation)| {
        let Filtering { anti, on, condition, needs } = relation.filtering.as_ref()?;
        let (mut keys, mut inside) = (Vec::new(), (1.0, 1.0));
        for (kept, own) in on {
            let own = estimator.origin(&relation.plan, own);
            let Some((plan, kept)) = placed(cluster, estimator, kept) else {
                keys.push((Origin::unknown(1.0), own));
                continue;
            };
            let ((kept, inside_kept), (own, inside_own)) = estimator.meeting((plan, kept), (&relation.plan, own));
            keys.push((kept, own));
            inside = (inside.0 * inside_kept, inside.1 * inside_own);
        }
        let whole = rows_whole(given, *needs);
        let distinct = |column: &Column| origin(cluster, estimator, &Expr::Column(column.clone())).distinct;
        let residual = condition.as_ref().map_or(1.0, |condition| share(condition, ONE_SIDED, &distinct));
        let found = inside.0 * share_found(&keys, whole, given[number].size.rows * inside.1) * residual;
        let share = if *anti { unfound(found) } else { found };
        Some(Filter { own: 1 << number, needs: *needs, anti: *anti, keys, share })
    };
    cluster.relations.iter().enumerate().filter_map(filter).collect()
}

fn rows_whole(given: &[RelationEstimate], relations: Relations) -> f64 {
    let within = |number: usize| relations & (1 << number) != 0;
    given.iter().enumerate().filter(|(number, _)| within(*number)).map(|(_, given)| given.whole).product()
}

/// What a join costs: a part that is fixed, and one that grows with the rows that stream through its probe side, of which
/// the build side's keys leave the share `narrowing`.
pub(super) fn costs_of_join(built: Size, probed: Size, narrowing: f64, rows: f64) -> (f64, f64) {
    let away = distance(built.rows);
    let fixed = built.cost + built.rows * BUILD * away;
    let stream = probed.cost * narrowing + probed.rows * narrowing * PROBE * away + rows * OUTPUT;
    (fixed, stream)
}

/// How many times as much a row costs whose table has so many rows.
fn distance(rows: f64) -> f64 {
    let away = (rows.max(1.0).log2() - NEAR_BITS) / (FAR_BITS - NEAR_BITS);
    1.0 + (FAR - 1.0) * away.clamp(0.0, 1.0)
}

/// What a join costs that is not taken apart, built from its left side or, `swapped`, from its right one.
pub(super) fn sides_cost<'a>(estimator: &Estimator<'a>, join: &'a Join, swapped: bool) -> f64 {
    let Join { left, right, on, join_type, .. } = join;
    let ((build, probe), join_type) =
        if swapped { ((right, left), join_type.swap()) } else { ((left, right), *join_type) };
    let on = on.iter().map(|(a, b)| if swapped { (b, a) } else { (a, b) });
    let (built, probed) = (estimator.size(build), estimator.size(probe));
    let narrowing = estimator.narrowing((build, probe), join_type, on, built.rows);
    let (fixed, stream) = costs_of_join(built, probed, narrowing, 0.0);
    fixed + stream
}
