//! Settings by which an agent leaves out hooks that stand in its configuration: the one table of them.

use super::Agent;

/// What a setting leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeavesOut {
    /// Every hook, where it is this.
    All(bool),
    /// Every hook but the organisation's, where it is true.
    AllButManaged,
    /// Those whose name or command line stands in its list.
    Named,
}

/// A setting that leaves hooks out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The object in which it stands; `None` where that is the whole file.
    pub(crate) within: Option<&'static str>,
    /// Its key.
    pub(crate) key: &'static str,
    /// What it leaves out.
    pub(crate) leaves_out: LeavesOut,
    /// The setting where it leaves something out, as a person would write it.
    pub(crate) shown: &'static str,
}

const DISABLE_ALL: Setting = Setting {
    within: None,
    key: "disableAllHooks",
    leaves_out: LeavesOut::All(true),
    shown: "\"disableAllHooks\": true",
};

const ENABLED: Setting = Setting {
    within: Some("hooksConfig"),
    key: "enabled",
    leaves_out: LeavesOut::All(false),
    shown: "\"hooksConfig\": {\"enabled\": false}",
};

const DISABLED: Setting = Setting {
    within: Some("hooksConfig"),
    key: "disabled",
    leaves_out: LeavesOut::Named,
    shown: "\"hooksConfig\": {\"disabled\": […]}",
};

const MANAGED: Setting = Setting {
    within: None,
    key: "allowManagedHooksOnly",
    leaves_out: LeavesOut::AllButManaged,
    shown: "\"allowManagedHooksOnly\": true",
};

const NAMED: Setting =
    Setting { within: None, key: "disabledHooks", leaves_out: LeavesOut::Named, shown: "\"disabledHooks\"" };

impl Agent {
    /// What leaves its hooks out, in the JSON that holds them.
    pub(crate) fn switches(self) -> &'static [Setting] {
        match self {
            Self::Claude => const { &[DISABLE_ALL, MANAGED] },
            Self::Gemini => const { &[ENABLED, DISABLED] },
            Self::Qwen => const { &[DISABLE_ALL, ENABLED, DISABLED] },
            Self::Copilot => const { &[DISABLE_ALL, NAMED] },
            Self::Codex | Self::Cursor | Self::OpenCode => &[],
        }
    }

    /// Whether a key of `hooks` is no event: settings stood there once, and the agent passes over them.
    pub(crate) fn is_no_event(self, key: &str) -> bool {
        matches!(self, Self::Gemini | Self::Qwen) && matches!(key, "enabled" | "disabled" | "notifications")
    }
}
