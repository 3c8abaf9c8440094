//! The five fields of a schedule: read, checked, and asked whether they name a day or an hour.

use serde::{Deserialize, Serialize};

/// One of the five fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// 0 to 59, one of them.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12, or the beginning of an English name.
    Month,
    /// 0 to 7, where 0 and 7 are Sunday, or the beginning of an English name.
    DayOfWeek,
}

impl Part {
    /// All five, in their order.
    pub const ALL: [Self; 5] = [Self::Minute, Self::Hour, Self::DayOfMonth, Self::Month, Self::DayOfWeek];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day of month",
            Self::Month => "month",
            Self::DayOfWeek => "day of week",
        }
    }

    /// What it accepts, as a sentence goes on with it.
    fn accepted(self) -> &'static str {
        match self {
            Self::Minute => "one fixed number from 0 to 59, so that it comes at most once an hour",
            Self::Hour => "`*`, numbers from 0 to 23, ranges such as `9-17`, steps such as `*/2`, and lists of these with commas",
            Self::DayOfMonth => "`*`, numbers from 1 to 31, ranges such as `1-7`, steps such as `*/2`, and lists of these with commas",
            Self::Month => "`*`, numbers from 1 to 12 or names such as `jan`, ranges, steps such as `*/3`, and lists of these with commas",
            Self::DayOfWeek => {
                "`*`, numbers from 0 (Sunday) to 7 (Sunday again) or names such as `mon`, ranges, steps, and lists of these with commas"
            }
        }
    }

    fn bounds(self) -> (u8, u8) {
        match self {
            Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::DayOfMonth => (1, 31),
            Self::Month => (1, 12),
            Self::DayOfWeek => (0, 7),
        }
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Month => &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
            Self::DayOfWeek => &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
            Self::Minute | Self::Hour | Self::DayOfMonth => &[],
        }
    }
}

/// Why a text is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the sentence of each variant says what its fields are")]
pub enum ScheduleFault {
    /// It has more or fewer than five fields.
    #[error("a schedule has 5 fields (minute, hour, day of month, month, day of week), and `{given}` has {fields}")]
    Fields { given: String, fields: usize },
    /// A field says what it may not.
    #[error("`{given}` is no {} of a schedule: it takes {}", part.word(), part.accepted())]
    Part { part: Part, given: String },
    /// It names a day that no year has.
    #[error("`{given}` never comes: none of its months has such a day")]
    Never { given: String },
}

/// The values that a field names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    values: u32,
    is_any: bool,
}

impl Field {
    /// Whether it names this value.
    pub fn has(self, value: u8) -> bool {
        self.values & (1 << value) != 0
    }

    /// Whether it is `*`, and so leaves the choice to the others.
    pub fn is_any(self) -> bool {
        self.is_any
    }

    /// Its values, in order. Sunday is 0.
    pub fn values(self) -> impl Iterator<Item = u8> {
        (0..32).filter(move |value| self.has(*value))
    }

    fn parse(part: Part, text: &str) -> Result<Self, ScheduleFault> {
        let fault = || ScheduleFault::Part { part, given: text.to_owned() };
        let mut values = 0;
        for item in text.split(',') {
            values |= item_values(part, item).ok_or_else(fault)?;
        }
        if part == Part::DayOfWeek && values & (1 << 7) != 0 {
            values = values & !(1 << 7) | 1;
        }
        Ok(Self { values, is_any: text == "*" })
    }
}

/// One item of a list: a value or a range, with or without a step.
fn item_values(part: Part, item: &str) -> Option<u32> {
    let (range, step) = match item.split_once('/') {
        Some((range, step)) => (range, Some(number(step).filter(|step| *step > 0)?)),
        None => (item, None),
    };
    let (first, last) = match range.split_once('-') {
        _ if range == "*" => part.bounds(),
        Some((first, last)) => (value(part, first)?, value(part, last)?),
        None if step.is_some() => return None,
        None => (value(part, range)?, value(part, range)?),
    };
    // A week may be written to end with its Sunday, by whichever word.
    let last = if part == Part::DayOfWeek && last == 0 && first > 0 { 7 } else { last };
    let chosen = (first..=last).step_by(step.unwrap_or(1).into());
    (first <= last).then(|| chosen.fold(0, |values, value| values | 1 << value))
}

fn value(part: Part, text: &str) -> Option<u8> {
    let (least, most) = part.bounds();
    let named = part.names().iter().position(|name| text.eq_ignore_ascii_case(name));
    let value = match named {
        Some(at) => u8::try_from(at).ok()? + if part == Part::Month { 1 } else { 0 },
        None => number(text)?,
    };
    (least..=most).contains(&value).then_some(value)
}

/// A number of one or two digits; signs and blanks are none.
fn number(text: &str) -> Option<u8> {
    (1..=2).contains(&text.len()).then(|| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())).flatten().flatten()
}

/// A schedule's five fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    text: String,
    minute: u8,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
}

