//! Trust in what a repository brought.

/// Which hooks of a repository run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustPolicy {
    /// Those that the user has trusted. Native hooks of a repository do not run otherwise; its components run
    /// with nothing granted and may only pass, ask, block and warn.
    #[default]
    Recorded,
    /// All of them, with all their rights: a drop-in replacement for an agent that trusted repositories anyway.
    All,
}
