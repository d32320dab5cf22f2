//! Kubernetes quantities.
/// A Kubernetes quantity.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
}
impl Quantity {
    /// Zero.
    pub const ZERO: Self = Self { nanos: 0 };
}
impl PartialEq for Quantity {
    fn eq(&self, o: &Self) -> bool {
        self.nanos == o.nanos
    }
}
impl Eq for Quantity {}
impl PartialOrd for Quantity {
    fn partial_cmp(&self, o: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(o))
    }
}
impl Ord for Quantity {
    fn cmp(&self, o: &Self) -> std::cmp::Ordering {
        self.nanos.cmp(&o.nanos)
    }
}
