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

/// Functions of other engines, and what does the same here.
const ELSEWHERE: [(&str, &str); 52] = [
    ("any_value", "first_value(x)"),
    ("approx_count_distinct", "approx_distinct(x)"),
    ("arg_max", "first_value(x ORDER BY y DESC)"),
    ("arg_min", "first_value(x ORDER BY y)"),
    ("argmax", "first_value(x ORDER BY y DESC)"),
    ("argmin", "first_value(x ORDER BY y)"),
    ("charindex", "position(part IN text)"),
    ("convert", "CAST(x AS type)"),
    ("curdate", "current_date"),
    ("curtime", "current_time"),
    ("date_add", "d + INTERVAL '1 day'"),
    ("date_diff", "b - a"),
    ("date_format", "to_char(x, 'YYYY-MM-DD')"),
    ("date_sub", "d - INTERVAL '1 day'"),
    ("dateadd", "d + INTERVAL '1 day'"),
    ("datediff", "b - a"),
    ("datepart", "extract(year FROM x)"),
    ("day", "extract(day FROM x)"),
    ("dayofmonth", "extract(day FROM x)"),
    ("dayofweek", "extract(dow FROM x)"),
    ("dayofyear", "extract(doy FROM x)"),
    ("epoch", "extract(epoch FROM x)"),
    ("from_unixtime", "to_timestamp(x)"),
    ("getdate", "now()"),
    ("group_concat", "string_agg(x, ',')"),
    ("hour", "extract(hour FROM x)"),
    ("if", "CASE WHEN … THEN … ELSE … END"),
    ("iff", "CASE WHEN … THEN … ELSE … END"),
    ("iif", "CASE WHEN … THEN … ELSE … END"),
    ("isnull", "x IS NULL, or coalesce(x, y)"),
    ("isodow", "extract(isodow FROM x)"),
    ("lcase", "lower(x)"),
    ("len", "length(x)"),
    ("list", "array_agg(x)"),
    ("listagg", "string_agg(x, ',')"),
    ("mid", "substring(x FROM a FOR n)"),
    ("minute", "extract(minute FROM x)"),
    ("month", "extract(month FROM x)"),
    ("quantile", "percentile_disc(p) WITHIN GROUP (ORDER BY x)"),
    ("quantile_cont", "percentile_cont(p) WITHIN GROUP (ORDER BY x)"),
    ("quarter", "extract(quarter FROM x)"),
    ("rand", "random()"),
    ("regexp_extract", "(regexp_match(text, pattern))[1]"),
    ("second", "extract(second FROM x)"),
    ("str_to_date", "to_date(text, 'YYYY-MM-DD')"),
    ("strftime", "to_char(x, 'YYYY-MM-DD')"),
    ("strptime", "to_timestamp(text, 'YYYY-MM-DD')"),
    ("sysdate", "now()"),
    ("try_cast", "TRY_CAST(x AS type)"),
    ("ucase", "upper(x)"),
    ("week", "extract(week FROM x)"),
    ("year", "extract(year FROM x)"),
];

/// `; write y` for a function that other engines have, `; did you mean 'x'?` where `nearest` is near, or nothing.
pub(crate) fn instead_of_function(wanted: &str, nearest: Option<&str>) -> String {
    let known = ELSEWHERE.iter().find(|(name, _)| *name == wanted.to_lowercase());
    match known {
        Some((_, instead)) => format!("; write {instead}"),
        None => did_you_mean(wanted, nearest),
    }
}

/// The name at the smallest edit distance, when at most a third of the letters differ; of a single letter none is near,
/// but the other case of it.
fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let names: Vec<&str> = names.into_iter().collect();
    let wanted = wanted.to_lowercase();
    let limit = match wanted.chars().count() {
        0 | 1 => 0,
        letters => (letters / 3).max(1),
    };
    let near = names
        .iter()
        .map(|name| (edit_distance(&wanted, &name.to_lowercase()), *name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance);
    let short = || names.iter().copied().filter(|name| is_short_for(&wanted, name)).min_by_key(|name| name.len());
    near.map(|(_, name)| name).or_else(short)
}

/// Whether a name begins as `wanted` does and has its letters in their order: `l_qty` is `l_quantity`.
fn is_short_for(wanted: &str, name: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    let is_long = wanted.chars().count() >= 3;
    let same_start = wanted.chars().next() == name.chars().flat_map(char::to_lowercase).next();
    is_long && same_start && wanted.chars().all(|letter| letters.any(|own| own == letter))
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
        assert_eq!(did_you_mean("l_qty", ["l_orderkey", "l_quantity"]), "; did you mean 'l_quantity'?");
        assert_eq!(did_you_mean("amt", ["name", "Amount"]), "; did you mean 'Amount'?");
        assert_eq!(did_you_mean("b", ["a", "ab"]), "");
        assert_eq!(did_you_mean("B", ["a", "b"]), "; did you mean 'b'?");
    }

    #[test]
    fn functions_of_other_engines_are_known() {
        assert_eq!(instead_of_function("YEAR", Some("mean")), "; write extract(year FROM x)");
        assert_eq!(instead_of_function("md5", Some("map")), "");
        assert_eq!(instead_of_function("uper", Some("upper")), "; did you mean 'upper'?");
        assert!(ELSEWHERE.is_sorted());
    }

    #[test]
    fn says_how_capital_letters_are_kept() {
        let said = did_you_mean("t.teamid", ["t.teamID", "t.lgID"]);
        assert!(said.starts_with("; did you mean 't.teamID'?") && said.ends_with("in double quotes"), "{said}");
    }
}
