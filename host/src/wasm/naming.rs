//! Shell calls that a hook does not need to see, so that no instance is made for them: `kind:shell naming git gh`.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use aho_corasick::AhoCorasick;
use hookbox_shell::{Arg, Mode, Reading, Redirection, Run, base_name, join_path};

use crate::event::{Event, ToolKind};
use crate::hook::{Settings, Subscription};

/// The conditions in the patterns of a hook's subscriptions: for each subscription, those of its patterns.
#[derive(Debug, Default)]
pub(super) struct Conditions(Vec<Vec<Option<Condition>>>);

#[derive(Debug)]
enum Condition {
    /// `kind:shell naming git`: the line names one of the words.
    Naming(Naming),
    /// `kind:shell if redact`: the setting is true.
    If(String),
}

impl Conditions {
    /// Reads the patterns of subscriptions.
    pub(super) fn of(subscriptions: &[Subscription]) -> Self {
        let condition = |pattern: &String| {
            let naming = || Some(Condition::Naming(Naming::of(pattern.split_once(Subscription::NAMING)?.1)));
            let setting = || Some(Condition::If(pattern.split_once(Subscription::IF)?.1.to_owned()));
            naming().or_else(setting)
        };
        Self(subscriptions.iter().map(|it| it.tools.iter().map(condition).collect()).collect())
    }

    /// Returns the reason if the first of these subscriptions to the event is to it only by patterns whose conditions do
    /// not hold. In doubt there is none.
    pub(super) fn pass_over(
        &self,
        subscriptions: &[Subscription],
        event: &Event,
        settings: &Settings,
    ) -> Option<&'static str> {
        let call = event.tool_call()?;
        // The first one that fits is the one that counts.
        let (subscription, conditions) =
            subscriptions.iter().zip(&self.0).find(|(it, _)| it.matches(event))?;
        let (mut reading, mut reason) = (None, None);
        let patterns = subscription.tools.iter().zip(conditions);
        for (_, condition) in patterns.filter(|(pattern, _)| Subscription::fits(pattern, call)) {
            let (holds, why) = match condition.as_ref()? {
                Condition::If(setting) => (
                    settings.get(setting).is_some_and(|it| it == "true"),
                    "it is for calls only if a setting is true",
                ),
                Condition::Naming(naming) => {
                    let line = call.facts.command.as_ref().filter(|_| call.facts.kind == ToolKind::Shell)?;
                    let line = hookbox_calls::as_shell(&call.name, line);
                    let read = || call.facts.readings.read(&line, &event.context.cwd);
                    let reading = reading.get_or_insert_with(read);
                    (
                        naming.is_named_in(reading),
                        "the command has none of the words that this hook reacts to",
                    )
                }
            };
            reason = Some(why).filter(|_| !holds);
            reason?;
        }
        reason
    }
}

/// The length of a word in which parts are looked for one by one, in bytes, and the number of such words after which
/// a search is prepared. For one event, that would take longer than the rest of it.
const SHORT: (usize, u32) = (64, 1_000);

/// Words, in lower case. A process reads those of every guard for one event, so they are in few pieces of memory.
#[derive(Debug, Default)]
struct Naming {
    /// The hashes of whole words, such as `git`, in order. A hook only sees a line more if another word has an equal one.
    words: Vec<u64>,
    /// Beginnings of words, such as `mkfs*`, each with a space behind it.
    beginnings: String,
    /// Parts of words, such as `*token*`, each with a space behind it.
    parts: String,
    /// The parts, ready for a search.
    search: OnceLock<Option<AhoCorasick>>,
    searched: AtomicU32,
    /// True if a redirection to a file counts: `>`.
    writes: bool,
}

impl Naming {
    fn of(words: &str) -> Self {
        let mut naming = Self::default();
        for word in words.to_ascii_lowercase().split_ascii_whitespace() {
            match (word.strip_prefix('*'), word.strip_suffix('*')) {
                _ if word == ">" => naming.writes = true,
                // Also without a second `*`: a guard must not see less than it means.
                (Some(part), _) => naming.parts.extend([part.trim_end_matches('*'), " "]),
                (None, Some(beginning)) => naming.beginnings.extend([beginning, " "]),
                _ => naming.words.push(hash(word)),
            }
        }
        naming.words.sort_unstable();
        naming
    }

    fn has_word(&self, word: &str) -> bool {
        self.words.binary_search(&hash(word)).is_ok()
    }

