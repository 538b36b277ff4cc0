//! Codex's trust in hooks and projects, as Codex 0.169 records it in its `config.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::config::entry::Entry;
use crate::finding::{Examination, contents_of, real, repository_root, shown};
use crate::hook::Digest;
use crate::spec::Conditions;
use crate::spec::places::Level;

/// Checks that Codex trusts the project and the entry: it skips an entry that it does not trust, and says
/// nothing.
pub(super) fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    if conditions.level == Level::System {
        return found.ok("trust", "Codex trusts the system's hooks");
    }
    // The trust is in the directory that contains `.codex`.
    let project = conditions.file.ancestors().nth(2).unwrap_or(conditions.project());
    if conditions.level != Level::User && !trusts_project(conditions.settings, project) {
        let message = format!("Codex does not trust {}, and skips its hooks", shown(project));
        found.fail("trust", message, "start codex there and trust the project");
    }
    let (message, hint) = match trust_in_entry(conditions.settings, conditions.file, conditions.entry) {
        Trust::Trusted => return found.ok("trust", "Codex trusts the command"),
        Trust::Unknown => ("does not trust the command yet, and skips it silently", "trust the command"),
        Trust::Changed => (
            "does not trust the command as it is now, and skips it silently",
            "trust the command; if it is listed as trusted, this Codex is newer than this check (0.169)",
        ),
        Trust::Disabled => ("has switched off the command", "enable the command"),
    };
    let hint = format!("start codex, enter /hooks, and {hint}");
    found.fail("trust", format!("Codex {message}: {}", conditions.place), hint);
}

/// Codex's trust in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Trusted,
    /// It was never approved.
    Unknown,
    /// Another state of it was approved; a Codex that computes its hash in another way looks the same.
    Changed,
    /// Its user has switched it off.
    Disabled,
}

/// Returns Codex's trust in an entry of this `hooks.json`. Codex skips an entry that is not trusted, and says
/// nothing.
fn trust_in_entry(config: &toml::Table, file: &Path, entry: &Entry) -> Trust {
    let (event, (group, at)) = (snake_case(&entry.event), entry.position);
    let state = config.get("hooks").and_then(|it| it.get("state")).and_then(toml::Value::as_table);
    let recorded = [file, &real(file)].iter().find_map(|file| {
        let key = format!("{}:{event}:{group}:{at}", file.to_string_lossy());
        state?.get(&key)?.as_table()
    });
    let Some(recorded) = recorded else { return Trust::Unknown };
    if recorded.get("enabled").and_then(toml::Value::as_bool) == Some(false) {
        return Trust::Disabled;
    }
    match recorded.get("trusted_hash").and_then(toml::Value::as_str) {
        None => Trust::Unknown,
        Some(hash) if hash == entry_hash(entry) => Trust::Trusted,
        Some(_) => Trust::Changed,
    }
}

/// Returns the hash by which Codex knows an entry: of compact JSON with sorted keys and every default filled
/// in.
fn entry_hash(entry: &Entry) -> String {
    let mut hook: BTreeMap<&str, Value> = BTreeMap::from([
        ("async", entry.is_in_background().into()),
        ("command", entry.command.as_str().into()),
        ("timeout", entry.timeout.as_secs().max(1).into()),
        ("type", "command".into()),
    ]);
    let extra = |key: &str| entry.extra.get(key).cloned();
    hook.extend(extra("statusMessage").filter(Value::is_string).map(|it| ("statusMessage", it)));
    hook.extend(
        extra("additionalContextLimit").filter(Value::is_u64).map(|it| ("additionalContextLimit", it)),
    );
    let mut whole =
        BTreeMap::from([("event_name", json!(snake_case(&entry.event))), ("hooks", json!([hook]))]);
    whole.extend(entry.matcher.as_deref().map(|it| ("matcher", it.into())));
    Digest::of(json!(whole).to_string().as_bytes()).to_string()
}