/// The most days of each month, in any year.
const MONTH_DAYS: [u8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

impl Expression {
    /// Reads five fields.
    ///
    /// # Errors
    /// Their number, one of them, or that no day is ever meant.
    pub fn parse(text: &str) -> Result<Self, ScheduleFault> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let given = words.join(" ");
        let [minute, hours, days, months, weekdays] = words[..] else {
            return Err(ScheduleFault::Fields { given, fields: words.len() });
        };
        let fixed = value(Part::Minute, minute);
        let minute = fixed.ok_or_else(|| ScheduleFault::Part { part: Part::Minute, given: minute.to_owned() })?;
        let expression = Self {
            minute,
            hours: Field::parse(Part::Hour, hours)?,
            days: Field::parse(Part::DayOfMonth, days)?,
            months: Field::parse(Part::Month, months)?,
            weekdays: Field::parse(Part::DayOfWeek, weekdays)?,
            text: given.clone(),
        };
        if expression.is_possible() { Ok(expression) } else { Err(ScheduleFault::Never { given }) }
    }

    /// The text, with single blanks.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The minute of every slot.
    pub fn minute(&self) -> u8 {
        self.minute
    }

    /// The hours.
    pub fn hours(&self) -> Field {
        self.hours
    }

    /// The days of the month.
    pub fn days(&self) -> Field {
        self.days
    }

    /// The months, from 1.
    pub fn months(&self) -> Field {
        self.months
    }

    /// The days of the week, Sunday being 0.
    pub fn weekdays(&self) -> Field {
        self.weekdays
    }

    /// Whether it names a day. Where both kinds of day are restricted, either is enough.
    pub fn names_day(&self, month: u8, day: u8, weekday: u8) -> bool {
        let (by_month, by_week) = (self.days.has(day), self.weekdays.has(weekday));
        let chosen = if self.days.is_any() || self.weekdays.is_any() { by_month && by_week } else { by_month || by_week };
        self.months.has(month) && chosen
    }

    /// A restricted day of the week comes in every month, so only a day of the month alone can be one that never comes.
    fn is_possible(&self) -> bool {
        let has_day = |month: u8| self.days.values().any(|day| day <= MONTH_DAYS[usize::from(month) - 1]);
        !self.weekdays.is_any() && !self.days.is_any() || self.months.values().any(has_day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        Expression::parse(text).unwrap_err().to_string()
    }

    fn values(part: Part, text: &str) -> Vec<u8> {
        Field::parse(part, text).unwrap().values().collect()
    }

    #[test]
    fn lists_ranges_steps_and_names_are_read() {
        assert_eq!(values(Part::Hour, "9-17/4,22"), [9, 13, 17, 22]);
        assert_eq!(values(Part::Hour, "*/6"), [0, 6, 12, 18]);
        assert_eq!(values(Part::Month, "jan,Mar-MAY,12"), [1, 3, 4, 5, 12]);
        assert_eq!(values(Part::DayOfWeek, "mon-fri"), [1, 2, 3, 4, 5]);
        for sunday in ["0", "7", "sun", "SUN"] {
            assert_eq!(values(Part::DayOfWeek, sunday), [0], "{sunday}");
        }
        for end in ["fri-sun", "5-7", "fri-0"] {
            assert_eq!(values(Part::DayOfWeek, end), [0, 5, 6], "{end}");
        }
        assert_eq!(values(Part::DayOfWeek, "*"), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(Expression::parse("  30  9\t* * 1-5 ").unwrap().text(), "30 9 * * 1-5");
    }

    #[test]
    fn a_minute_is_one_number() {
        for minute in ["*", "*/5", "0,30", "1-2", "60", "-1", "x", "007", "1/2"] {
            let expected = format!("`{minute}` is no minute of a schedule: it takes one fixed number from 0 to 59");
            assert!(fault(&format!("{minute} * * * *")).starts_with(&expected), "{minute}");
        }
        assert_eq!(Expression::parse("07 * * * *").unwrap().minute(), 7);
    }

    #[test]
    fn each_fault_names_its_field() {
        for (text, part) in [
            ("0 24 * * *", "`24` is no hour"),
            ("0 9-8 * * *", "`9-8` is no hour"),
            ("0 9/2 * * *", "`9/2` is no hour"),
            ("0 */0 * * *", "`*/0` is no hour"),
            ("0 1,,2 * * *", "`1,,2` is no hour"),
            ("0 0 0 * *", "`0` is no day of month"),
            ("0 0 L * *", "`L` is no day of month"),
            ("0 0 32 * *", "`32` is no day of month"),
            ("0 0 * 13 *", "`13` is no month"),
            ("0 0 * janu *", "`janu` is no month"),
            ("0 0 * * 8", "`8` is no day of week"),
            ("0 0 * * mon#1", "`mon#1` is no day of week"),
            ("0 0 * * é", "`é` is no day of week"),
        ] {
            assert!(fault(text).starts_with(part), "{text}: {}", fault(text));
        }
        assert!(fault("").ends_with("`` has 0"));
        assert!(fault("@daily").ends_with("`@daily` has 1"));
        assert!(fault("0 0 0 * * *").ends_with("has 6"));
    }

    #[test]
    fn days_that_no_year_has_are_refused() {
        for never in ["0 0 31 2 *", "0 0 30 feb *", "0 0 31 4,6,9,11 *"] {
            assert!(matches!(Expression::parse(never), Err(ScheduleFault::Never { .. })), "{never}");
        }
        for good in ["0 0 29 2 *", "0 0 31 2,3 *", "0 0 31 2 mon", "0 0 28-31 2 *"] {
            assert!(Expression::parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn of_two_restricted_kinds_of_day_either_is_enough() {
        let either = Expression::parse("0 0 13 * fri").unwrap();
        assert!(either.names_day(1, 13, 1) && either.names_day(1, 2, 5) && !either.names_day(1, 2, 1));
        let month = Expression::parse("0 0 13 * *").unwrap();
        assert!(month.names_day(1, 13, 1) && !month.names_day(1, 2, 5));
        let week = Expression::parse("0 0 * * fri").unwrap();
        assert!(week.names_day(1, 2, 5) && !week.names_day(1, 13, 1));
    }
}
