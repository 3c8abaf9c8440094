//! Identifiers: one newtype for each kind of thing, and the prefixes people type for them.
//!
//! Nothing here draws randomness: random bytes are handed in, so a simulated world can choose them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use uuid::Uuid;

/// The fewest characters by which an id may be named.
pub const MIN_PREFIX: usize = 4;

macro_rules! uuid_id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// A version 4 id made of 16 random bytes.
            pub fn from_random(bytes: [u8; 16]) -> Self {
                Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
            }

            /// A version 8 id made of bytes that were derived from something else.
            pub fn from_derived(bytes: [u8; 16]) -> Self {
                Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
            }

            /// The id whose bytes were stored.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The 16 bytes, as stored in keys.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// The first 8 characters: what people are shown.
            pub fn short(&self) -> String {
                self.0.simple().to_string()[..8].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    )+};
}

uuid_id! {
    /// A workspace or a fork.
    PlaceId,
    /// A task.
    TaskId,
    /// One session of a host.
    AgentId,
    /// One call of an operation; a retry carries the same one.
    CallId,
    /// One opening of a task: a task is open while any of its tokens is there.
    OpenToken,
    /// A team.
    TeamId,
    /// A file on its way to this machine's blobs.
    UploadId,
    /// A message that somebody wrote.
    MessageId,
}

/// A machine: the first 8 bytes of the hash of its public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineId([u8; 8]);

impl MachineId {
    /// The id of the machine whose public key this is.
    pub fn of_key(public_key: &[u8; 32]) -> Self {
        let hash = blake3::derive_key("frith machine id 1", public_key);
        Self(std::array::from_fn(|i| hash[i]))
    }

    /// The id whose bytes were stored.
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }

    /// The 8 bytes, as stored in keys.
    pub fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }

    /// The first 8 characters: what people are shown.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

/// Who writes a document's changes: a machine in one run of its node (machine id, then 8 random bytes drawn at each start).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writer([u8; 16]);

impl Writer {
    /// The writer of `machine` in the run that drew `incarnation`.
    pub fn new(machine: MachineId, incarnation: [u8; 8]) -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&machine.0);
        bytes[8..].copy_from_slice(&incarnation);
        Self(bytes)
    }

    /// The writer whose bytes were stored.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes, which are also the Automerge actor id.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The machine that writes.
    pub fn machine(&self) -> MachineId {
        MachineId(std::array::from_fn(|i| self.0[i]))
    }
}

/// A replicated document: its kind in the first byte, then 15 bytes of a hash of what it is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId([u8; 16]);

impl DocId {
    /// The id whose bytes were stored.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes, as stored in keys.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// The hash of a text or an attachment that is kept beside the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobHash([u8; 32]);

impl BlobHash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The hash of everything that a reader gives, and how many bytes that was.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of_reader(mut reader: impl std::io::Read) -> std::io::Result<(Self, u64)> {
        let mut hasher = BlobHasher::default();
        let length = std::io::copy(&mut reader, &mut hasher.0)?;
        Ok((hasher.finish(), length))
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hash whose bytes were stored.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The first 8 characters: what people are shown.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

/// Makes the hash of bytes that come piece by piece.
#[derive(Debug, Clone, Default)]
pub struct BlobHasher(blake3::Hasher);

impl BlobHasher {
    /// Takes the next bytes in.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all that was taken in.
    pub fn finish(&self) -> BlobHash {
        BlobHash(*self.0.finalize().as_bytes())
    }
}

/// The hash of one version of a note.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionHash([u8; 16]);

impl VersionHash {
    /// The hash whose bytes were stored.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The 16 bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The first 8 characters: what people are shown.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

macro_rules! hex_id {
    ($name:ident, $len:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = NotHex;
            fn from_str(text: &str) -> Result<Self, NotHex> {
                let digits = text.as_bytes();
                if digits.len() != 2 * $len {
                    return Err(NotHex);
                }
                let mut bytes = [0; $len];
                for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
                    let pair = std::str::from_utf8(pair).map_err(|_| NotHex)?;
                    *byte = u8::from_str_radix(pair, 16).map_err(|_| NotHex)?;
                }
                Ok(Self(bytes))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    self.0.serialize(serializer)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    let text = String::deserialize(deserializer)?;
                    text.parse().map_err(D::Error::custom)
                } else {
                    <[u8; $len]>::deserialize(deserializer).map(Self)
                }
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": "^[0-9a-f]+$"})
            }
        }
    };
}