/// Returns `PreToolUse` as `pre_tool_use`.
fn snake_case(event: &str) -> String {
    let mut snake = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Returns true if Codex reads hooks from this directory of a project. The level of the directory counts,
/// then that of the repository's root, then that of the repository that the worktree belongs to.
fn trusts_project(config: &toml::Table, directory: &Path) -> bool {
    let projects = config.get("projects").and_then(toml::Value::as_table);
    let level = |path: &Path| projects?.get(path.to_str()?)?.get("trust_level")?.as_str();
    let root = repository_root(directory);
    let main = root.and_then(main_worktree);
    let mut directories = [Some(directory), root, main.as_deref()].into_iter().flatten();
    let known = directories.find_map(|path| level(path).or_else(|| level(&path.canonicalize().ok()?)));
    known == Some("trusted")
}

/// Returns the repository that a worktree belongs to, by its file `.git`.
fn main_worktree(root: &Path) -> Option<PathBuf> {
    let text = contents_of(&root.join(".git")).ok()?;
    let git = str::from_utf8(&text).ok()?.strip_prefix("gitdir:")?.trim();
    let (main, _) = git.split_once("/.git/worktrees/")?;
    Some(PathBuf::from(main))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;
    use crate::config::read;

    fn entry(text: &str) -> Entry {
        let text = format!(r#"{{"hooks": {{"PreToolUse": [{text}]}}}}"#);
        read(Agent::Codex, text.as_bytes()).unwrap().entries.remove(0)
    }

    #[test]
    fn the_hash_is_the_one_that_the_real_codex_lists() {
        for (text, want) in [
            (
                r#"{"hooks": [{"type": "command", "command": "hookbox bridge codex", "timeout": 20}]}"#,
                "sha256:b67e374286e4e11419774bce44a4df5318d97fa78d56f46471969e9f0d010ce7",
            ),
            (
                r#"{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}"#,
                "sha256:39057ebd30cc98418da09c661f1ff844e076ba83820ea7f8a14b085993f1a440",
            ),
            (
                r#"{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo \"é\" \\ x", "timeout": 5, "statusMessage": "hi"}]}"#,
                "sha256:a56610a6cc41efc585dd657c0c6fa1f6132c0a4d00a526f7d65df460973f13f4",
            ),
        ] {
            assert_eq!(entry_hash(&entry(text)), want, "{text}");
        }
    }

    #[test]
    fn an_entry_is_trusted_by_its_place_and_hash_until_it_changes() {
        let entry =
            entry(r#"{"hooks": [{"type": "command", "command": "hookbox bridge codex", "timeout": 20}]}"#);
        let hash = entry_hash(&entry);
        let file = Path::new("/nowhere/hooks.json");
        for (hash, more, at, want) in [
            (hash.as_str(), "", "0:0", Trust::Trusted),
            (&hash, "enabled = true", "0:0", Trust::Trusted),
            (&hash, "enabled = false", "0:0", Trust::Disabled),
            (&hash, "", "0:1", Trust::Unknown),
            ("sha256:00", "", "0:0", Trust::Changed),
        ] {
            let text = format!(
                "[hooks.state.\"/nowhere/hooks.json:pre_tool_use:{at}\"]\ntrusted_hash = \"{hash}\"\n{more}\n"
            );
            assert_eq!(trust_in_entry(&text.parse().unwrap(), file, &entry), want, "{text}");
        }
        assert_eq!(trust_in_entry(&toml::Table::new(), file, &entry), Trust::Unknown);
    }

    #[test]
    fn codex_trusts_a_directory_or_the_repository_around_it() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        for name in ["shop/.git", "shop/api/deep", "plain/api", "tree/api", "main/.git/worktrees/tree"] {
            std::fs::create_dir_all(path(name)).unwrap();
        }
        let git = format!("gitdir: {}\n", path("main/.git/worktrees/tree").display());
        std::fs::write(path("tree/.git"), git).unwrap();
        for (rules, project, want) in [
            (&[("shop", "trusted")][..], "shop/api/deep", true),
            (&[("shop/api", "trusted")], "shop/api", true),
            (&[("shop/api", "trusted")], "shop/api/deep", false),
            (&[("shop", "trusted"), ("shop/api", "untrusted")], "shop/api", false),
            (&[("shop", "untrusted"), ("shop/api", "trusted")], "shop/api", true),
            (&[("plain", "trusted")], "plain/api", false),
            (&[("main", "trusted")], "tree/api", true),
            (&[("", "trusted")], "shop", false),
            (&[], "shop", false),
        ] {
            let rule = |(name, level): &(&str, &str)| {
                format!("[projects.\"{}\"]\ntrust_level = \"{level}\"\n", path(name).display())
            };
            let text: String = rules.iter().map(rule).collect();
            assert_eq!(trusts_project(&text.parse().unwrap(), &path(project)), want, "{rules:?} {project}");
        }
    }
}
