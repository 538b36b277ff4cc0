//! Trust by folder, as seen in Gemini CLI 0.61, Qwen Code 0.24 and Copilot CLI 1.0. In an untrusted folder
//! Gemini CLI runs no hook at all; the other two still run those of their user.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agent::Agent;
use crate::bridge::doctor::Doctor;
use crate::bridge::doctor::configured::{contents, shown};
use crate::config::{Level, file, value};
use crate::files::normalize_path;
use crate::finding::Examination;

/// Untrusts every folder in Gemini CLI.
const RESTRICTED: &str = "GEMINI_RESTRICTED_MODE";

/// Trusts every folder in Gemini CLI, or none.
const TRUST: &str = "GEMINI_CLI_TRUST_WORKSPACE";

/// The file of the rules, for Gemini CLI and for Qwen Code.
const FILES: [&str; 2] = ["GEMINI_CLI_TRUSTED_FOLDERS_PATH", "QWEN_CODE_TRUSTED_FOLDERS_PATH"];

/// With these Copilot CLI runs the hooks of an untrusted folder when it runs without a terminal.
const COPILOT: [&str; 2] = ["COPILOT_ALLOW_ALL", "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS"];

/// The variables that decide about trust by folder.
pub(crate) const VARIABLES: [&str; 6] = [RESTRICTED, TRUST, FILES[0], FILES[1], COPILOT[0], COPILOT[1]];

impl Doctor {
    /// Checks that Gemini CLI or Qwen Code runs the hooks of this level in the project.
    pub(crate) fn check_folder(&self, agent: Agent, level: Level, found: &mut Examination) {
        let is_gemini = agent == Agent::Gemini;
        if !is_gemini && level == Level::User {
            return;
        }
        let skips = if is_gemini { "runs no hook there" } else { "skips its hooks" };
        let is_set = |name: &str, word: &str| is_gemini && self.variable(name).is_some_and(|it| it == word);
        for (name, word) in [(RESTRICTED, "true"), (TRUST, "false")] {
            if is_set(name, word) {
                let message = format!("{name}={word}: Gemini CLI trusts no folder, and {skips}");
                return found.fail("trust", message, "remove the variable from the environment");
            }
        }
        if is_set(TRUST, "true") {
            return found.ok("trust", format!("{TRUST}=true: with it Gemini CLI trusts every folder"));
        }
        let mut read = |path: Option<PathBuf>| {
            path.and_then(|path| contents(&path, found)).map_or(Value::Null, |bytes| value(agent, &bytes))
        };
        let user = file(agent, Level::User, &self.surroundings);
        let (of_user, of_project) =
            (read(user.clone()), read(file(agent, Level::Project, &self.surroundings)));
        if !is_asked(&of_user, &of_project, is_gemini) {
            return;
        }
        let rules = match self.variable(if is_gemini { FILES[0] } else { FILES[1] }) {
            Some(path) => Some(self.project().join(path)),
            None => user.map(|path| path.with_file_name("trustedFolders.json")),
        };
        let shown = shown(self.project());
        if is_trusted(&read(rules), self.project()) {
            return found.ok("trust", format!("{} trusts the folder {shown}", agent.title()));
        }
        let mut hint = format!("start {agent} there and trust the folder: /permissions");
        if is_gemini {
            hint += &format!("; or set {TRUST}=true if it runs without a terminal");
        }
        found.fail("trust", format!("{} does not trust {shown}, and {skips}", agent.title()), hint);
    }

    /// Checks that Copilot CLI runs the hooks of the project.
    pub(crate) fn check_copilot_folder(&self, found: &mut Examination) {
        let is_set = |name: &&str| self.variable(name).is_some_and(|it| it == "true");
        if let Some(name) = COPILOT.into_iter().find(is_set) {
            let message = format!("{name}=true: with it Copilot CLI runs the hooks of every folder");
            return found.ok("trust", message);
        }
        // `config.json` lies beside the directory of hooks.
        let user = file(Agent::Copilot, Level::User, &self.surroundings);
        let config = user.as_deref().and_then(|path| path.ancestors().nth(2));
        let config = config.and_then(|own| contents(&own.join("config.json"), found)).unwrap_or_default();
        let shown = shown(self.project());
        if is_in_copilots_list(&config, self.project()) {
            return found.ok("trust", format!("Copilot CLI trusts the folder {shown}"));
        }
        let message = format!("Copilot CLI does not trust {shown}, and skips its hooks");
        found.fail("trust", message, "start copilot there and trust the folder for future sessions");
    }
}

/// Returns true if one of the trusted folders of `config.json` contains this project. Copilot CLI 1.0 also
/// reads the older spelling of the key.
fn is_in_copilots_list(config: &[u8], project: &Path) -> bool {
    // Copilot CLI writes comments into this file, though it reads none in its settings.
    let config = value(Agent::Gemini, config);
    let lists = ["trustedFolders", "trusted_folders"].map(|key| config.get(key).and_then(Value::as_array));
    let folders = lists.into_iter().flatten().flatten().filter_map(Value::as_str).map(Path::new);
    let project = real(project);
    folders.filter(|it| it.is_absolute()).any(|it| project.starts_with(real(it)))
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

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            for (agent, want) in [(Agent::Gemini, gemini), (Agent::Qwen, qwen)] {
                let settings = [&user, &project].map(|it| value(agent, it.as_bytes()));
                let is_asked = is_asked(&settings[0], &settings[1], agent == Agent::Gemini);
                assert_eq!(is_asked, want, "{agent} {user} {project}");
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
        let rules = value(Agent::Gemini, b"{\"/nowhere\": \"TRUST_FOLDER\" /* all */}");
        assert!(is_trusted(&rules, project));
    }

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
            assert_eq!(
                is_in_copilots_list(config.replace("\\n", "\n").as_bytes(), project),
                want,
                "{config}"
            );
        }
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
