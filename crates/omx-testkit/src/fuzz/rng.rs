//! Random choices from one number (SplitMix64): small, fast, the same everywhere.

/// A source of choices.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The choices that belong to a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % (end.max(1) as u64)) as usize
    }

    /// True once in `times` times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}
