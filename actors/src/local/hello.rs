//! The hello: the first bytes of each side. This form is fixed for ever, so any two versions can read each other's.
//!
//! Five letters, the protocol's number in two bytes, the length of the version in one, the version.

use frith_net::frame::Splitter;

/// The protocol that follows the hello. It counts up with each change that an older side would misread.
pub const PROTOCOL: u16 = 4;
/// The version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

const LETTERS: &[u8; 5] = b"frith";
/// Letters, protocol and the version's length.
const FIXED: usize = 8;

/// What one side says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Its protocol.
    pub protocol: u16,
    /// Its version, for people.
    pub version: String,
}

/// The other side does not begin like frith.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a hello of frith")]
pub struct NoHello;

impl Hello {
    /// What this build says.
    pub fn ours() -> Self {
        Self { protocol: PROTOCOL, version: VERSION.to_owned() }
    }

    /// The bytes of it; a version is cut to 255 bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let version = &self.version.as_bytes()[..self.version.len().min(255)];
        let mut bytes = LETTERS.to_vec();
        bytes.extend_from_slice(&self.protocol.to_be_bytes());
        bytes.push(u8::try_from(version.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(version);
        bytes
    }

    /// Takes the other side's hello off the stream, once all of it has come.
    ///
    /// # Errors
    /// [`NoHello`] at the first byte that does not fit.
    pub fn take(stream: &mut Splitter) -> Result<Option<Self>, NoHello> {
        let here = stream.peek();
        let letters = here.len().min(LETTERS.len());
        if here[..letters] != LETTERS[..letters] {
            return Err(NoHello);
        }
        let Some(&[_, _, _, _, _, high, low, length]) = here.first_chunk::<FIXED>() else { return Ok(None) };
        let Some(bytes) = stream.take(FIXED + usize::from(length)) else { return Ok(None) };
        let version = String::from_utf8_lossy(&bytes[FIXED..]).into_owned();
        Ok(Some(Self { protocol: u16::from_be_bytes([high, low]), version }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_comes_through_byte_by_byte_and_leaves_what_follows() {
        let hello = Hello { protocol: 513, version: "1.2.3".into() };
        let mut stream = Splitter::new(100);
        for byte in hello.bytes() {
            assert_eq!(Hello::take(&mut stream), Ok(None));
            stream.push(&[byte]);
        }
        stream.push(&[0, 0, 0, 1, 9]);
        assert_eq!(Hello::take(&mut stream), Ok(Some(hello)));
        assert_eq!(stream.next_frame().unwrap(), Some(&[9][..]));
    }

    #[test]
    fn something_else_is_told_at_its_first_byte() {
        let mut stream = Splitter::new(100);
        stream.push(b"G");
        assert_eq!(Hello::take(&mut stream), Err(NoHello));
    }

    #[test]
    fn the_form_of_the_hello_never_changes() {
        let bytes = Hello { protocol: 1, version: "0.1.0".into() }.bytes();
        assert_eq!(bytes, b"frith\x00\x01\x050.1.0");
    }
}
