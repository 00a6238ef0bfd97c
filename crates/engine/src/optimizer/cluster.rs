//! Inner, semi and anti joins, taken apart: relations, and conditions between them.
//!
//! A semi or anti join filters the rows of one side; it may be done as soon as the relations that its conditions name are
//! joined, since that commutes with inner joins. Its other side is a relation that gives no columns. Everything else,
//! outer joins above all, is a relation as it stands, ordered inside on its own.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchemaRef, HashMap, JoinType, NullEquality};
use datafusion::error::Result;
use datafusion::logical_expr::utils::{can_hash, split_conjunction};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Filter, Join, LogicalPlan, Operator, Projection};
use std::sync::Arc;

/// A set of relations of a cluster, a bit each.
pub(super) type Relations = u64;

/// Most relations of a cluster.
const MOST: usize = Relations::BITS as usize;

/// Joins that may be done in any order.
pub(super) struct Cluster {
    /// What is joined.
    pub(super) relations: Vec<ClusterRelation>,
    /// Columns and expressions that are all equal once the relations are joined.
    pub(super) classes: Vec<Vec<RelationExpression>>,
    /// Other equalities.
    pub(super) equalities: Vec<Equality>,
    /// Other conditions, each with the relations that it names.
    pub(super) residuals: Vec<(Expr, Relations)>,
    /// What the joins give.
    pub(super) schema: DFSchemaRef,
}

/// A part of a cluster that is not taken apart.
pub(super) struct ClusterRelation {
    pub(super) plan: Arc<LogicalPlan>,
    /// Set for one that filters others and gives nothing itself.
    pub(super) filtering: Option<Filtering>,
}

/// A semi or anti join.
#[derive(Clone)]
pub(super) struct Filtering {
    pub(super) anti: bool,
    /// Expressions of the filtered relations, and of the one that filters, that are equal.
    pub(super) on: Vec<(Expr, Expr)>,
    pub(super) condition: Option<Expr>,
    /// The relations whose columns it names, without the one that filters.
    pub(super) needs: Relations,
}

/// An expression over one relation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RelationExpression {
    pub(super) relation: usize,
    pub(super) expression: Expr,
}

/// `left = right`, of which each may name several relations.
pub(super) struct Equality {
    pub(super) left: Expr,
    pub(super) left_of: Relations,
    pub(super) right: Expr,
    pub(super) right_of: Relations,
}

impl Equality {
    /// The sides for a join of `a` and `b`, when it can be one of its keys.
    pub(super) fn between(&self, a: Relations, b: Relations) -> Option<(&Expr, &Expr)> {
        let is_in = |of: Relations, all: Relations| of & !all == 0;
        if is_in(self.left_of, a) && is_in(self.right_of, b) {
            Some((&self.left, &self.right))
        } else if is_in(self.left_of, b) && is_in(self.right_of, a) {
            Some((&self.right, &self.left))
        } else {
            None
        }
    }
}

/// True for a join that may be taken apart, or columns of one.
pub(super) fn is_part(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(join) => is_inner(join) || filtering(join).is_some(),
        LogicalPlan::Projection(projection) => is_of_columns(projection) && is_part(&projection.input),
        _ => false,
    }
}

fn is_of_columns(projection: &Projection) -> bool {
    projection.expr.iter().all(|expression| matches!(expression, Expr::Column(_)))
}

fn is_inner(join: &Join) -> bool {
    join.join_type == JoinType::Inner && is_plain(join)
}

/// The side of a semi or anti join that it filters, and the other.
fn filtering(join: &Join) -> Option<(&Arc<LogicalPlan>, &Arc<LogicalPlan>, Filtering)> {
    if join.on.is_empty() || join.null_aware || !is_plain(join) {
        return None;
    }
    let anti = matches!(join.join_type, JoinType::LeftAnti | JoinType::RightAnti);
    let on = join.on.iter().cloned();
    let (kept, other, on) = match join.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti => (&join.left, &join.right, on.collect()),
        JoinType::RightSemi | JoinType::RightAnti => {
            (&join.right, &join.left, on.map(|(left, right)| (right, left)).collect())
        }
        _ => return None,
    };
    Some((kept, other, Filtering { anti, on, condition: join.filter.clone(), needs: 0 }))
}

