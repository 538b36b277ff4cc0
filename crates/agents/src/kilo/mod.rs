//! Kilo's CLI, checked with 7.7: OpenCode under another name, with directories of its own. It loads OpenCode's plugins.

use crate::opencode;
use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "kilo",
    title: "Kilo",
    // It sets OpenCode's variables as well.
    process: ProcessSigns {
        variables: &["KILO", "KILO_PID"],
        packages: &["@kilocode/cli"],
        ..ProcessSigns::of(&["kilo"])
    },
    places: &[
        at(HOME, ".config/kilo/plugins", Holds::Plugins),
        at(HOME, ".config/kilo/plugin", Holds::Plugins),
        at(HOME, ".kilo/plugins", Holds::Plugins),
        at(HOME, ".kilocode/plugins", Holds::Plugins),
        at(HOME, ".config/kilo/kilo.json", Holds::Beside),
        at(HOME, ".config/kilo/kilo.jsonc", Holds::Beside),
        at(PROJECT, ".kilo/plugins", Holds::Plugins),
        at(PROJECT, ".kilocode/plugin", Holds::Plugins),
        at(PROJECT, ".kilo/kilo.json", Holds::Beside),
        at(PROJECT, ".kilo/kilo.jsonc", Holds::Beside),
        at(PROJECT, "kilo.json", Holds::Beside),
        at(PROJECT, "kilo.jsonc", Holds::Beside),
    ],
    command_files: &[],
    plugin: Some(PluginFile { text: opencode::plugin!("kilo"), ..opencode::PLUGIN }),
    doctor: DoctorRules { off_variable: Some("KILO_PURE"), off_words: &["--pure"], ..DoctorRules::BASE },
    ..opencode::BASE
};
