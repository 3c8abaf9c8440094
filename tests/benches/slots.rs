//! Every minute of ten years in every time zone: the slots that a schedule finds against those that a clock on the wall
//! shows. It takes minutes, so it runs when it is asked for; the tests of `frith-store` take samples of the same.
//!
//! `cargo bench -p frith-tests --bench slots`

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on stops")]
#![expect(clippy::print_stdout, reason = "figures are printed")]

use std::{thread, time::Duration};

use frith_store::{
    schedule::{Expression, Timetable, Zone, zone_names},
    time::Timestamp,
};
use frith_tests::wait::timed;

/// Hourly, at times that clocks jump over or show twice in one zone or another, and days of both kinds.
const EXPRESSIONS: [&str; 6] = ["30 * * * *", "30 2 * * *", "0 1,3 * * sun", "15 0,23 * * *", "45 */5 1-7,31 3,4,9-11 *", "59 0 13 * fri"];
/// From the first of January 2026.
const FROM_MS: i64 = 1_767_225_600_000;
const MINUTE_MS: i64 = 60_000;
const MINUTES: i64 = 3_652 * 24 * 60;

fn main() {
    let zones = zone_names();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let ((slots, jumps), time) = timed(|| {
        thread::scope(|scope| {
            let parts: Vec<_> = zones.chunks(zones.len().div_ceil(threads)).map(|part| scope.spawn(move || check_all(part))).collect();
            parts.into_iter().map(|part| part.join().unwrap()).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        })
    });
    println!(
        "{} zones, ten years by minutes, {} expressions: {slots} slots agree, {jumps} jumps of a clock, {time:.0?}",
        zones.len(),
        EXPRESSIONS.len()
    );
}

fn check_all(zones: &[String]) -> (usize, usize) {
    zones.iter().map(|name| check(&Zone::named(name).unwrap())).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// How many slots there are in a zone, and how often its clock jumps.
fn check(zone: &Zone) -> (usize, usize) {
    let expressions = EXPRESSIONS.map(|text| Expression::parse(text).unwrap());
    let (wanted, jumps) = by_minutes(&expressions, zone);
    let (from, until) = (Timestamp::from_ms(FROM_MS), Timestamp::from_ms(FROM_MS + MINUTES * MINUTE_MS));
    for (expression, wanted) in expressions.into_iter().zip(&wanted) {
        let table = Timetable::new(expression, zone.clone());
        let found: Vec<Timestamp> = table.slots(from, until).collect();
        let differs = found.iter().zip(wanted).find(|(found, wanted)| found != wanted);
        assert!(found == *wanted, "`{}` in {}: {differs:?}", table.expression().text(), zone.name());
    }
    (wanted.iter().map(Vec::len).sum(), jumps)
}

/// The slots of each expression as a clock on the wall shows them: a reading that it leaves out comes with the next one that
/// it shows, and one that it shows again comes no second time.
fn by_minutes(expressions: &[Expression; 6], zone: &Zone) -> ([Vec<Timestamp>; 6], usize) {
    let shown = |minute: i64| zone.clock_at(Timestamp::from_ms(FROM_MS + minute * MINUTE_MS)).unwrap();
    let mut slots: [Vec<Timestamp>; 6] = std::array::from_fn(|_| Vec::new());
    let (mut newest, mut before, mut jumps) = (shown(-1440), shown(-1440), 0);
    for minute in -1439..=MINUTES {
        let now = shown(minute);
        jumps += usize::from(now != before.checked_add(Duration::from_secs(60)).unwrap());
        before = now;
        while newest < now {
            newest = newest.checked_add(Duration::from_secs(60)).unwrap();
            let weekday = newest.weekday().to_sunday_zero_offset().unsigned_abs();
            let (month, day) = (newest.month().unsigned_abs(), newest.day().unsigned_abs());
            for (expression, slots) in expressions.iter().zip(&mut slots) {
                let comes = expression.minute() == newest.minute().unsigned_abs()
                    && expression.hours().has(newest.hour().unsigned_abs())
                    && expression.names_day(month, day, weekday);
                let slot = Timestamp::from_ms(FROM_MS + minute * MINUTE_MS);
                if comes && minute > 0 && slots.last() != Some(&slot) {
                    slots.push(slot);
                }
            }
        }
    }
    (slots, jumps)
}
