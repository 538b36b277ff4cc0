//! The limits of one call.

use std::time::Duration;

use super::Kind;

/// The limits of one call. [`Budget::for_kind`] has the defaults; settings and flags change them by
/// [`Limits::apply`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// Wall-clock time, over start and call. Executables of a hooks directory: 30 s; everything else: 3 s.
    pub wall: Duration,
    /// Fuel, about one per wasm instruction. Components only. 1 000 000 000.
    pub fuel: u64,
    /// Memory in bytes, over all memories of the call together. Components only. 64 MiB.
    pub memory: u64,
    /// Bytes of the answer, or of standard output. 4 MiB.
    pub output: usize,
    /// Bytes of standard error or the log; the rest is cut off. 64 KiB.
    pub log: usize,
    /// Bytes that host calls may copy out of the guest. Components only. 4 MiB.
    pub hostcall_copies: usize,
    /// Handles (resources) that may be open at once. Components only. 1 000.
    pub handles: usize,
    /// Elements of all tables together. Components only. 100 000.
    pub tables: usize,
}

/// The limit on a component's stack, in bytes. It belongs to the engine, so it is the same for all.
pub const STACK: usize = 512 << 10;

/// The largest component, in bytes.
pub const MAX_COMPONENT: u64 = 64 << 20;

/// The longest compilation of one component. A Python component of 18 MB takes 8 s, and a minute on a machine with other
/// work.
pub(crate) const COMPILE: Duration = Duration::from_secs(300);

/// The longest wait of an event for the components that are not compiled yet: three times as long as most components
/// take, and a fifth of the time that the bridge has.
pub(crate) const GRACE: Duration = Duration::from_secs(3);

impl Budget {
    /// Returns the defaults of this kind.
    pub fn for_kind(kind: Kind) -> Self {
        let wall = match kind {
            Kind::Native => Duration::from_secs(30),
            _ => Duration::from_secs(3),
        };
        Self {
            wall,
            fuel: 1_000_000_000,
            memory: 64 << 20,
            output: 4 << 20,
            log: 64 << 10,
            hostcall_copies: 4 << 20,
            handles: 1_000,
            tables: 100_000,
        }
    }

    /// Returns the budget with at most this wall-clock time.
    #[must_use]
    pub fn within(mut self, wall: Duration) -> Self {
        self.wall = self.wall.min(wall);
        self
    }
}

/// Limits that settings or a flag put in place of the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time of one hook.
    pub timeout: Option<Duration>,
    /// Fuel.
    pub fuel: Option<u64>,
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// Standard output in bytes.
    pub output: Option<usize>,
    /// Standard error and the log, in bytes.
    pub log: Option<usize>,
    /// Bytes that host calls may copy out of the guest.
    pub copies: Option<usize>,
    /// Handles that may be open at once.
    pub handles: Option<usize>,
    /// Elements of all tables.
    pub tables: Option<usize>,
}

impl Limits {
    /// Returns the budget with these limits.
    pub fn apply(&self, budget: Budget) -> Budget {
        self.combine(budget, Choose::Mine)
    }

    /// Returns the budget with those of these limits that are lower: a repository may not raise one.
    pub fn lower(&self, budget: Budget) -> Budget {
        self.combine(budget, Choose::Lower)
    }

    fn combine(&self, budget: Budget, choose: Choose) -> Budget {
        Budget {
            wall: choose.of(self.timeout, budget.wall),
            fuel: choose.of(self.fuel, budget.fuel),
            memory: choose.of(self.memory, budget.memory),
            output: choose.of(self.output, budget.output),
            log: choose.of(self.log, budget.log),
            hostcall_copies: choose.of(self.copies, budget.hostcall_copies),
            handles: choose.of(self.handles, budget.handles),
            tables: choose.of(self.tables, budget.tables),
        }
    }
}

#[derive(Clone, Copy)]
enum Choose {
    Mine,
    Lower,
}

impl Choose {
    fn of<T: Ord>(self, limit: Option<T>, default: T) -> T {
        match (limit, self) {
            (None, _) => default,
            (Some(limit), Self::Mine) => limit,
            (Some(limit), Self::Lower) => limit.min(default),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_can_lower_a_limit_but_not_raise_it() {
        let budget = Budget::for_kind(Kind::Component);
        let ask = Limits {
            timeout: Some(Duration::from_secs(60)),
            fuel: Some(5),
            memory: Some(1 << 40),
            ..Limits::default()
        };
        let lowered = ask.lower(budget);
        assert_eq!((lowered.wall, lowered.fuel, lowered.memory), (budget.wall, 5, budget.memory));
        assert_eq!(ask.apply(budget).wall, Duration::from_secs(60));
    }
}
