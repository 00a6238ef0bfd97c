//! Arguments that a group has had: what a function makes of them was looked at already. Of a table that is probed, the same few
//! records come again and again, and to fetch their strings each time is most of the work.

use crate::data::limits::Limits;

/// Bits at most: more would not stay in the caches, and the strings of as many records are seldom wanted twice.
const MOST_BITS: usize = 1 << 26;

/// A bit for each group and each argument within a range.
#[derive(Debug)]
pub(super) struct Seen {
    low: i64,
    /// Arguments that a group may have; NULL is the last of them.
    size: usize,
    bits: Vec<u64>,
}

impl Seen {
    /// For arguments that lie here; `None` when they are too many.
    pub(super) fn new(limits: Limits) -> Option<Self> {
        let low = i64::try_from(limits.min).ok()?;
        let size = usize::try_from(limits.max - limits.min).ok()?.checked_add(2)?;
        (size <= MOST_BITS).then_some(Self { low, size, bits: Vec::new() })
    }

    /// Leaves those of the records, of which these are the groups' places and the arguments, and whether these are not NULL, whose
    /// argument has come for the first time.
    pub(super) fn leave_new(
        &mut self,
        records: &mut Vec<usize>,
        places: &[u64],
        (arguments, valid): (&[i64], Option<&[i64]>),
    ) {
        let null = self.size as u64 - 1;
        records.retain(|record| {
            let argument = match valid {
                Some(valid) if valid[*record] == 0 => null,
                // Any that is NULL's is outside of the range.
                _ => {
                    Some(arguments[*record].wrapping_sub(self.low) as u64).filter(|own| *own < null).unwrap_or(u64::MAX)
                }
            };
            !self.has((places[*record] as usize).saturating_mul(self.size), argument)
        });
    }

    /// Whether an argument of the group whose bits begin here has come before. Nothing is known of one outside of the range, and
    /// of groups past the most bits.
    fn has(&mut self, first: usize, argument: u64) -> bool {
        let bit = first.saturating_add(argument as usize);
        if argument >= self.size as u64 || bit >= MOST_BITS {
            return false;
        }
        let (word, mask) = (bit / 64, 1 << (bit % 64));
        if word >= self.bits.len() {
            self.bits.resize((word + 1).next_power_of_two(), 0);
        }
        let had = self.bits[word] & mask != 0;
        self.bits[word] |= mask;
        had
    }

    pub(super) fn bytes(&self) -> usize {
        self.bits.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_argument_of_a_group_is_new_once() {
        let mut seen = Seen::new(Limits::new(-3, 100)).unwrap();
        let (places, arguments) = ([0, 0, 1, 0, 1, 0, 0, 0, 0], [-3, 5, -3, -3, 5, 101, 101, 5, 7]);
        let mut records = (0..9).collect();
        let valid = [1, 1, 1, 1, 1, 1, 1, 0, 0];
        seen.leave_new(&mut records, &places, (&arguments, Some(&valid)));
        assert_eq!(records, [0, 1, 2, 4, 5, 6, 7], "one outside of the range is always new");
        seen.leave_new(&mut records, &places, (&arguments, None));
        assert_eq!(records, [5, 6]);
        // Groups past the last bit.
        let far = [MOST_BITS as u64; 2];
        let mut records = vec![0, 1];
        seen.leave_new(&mut records, &far, (&[5, 5], None));
        assert_eq!(records, [0, 1]);
        assert!(Seen::new(Limits::new(i64::MIN, i64::MAX)).is_none());
    }
}
