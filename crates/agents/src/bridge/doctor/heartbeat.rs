//! The heartbeat of an agent: the time of its last event, and its sessions since.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hookbox_journal::backtest::Source;
use hookbox_journal::session_files::{Format, Found, read};
use hookbox_system::limits;
use jiff::Timestamp;

use super::configured::Configured;
use crate::agent::Agent;
use crate::bridge::session_file::MAX_SESSIONS;
use crate::bridge::sessions::{self, REWRITTEN};
use crate::config::Surroundings;
use crate::finding::{Examination, variable};

/// Adds the time of the last event and the number of sessions since. A session without an event tells that its agent does
/// not run hookbox.
pub(super) fn check(
    agent: Agent,
    data: Option<&Path>,
    surroundings: &Surroundings,
    configured: &Configured,
    found: &mut Examination,
) {
    let last = data.and_then(|data| sessions::last_event(data, agent));
    // A session from before the installation had nothing to send.
    let files = configured.commands.iter().filter_map(|it| fs::metadata(&it.file).ok()?.modified().ok());
    let since = last.or_else(|| files.max());
    let counted = agent.session_files().zip(surroundings.home.as_deref()).zip(since);
    found.last_event = last.and_then(|it| Some(Timestamp::try_from(it).ok()?.to_string()));
    found.sessions_since = counted.map(|((format, home), since)| sessions_since(format, home, since));
    let seen = match last {
        Some(last) => format!("configured; last event {}", ago(last.elapsed().unwrap_or_default())),
        None => "configured; no event was seen yet".to_owned(),
    };
    let number = found.sessions_since.unwrap_or_default();
    if number == 0 {
        return found.ok("heartbeat", seen);
    }
    let sessions = if number == 1 { "1 session".to_owned() } else { format!("{number} sessions") };
    let hint = format!(
        "restart {} where it is open; if new sessions send no event either: hookbox install {agent}",
        agent.title()
    );
    found.warn("heartbeat", format!("{seen}, {sessions} since"), hint);
}

/// Returns the number of sessions whose first tool call came after this time, as far as their files tell.
fn sessions_since(format: &'static Format, home: &Path, since: SystemTime) -> usize {
    let variable = |name: &str| variable(name).map(PathBuf::from);
    let changed = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).ok().filter(|it| *it > since);
    let files = Source::Format(format).files(home, variable).unwrap_or_default();
    let mut files: Vec<_> = files.into_iter().filter_map(|it| Some((changed(&it.path)?, it.path))).collect();
    files.sort();
    let mut begun: BTreeMap<String, Timestamp> = BTreeMap::new();
    for (_, path) in files.into_iter().rev().take(MAX_SESSIONS) {
        let Ok(file) = File::open(&path) else { continue };
        let first = |_: &'static str, found: Found| {
            let Found::Call(call) = found else { return };
            let Some(time) = call.time.and_then(|it| it.parse::<Timestamp>().ok()) else { return };
            // A subagent has a file of its own.
            let session = call.session.unwrap_or_else(|| path.to_string_lossy().into_owned());
            let begin = begun.entry(session).or_insert(time);
            *begin = time.min(*begin);
        };
        // A file that cannot be read tells nothing, and the first call is near its beginning.
        let _ = read(BufReader::new(file.take(limits::FILE)), &[format], first);
    }
    let since = Timestamp::try_from(since + REWRITTEN).unwrap_or(Timestamp::MAX);
    begun.values().filter(|begin| **begin > since).count()
}

/// Returns an age in words.
fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    let (number, unit) = match (minutes / 60 / 24, minutes / 60, minutes) {
        (0, 0, 0) => return "just now".to_owned(),
        (0, 0, minutes) => (minutes, "minute"),
        (0, hours, _) => (hours, "hour"),
        (days, ..) => (days, "day"),
    };
    format!("{number} {unit}{} ago", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::sessions::Note;
    use crate::finding::Status;

    const DAY: Duration = limits::DAY;

    /// Examines Claude Code in this directory.
    fn examined(root: &Path) -> Examination {
        let mut found = Examination::new("claude", "Claude Code");
        let around = Surroundings { home: Some(root.to_owned()), ..Surroundings::new(root.to_owned()) };
        let configured = Configured::read(Agent::Claude, &around, &mut found);
        check(Agent::Claude, Some(&root.join("data")), &around, &configured, &mut found);
        found
    }

    /// Writes a session file with one call of this age.
    fn session(root: &Path, name: &str, session: &str, age: Duration) {
        let time = Timestamp::try_from(SystemTime::now() - age).unwrap();
        let line = serde_json::json!({
            "type": "assistant", "sessionId": session, "timestamp": time.to_string(),
            "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]},
        });
        fs::create_dir_all(root.join(".claude/projects/p")).unwrap();
        fs::write(root.join(format!(".claude/projects/p/{name}.jsonl")), format!("{line}\n")).unwrap();
    }

    fn changed(path: &Path, age: Duration) {
        File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn sessions_without_an_event_are_counted_since_the_last_one() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let said = |found: &Examination| {
            let finding = found.findings.last().unwrap();
            (finding.status, finding.message.clone(), found.sessions_since)
        };
        fs::create_dir(root.join(".claude")).unwrap();
        let settings = serde_json::json!({"hooks": {"PreToolUse": [
            {"hooks": [{"type": "command", "command": "hookbox bridge claude"}]},
        ]}});
        fs::write(root.join(".claude/settings.json"), settings.to_string()).unwrap();
        let never = "configured; no event was seen yet";
        session(root, "before", "before", 30 * DAY);
        assert_eq!(said(&examined(root)), (Status::Ok, never.to_owned(), Some(0)));
        changed(&root.join(".claude/settings.json"), 20 * DAY);
        session(root, "one", "one", 15 * DAY);
        assert_eq!(said(&examined(root)), (Status::Warning, format!("{never}, 1 session since"), Some(1)));
        Note::of(&root.join("data"), Agent::Claude, "two").unwrap().open(root, true);
        let found = examined(root);
        let now = "configured; last event just now";
        assert_eq!(said(&found), (Status::Ok, now.to_owned(), Some(0)));
        assert!(found.last_event.unwrap().parse::<Timestamp>().is_ok());
        changed(&root.join("data/seen/claude"), 9 * DAY);
        for (name, id, age) in [("two", "two", 8 * DAY), ("agent", "two", 7 * DAY), ("three", "three", DAY)] {
            session(root, name, id, age);
        }
        let found = examined(root);
        let late = "configured; last event 9 days ago, 2 sessions since".to_owned();
        assert_eq!(said(&found), (Status::Warning, late, Some(2)));
        assert!(found.findings.last().unwrap().hint.as_ref().unwrap().to_string().contains("restart"));
    }

    #[test]
    fn an_age_is_in_words() {
        for (seconds, want) in [
            (59, "just now"),
            (60, "1 minute ago"),
            (3_599, "59 minutes ago"),
            (7_200, "2 hours ago"),
            (86_400, "1 day ago"),
        ] {
            assert_eq!(ago(Duration::from_secs(seconds)), want);
        }
    }
}
