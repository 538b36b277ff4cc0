//! The parts that Gemini CLI and Qwen Code share.

use std::path::{Path, PathBuf};

use crate::agent::Agent;
use crate::config::{file, json_value};
use crate::dialect::hook_output;
use crate::files::normalize_path;
use crate::finding::{contents, has, real, shown, variable};
use crate::spec::prelude::*;

/// The setting that switches all hooks off.
pub(crate) const ENABLED: DisableSetting = DisableSetting {
    within: Some("hooksConfig"),
    key: "enabled",
    leaves_out: LeavesOut::All(false),
    shown: "\"hooksConfig\": {\"enabled\": false}",
};

/// The setting that switches single hooks off.
pub(crate) const DISABLED: DisableSetting = DisableSetting {
    within: Some("hooksConfig"),
    key: "disabled",
    leaves_out: LeavesOut::Named,
    shown: "\"hooksConfig\": {\"disabled\": […]}",
};

/// The words of a command line that switch hooks off.
pub(crate) const DOCTOR: DoctorRules = DoctorRules { off_words: &["hooks disable"], ..DoctorRules::BASE };

/// The style of an answer in Qwen Code. Gemini CLI's differs in a few fields.
pub(crate) const STYLE: Style = Style {
    approving: &["approve", "allow", "ask"],
    decisions: "\"block\", \"deny\", \"ask\", \"allow\" or \"approve\"",
    allows: false,
    names_event: false,
    text: Text::Context,
    ..claude::CLAUDE
};

/// Reads the answer of a hook that ended with status 0. Without standard output, the answer may be on
/// standard error. An answer may also be JSON in a string.
pub(crate) fn printed(event: &EventName, ended: Ended<'_>, style: &Style) -> Result<Outcome, HookError> {
    let stdout = ended.stdout;
    let inner =
        serde_json::from_slice::<String>(stdout.trim_ascii()).ok().filter(|it| it.trim().starts_with('{'));
    if let Some(inner) = inner {
        return claude::read(event, inner.as_bytes(), style);
    }
    if stdout.trim_ascii().is_empty()
        && let Some(answer) = answer_in(ended.stderr.as_bytes(), event, style)
    {
        return Ok(answer);
    }
    claude::read(event, stdout, style)
}

/// Returns the answer in an output, if there is one.
pub(crate) fn answer_in(printed: &[u8], event: &EventName, style: &Style) -> Option<Outcome> {
    let is_object = hook_output::trim(&String::from_utf8_lossy(printed)).starts_with('{');
    is_object.then(|| claude::read(event, printed, style).ok()).flatten()
}

/// Untrusts every folder in Gemini CLI.
const RESTRICTED: &str = "GEMINI_RESTRICTED_MODE";

/// Trusts every folder in Gemini CLI, or none.
const TRUST: &str = "GEMINI_CLI_TRUST_WORKSPACE";

/// The file of the rules for Gemini CLI.
const GEMINI_RULES: &str = "GEMINI_CLI_TRUSTED_FOLDERS_PATH";

/// The file of the rules for Qwen Code.
const QWEN_RULES: &str = "QWEN_CODE_TRUSTED_FOLDERS_PATH";

/// Checks that Gemini CLI runs hooks in the project.
pub(crate) fn check_gemini(conditions: &Conditions<'_>, found: &mut Examination) {
    let skips = "runs no hook there";
    for (name, word) in [(RESTRICTED, "true"), (TRUST, "false")] {
        if has(name, word) {
            let message = format!("{name}={word}: Gemini CLI trusts no folder, and {skips}");
            return found.fail("trust", message, "remove the variable from the environment");
        }
    }
    if has(TRUST, "true") {
        return found.ok("trust", format!("{TRUST}=true: with it Gemini CLI trusts every folder"));
    }
    let more = format!("; or set {TRUST}=true if it runs without a terminal");
    check(Agent::Gemini, conditions, (GEMINI_RULES, true), (skips, &more), found);
}

/// Checks that Qwen Code runs the hooks of the project.
pub(crate) fn check_qwen(conditions: &Conditions<'_>, found: &mut Examination) {
    if conditions.level.is_in_project() {
        check(Agent::Qwen, conditions, (QWEN_RULES, false), ("skips its hooks", ""), found);
    }
}

/// Checks the rule for the project. `rules` are the variable with the file of the rules, and whether the
/// agent asks for trust by default; `words` are the consequence, and the end of the hint.
///
/// Trust by folder, as seen in Gemini CLI 0.61 and Qwen Code 0.24. In an untrusted folder Gemini CLI runs no
/// hook at all; Qwen Code still runs those of its user.
fn check(
    agent: Agent,
    conditions: &Conditions<'_>,
    (rules, by_default): (&str, bool),
    (skips, more): (&str, &str),
    found: &mut Examination,
) {
    let mut read = |path: Option<PathBuf>| {
        path.and_then(|path| contents(&path, found)).map_or(Value::Null, |bytes| json_value(&bytes))
    };
    let file = |level| file(agent, level, conditions.surroundings);
    if !is_asked(&read(file(Level::User)), &read(file(Level::Project)), by_default) {
        return;
    }
    let rules = match variable(rules) {
        Some(path) => Some(conditions.project().join(path)),
        None => file(Level::User).map(|path| path.with_file_name("trustedFolders.json")),
    };
    let is_trusted = is_trusted(&read(rules), conditions.project());
    let (title, shown) = (agent.title(), shown(conditions.project()));
    if is_trusted {
        return found.ok("trust", format!("{title} trusts the folder {shown}"));
    }
    let hint = format!("start {} there and trust the folder: /permissions{more}", agent);
    found.fail("trust", format!("{title} does not trust {shown}, and {skips}"), hint);
}

