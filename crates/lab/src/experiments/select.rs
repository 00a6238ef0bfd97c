//! Which experiments are meant: names, prefixes such as `byteslice`, patterns such as `byteslice.fig1*`, or `all`.

use super::all;
use crate::experiment::Experiment;

/// A name that no experiment has.
#[derive(Debug, thiserror::Error)]
#[error("no experiment '{name}'; there are {known}")]
pub struct UnknownName {
    name: String,
    known: String,
}

/// The experiments that `names` mean, each once, and what they use, that first; otherwise in the order of [`all`].
///
/// # Errors
/// When a name means none.
pub fn select(names: &[String]) -> Result<Vec<&'static Experiment>, UnknownName> {
    let mut wanted: Vec<&str> = Vec::new();
    for name in names {
        let before = wanted.len();
        wanted.extend(all().map(|experiment| experiment.name).filter(|known| means(name, known)));
        if wanted.len() == before {
            let known = all().map(|experiment| experiment.name).collect::<Vec<_>>().join(", ");
            return Err(UnknownName { name: name.clone(), known });
        }
    }
    let used =
        |name: &str| all().any(|experiment| wanted.contains(&experiment.name) && experiment.uses.contains(&name));
    let (users, mut first): (Vec<_>, Vec<_>) = all()
        .filter(|experiment| wanted.contains(&experiment.name) || used(experiment.name))
        .partition(|experiment| !experiment.uses.is_empty());
    first.extend(users);
    Ok(first)
}

/// True when `pattern` is the name, a beginning of it up to a dot, `all`, or matches it with `*` for any characters.
fn means(pattern: &str, name: &str) -> bool {
    if pattern == "all" || pattern == name {
        return true;
    }
    if !pattern.contains('*') {
        return name.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('.'));
    }
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_prefixes_and_patterns() {
        for (pattern, matches) in [
            ("byteslice.fig9", true),
            ("byteslice", true),
            ("all", true),
            ("byteslice.*", true),
            ("*9", true),
            ("byte*fig*", true),
            ("b*e.*9", true),
            ("byteslice.fig", false),
            ("byte", false),
            ("*8", false),
            ("fig9", false),
        ] {
            assert_eq!(means(pattern, "byteslice.fig9"), matches, "{pattern}");
        }
    }

    fn names(patterns: &[&str]) -> Vec<&'static str> {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        select(&patterns).expect("known names").iter().map(|experiment| experiment.name).collect()
    }

    #[test]
    fn each_is_selected_once_and_what_it_uses_first() {
        assert_eq!(names(&["byteslice.fig9", "b*fig9"]), ["byteslice.fig9"]);
        let with_table = names(&["byteslice.table2"]);
        assert!(with_table.len() > 1 && with_table.last() == Some(&"byteslice.table2"), "{with_table:?}");
        assert_eq!(names(&["all"]).len(), all().count());
        let error = select(&["byteslice.fig99".to_string()]).err().expect("an error").to_string();
        assert!(error.starts_with("no experiment 'byteslice.fig99'; there are byteslice.fig"), "{error}");
    }
}
