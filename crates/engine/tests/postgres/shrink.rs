//! Smaller statements out of one: each with one thing less, the smallest first.

use crate::tree::{Sort, Tree, length, ordinal};

/// All statements that are one step smaller, the shortest first.
pub fn smaller(tree: &Tree) -> Vec<Tree> {
    let mut all = Vec::new();
    steps(tree, &mut |smaller| all.push(smaller));
    let own = length(tree);
    let mut sized: Vec<(usize, Tree)> = all.into_iter().map(|tree| (length(&tree), tree)).collect();
    sized.retain(|(length, _)| *length < own);
    sized.sort_by_key(|(length, _)| *length);
    sized.dedup_by(|(length, one), (other, two)| length == other && one.to_string() == two.to_string());
    sized.into_iter().map(|(_, tree)| tree).collect()
}

/// Gives `take` the tree with one step done at it or anywhere inside.
fn steps(tree: &Tree, take: &mut dyn FnMut(Tree)) {
    own_steps(tree, take);
    if matches!(tree, Tree::Solid(_)) {
        return;
    }
    let inner_lists = !matches!(tree.sort(), Sort::Items | Sort::Order);
    for (number, part) in tree.parts().iter().enumerate() {
        let mut put = |smaller: Tree| {
            let mut copy = tree.clone();
            if let Some(parts) = copy.parts_mut() {
                parts[number] = smaller;
            }
            take(copy);
        };
        if inner_lists {
            steps(part, &mut put);
        } else {
            for (at, item) in part.parts().iter().enumerate() {
                steps(item, &mut |smaller| {
                    let mut copy = part.clone();
                    if let Some(items) = copy.parts_mut() {
                        items[at] = smaller;
                    }
                    put(copy);
                });
            }
        }
    }
}

fn own_steps(tree: &Tree, take: &mut dyn FnMut(Tree)) {
    match tree {
        Tree::Text(_) | Tree::Solid(_) => {}
        Tree::Maybe(_) => take(Tree::nothing()),
        Tree::List { between, least, items } => {
            for number in 0..items.len() {
                if items.len() > *least {
                    let mut items = items.clone();
                    items.remove(number);
                    take(Tree::List { between, least: *least, items });
                }
            }
        }
        Tree::Node(sort, parts) => {
            if matches!(sort, Sort::Query(_)) {
                fewer_columns(tree, take);
            }
            if let Sort::Value(_) = sort {
                for text in ["1", "NULL", "TRUE", "'x'"] {
                    take(Tree::Node(*sort, vec![Tree::from(text)]));
                }
            }
            for part in parts {
                inside(*sort, part, take);
            }
        }
    }
}

/// Gives `take` every part of the same sort; a query of an unknown width fits nowhere.
fn inside(sort: Sort, tree: &Tree, take: &mut dyn FnMut(Tree)) {
    if tree.sort() == sort && !matches!(sort, Sort::Other | Sort::Items | Sort::Order | Sort::Query(0) | Sort::Body(0))
    {
        take(tree.clone());
    }
    for part in tree.parts() {
        inside(sort, part, take);
    }
}

/// Gives `take` the query without one of its columns, in every SELECT of its own and in its ORDER BY.
fn fewer_columns(query: &Tree, take: &mut dyn FnMut(Tree)) {
    let lists: Vec<&[Tree]> = query.own(Sort::Items).into_iter().map(|items| items.parts()[0].parts()).collect();
    let star = lists.iter().flat_map(|items| items.iter()).any(|item| item.to_string().ends_with('*'));
    let fewest = lists.iter().map(|items| items.len()).min().unwrap_or(0);
    if fewest < 2 || star && query.order().is_some() {
        return;
    }
    for column in 0..fewest {
        let mut copy = query.clone();
        drop_column(&mut copy, column, star, true);
        take(copy);
    }
}

fn drop_column(tree: &mut Tree, column: usize, star: bool, outermost: bool) {
    match tree.sort() {
        Sort::Value(_) | Sort::From => return,
        Sort::Query(_) if !outermost => return,
        Sort::Items | Sort::Order => {
            let order = tree.sort() == Sort::Order;
            if let Some(Tree::List { least, items, .. }) = tree.parts_mut().and_then(|parts| parts.first_mut()) {
                if order {
                    without_ordinal(items, column + 1);
                    *least = items.len();
                } else {
                    items.remove(column);
                }
            }
            return;
        }
        _ => {}
    }
    if let Tree::Node(Sort::Query(width) | Sort::Body(width), _) = tree {
        *width = if star { 0 } else { width.saturating_sub(1) };
    }
    for part in tree.parts_mut().into_iter().flatten() {
        drop_column(part, column, star, false);
    }
}

/// Takes a column's number out of the terms of an ORDER BY; greater ones move down.
fn without_ordinal(terms: &mut Vec<Tree>, gone: usize) {
    terms.retain(|term| ordinal(term) != Some(gone));
    for term in terms {
        if let Some(number) = ordinal(term).filter(|number| *number > gone) {
            let text = term.to_string();
            *term = Tree::from(text.replacen(&number.to_string(), &(number - 1).to_string(), 1));
        }
    }
}

#[test]
fn a_query_loses_parts_and_keeps_an_order_of_all_rows() {
    use crate::tree::{Type, parts};
    let value = |text: &str| Tree::value(Type::Integer, parts![text]);
    let items = Tree::Node(Sort::Items, vec![Tree::list(", ", vec![value("a"), value("b + 1")])]);
    let body = Tree::Node(Sort::Body(2), parts!["SELECT ", items, " FROM t", Tree::Maybe(parts![" WHERE f"])]);
    let order = Tree::Node(Sort::Order, vec![Tree::row(parts!["2 DESC", "1"])]);
    let query = Tree::Node(Sort::Query(2), parts![body, Tree::Maybe(parts![" ORDER BY ", order, " LIMIT 1"])]);
    let texts: Vec<String> = smaller(&query).iter().map(Tree::to_string).collect();
    assert!(texts.contains(&"SELECT a, b + 1 FROM t ORDER BY 2 DESC, 1 LIMIT 1".to_owned()), "{texts:?}");
    assert!(texts.contains(&"SELECT b + 1 FROM t WHERE f ORDER BY 1 DESC LIMIT 1".to_owned()), "{texts:?}");
    assert!(texts.contains(&"SELECT a FROM t WHERE f ORDER BY 1 LIMIT 1".to_owned()), "{texts:?}");
    assert!(texts.contains(&"SELECT a, b + 1 FROM t WHERE f".to_owned()), "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains("LIMIT") || text.contains("ORDER BY")), "{texts:?}");
    assert!(query.orders_all(2) && !query.orders_all(3));
}
