//! Numbers that follow from a seed (splitmix64): one stream for each purpose, so that a draw more in one place moves
//! nothing elsewhere.

/// A stream of numbers.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The stream of `seed` for one purpose.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let hash = blake3::keyed_hash(blake3::hash(purpose.as_bytes()).as_bytes(), &seed.to_be_bytes());
        Self(hash.as_bytes()[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// One of `list`, unless it is empty.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        (!list.is_empty()).then(|| list[self.below(list.len() as u64) as usize])
    }

    /// 16 random bytes.
    pub fn bytes(&mut self) -> [u8; 16] {
        std::array::from_fn(|_| self.below(256) as u8)
    }
}
