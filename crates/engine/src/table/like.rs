//! LIKE whose pattern has no wildcard but `%`: the texts between are searched for one after the other, where a general
//! LIKE compiles a regular expression. The bytes are searched as they lie; UTF-8 lets no match begin inside a character.
//! Strings that lie one behind the other are searched as one text: what few of them have is found at the speed of memory.

use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::Like;
use gingham_storage::{ColumnTest, Error, Result, SqlState};
use memchr::memmem::Finder;

/// A pattern cut at its `%`.
#[derive(Debug)]
pub(super) struct LikeTest {
    /// What the value begins with; empty when the pattern begins with `%`.
    start: Vec<u8>,
    /// What follows, in this order.
    between: Vec<Finder<'static>>,
    /// What the value ends with; empty when the pattern ends with `%`.
    end: Vec<u8>,
    /// NOT LIKE.
    negated: bool,
}

impl LikeTest {
    /// The test of `like` on a column; `None` for patterns that need more. `negated` asks for FALSE.
    pub(super) fn new(like: &Like, negated: bool) -> Option<Self> {
        let (Expr::Column(_), Expr::Literal(pattern, _)) = (&*like.expr, &*like.pattern) else { return None };
        if like.case_insensitive || like.escape_char.is_some() {
            return None;
        }
        let pattern = pattern.try_as_str()??;
        Self::of(pattern, like.negated != negated)
    }

    fn of(pattern: &str, negated: bool) -> Option<Self> {
        if pattern.contains(['_', '\\']) {
            return None;
        }
        // A pattern without `%` is an equality, which is no matter of searching.
        let (start, rest) = pattern.split_once('%')?;
        let (between, end) = rest.rsplit_once('%').unwrap_or(("", rest));
        let between = between.split('%').filter(|text| !text.is_empty());
        let between = between.map(|text| Finder::new(text.as_bytes()).into_owned()).collect();
        Some(Self { start: start.into(), between, end: end.into(), negated })
    }

    fn matches(&self, value: &[u8]) -> bool {
        let mut rest = value;
        // An empty text is asked for nothing: comparing with its dangling pointer costs some libraries 200 ns.
        if !self.start.is_empty() {
            let Some(inner) = rest.strip_prefix(&*self.start) else { return false };
            rest = inner;
        }
        if !self.end.is_empty() {
            let Some(inner) = rest.strip_suffix(&*self.end) else { return false };
            rest = inner;
        }
        for text in &self.between {
            let Some(found) = text.find(rest) else { return false };
            rest = &rest[found + text.needle().len()..];
        }
        true
    }
}

impl ColumnTest for LikeTest {
    fn test(&self, values: &ArrayRef) -> Result<BooleanArray> {
        let strings = values.as_string_view_opt().ok_or_else(|| {
            Error::invalid(
                SqlState::DatatypeMismatch,
                format!("LIKE takes strings, not {}", type_name(values.data_type())),
            )
        })?;
        let found = BooleanBuffer::collect_bool(strings.len(), |row| {
            strings.is_valid(row) && self.matches(strings.value(row).as_bytes()) != self.negated
        });
        Ok(BooleanArray::new(found, strings.nulls().cloned()))
    }

    fn test_run(&self, offsets: &[u32], bytes: &[u8]) -> Option<Vec<u64>> {
        let strings = offsets.len().checked_sub(1)?;
        let mut found = vec![0u64; strings.div_ceil(64)];
        let value = |at: usize| &bytes[offsets[at] as usize..offsets[at + 1] as usize];
        match self.between.first() {
            Some(text) => {
                let mut at = 0;
                while at < strings {
                    let from = offsets[at] as usize;
                    let Some(next) = text.find(&bytes[from..offsets[strings] as usize]) else { break };
                    // Where it is found, or only its beginning is, is a string that may be like the pattern.
                    at += offsets[at + 1..].partition_point(|end| *end as usize <= from + next);
                    found[at / 64] |= u64::from(self.matches(value(at))) << (at % 64);
                    at += 1;
                }
            }
            None => (0..strings).for_each(|at| found[at / 64] |= u64::from(self.matches(value(at))) << (at % 64)),
        }
        if self.negated {
            found.iter_mut().for_each(|word| *word = !*word);
            if let (Some(last), used @ 1..) = (found.last_mut(), strings % 64) {
                *last &= (1 << used) - 1;
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Scalar, StringViewArray};
    use std::sync::Arc;

    /// Arrow's LIKE, which reads every pattern.
    #[test]
    fn agrees_with_arrow() {
        let pieces = ["", "a", "b", "ab", "aab", "ä", "special", "requests"];
        let mut values = vec![None];
        for x in pieces {
            for y in pieces {
                values.extend(pieces.map(|z| Some(format!("{x}{y}{z}"))));
            }
        }
        let strings = StringViewArray::from_iter(values);
        let column: ArrayRef = Arc::new(strings.clone());
        let patterns = ["%", "%%", "a%", "%a", "%a%", "a%b", "%a%b%", "ab%ab", "%ä%", "%special%requests%", "a%b%a%"];
        for pattern in patterns {
            let oracle = |negated| {
                let pattern = Scalar::new(StringViewArray::from(vec![pattern]));
                if negated {
                    arrow::compute::kernels::comparison::nlike(&strings, &pattern)
                } else {
                    arrow::compute::kernels::comparison::like(&strings, &pattern)
                }
            };
            for negated in [false, true] {
                let test = LikeTest::of(pattern, negated).expect("a pattern of % only");
                let expected = oracle(negated).expect("patterns are valid");
                let got = test.test(&column).expect("strings");
                assert_eq!(got.len(), expected.len());
                for row in 0..got.len() {
                    let (got, expected) =
                        (got.is_valid(row) && got.value(row), expected.is_valid(row) && expected.value(row));
                    assert_eq!(got, expected, "{:?} LIKE '{pattern}' (negated: {negated})", strings.value(row));
                }
                // As one text, with what other strings have before and behind.
                let texts: Vec<&str> = strings.iter().map(Option::unwrap_or_default).collect();
                let bytes = format!("a{}b", texts.concat());
                let mut offsets = vec![1];
                offsets.extend(texts.iter().scan(1, |end, text| {
                    *end += text.len() as u32;
                    Some(*end)
                }));
                let found = test.test_run(&offsets, bytes.as_bytes()).expect("bits");
                assert_eq!(found.len(), texts.len().div_ceil(64));
                for at in 0..64 * found.len() {
                    let expected = at < texts.len() && test.matches(texts[at].as_bytes()) != negated;
                    assert_eq!(
                        found[at / 64] >> (at % 64) & 1 == 1,
                        expected,
                        "{at}: '{pattern}' (negated: {negated})"
                    );
                }
            }
        }
    }

    #[test]
    fn leaves_other_patterns_alone() {
        for pattern in ["abc", "a_%", "a\\%%", ""] {
            assert!(LikeTest::of(pattern, false).is_none(), "{pattern}");
        }
    }
}
