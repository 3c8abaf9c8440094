//! The slots of a schedule in its time zone: the moments at which it comes.
//!
//! A slot is a whole minute. Where clocks go back, a time that comes twice is meant once, at first; where they go forward,
//! a time that is left out is moved to the first minute after, which may be a slot anyway and still comes once.

use std::sync::LazyLock;

use jiff::{
    civil::{Date, DateTime},
    tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase},
};

use super::Expression;
use crate::time::Timestamp;

/// The rules of all time zones, as they were when this program was built.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The names of all time zones, in order.
pub fn zone_names() -> Vec<String> {
    ZONES.available().map(|name| name.as_str().to_owned()).collect()
}

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    name: String,
    rules: TimeZone,
}

impl Zone {
    /// The zone of an IANA name, whatever its case.
    pub fn named(name: &str) -> Option<Self> {
        let rules = ZONES.get(name).ok()?;
        Some(Self { name: rules.iana_name()?.to_owned(), rules })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The date and time that a clock there shows.
    pub fn clock_at(&self, time: Timestamp) -> Option<DateTime> {
        Some(self.rules.to_datetime(jiff::Timestamp::from_millisecond(time.ms()).ok()?))
    }

    /// The moment meant by a date and time there.
    fn moment(&self, at: DateTime) -> Option<Timestamp> {
        let meant = self.rules.to_ambiguous_timestamp(at);
        let moment = match meant.offset() {
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => meant.earlier().ok()?,
            AmbiguousOffset::Gap { .. } => self.end_of_gap(at)?,
        };
        Some(Timestamp::from_ms(moment.as_millisecond()))
    }

    /// The moment at which clocks jump over this date and time.
    fn end_of_gap(&self, at: DateTime) -> Option<jiff::Timestamp> {
        let before = self.rules.to_ambiguous_timestamp(at).earlier().ok()?;
        let mut jumps = self.rules.following(before).map(|transition| transition.timestamp());
        jumps.find(|jump| self.rules.to_datetime(*jump) > at)
    }
}

/// An expression in a time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timetable {
    expression: Expression,
    zone: Zone,
}

impl Timetable {
    /// The slots of `expression` in `zone`.
    pub fn new(expression: Expression, zone: Zone) -> Self {
        Self { expression, zone }
    }