/// Returns true if the agent asks for trust: `security.folderTrust.enabled` of the user, or of the project,
/// which can only ask for more. A value that is not a boolean counts as true, as in JavaScript.
fn is_asked(user: &Value, project: &Value, by_default: bool) -> bool {
    let setting = |settings: &Value| match settings.pointer("/security/folderTrust/enabled") {
        None | Some(Value::Null) => None,
        Some(value) => Some(*value != Value::Bool(false)),
    };
    setting(user).unwrap_or(by_default) || setting(project) == Some(true)
}

/// Returns true if the rules of `trustedFolders.json` trust this project: the rule for the deepest folder
/// around it counts. Of two rules for one folder the agents take one or the other; here it is not trusted
/// then.
fn is_trusted(rules: &Value, project: &Path) -> bool {
    let whole = real(project);
    let around = rules.as_object().into_iter().flatten().filter_map(|(path, rule)| {
        let path = normalize_path(&project.join(path));
        let (folder, is_trusted) = match rule.as_str()? {
            "TRUST_FOLDER" => (path.as_path(), true),
            "TRUST_PARENT" => (path.parent().unwrap_or(&path), true),
            "DO_NOT_TRUST" => (path.as_path(), false),
            _ => return None,
        };
        let folder = real(folder);
        whole.starts_with(&folder).then(|| (folder.components().count(), !is_trusted))
    });
    around.max().is_some_and(|(_, is_untrusted)| !is_untrusted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn gemini_asks_for_trust_unless_its_user_says_no_and_qwen_where_its_user_says_yes() {
        let set =
            |enabled: &str| format!("{{\"security\": {{\"folderTrust\": {{\"enabled\": {enabled}}}}}}}");
        for (user, project, gemini, qwen) in [
            (String::new(), String::new(), true, false),
            ("{}".to_owned(), "[".to_owned(), true, false),
            ("{\"security\": true}".to_owned(), String::new(), true, false),
            (set("true /* yes */"), String::new(), true, true),
            (set("null"), String::new(), true, false),
            (set("\"false\""), String::new(), true, true),
            (set("false"), String::new(), false, false),
            (set("true, \"enabled\": false"), String::new(), false, false),
            // A project can ask for more trust, and not for less.
            (set("false"), set("true"), true, true),
            (String::new(), set("false"), true, false),
            (set("true"), set("false"), true, true),
        ] {
            for (by_default, want) in [(true, gemini), (false, qwen)] {
                let settings = [&user, &project].map(|it| json_value(it.as_bytes()));
                let is_asked = is_asked(&settings[0], &settings[1], by_default);
                assert_eq!(is_asked, want, "{by_default} {user} {project}");
            }
        }
    }

    #[test]
    fn a_folder_is_trusted_by_the_nearest_rule() {
        let project = Path::new("/nowhere/shop/api");
        for (rules, want) in [
            (json!({}), false),
            (json!([]), false),
            (json!({"/nowhere/shop": "TRUST_FOLDER"}), true),
            (json!({"/nowhere/shop": "trust_folder"}), false),
            (json!({"/nowhere/other/../shop/": "TRUST_FOLDER"}), true),
            (json!({"/nowhere/shop/web": "TRUST_PARENT"}), true),
            (json!({"/nowhere/shop": "TRUST_FOLDER", "/nowhere/shop/api": "DO_NOT_TRUST"}), false),
            (json!({"/nowhere/shopping": "TRUST_FOLDER"}), false),
            (json!({"/nowhere/shop/api": "TRUST_FOLDER", "/nowhere": "DO_NOT_TRUST"}), true),
            (json!({"/nowhere/shop": "DO_NOT_TRUST", "/nowhere/shop/web": "TRUST_PARENT"}), false),
        ] {
            assert_eq!(is_trusted(&rules, project), want, "{rules}");
        }
        let rules = json_value(b"{\"/nowhere\": \"TRUST_FOLDER\" /* all */}");
        assert!(is_trusted(&rules, project));
    }

    #[test]
    fn a_rule_holds_for_the_folder_that_a_link_leads_to() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        std::fs::create_dir(place.join("real")).unwrap();
        std::os::unix::fs::symlink(place.join("real"), place.join("link")).unwrap();
        let rules = json!({place.to_string_lossy().as_ref(): "TRUST_FOLDER", place.join("link").to_string_lossy().as_ref(): "DO_NOT_TRUST"});
        assert!(!is_trusted(&rules, &place.join("real")));
    }
}
