//! Trust by folder, as Gemini CLI (0.61), Qwen Code (0.24) and Copilot CLI (1.0) read it. They differ: in an untrusted
//! folder Gemini CLI runs no hook at all, and the others those of their user.

use std::path::{Path, PathBuf};

use jsonc_parser::ast::{Object, Value};

use super::Doctor;
use super::configured::{contents, shown};
use super::finding::Examination;
use crate::bridge::config::{Document, Level, file};
use crate::dialect::agent::Agent;
use crate::files::normalize_path;

/// Untrusts every folder in Gemini CLI.
const RESTRICTED: &str = "GEMINI_RESTRICTED_MODE";

/// Trusts every folder in Gemini CLI, or none.
const TRUST: &str = "GEMINI_CLI_TRUST_WORKSPACE";

/// The file of the rules, for Gemini CLI and for Qwen Code.
const FILES: [&str; 2] = ["GEMINI_CLI_TRUSTED_FOLDERS_PATH", "QWEN_CODE_TRUSTED_FOLDERS_PATH"];

/// With these Copilot CLI runs the hooks of a folder that nobody has trusted, where nobody sits before it.
const COPILOT: [&str; 2] = ["COPILOT_ALLOW_ALL", "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS"];

/// The variables that decide about trust by folder.
pub(super) const VARIABLES: [&str; 6] = [RESTRICTED, TRUST, FILES[0], FILES[1], COPILOT[0], COPILOT[1]];

impl Doctor {
    /// Whether the agent runs the hooks of this level in the project.
    pub(super) fn trusts_folder(&self, agent: Agent, level: Level, found: &mut Examination) {
        let is_gemini = agent == Agent::Gemini;
        if !is_gemini && level == Level::User {
            return;
        }
        let project = &self.surroundings.project;
        let skips = if is_gemini { "runs no hook there" } else { "skips its hooks" };
        let says = |name: &str, word: &str| is_gemini && self.variable(name).is_some_and(|it| it == word);
        if let Some((name, word)) =
            [(RESTRICTED, "true"), (TRUST, "false")].into_iter().find(|(name, word)| says(name, word))
        {
            let message = format!("{name}={word}: {} trusts no folder, and {skips}", agent.title());
            return found.fail("trust", message, "take the variable out of the environment");
        }
        if says(TRUST, "true") {
            return found
                .ok("trust", format!("{TRUST}=true: where it is set, Gemini CLI trusts every folder"));
        }
        let user = file(agent, Level::User, &self.surroundings);
        let settings = user.as_ref().and_then(|path| contents(path, found)).unwrap_or_default();
        let own = file(agent, Level::Project, &self.surroundings);
        let own = own.and_then(|path| contents(&path, found)).unwrap_or_default();
        if !asks(agent, &settings, &own) {
            return;
        }
        let named = self.variable(if is_gemini { FILES[0] } else { FILES[1] });
        let rules = match named {
            Some(path) => Some(project.join(path)),
            None => user.map(|path| path.with_file_name("trustedFolders.json")),
        };
        let rules = rules.and_then(|path| contents(&path, found)).unwrap_or_default();
        let shown = shown(project);
        if trusts(agent, &rules, project) {
            return found.ok("trust", format!("{} trusts the folder {shown}", agent.title()));
        }
        let mut hint = format!("start {agent} there and trust the folder: /permissions");
        if is_gemini {
            hint += &format!("; or set {TRUST}=true where nobody sits before it");
        }
        found.fail("trust", format!("{} does not trust {shown}, and {skips}", agent.title()), hint);
    }
}

impl Doctor {
    /// Whether Copilot CLI runs the hooks of the project.
    pub(super) fn copilot_trusts(&self, found: &mut Examination) {
        let is_set = |name: &&str| self.variable(name).is_some_and(|it| it == "true");
        if let Some(name) = COPILOT.into_iter().find(is_set) {
            let message = format!("{name}=true: where it is set, Copilot CLI runs the hooks of every folder");
            return found.ok("trust", message);
        }
        // The directory of its settings is the one of `hooks`.
        let user = file(Agent::Copilot, Level::User, &self.surroundings);
        let rules = user.as_deref().and_then(|path| path.ancestors().nth(2));
        let rules = rules.and_then(|own| contents(&own.join("config.json"), found)).unwrap_or_default();
        let shown = shown(self.project());
        if copilot_trusts(&rules, self.project()) {
            return found.ok("trust", format!("Copilot CLI trusts the folder {shown}"));
        }
        let message = format!("Copilot CLI does not trust {shown}, and skips its hooks");
        found.fail("trust", message, "start copilot there and trust the folder for future sessions");
    }
}

/// Whether one of the trusted folders of `config.json` is around this project. Older versions wrote the key otherwise.
fn copilot_trusts(config: &[u8], project: &Path) -> bool {
    // Copilot CLI writes comments into this file, and reads them.
    let Ok(document) = Document::parse(Agent::Gemini, config) else { return false };
    let lists = document.root.iter().flat_map(|root| {
        ["trustedFolders", "trusted_folders"].into_iter().filter_map(|name| last(root, name)?.as_array())
    });
    let folders = lists.flat_map(|list| &list.elements).filter_map(Value::as_string_lit);
    let whole = real(project);
    folders
        .map(|it| Path::new(it.value.as_ref()))
        .filter(|it| it.is_absolute())
        .any(|it| whole.starts_with(real(it)))
}

/// Whether the agent asks for trust at all: by the user's settings and, in a folder that these trust, the project's.
fn asks(agent: Agent, user: &[u8], project: &[u8]) -> bool {
    let is_default = agent == Agent::Gemini;
    setting(agent, user).unwrap_or(is_default) || setting(agent, project) == Some(true)
}

