//! The cheapest tree of joins: every pair of connected parts, for as many relations as that takes no time; from then on
//! the pair that gives the fewest rows first.

use crate::optimizer::cluster::Relations;
use crate::optimizer::estimate::Size;
use crate::optimizer::model::{Model, costs_of_join};

/// Most relations of which every tree is looked at: there are 3^n pairs of parts, of some nanoseconds each.
const EXHAUSTIVE: usize = 10;

/// A tree of joins.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum JoinTree {
    /// A relation.
    Leaf(usize),
    /// The side that is built, and the one that probes.
    Join(Box<JoinTree>, Box<JoinTree>),
}

impl JoinTree {
    /// The relations in it.
    pub(super) fn relations(&self) -> Relations {
        match self {
            Self::Leaf(relation) => 1 << relation,
            Self::Join(build, probe) => build.relations() | probe.relations(),
        }
    }
}

/// The best way to join a part.
#[derive(Debug, Clone, Copy)]
struct Best {
    rows: f64,
    fixed: f64,
    stream: f64,
    /// The parts that are built and that probe; none for a relation.
    parts: (Relations, Relations),
}

impl Best {
    fn leaf(size: Size) -> Self {
        Self { rows: size.rows, fixed: 0.0, stream: size.cost, parts: (0, 0) }
    }

    fn cost(&self) -> f64 {
        self.fixed + self.stream
    }
}

/// The cheapest tree of a cluster.
pub(super) fn search(model: &Model) -> JoinTree {
    let mut trees = Vec::new();
    for component in model.components() {
        match exhaustive(model, component) {
            Some(tree) => trees.push(tree),
            None => {
                let relations = (0..model.relations()).filter(|relation| component & 1 << relation != 0);
                trees.push(greedy(model, relations.map(JoinTree::Leaf).collect()));
            }
        }
    }
    greedy(model, trees)
}

/// The cheaper way to join two parts.
fn joined(model: &Model, rows: f64, a: (Relations, &Best), b: (Relations, &Best)) -> Best {
    let way = |(build, built): (Relations, &Best), (probe, probed): (Relations, &Best)| {
        let narrowing = model.narrowing(build, probe, built.rows);
        let built = Size { rows: built.rows, cost: built.cost() };
        let streamed = Size { rows: probed.rows, cost: probed.stream };
        let (fixed, stream) = costs_of_join(built, streamed, narrowing, rows);
        Best { rows, fixed: fixed + probed.fixed, stream, parts: (build, probe) }
    };
    let (one, other) = (way(a, b), way(b, a));
    if other.cost() < one.cost() { other } else { one }
}

/// What joining two parts costs at least: keys may leave nothing of what streams.
fn at_least(a: &Best, b: &Best) -> f64 {
    a.fixed + b.fixed + a.stream.min(b.stream)
}

/// The cheapest tree of connected relations without a join of each row with each; `None` when there are too many of them,
/// or none such.
fn exhaustive(model: &Model, component: Relations) -> Option<JoinTree> {
    let relations: Vec<usize> = (0..model.relations()).filter(|relation| component & 1 << relation != 0).collect();
    if relations.len() > EXHAUSTIVE {
        return None;
    }
    // Parts are numbered by which of the component's relations are in them.
    let part = |set: usize| -> Relations {
        let within = relations.iter().enumerate().filter(|(bit, _)| set & 1 << bit != 0);
        within.map(|(_, relation)| 1 << relation).sum()
    };
    let parts: Vec<Relations> = (0..1 << relations.len()).map(part).collect();
    let mut best: Vec<Option<Best>> = vec![None; parts.len()];
    for (bit, relation) in relations.iter().enumerate() {
        best[1 << bit] = Some(Best::leaf(model.size(*relation)));
    }
    for set in 1..parts.len() {
        let mut rows = None;
        let mut found: Option<Best> = best[set];
        let lowest = set & set.wrapping_neg();
        let mut sub = (set - 1) & set;
        while sub != 0 {
            let rest = set ^ sub;
            if sub & lowest != 0
                && let (Some(a), Some(b)) = (&best[sub], &best[rest])
                && found.is_none_or(|found| at_least(a, b) < found.cost())
                && model.are_joined(parts[sub], parts[rest])
            {
                let rows = *rows.get_or_insert_with(|| model.rows(parts[set]));
                let joined = joined(model, rows, (parts[sub], a), (parts[rest], b));
                if found.is_none_or(|found| joined.cost() < found.cost()) {
                    found = Some(joined);
                }
            }
            sub = (sub - 1) & set;
        }
        best[set] = found;
    }
    let at = |relations: Relations| parts.iter().position(|part| *part == relations).and_then(|set| best[set]);
    tree(component, &at)
}

fn tree(part: Relations, best: &dyn Fn(Relations) -> Option<Best>) -> Option<JoinTree> {
    match best(part)?.parts {
        (0, 0) => Some(JoinTree::Leaf(part.trailing_zeros() as usize)),
        (build, probe) => Some(JoinTree::Join(Box::new(tree(build, best)?), Box::new(tree(probe, best)?))),
    }
}

/// Joins the two trees that give the fewest rows, until there is one: those with a condition between them first.
fn greedy(model: &Model, trees: Vec<JoinTree>) -> JoinTree {
    let mut left: Vec<(JoinTree, Relations, Best)> = trees
        .into_iter()
        .map(|tree| (tree.relations(), tree))
        .map(|(of, tree)| {
            let best = costed(model, &tree);
            (tree, of, best)
        })
        .collect();
    while left.len() > 1 {
        let mut least: Option<(bool, f64, usize, usize)> = None;
        for b in 1..left.len() {
            for a in 0..b {
                let (of_a, of_b) = (left[a].1, left[b].1);
                if model.may_be_joined(of_a, of_b) {
                    let pair = (!model.are_joined(of_a, of_b), model.rows(of_a | of_b), a, b);
                    if least.is_none_or(|known| (pair.0, pair.1) < (known.0, known.1)) {
                        least = Some(pair);
                    }
                }
            }
        }
        // Relations that filter can always be joined once those that they need are.
        let Some((_, rows, a, b)) = least else { break };
        let (tree_b, of_b, best_b) = left.swap_remove(b);
        let (tree_a, of_a, best_a) = left.swap_remove(a);
        let best = joined(model, rows, (of_a, &best_a), (of_b, &best_b));
        let (build, probe) = if best.parts.0 == of_a { (tree_a, tree_b) } else { (tree_b, tree_a) };
        left.push((JoinTree::Join(Box::new(build), Box::new(probe)), of_a | of_b, best));
    }
    left.swap_remove(0).0
}

/// What a tree costs, each of its joins built from the cheaper side.
#[cfg(test)]
pub(super) fn cost(model: &Model, tree: &JoinTree) -> f64 {
    costed(model, tree).cost()
}

/// The best way to join what a tree joins, in its order.
fn costed(model: &Model, tree: &JoinTree) -> Best {
    match tree {
        JoinTree::Leaf(relation) => Best::leaf(model.size(*relation)),
        JoinTree::Join(build, probe) => {
            let (build_of, probe_of) = (build.relations(), probe.relations());
            let rows = model.rows(build_of | probe_of);
            joined(model, rows, (build_of, &costed(model, build)), (probe_of, &costed(model, probe)))
        }
    }
}