    /// The zone.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The expression.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// The first slot after a moment; none when time as it can be written down ends before.
    pub fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        // A slot that was left out on one day may come on the next, so the search begins the day before.
        let mut day = self.zone.clock_at(time)?.date().yesterday().ok()?;
        loop {
            if let Some(slot) = self.slots_of(day).find(|slot| *slot > time) {
                return Some(slot);
            }
            day = self.day_after(day)?;
        }
    }

    /// The last slot at or before a moment, and after `after`.
    pub fn last_until(&self, after: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let first = self.next_after(after).filter(|first| *first <= until)?;
        // Where clocks go back over midnight, a slot of the next day lies behind already.
        let mut day = self.zone.clock_at(until)?.date().tomorrow().ok()?;
        loop {
            if let Some(slot) = self.slots_of(day).filter(|slot| *slot <= until).last() {
                return Some(slot.max(first));
            }
            day = day.yesterday().ok()?;
        }
    }

    /// The slots after one moment and not after another, in order.
    pub fn slots(&self, after: Timestamp, until: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.next_after(after), |slot| self.next_after(*slot)).take_while(move |slot| *slot <= until)
    }

    fn slots_of(&self, day: Date) -> impl Iterator<Item = Timestamp> {
        let week_day = day.weekday().to_sunday_zero_offset().unsigned_abs();
        let names = self.expression.names_day(day.month().unsigned_abs(), day.day().unsigned_abs(), week_day);
        let hours = self.expression.hours().values().filter(move |_| names);
        hours.filter_map(move |hour| self.zone.moment(day.at(hour.cast_signed(), self.expression.minute().cast_signed(), 0, 0)))
    }

    /// The next day that may have slots: months that are not named are passed over whole.
    fn day_after(&self, day: Date) -> Option<Date> {
        let next = day.tomorrow().ok()?;
        if self.expression.months().has(next.month().unsigned_abs()) { Some(next) } else { next.last_of_month().tomorrow().ok() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: i64 = 60_000;

    fn timetable(expression: &str, zone: &str) -> Timetable {
        Timetable::new(Expression::parse(expression).unwrap(), Zone::named(zone).unwrap())
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn slots(expression: &str, zone: &str, after: &str, most: usize) -> Vec<String> {
        let table = timetable(expression, zone);
        std::iter::successors(table.next_after(at(after)), |slot| table.next_after(*slot)).take(most).map(|slot| slot.to_string()).collect()
    }

    #[test]
    fn slots_follow_the_clock_of_the_zone() {
        assert_eq!(
            slots("30 9 * * 1-5", "Europe/Berlin", "2026-03-27T08:29:00Z", 3),
            ["2026-03-27T08:30:00.000Z", "2026-03-30T07:30:00.000Z", "2026-03-31T07:30:00.000Z"]
        );
        assert_eq!(slots("0 0 29 2 *", "UTC", "2097-01-01T00:00:00Z", 1), ["2104-02-29T00:00:00.000Z"]);
        assert_eq!(slots("15 12 * * *", "Asia/Kathmandu", "2026-01-01T00:00:00Z", 1), ["2026-01-01T06:30:00.000Z"]);
    }

    #[test]
    fn d12_a_time_that_comes_twice_is_meant_once_and_at_first() {
        let october = "2026-11-01T00:00:00Z";
        assert_eq!(
            slots("30 1 * * *", "America/New_York", october, 2),
            ["2026-11-01T05:30:00.000Z", "2026-11-02T06:30:00.000Z"],
            "1:30 comes at 5:30 and again at 6:30 of UTC"
        );
        assert_eq!(
            slots("30 * * * *", "America/New_York", "2026-11-01T04:00:00Z", 3),
            ["2026-11-01T04:30:00.000Z", "2026-11-01T05:30:00.000Z", "2026-11-01T07:30:00.000Z"]
        );
    }

    #[test]
    fn d12_a_time_that_is_left_out_comes_at_the_first_minute_after() {
        assert_eq!(
            slots("30 2 * * *", "America/New_York", "2026-03-08T00:00:00Z", 2),
            ["2026-03-08T07:00:00.000Z", "2026-03-09T06:30:00.000Z"]
        );
        assert_eq!(
            slots("0 2,3 * * *", "America/New_York", "2026-03-08T00:00:00Z", 2),
            ["2026-03-08T07:00:00.000Z", "2026-03-09T06:00:00.000Z"],
            "2:00 moves to 3:00, which comes once"
        );
        assert_eq!(
            slots("30 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00Z", 1),
            ["2026-04-23T22:00:00.000Z"],
            "there clocks jump at midnight"
        );
        assert_eq!(
            slots("0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", 1),
            ["2011-12-30T10:00:00.000Z"],
            "there a whole day was left out, and the next one began"
        );
    }

    #[test]
    fn the_last_slot_before_a_moment_is_found_without_walking_there() {
        let table = timetable("0 12 1 * *", "UTC");
        let (from, until) = (at("2026-01-01T12:00:00Z"), at("2026-07-15T00:00:00Z"));
        assert_eq!(table.last_until(from, until), Some(at("2026-07-01T12:00:00Z")));
        assert_eq!(table.last_until(from, at("2026-02-01T11:59:00Z")), None);
        assert_eq!(table.last_until(from, at("2026-02-01T12:00:00Z")), Some(at("2026-02-01T12:00:00Z")));
        assert_eq!(table.slots(from, until).count(), 6);
    }

    #[test]
    fn a_zone_is_found_by_its_name_whatever_its_case() {
        assert_eq!(Zone::named("europe/berlin").unwrap().name(), "Europe/Berlin");
        assert_eq!(Zone::named("Mars/Olympus"), None);
        assert!(zone_names().len() > 400);
    }

    /// What a clock on the wall shows at each minute, taken from the zone minute by minute: what is left out by a jump of the
    /// clock is what no minute shows.
    fn by_minutes(expression: &Expression, zone: &Zone, from: Timestamp, minutes: i64) -> Vec<Timestamp> {
        let shown = |minute: i64| zone.clock_at(Timestamp::from_ms(from.ms() + minute * MINUTE)).unwrap();
        let names = |time: DateTime| {
            let weekday = time.weekday().to_sunday_zero_offset().unsigned_abs();
            let day = expression.names_day(time.month().unsigned_abs(), time.day().unsigned_abs(), weekday);
            day && expression.hours().has(time.hour().unsigned_abs()) && expression.minute() == time.minute().unsigned_abs()
        };
        let mut newest = shown(-1440);
        let mut slots = Vec::new();
        for minute in -1439..=minutes {
            let now = shown(minute);
            let mut due = false;
            // Every reading between the newest one seen and this one was either shown now or left out.
            while newest < now {
                newest = newest.checked_add(jiff::Span::new().minutes(1)).unwrap();
                due |= names(newest);
            }
            if due && minute > 0 {
                slots.push(Timestamp::from_ms(from.ms() + minute * MINUTE));
            }
        }
        slots
    }

    fn field(part: super::super::Part) -> BoxedStrategy<String> {
        use super::super::Part;
        let (low, high): (u8, u8) = match part {
            Part::Hour => (0, 23),
            Part::DayOfMonth => (1, 31),
            Part::Month => (1, 12),
            Part::DayOfWeek | Part::Minute => (0, 6),
        };
        let one = (low..=high).prop_map(|value| value.to_string());
        let range = (low..=high, low..=high).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b)));
        let list = prop::collection::vec(prop_oneof![one.clone(), range.clone()], 1..4).prop_map(|items| items.join(","));
        prop_oneof![4 => Just("*".to_owned()), 1 => one, 1 => list, 1 => (1..9_u8).prop_map(|step| format!("*/{step}"))].boxed()
    }

    fn expressions() -> impl Strategy<Value = Expression> {
        use super::super::Part;
        let fields = (0..60_u8, field(Part::Hour), field(Part::DayOfMonth), field(Part::Month), field(Part::DayOfWeek));
        let text = fields.prop_map(|(minute, hour, day, month, weekday)| format!("{minute} {hour} {day} {month} {weekday}"));
        text.prop_filter_map("no such day", |text| Expression::parse(&text).ok())
    }

    /// Around a jump of a zone's clock within ten years, or anywhere in them where there is none.
    fn moments(zone: &Zone, picked: prop::sample::Index, minute: i64) -> Timestamp {
        let from = at("2026-01-01T00:00:00Z");
        let end = at("2036-01-01T00:00:00Z");
        let start = jiff::Timestamp::from_millisecond(from.ms()).unwrap();
        let jumps: Vec<i64> =
            zone.rules.following(start).map(|jump| jump.timestamp().as_millisecond()).take_while(|jump| *jump < end.ms()).collect();
        if jumps.is_empty() {
            return Timestamp::from_ms(from.ms() + (picked.index(3_652) as i64 * 1440 + minute) * MINUTE);
        }
        Timestamp::from_ms(jumps[picked.index(jumps.len())].div_euclid(MINUTE) * MINUTE - (minute + 60) * MINUTE)
    }

    /// A random expression in a zone over two days, most often around a jump of its clock.
    fn check_zone(name: &str, expression: Expression, picked: prop::sample::Index, minute: i64) -> Result<(), TestCaseError> {
        let zone = Zone::named(name).unwrap();
        let from = moments(&zone, picked, minute);
        let table = Timetable::new(expression.clone(), zone.clone());
        let found: Vec<Timestamp> = table.slots(from, Timestamp::from_ms(from.ms() + 2 * 1440 * MINUTE)).collect();
        let wanted = by_minutes(&expression, &zone, from, 2 * 1440);
        prop_assert_eq!(&found, &wanted, "`{}` in {} from {}", expression.text(), name, from);
        let last = table.last_until(from, Timestamp::from_ms(from.ms() + 2 * 1440 * MINUTE));
        prop_assert_eq!(last, wanted.last().copied());
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2))]

        #[test]
        fn d12_slots_are_those_that_a_clock_on_the_wall_shows_in_every_zone(
            samples in prop::collection::vec((expressions(), any::<prop::sample::Index>(), 0..1440_i64), 700),
        ) {
            for (name, (expression, picked, minute)) in zone_names().iter().zip(samples) {
                check_zone(name, expression, picked, minute)?;
            }
        }
    }
}
