//! Bounds that the crates share, each named by what it protects. What a bound covers needs no second one.

use std::time::Duration;

/// The largest small file, in bytes: settings, declarations, manifests, notes. It bounds each list and text in the file,
/// too. Registries must accept a manifest of as many bytes (OCI distribution specification 1.1).
pub const FILE: u64 = 4 << 20;

/// The longest path, in bytes (Linux: `PATH_MAX`), and the longest name that is a path as a rule.
pub const PATH: usize = 4096;

/// The longest message that a person or a log gets, in bytes.
pub const MESSAGE: usize = 2_000;

/// The longest part of somebody else's text within a message, in bytes.
pub const EXCERPT: usize = 400;

/// The longest key, name or value within a sentence, in bytes.
pub const WORD: usize = 80;

/// The number of things of one kind that a person is told one by one. The rest is counted.
pub const NAMED: usize = 20;

/// The size of one read, in bytes: the capacity of a pipe on Linux.
pub const CHUNK: usize = 64 << 10;

/// A day.
pub const DAY: Duration = Duration::from_hours(24);