    fn parts(&self) -> impl Iterator<Item = &str> {
        self.parts.split_terminator(' ')
    }

    /// Returns true if a line has one of the words, or if it may have one: its text does not show all that it runs.
    fn is_named_in(&self, reading: &Reading) -> bool {
        let Reading { runs, code, values: _, unread, multiplies } = reading;
        *multiplies || !code.is_empty() || !unread.is_empty() || runs.iter().any(|it| self.is_named_by(it))
    }

    fn is_named_by(&self, run: &Run) -> bool {
        // Each field by its name, so that a new one is not forgotten.
        let Run {
            words,
            assignments,
            redirections,
            directory,
            // Words of `cd`.
            elsewhere: _,
            place: _,
            via,
            input: _,
            inner: _,
            is_fed: _,
            needs: _,
            is_sure: _,
            call,
            whole,
        } = run;
        // The line may run in a directory with such a name: `cat config` in `.kube`.
        let is_file = |path: &str| {
            directory.as_ref().is_none_or(|it| self.has_part(&join_path(it, path).to_ascii_lowercase()))
        };
        call.is_some()
            || !self.parts.is_empty() && run.files().iter().any(|it| is_file(it.path))
            || !words.is_empty() && run.program().is_none()
            || words.iter().chain(whole.iter()).any(|it| self.has(it))
            || assignments.iter().any(|(name, value)| self.has_text(name) || self.has(value))
            || via.iter().any(|it| self.has_text(it))
            || redirections.iter().any(|it| self.writes && writes(it) || self.has(&it.target))
    }

    fn has(&self, word: &Arg) -> bool {
        // Any part may be in a word of which only some is known.
        !word.is_plain() && !self.parts.is_empty() || self.has_text(&word.text)
    }

