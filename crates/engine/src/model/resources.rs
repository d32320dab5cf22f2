//! Amounts of compute resources.

use std::collections::BTreeMap;

use crate::labels::Name;
use crate::quantity::Quantity;

/// Amounts of resources as the scheduler counts them: cpu in thousandths, all others in whole units rounded up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// `cpu`, in millicores.
    pub cpu_milli: i64,
    /// `memory`, in bytes.
    pub memory: i64,
    /// `ephemeral-storage`, in bytes.
    pub ephemeral_storage: i64,
    /// `pods`: only nodes have it.
    pub pods: i64,
    /// Everything else: hugepages and extended resources.
    pub scalar: BTreeMap<Name, i64>,
}

impl Resources {
    /// Counts a list of amounts. Names that are no resource a scheduler counts are left out, and so is zero of a
    /// resource beyond the usual ones.
    pub fn count<'a>(amounts: impl IntoIterator<Item = (&'a Name, &'a Quantity)>) -> Self {
        let mut counted = Self::default();
        for (name, amount) in amounts {
            match &**name {
                "cpu" => counted.cpu_milli = amount.milli_value(),
                "memory" => counted.memory = amount.value(),
                "ephemeral-storage" => counted.ephemeral_storage = amount.value(),
                "pods" => counted.pods = amount.value(),
                other if is_scalar(other) => {
                    let value = amount.value();
                    if value != 0 {
                        counted.scalar.insert(name.clone(), value);
                    }
                }
                _ => {}
            }
        }
        counted
    }

    /// The amount of a hugepage size or extended resource; 0 where there is none.
    pub fn scalar(&self, name: &str) -> i64 {
        self.scalar.get(name).copied().unwrap_or(0)
    }

    /// Adds amounts. Sums wrap, as upstream's do, so that what is added can be taken away again exactly.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, i64::wrapping_add);
    }

    /// Takes amounts away that were added before.
    pub fn subtract(&mut self, other: &Self) {
        self.combine(other, i64::wrapping_sub);
    }

    fn combine(&mut self, other: &Self, f: fn(i64, i64) -> i64) {
        self.cpu_milli = f(self.cpu_milli, other.cpu_milli);
        self.memory = f(self.memory, other.memory);
        self.ephemeral_storage = f(self.ephemeral_storage, other.ephemeral_storage);
        self.pods = f(self.pods, other.pods);
        for (name, &amount) in &other.scalar {
            let sum = f(self.scalar(name), amount);
            // No zeros stay behind: a table that pods came to and left equals one they never came to.
            if sum == 0 {
                self.scalar.remove(name);
            } else {
                self.scalar.insert(name.clone(), sum);
            }
        }
    }
}

/// Whether a name beyond cpu, memory, ephemeral-storage and pods is a resource that the scheduler counts: hugepages,
/// attachable volumes, names of kubernetes.io and well-formed extended resources.
pub fn is_scalar(name: &str) -> bool {
    name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
        || is_extended(name)
}

/// Whether a resource is an extended one: `domain/name`, of a domain other than kubernetes.io that leaves room for the
/// `requests.` which quotas put before it.
pub fn is_extended(name: &str) -> bool {
    const QUOTA_PREFIX: &str = "requests.";
    let Some((domain, rest)) = name.split_once('/') else { return false };
    !name.starts_with(QUOTA_PREFIX)
        && !name.contains("kubernetes.io/")
        && QUOTA_PREFIX.len() + domain.len() <= 253
        && domain.split('.').all(is_dns_label_part)
        && is_name_part(rest)
}

fn is_dns_label_part(part: &str) -> bool {
    let lower = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = part.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(&a), Some(&z)) if lower(a) && lower(z))
        && bytes.iter().all(|&b| lower(b) || b == b'-')
}

fn is_name_part(part: &str) -> bool {
    let bytes = part.as_bytes();
    bytes.len() <= 63
        && matches!((bytes.first(), bytes.last()), (Some(a), Some(z)) if a.is_ascii_alphanumeric() && z.is_ascii_alphanumeric())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::is_scalar;

    #[test]
    fn only_well_formed_names_are_counted() {
        for name in
            ["example.com/gpu", "hugepages-2Mi", "attachable-volumes-gce-pd", "x.kubernetes.io/y", "a-1.b/C_d.e"]
        {
            assert!(is_scalar(name), "{name}");
        }
        for name in [
            "gpu",
            "example.com/",
            "/gpu",
            "a/b/c",
            "requests.example.com/gpu",
            "Example.com/gpu",
            "-a.com/x",
            "a..b/x",
        ] {
            assert!(!is_scalar(name), "{name}");
        }
    }
}