hex_id!(MachineId, 8);
hex_id!(Writer, 16);
hex_id!(DocId, 16);
hex_id!(BlobHash, 32);
hex_id!(VersionHash, 16);

/// The text is no hexadecimal number of the expected length.
#[derive(Debug, thiserror::Error)]
#[error("not a hexadecimal id")]
pub struct NotHex;

/// The beginning of an id as a person typed it: at least [`MIN_PREFIX`] hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

/// Why a text is no prefix of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPrefix {
    /// It has something else than hexadecimal digits and hyphens, or too many digits.
    NotAnId,
    /// It has fewer digits than [`MIN_PREFIX`].
    TooShort,
}

impl Prefix {
    /// Reads a prefix: hyphens and case do not matter.
    ///
    /// # Errors
    /// [`NoPrefix`] when the text cannot begin an id, or is too short to name one.
    pub fn parse(text: &str) -> Result<Self, NoPrefix> {
        let digits: String = text.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect();
        if digits.is_empty() || digits.len() > 32 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(NoPrefix::NotAnId);
        }
        if digits.len() < MIN_PREFIX {
            return Err(NoPrefix::TooShort);
        }
        Ok(Self(digits))
    }

    /// The lowest 16 bytes that begin like this: where a scan of ids starts.
    pub fn first(&self) -> [u8; 16] {
        self.padded('0')
    }

    /// The highest 16 bytes that begin like this: where a scan of ids ends.
    pub fn last(&self) -> [u8; 16] {
        self.padded('f')
    }

    /// Whether an id with these bytes begins like this.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        self.0.bytes().enumerate().all(|(i, digit)| {
            let Some(byte) = bytes.get(i / 2) else { return false };
            let nibble = if i % 2 == 0 { byte >> 4 } else { byte & 0xf };
            char::from_digit(u32::from(nibble), 16) == Some(char::from(digit))
        })
    }

    fn padded(&self, fill: char) -> [u8; 16] {
        let digits = format!("{:\u{0}<32}", self.0).replace('\u{0}', &fill.to_string());
        std::array::from_fn(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap_or_default())
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! typed_ref {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl FromStr for $name {
            type Err = std::convert::Infallible;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Ok(Self(text.to_owned()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}

typed_ref! {
    /// A place as somebody named it: its name, its id or a prefix of its id.
    PlaceRef,
    /// A task as somebody named it: its id or a prefix of it.
    TaskRef,
    /// An agent as somebody named it: its id or a prefix of it.
    AgentRef,
    /// A machine as somebody named it: its name, its id or a prefix of its id.
    MachineRef,
    /// A version of a note as somebody named it: its hash or a prefix of it.
    VersionRef,
    /// An attachment as somebody named it: its name, its hash or a prefix of its hash.
    AttachmentRef,
    /// A message as somebody named it: its id or a prefix of it.
    MessageRef,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ignores_hyphens_and_case() {
        let id = PlaceId::from_bytes(*b"\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89");
        for text in ["abcd", "ABCD", "abcdef01-2", &id.to_string(), &id.short()] {
            assert!(Prefix::parse(text).unwrap().matches(id.as_bytes()), "{text}");
        }
        assert!(!Prefix::parse("abce").unwrap().matches(id.as_bytes()));
    }

    #[test]
    fn too_short_and_no_id_at_all_are_told_apart() {
        assert_eq!(Prefix::parse("abc"), Err(NoPrefix::TooShort));
        for text in ["", "-", "wxyz", "my-app", "abcdé", &"a".repeat(33)] {
            assert_eq!(Prefix::parse(text), Err(NoPrefix::NotAnId), "{text}");
        }
    }

    #[test]
    fn the_bounds_of_a_prefix_enclose_exactly_what_it_matches() {
        let prefix = Prefix::parse("abcde").unwrap();
        assert_eq!(prefix.first()[..4], [0xab, 0xcd, 0xe0, 0]);
        assert_eq!(prefix.last()[..4], [0xab, 0xcd, 0xef, 0xff]);
        assert!(prefix.matches(&prefix.first()) && prefix.matches(&prefix.last()));
    }

    #[test]
    fn a_writer_tells_its_machine() {
        let machine = MachineId::of_key(&[7; 32]);
        let writer = Writer::new(machine, [1; 8]);
        assert_eq!(writer.machine(), machine);
        assert_eq!(writer.to_string().parse::<Writer>().unwrap(), writer);
        assert_eq!(serde_json_text(&machine), format!("\"{machine}\""));
    }

    fn serde_json_text(id: &MachineId) -> String {
        serde_json::to_string(id).unwrap()
    }
}
