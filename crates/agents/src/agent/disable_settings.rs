//! Settings by which an agent leaves out hooks of its configuration.

/// The hooks that a setting leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeavesOut {
    /// All, if the setting has this value.
    All(bool),
    /// All but the organization's, if it is true.
    AllButManaged,
    /// Those whose name or command line is in its list.
    Named,
}

/// A setting that leaves hooks out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DisableSetting {
    /// The object that contains it; `None` for the root of the file.
    pub(crate) within: Option<&'static str>,
    /// Its key.
    pub(crate) key: &'static str,
    /// The hooks that it leaves out.
    pub(crate) leaves_out: LeavesOut,
    /// The setting with an effect, as a person would write it.
    pub(crate) shown: &'static str,
}

impl DisableSetting {
    /// `disableAllHooks`, which several agents have.
    pub(crate) const ALL: Self = Self {
        within: None,
        key: "disableAllHooks",
        leaves_out: LeavesOut::All(true),
        shown: "\"disableAllHooks\": true",
    };
}
