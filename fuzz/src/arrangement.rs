//! In what order is a history seen? Chosen by a seed, so that a failing input fails again.

use receipts::Owner;

/// A source of choices (splitmix64).
#[derive(Debug, Clone)]
pub struct Arrangement(u64);

impl Arrangement {
    /// Makes the choices that belong to a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Makes choices that depend on all of the bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        // FNV-1a.
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Chooses a number from 0 to `below`, which is left out unless it is 0.
    pub fn index(&mut self, below: usize) -> usize {
        let below = u64::try_from(below.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % below).unwrap_or(0)
    }

    /// Chooses what is known of the process that runs the thread.
    pub fn owner(&mut self) -> Owner {
        [Owner::Busy, Owner::Idle, Owner::Dead, Owner::Unknown][self.index(4)]
    }

    /// Gives all items in another order, some of them twice.
    pub fn shuffled<T: Clone>(&mut self, items: &[T]) -> Vec<T> {
        let mut items = items.to_vec();
        for at in (1..items.len()).rev() {
            items.swap(at, self.index(at + 1));
        }
        for _ in 0..items.len() / 2 {
            items.push(items[self.index(items.len())].clone());
        }
        items
    }
}
