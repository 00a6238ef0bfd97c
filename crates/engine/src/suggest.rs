//! "Did you mean": the nearest of the names that exist.

/// `; did you mean 'x'?` with the nearest of `names`, or nothing when none is near. Where nothing but capital letters differ, it
/// says how they are kept.
pub(crate) fn did_you_mean<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(wanted, names) {
        Some(name) if name != wanted && name.to_lowercase() == wanted => {
            format!(
                "; did you mean '{name}'? SQL takes capital letters for small ones unless a name stands in double quotes"
            )
        }
        Some(name) => format!("; did you mean '{name}'?"),
        None => String::new(),
    }
}

/// The name at the smallest edit distance, when at most a third of the letters differ; of a single letter none is near,
/// but the other case of it.
fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let limit = match wanted.chars().count() {
        0 | 1 => 0,
        letters => (letters / 3).max(1),
    };
    names
        .into_iter()
        .map(|name| (edit_distance(&wanted, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Letters to insert, remove, replace or swap with a neighbour to get from `a` to `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, distance) in [("lineitm", "lineitem", 1), ("abc", "acb", 1), ("", "ab", 2), ("kitten", "sitting", 3)]
        {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
        }
    }

    #[test]
    fn suggests_near_names_only() {
        assert_eq!(did_you_mean("lineitm", ["orders", "lineitem"]), "; did you mean 'lineitem'?");
        assert_eq!(did_you_mean("zebra", ["orders", "lineitem"]), "");
        assert_eq!(did_you_mean("b", ["a", "ab"]), "");
        assert_eq!(did_you_mean("B", ["a", "b"]), "; did you mean 'b'?");
    }

    #[test]
    fn says_how_capital_letters_are_kept() {
        let said = did_you_mean("t.teamid", ["t.teamID", "t.lgID"]);
        assert!(said.starts_with("; did you mean 't.teamID'?") && said.ends_with("in double quotes"), "{said}");
    }
}