/// True when a join's conditions may be evaluated anywhere: of columns alone, the same each time, and where NULL equals
/// nothing.
fn is_plain(join: &Join) -> bool {
    let plain = |expression: &Expr| {
        let mut plain = true;
        let visited = expression.apply(|part| {
            plain &= !part.is_volatile_node()
                && !matches!(
                    part,
                    Expr::OuterReferenceColumn(..)
                        | Expr::ScalarSubquery(_)
                        | Expr::Exists(_)
                        | Expr::InSubquery(_)
                        | Expr::SetComparison(_)
                );
            Ok(if plain { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        });
        visited.is_ok() && plain
    };
    join.null_equality == NullEquality::NullEqualsNothing
        && join.on.iter().all(|(left, right)| plain(left) && plain(right))
        && join.filter.iter().all(plain)
}

/// What the joins at the top of a plan are made of.
#[derive(Default)]
struct GatheredJoins {
    relations: Vec<ClusterRelation>,
    equal: Vec<(Expr, Expr)>,
    conditions: Vec<Expr>,
}

impl GatheredJoins {
    fn add(&mut self, plan: &Arc<LogicalPlan>, order: &dyn Fn(LogicalPlan) -> Result<LogicalPlan>) -> Result<()> {
        match &**plan {
            LogicalPlan::Join(join) if is_inner(join) => {
                self.equal.extend(join.on.iter().cloned());
                self.conditions.extend(join.filter.iter().flat_map(split_conjunction).cloned());
                self.add(&join.left, order)?;
                return self.add(&join.right, order);
            }
            LogicalPlan::Join(join) => {
                if let Some((kept, other, filtering)) = filtering(join) {
                    self.relation(other, Some(filtering), order)?;
                    return self.add(kept, order);
                }
            }
            LogicalPlan::Projection(projection) if is_part(plan) => return self.add(&projection.input, order),
            _ => {}
        }
        self.relation(plan, None, order)
    }

    fn relation(
        &mut self,
        plan: &Arc<LogicalPlan>,
        filtering: Option<Filtering>,
        order: &dyn Fn(LogicalPlan) -> Result<LogicalPlan>,
    ) -> Result<()> {
        let plan = match &**plan {
            LogicalPlan::TableScan(_) => Arc::clone(plan),
            inner => Arc::new(order(inner.clone())?),
        };
        self.relations.push(ClusterRelation { plan, filtering });
        Ok(())
    }
}

impl Cluster {
    /// The joins at the top of `plan`; `None` when they can't be taken apart. `order` orders what lies below them.
    pub(super) fn new(plan: &LogicalPlan, order: &dyn Fn(LogicalPlan) -> Result<LogicalPlan>) -> Result<Option<Self>> {
        let mut gathered = GatheredJoins::default();
        gathered.add(&Arc::new(plan.clone()), order)?;
        let GatheredJoins { mut relations, equal, conditions } = gathered;
        if relations.len() > MOST {
            return Ok(None);
        }
        // The order of the text must not matter, since what is found here comes in another order the next time.
        relations.sort_by_cached_key(|relation| relation.plan.schema().columns().into_iter().min());
        let schema = Arc::clone(plan.schema());
        let Some(places) = ColumnRelations::new(&relations) else { return Ok(None) };
        let mut cluster =
            Self { relations, classes: Vec::new(), equalities: Vec::new(), residuals: Vec::new(), schema };
        Ok(cluster.connect(&places, equal, conditions).map(|()| cluster))
    }

    /// Adds the conditions; `None` when one names a column that no relation has.
    fn connect(&mut self, places: &ColumnRelations, equal: Vec<(Expr, Expr)>, conditions: Vec<Expr>) -> Option<()> {
        for (number, relation) in self.relations.iter_mut().enumerate() {
            let Some(filtering) = &mut relation.filtering else { continue };
            let own = 1 << number;
            for (kept, other) in &filtering.on {
                filtering.needs |= places.of(kept)?;
                if places.of(other)? != own {
                    return None;
                }
            }
            filtering.needs |= filtering.condition.as_ref().map_or(Some(0), |condition| places.of(condition))?;
            filtering.needs &= !own;
        }
        for (left, right) in equal {
            self.add_equality(places, left, right)?;
        }
        for condition in conditions {
            match condition {
                Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right })
                    if self.is_key(places, &left, &right) =>
                {
                    self.add_equality(places, *left, *right)?;
                }
                condition => self.add_residual(places, condition)?,
            }
        }
        self.classes.iter_mut().for_each(|class| class.sort_by_cached_key(RelationExpression::place));
        self.classes.sort_by_cached_key(|class| class.first().map(RelationExpression::place));
        self.equalities.sort_by_cached_key(|equality| equality.left.to_string() + &equality.right.to_string());
        self.residuals.sort_by_cached_key(|(condition, _)| condition.to_string());
        Some(())
    }

    fn add_residual(&mut self, places: &ColumnRelations, condition: Expr) -> Option<()> {
        let of = places.of(&condition)?;
        if of.count_ones() == 1 {
            let relation = &mut self.relations[of.trailing_zeros() as usize];
            let filter = Filter::try_new(condition, Arc::clone(&relation.plan)).ok()?;
            relation.plan = Arc::new(LogicalPlan::Filter(filter));
        } else {
            // One that names none is for all.
            let of = if of == 0 { self.giving() } else { of };
            self.residuals.push((condition, of));
        }
        Some(())
    }

    /// The relations that give columns.
    fn giving(&self) -> Relations {
        let giving = self.relations.iter().enumerate().filter(|(_, relation)| relation.filtering.is_none());
        giving.map(|(number, _)| 1 << number).sum()
    }

    /// Whether an equality in a condition can be a key of a join.
    fn is_key(&self, places: &ColumnRelations, left: &Expr, right: &Expr) -> bool {
        let (Some(a), Some(b)) = (places.of(left), places.of(right)) else { return false };
        let types = (self.type_of(a, left), self.type_of(b, right));
        a != 0 && b != 0 && a & b == 0 && matches!(types, (Some(a), Some(b)) if a == b && can_hash(&a))
    }

    /// The type of an expression over one relation.
    fn type_of(&self, of: Relations, expression: &Expr) -> Option<arrow::datatypes::DataType> {
        let relation = self.relations.get(of.trailing_zeros() as usize).filter(|_| of.count_ones() == 1)?;
        expression.get_type(relation.plan.schema().as_ref()).ok()
    }

    fn add_equality(&mut self, places: &ColumnRelations, left: Expr, right: Expr) -> Option<()> {
        let (left_of, right_of) = (places.of(&left)?, places.of(&right)?);
        let (left_type, right_type) = (self.type_of(left_of, &left), self.type_of(right_of, &right));
        // Floats may be equal in more than one way.
        if left_of == right_of || left_type.is_none_or(|known| known.is_floating() || Some(known) != right_type) {
            // Not one of two sides: only a condition.
            if left_of & right_of != 0 || left_of == 0 || right_of == 0 {
                return self.add_residual(places, left.eq(right));
            }
            self.equalities.push(Equality { left, left_of, right, right_of });
            return Some(());
        }
        let member =
            |of: Relations, expression| RelationExpression { relation: of.trailing_zeros() as usize, expression };
        let mut merged = vec![member(left_of, left), member(right_of, right)];
        let (touched, apart): (Vec<_>, Vec<_>) = std::mem::take(&mut self.classes)
            .into_iter()
            .partition(|class| merged.iter().any(|member| class.contains(member)));
        for known in touched.into_iter().flatten() {
            if !merged.contains(&known) {
                merged.push(known);
            }
        }
        self.classes = apart;
        self.classes.push(merged);
        Some(())
    }
}

impl RelationExpression {
    fn place(&self) -> (usize, String) {
        (self.relation, self.expression.to_string())
    }
}

/// Which relation gives a column.
struct ColumnRelations(HashMap<Column, usize>);

impl ColumnRelations {
    /// `None` when two relations give columns of one name.
    fn new(relations: &[ClusterRelation]) -> Option<Self> {
        let mut places = HashMap::new();
        for (number, relation) in relations.iter().enumerate() {
            for column in relation.plan.schema().columns() {
                if places.insert(column, number).is_some() {
                    return None;
                }
            }
        }
        Some(Self(places))
    }

    /// The relations whose columns an expression names; `None` when it names a column of none.
    fn of(&self, expression: &Expr) -> Option<Relations> {
        expression.column_refs().into_iter().try_fold(0, |of, column| Some(of | 1 << self.0.get(column)?))
    }
}
