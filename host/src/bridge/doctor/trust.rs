//! What Codex records of the hooks and projects that its user trusts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::root;
use crate::bridge::config::Entry;
use crate::files::FileAccess;
use crate::hook::Digest;

/// How large the file `.git` of a worktree may be, in bytes: it holds a path.
const MAX_GIT_FILE: u64 = 8 << 10;

/// What Codex thinks of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodexTrust {
    Trusted,
    /// It was never approved, or has changed since.
    Untrusted,
    /// Its user has switched it off.
    Disabled,
}

/// What Codex's `config.toml` says of the entry of a `hooks.json`. It skips in silence what is not trusted by hash.
pub(super) fn codex(config: &toml::Table, file: &Path, entry: &Entry) -> CodexTrust {
    let event: String = snake(&entry.event);
    let (group, at) = entry.position;
    let state = config.get("hooks").and_then(|it| it.get("state")).and_then(toml::Value::as_table);
    let whole = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let recorded = [file, &whole].iter().find_map(|file| {
        let key = format!("{}:{event}:{group}:{at}", file.to_string_lossy());
        state?.get(&key)?.as_table()
    });
    let Some(recorded) = recorded else { return CodexTrust::Untrusted };
    if recorded.get("enabled").and_then(toml::Value::as_bool) == Some(false) {
        return CodexTrust::Disabled;
    }
    let hash = recorded.get("trusted_hash").and_then(toml::Value::as_str);
    if hash == Some(codex_hash(entry).as_str()) { CodexTrust::Trusted } else { CodexTrust::Untrusted }
}

/// The hash by which Codex (0.169) knows an entry: of compact JSON with sorted keys and every default filled in.
pub(super) fn codex_hash(entry: &Entry) -> String {
    let mut hook: BTreeMap<&str, Value> = BTreeMap::from([
        ("async", entry.is_in_background().into()),
        ("command", entry.command.as_str().into()),
        ("timeout", entry.timeout.as_secs().max(1).into()),
        ("type", "command".into()),
    ]);
    if let Some(text) = entry.extra.get("statusMessage").filter(|it| it.is_string()) {
        hook.insert("statusMessage", text.clone());
    }
    if let Some(limit) = entry.extra.get("additionalContextLimit").and_then(Value::as_f64) {
        // A count, which was read as any number.
        let limit: u64 = format!("{limit:.0}").parse().unwrap_or_default();
        hook.insert("additionalContextLimit", limit.into());
    }
    let mut whole = BTreeMap::from([("event_name", json!(snake(&entry.event))), ("hooks", json!([hook]))]);
    if let Some(matcher) = &entry.matcher {
        whole.insert("matcher", matcher.as_str().into());
    }
    Digest::of(json!(whole).to_string().as_bytes()).to_string()
}

/// `PreToolUse` as `pre_tool_use`.
fn snake(event: &str) -> String {
    let mut snake = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Whether Codex takes hooks from this directory of a project: what it knows of that one counts, else what it knows of
/// the repository's root, and for a worktree of the repository that it belongs to.
pub(super) fn codex_project(config: &toml::Table, directory: &Path) -> bool {
    let projects = config.get("projects").and_then(toml::Value::as_table);
    let level = |path: &Path| projects?.get(path.to_str()?)?.get("trust_level")?.as_str();
    let known = |path: &Path| level(path).or_else(|| level(&path.canonicalize().ok()?));
    let root = root(directory);
    let main = root.and_then(main_worktree);
    let mut places = [Some(directory), root, main.as_deref()].into_iter().flatten();
    places.find_map(known) == Some("trusted")
}

/// The repository that a worktree belongs to, by its file `.git`.
fn main_worktree(root: &Path) -> Option<PathBuf> {
    let text = FileAccess::Anywhere.read(&root.join(".git"), MAX_GIT_FILE).ok()?;
    let git = str::from_utf8(&text).ok()?.strip_prefix("gitdir:")?.trim();
    let (main, _) = git.split_once("/.git/worktrees/")?;
    Some(PathBuf::from(main))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::config::read;
    use crate::dialect::agent::Agent;

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
            assert_eq!(codex_hash(&entry(text)), want, "{text}");
        }
    }

    #[test]
    fn an_entry_is_trusted_by_its_place_and_hash_until_it_changes() {
        let entry =
            entry(r#"{"hooks": [{"type": "command", "command": "hookbox bridge codex", "timeout": 20}]}"#);
        let hash = codex_hash(&entry);
        let file = Path::new("/nowhere/hooks.json");
        for (hash, more, at, want) in [
            (hash.as_str(), "", "0:0", CodexTrust::Trusted),
            (&hash, "enabled = true", "0:0", CodexTrust::Trusted),
            (&hash, "enabled = false", "0:0", CodexTrust::Disabled),
            (&hash, "", "0:1", CodexTrust::Untrusted),
            ("sha256:00", "", "0:0", CodexTrust::Untrusted),
        ] {
            let text = format!(
                "[hooks.state.\"/nowhere/hooks.json:pre_tool_use:{at}\"]\ntrusted_hash = \"{hash}\"\n{more}\n"
            );
            assert_eq!(codex(&text.parse().unwrap(), file, &entry), want, "{text}");
        }
        assert_eq!(codex(&toml::Table::new(), file, &entry), CodexTrust::Untrusted);
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
            assert_eq!(codex_project(&text.parse().unwrap(), &path(project)), want, "{rules:?} {project}");
        }
    }
}
