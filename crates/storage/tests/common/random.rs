//! Numbers for tests of random changes.

/// Numbers that look random, the same in each run.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed >> 16) % end as u64) as usize
    }
}
