//! Bytes inside a request or a reply: as they are on the wire, in base64 where it is JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The most bytes of a file that travel in one request or reply, so that none holds a whole one.
pub const PIECE_MOST: usize = 1024 * 1024;

/// A piece of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece(pub Vec<u8>);

impl Serialize for Piece {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&STANDARD.encode(&self.0))
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Piece {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Vec::<u8>::deserialize(deserializer).map(Self);
        }
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Self).map_err(D::Error::custom)
    }
}

impl schemars::JsonSchema for Piece {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Piece".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "contentEncoding": "base64"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_both_forms() {
        let piece = Piece(vec![0, 255, 10, 7]);
        let wire = postcard::to_stdvec(&piece).unwrap();
        assert_eq!(wire.len(), 5);
        assert_eq!(postcard::from_bytes::<Piece>(&wire).unwrap(), piece);
        let json = serde_json::to_string(&piece).unwrap();
        assert_eq!(json, "\"AP8KBw==\"");
        assert_eq!(serde_json::from_str::<Piece>(&json).unwrap(), piece);
    }
}
