//! A signer for tests of the store: that signatures are real ones is no matter of theirs.

use frith_store::open::Signer;

/// Signs recognisably, as the machine whose public key is this byte over and over.
#[derive(Debug, Clone, Copy)]
pub struct Plain(pub u8);

impl Signer for Plain {
    fn public_key(&self) -> [u8; 32] {
        [self.0; 32]
    }
    fn sign(&self, message: &[u8]) -> [u8; 64] {
        std::array::from_fn(|at| message[at % message.len()])
    }
}
