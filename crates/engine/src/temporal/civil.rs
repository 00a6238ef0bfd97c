//! Days since 1970-01-01 and dates of the Gregorian calendar, without the limits of a library's years: a TIMESTAMP reaches
//! to the year 294276, a DATE further.

/// A day of the calendar: the year before 1 is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
}

impl Civil {
    /// The date of a day. Eras of 400 years have 146,097 days; years begin in March, so that a leap day is the last.
    pub(super) fn of(days: i64) -> Self {
        let days = days + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { year, month, day: of_year - (153 * shifted + 2) / 5 + 1 }
    }

    /// Its day.
    #[inline]
    pub(crate) fn days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let shifted = if self.month > 2 { self.month - 3 } else { self.month + 9 };
        let of_year = (153 * shifted + 2) / 5 + self.day - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    /// This day of the month so many months later, or the last one of a month that is too short.
    pub(super) fn plus_months(self, months: i64) -> Self {
        let all = self.year * 12 + self.month - 1 + months;
        let (year, month) = (all.div_euclid(12), all.rem_euclid(12) + 1);
        Self { year, month, day: self.day.min(days_of(year, month)) }
    }
}

/// Days of a month.
#[inline]
pub(crate) fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_eight_centuries_comes_back() {
        let mut before = Civil::of(-150_001);
        for days in -150_000..=150_000 {
            let civil = Civil::of(days);
            assert_eq!(civil.days(), days);
            let next = if before.day < days_of(before.year, before.month) {
                Civil { day: before.day + 1, ..before }
            } else {
                Civil { day: 1, ..before.plus_months(1) }
            };
            assert_eq!(civil, next);
            before = civil;
        }
        assert_eq!(Civil::of(0), Civil { year: 1970, month: 1, day: 1 });
    }

    #[test]
    fn months_end_where_they_are_short() {
        let last = Civil { year: 2024, month: 1, day: 31 };
        assert_eq!(last.plus_months(1), Civil { year: 2024, month: 2, day: 29 });
        assert_eq!(last.plus_months(-11), Civil { year: 2023, month: 2, day: 28 });
        assert_eq!(last.plus_months(-1), Civil { year: 2023, month: 12, day: 31 });
    }
}
