//! Trust by folder in Copilot CLI, as seen in 1.0. In an untrusted folder it runs only the hooks of its user.

use std::path::Path;

use serde_json::Value;

use crate::agent::Agent;
use crate::conditions::{contents, has, real, shown};
use crate::config::{file, json_value};
use crate::finding::Examination;
use crate::spec::Conditions;
use crate::spec::places::Level;

/// With one of these variables, it runs the hooks of an untrusted folder when it runs without a terminal.
const VARIABLES: [&str; 2] = ["COPILOT_ALLOW_ALL", "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS"];

/// Checks that Copilot CLI runs the hooks of the project.
pub(super) fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    if conditions.level == Level::User {
        return;
    }
    if let Some(name) = VARIABLES.into_iter().find(|name| has(name, "true")) {
        let message = format!("{name}=true: with it Copilot CLI runs the hooks of every folder");
        return found.ok("trust", message);
    }
    // `config.json` is beside the directory of hooks.
    let user = file(Agent::Copilot, Level::User, conditions.surroundings);
    let directory = user.as_deref().and_then(|path| path.ancestors().nth(2));
    let config = directory.and_then(|it| contents(&it.join("config.json"), found)).unwrap_or_default();
    let shown = shown(conditions.project());
    if is_in_list(&config, conditions.project()) {
        return found.ok("trust", format!("Copilot CLI trusts the folder {shown}"));
    }
    let message = format!("Copilot CLI does not trust {shown}, and skips its hooks");
    found.fail("trust", message, "start copilot there and trust the folder for future sessions");
}

/// Returns true if one of the trusted folders of `config.json` contains this project. Copilot CLI 1.0 also
/// reads the older spelling of the key.
fn is_in_list(config: &[u8], project: &Path) -> bool {
    // Copilot CLI writes comments into this file, though it reads none in its settings.
    let config = json_value(config);
    let lists = ["trustedFolders", "trusted_folders"].map(|key| config.get(key).and_then(Value::as_array));
    let folders = lists.into_iter().flatten().flatten().filter_map(Value::as_str).map(Path::new);
    let project = real(project);
    folders.filter(|it| it.is_absolute()).any(|it| project.starts_with(real(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copilot_trusts_what_is_below_a_folder_of_its_list() {
        let project = Path::new("/nowhere/shop/api");
        for (config, want) in [
            (r#"// mine\n{"trustedFolders": ["/nowhere/shop"]}"#, true),
            (r#"{"trusted_folders": ["/other", "/nowhere/shop/api"]}"#, true),
            (r#"{"trusted_folders": [], "trustedFolders": ["/nowhere"]}"#, true),
            (r#"{"trustedFolders": ["/nowhere/shopping", "/nowhere/shop/api/deep", "shop", "", 5]}"#, false),
            (r#"{"trustedFolders": "/nowhere"}"#, false),
            ("[", false),
            ("", false),
        ] {
            assert_eq!(is_in_list(config.replace("\\n", "\n").as_bytes(), project), want, "{config}");
        }
    }
}
