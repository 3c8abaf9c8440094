//! The same node in a simulated world: a disk that fails as disks do, under the unchanged store.

pub mod dice;
pub mod disk;
pub mod workload;
