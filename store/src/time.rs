//! Points in time as facts carry them. Nothing here reads a clock.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Milliseconds since the Unix epoch, for display: order between machines is causal, never by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The time this many milliseconds after the epoch.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds after the epoch.
    pub fn ms(self) -> i64 {
        self.0
    }

    /// Whole seconds after the epoch.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Milliseconds from `earlier` to this; none when it lies after this.
    pub fn ms_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = NoTime;
    fn from_str(text: &str) -> Result<Self, NoTime> {
        let time: jiff::Timestamp = text.parse().map_err(|_| NoTime { given: text.to_owned() })?;
        Ok(Self(time.as_millisecond()))
    }
}

/// A text that is no point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no time such as `2026-11-30T09:30:00Z`")]
pub struct NoTime {
    /// What was given.
    pub given: String,
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { serializer.serialize_i64(self.0) }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return i64::deserialize(deserializer).map(Self);
        }
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "date-time"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_reads_as_utc_and_comes_back() {
        let time = Timestamp::from_ms(1_796_000_000_123);
        let text = serde_json::to_string(&time).unwrap();
        assert_eq!(text, "\"2026-11-30T00:53:20.123Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&text).unwrap(), time);
    }

    #[test]
    fn a_clock_that_went_back_gives_no_negative_span() {
        assert_eq!(Timestamp::from_ms(1).ms_since(Timestamp::from_ms(5)), 0);
    }
}