/// `security.folderTrust.enabled`; what is no boolean counts as JavaScript counts it.
fn setting(agent: Agent, settings: &[u8]) -> Option<bool> {
    let document = Document::parse(agent, settings).ok()?;
    let object = |object: &'_ Value<'_>| matches!(object, Value::Object(_));
    let security = last(document.root.as_ref()?, "security").filter(|it| object(it))?.as_object()?;
    let folders = last(security, "folderTrust").filter(|it| object(it))?.as_object()?;
    match last(folders, "enabled")? {
        Value::BooleanLit(it) => Some(it.value),
        Value::NullKeyword(_) => None,
        _ => Some(true),
    }
}

/// What a parser takes of a name that is there twice.
fn last<'o, 'a>(object: &'o Object<'a>, name: &str) -> Option<&'o Value<'a>> {
    object.properties.iter().rev().find(|it| it.name.as_str() == name).map(|it| &it.value)
}

/// A rule of `trustedFolders.json`.
struct Rule {
    /// The path that stands there.
    path: PathBuf,
    /// The folder that it is for, with everything below.
    folder: PathBuf,
    is_trusted: bool,
}

/// Whether the file of the rules trusts this project. In Gemini CLI the longest path counts, as it is written; in Qwen
/// Code the deepest folder, and of two the one that is not trusted.
fn trusts(agent: Agent, rules: &[u8], project: &Path) -> bool {
    let whole = real(project);
    let rules = read(agent, rules, project);
    let concerns = rules.iter().filter_map(|rule| {
        let folders = [&rule.folder, &real(&rule.folder)].map(|it| it.to_owned());
        let is_around = |folder: &&PathBuf| {
            let is_literal = agent == Agent::Qwen && project.starts_with(folder);
            is_literal || whole.starts_with(folder)
        };
        let depth = match agent {
            Agent::Qwen => folders.iter().filter(is_around).map(|it| it.components().count()).max()?,
            _ => {
                folders.last().filter(is_around)?;
                rule.path.to_string_lossy().encode_utf16().count()
            }
        };
        Some((depth, !rule.is_trusted))
    });
    concerns.max().is_some_and(|(_, is_untrusted)| !is_untrusted)
}

fn read(agent: Agent, rules: &[u8], project: &Path) -> Vec<Rule> {
    let Ok(document) = Document::parse(agent, rules) else { return Vec::new() };
    let properties = document.root.as_ref().map(|it| it.properties.as_slice()).unwrap_or_default();
    let mut rules: Vec<Rule> = Vec::new();
    for property in properties {
        let path = normalize_path(&project.join(property.name.as_str()));
        let parent = || path.parent().unwrap_or(&path).to_owned();
        let (folder, is_trusted) = match property.value.as_string_lit().map(|it| it.value.as_ref()) {
            Some("TRUST_FOLDER") => (path.clone(), true),
            Some("TRUST_PARENT") => (parent(), true),
            Some("DO_NOT_TRUST") => (path.clone(), false),
            _ => continue,
        };
        rules.retain(|it| it.path != path);
        rules.push(Rule { path, folder, is_trusted });
    }
    rules
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
                assert_eq!(
                    asks(agent, user.as_bytes(), project.as_bytes()),
                    want,
                    "{agent} {user} {project}"
                );
            }
        }
    }

    #[test]
    fn a_folder_is_trusted_by_the_nearest_rule() {
        let project = Path::new("/nowhere/shop/api");
        for (rules, gemini, qwen) in [
            (json!({}), false, false),
            (json!([]), false, false),
            (json!({"/nowhere/shop": "TRUST_FOLDER"}), true, true),
            (json!({"/nowhere/shop": "trust_folder"}), false, false),
            (json!({"/nowhere/other/../shop/": "TRUST_FOLDER"}), true, true),
            (json!({"/nowhere/shop/web": "TRUST_PARENT"}), true, true),
            (json!({"/nowhere/shop": "TRUST_FOLDER", "/nowhere/shop/api": "DO_NOT_TRUST"}), false, false),
            (json!({"/nowhere/shopping": "TRUST_FOLDER"}), false, false),
            (json!({"/nowhere/shop/api": "TRUST_FOLDER", "/nowhere": "DO_NOT_TRUST"}), true, true),
            // One looks at what is written, and one at what it means.
            (json!({"/nowhere/shop": "DO_NOT_TRUST", "/nowhere/shop/web": "TRUST_PARENT"}), true, false),
        ] {
            for (agent, want) in [(Agent::Gemini, gemini), (Agent::Qwen, qwen)] {
                assert_eq!(trusts(agent, rules.to_string().as_bytes(), project), want, "{agent} {rules}");
            }
        }
        assert!(trusts(Agent::Gemini, b"{\"/nowhere\": \"TRUST_FOLDER\" /* all */}", project));
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
            assert_eq!(copilot_trusts(config.replace("\\n", "\n").as_bytes(), project), want, "{config}");
        }
    }

    #[test]
    fn a_rule_holds_for_the_folder_that_a_link_leads_to() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        std::fs::create_dir(place.join("real")).unwrap();
        std::os::unix::fs::symlink(place.join("real"), place.join("link")).unwrap();
        let rules = json!({place.to_string_lossy().as_ref(): "TRUST_FOLDER", place.join("link").to_string_lossy().as_ref(): "DO_NOT_TRUST"});
        for agent in [Agent::Gemini, Agent::Qwen] {
            assert!(!trusts(agent, rules.to_string().as_bytes(), &place.join("real")), "{agent}");
        }
    }
}