    fn has_text(&self, text: &str) -> bool {
        let text = match text.bytes().any(|it| it.is_ascii_uppercase()) {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
        let name = base_name(&text);
        let mut beginnings = self.beginnings.split_terminator(' ');
        self.has_word(&text)
            || name.len() < text.len() && self.has_word(name)
            // A program of Windows.
            || name.strip_suffix(".exe").is_some_and(|it| self.has_word(it))
            || beginnings.any(|it| text.starts_with(it) || name.starts_with(it))
            || self.has_part(&text)
    }

    fn has_part(&self, text: &str) -> bool {
        let one_by_one = || self.parts().any(|it| text.contains(it));
        let is_short = || text.len() <= SHORT.0 && self.searched.fetch_add(1, Ordering::Relaxed) < SHORT.1;
        if self.search.get().is_none() && is_short() {
            return one_by_one();
        }
        let search = self.search.get_or_init(|| AhoCorasick::new(self.parts()).ok());
        search.as_ref().map_or_else(one_by_one, |search| search.is_match(text))
    }
}

fn hash(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(word.as_bytes());
    hasher.finish()
}

/// Returns true for a redirection that may write to a file.
fn writes(redirection: &Redirection) -> bool {
    match redirection.mode {
        Mode::Copy => !redirection.target.text.bytes().all(|it| it.is_ascii_digit()),
        Mode::Write | Mode::Append | Mode::Both => redirection.target.text != "/dev/null",
        Mode::Read | Mode::Text => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::event::{Context, EventData, EventName, ToolCall};
    use crate::facts;

    fn subscribed(tools: &[&str], tool: &str, input: serde_json::Value) -> (Subscription, Event) {
        let mut call = ToolCall::new(tool, input);
        call.facts = Arc::new(facts::of(tool, &call.input, Path::new("/w"), None));
        let event =
            Event { context: Arc::new(Context::new("c", "/w")), data: EventData::BeforeToolCall(call) };
        let mut subscription = Subscription::to(EventName::BeforeToolCall);
        subscription.tools = tools.iter().map(|it| (*it).to_owned()).collect();
        (subscription, event)
    }

    #[test]
    fn a_pattern_may_ask_for_a_setting() {
        let settings =
            Settings::from([("other", "true"), ("text", "\"true\"")].map(|(a, b)| (a.into(), b.into())));
        for (tools, is_for, off) in [
            (&["kind:shell if redact"][..], true, true),
            (&["kind:shell if text"], true, true),
            (&["kind:shell if other"], true, false),
            (&["kind:shell if redact", "kind:shell"], true, false),
            (&["kind:read if other"], false, false),
            (&[], true, false),
        ] {
            let (subscription, event) = subscribed(tools, "bash", serde_json::json!({"command": "ls"}));
            assert_eq!(subscription.matches(&event), is_for, "{tools:?}");
            let subscriptions = [subscription];
            let conditions = Conditions::of(&subscriptions);
            assert_eq!(conditions.pass_over(&subscriptions, &event, &settings).is_some(), off, "{tools:?}");
        }
    }

    fn passes_over(tools: &[&str], tool: &str, input: serde_json::Value) -> bool {
        let (subscription, event) = subscribed(tools, tool, input);
        // It is the hook that passes over the event, because another hook may change the line before its turn.
        assert_eq!(subscription.matches(&event), tool != "read");
        let subscriptions = [subscription];
        Conditions::of(&subscriptions).pass_over(&subscriptions, &event, &Settings::new()).is_some()
    }

    #[test]
    fn a_hook_sees_a_line_that_names_its_words_or_may_do_so() {
        for (line, expected) in [
            ("ls", false),
            ("ls -la 'a b' && cat a 2>&1 | wc", false),
            ("make 2>/dev/null", false),
            ("# git", false),
            ("A=b; ls", false),
            ("ls | grep legit", false),
            ("git status", true),
            ("/usr/bin/git status", true),
            ("GIT.EXE status", true),
            ("sudo git status", true),
            ("env -C /a git status", true),
            ("unknown-wrapper git status", true),
            ("$(git log)", true),
            ("ls $(git log)", true),
            ("A=git; $A status", true),
            ("A=git make", true),
            ("sh -c 'git status'", true),
            ("find . -exec git add {} +", true),
            ("mkfs.ext4 a", true),
            ("echo MY_TOKEN", true),
            ("cat < my.token.txt", true),
            ("cat <<< token", true),
            ("TOKEN=a make", true),
            ("cat my.keys", true),
            ("cd tokens; ls", true),
            ("cat *", true),
            ("cat $X", true),
            ("$X", true),
            ("ls > a", true),
            ("ls >> a", true),
            ("ls >& a", true),
            ("> a", true),
            ("ls 'open", true),
            ("eval \"$X\"", true),
            ("python3 -c 'import os'", true),
        ] {
            let tools = ["kind:other", "kind:shell naming git mkfs* *token* *keys >"];
            let input = serde_json::json!({ "command": line });
            assert_eq!(passes_over(&tools, "bash", input), !expected, "{line}");
        }
    }

    #[test]
    fn a_file_is_one_of_the_directory_in_which_the_line_runs() {
        let naming = Naming::of("*.kube* *op/config*");
        for (cwd, line, expected) in [
            ("/home/me/.kube", "cat config", true),
            ("/home/me/.kube", "sort < config", true),
            ("/home/me/.config/op", "cat ./config", true),
            ("/home/me/.kube", "cat /etc/hosts", false),
            ("/home/me/.kube", "date", false),
            ("/home/me", "cat config", false),
        ] {
            let known = hookbox_shell::Known { cwd: Some(cwd), ..hookbox_shell::Known::default() };
            assert_eq!(naming.is_named_in(&hookbox_shell::runs(line, &known)), expected, "{cwd} {line}");
        }
    }

    #[test]
    fn only_such_a_pattern_leaves_out_a_line() {
        let ls = || serde_json::json!({ "command": "ls *" });
        for (tools, tool, expected) in [
            (&[][..], "bash", false),
            (&["kind:shell"], "bash", false),
            (&["kind:shell naming git", "bash"], "bash", false),
            (&["kind:shell naming git", "kind:shell"], "bash", false),
            (&["kind:shell naming git", "kind:shell naming ls"], "bash", false),
            (&["kind:shell naming git", "kind:shell naming hg"], "bash", true),
            (&["kind:shell naming git", "kind:mcp"], "bash", true),
            (&["kind:shell naming *git*"], "bash", false),
            (&["kind:other", "kind:shell naming git"], "unknown", false),
            (&["kind:shell naming git"], "read", false),
        ] {
            assert_eq!(passes_over(tools, tool, ls()), expected, "{tools:?}");
        }
        let odd = serde_json::json!({ "argv": ["ls"] });
        assert!(!passes_over(&["kind:shell naming git"], "bash", odd));
    }
}
