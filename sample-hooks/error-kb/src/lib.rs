//! Remembers failures, and warns before they happen again.

mod knowledge;
mod signature;

use hookbox_sdk::prelude::*;
use hookbox_sdk::state;
use hookbox_sdk::text::{Secrets, excerpt, hash};

use crate::knowledge::{FIX, Failure, KEYS, Known, Shelf, counters, key};

/// The hook.
pub struct ErrorKb;

/// The form of the values in the store.
const VERSION: u32 = 1;

/// So many conversations have a value of their own; of two that share one the later one has it.
const CONVERSATIONS: u64 = 256;

/// A fix that the user has configured.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
struct Fix {
    /// Words of the error, or of the command.
    #[serde(rename = "match")]
    words: String,
    /// The fix.
    fix: String,
}

/// The user's settings.
#[derive(Debug, serde::Deserialize)]
#[serde(default)]
struct Settings {
    /// The number of failures of a command before an alert.
    min_failures: u64,
    /// The time without another alert for the same failure, in seconds.
    quiet: u32,
    /// So many commands are remembered.
    max_signatures: u64,
    /// The fixes.
    fixes: Vec<Fix>,
    /// True to replace an error's text by its normalised form.
    modify: bool,
    /// True to warn the user as well.
    warn: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            min_failures: 2,
            quiet: 600,
            max_signatures: 512,
            fixes: Vec::new(),
            modify: false,
            warn: false,
        }
    }
}

impl Settings {
    /// Returns the number of commands that share a key.
    fn per_key(&self) -> usize {
        usize::try_from(self.max_signatures.min(4096).div_ceil(KEYS)).unwrap_or(1)
    }

    /// Returns the fix that the user has configured for it.
    fn fix(&self, head: &str, error: &str) -> Option<String> {
        let (head, error) = (head.to_lowercase(), error.to_lowercase());
        let meant = |fix: &&Fix| {
            let words = fix.words.to_lowercase();
            !words.trim().is_empty() && (error.contains(&words) || head.contains(&words))
        };
        self.fixes.iter().find(meant).map(|fix| excerpt(&fix.fix, FIX))
    }
}

/// The last failure in a conversation, and the calls that may show its fix.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
struct Pending {
    /// The session, in any repository.
    session: u64,
    conversation: u64,
    /// The program, as a fix is another line of the same one.
    program: String,
    /// The failed command.
    id: String,
    /// The error text.
    error: String,
    /// The line, as a hash.
    line: u64,
}

/// Returns the session and its key. Without an id it is the place.
fn session(cx: &Context) -> (u64, String) {
    let session = match cx.conversation_id.as_str() {
        "" => hash(["", cx.place()]),
        id => hash([id]),
    };
    (session, format!("pending/{}", session % CONVERSATIONS))
}

impl Hook for ErrorKb {
    fn manifest() -> Manifest {
        Manifest::new("error-kb", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .on(Event::BeforeToolCall)
            .on(Event::AfterToolCall)
            .observe()
            .on(Event::OnError)
            .on(Event::SessionEnd)
            .observe()
            .answers([Give::Inject, Give::Modify])
            .capability(Capability::Store)
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        let Some(head) = signature::head(call) else { return Ok(Answer::pass()) };
        let id = id(cx, &head);
        let key = key(&id);
        let mut shelf: Shelf = state::load(&key, VERSION)?;
        let Some(known) = shelf.find(&id) else { return Ok(Answer::pass()) };
        let [worked, failed] = counts(&id)?;
        let failing = known.failing;
        let Some(failure) = known.last() else { return Ok(Answer::pass()) };
        let metadata = |answer: Answer| answer.metadata("failures", failed).metadata("successes", worked);
        // A command that has succeeded since is not a known failure any more.
        if !failing || failed < settings.min_failures {
            return Ok(metadata(Answer::pass()));
        }
        if !failure.tell(cx.timestamp_ms, u64::from(settings.quiet) * 1000) {
            return Ok(metadata(Answer::pass()).metadata("suppressed", true));
        }
        let text = alert(&settings, &head, failure, worked, failed);
        state::save(&key, VERSION, &shelf)?;
        let answer = Answer::pass().inject(text.clone());
        Ok(metadata(if settings.warn { answer.warn(text) } else { answer }))
    }

    fn after_tool_call(cx: &Context, result: &ToolResult) -> Result<Answer, Error> {
        let (Some(head), Some(has_failed)) = (signature::head(&result.call), has_failed(result)) else {
            return Ok(Answer::pass());
        };
        let settings: Settings = settings()?;
        let error = if has_failed { signature::normalise(&signature::said(result)) } else { String::new() };
        let recurrence = note(cx, &settings, result, &id(cx, &head), has_failed.then_some(error.as_str()))?;
        Ok(if has_failed {
            Answer::pass()
                .metadata("error_class", signature::class(&error))
                .metadata("recurrence", recurrence)
        } else {
            Answer::pass()
        })
    }

    fn on_error(cx: &Context, event: &ErrorEvent) -> Result<Answer, Error> {
        let settings: Settings = settings()?;
        let text = signature::normalise(&event.message);
        let class = signature::class(&event.message);
        let (head, counts_here) = match &event.source {
            // The agent also reports it in after_tool_call: it counts once.
            ErrorSource::Tool(call) => (signature::head(call), false),
            ErrorSource::Turn(_) => (Some("turn".to_owned()), true),
            ErrorSource::Hook(name) => (Some(format!("hook {}", excerpt(name, 64))), true),
        };
        let recurrence = match head.map(|head| id(cx, &head)) {
            Some(id) if counts_here => record(cx, &settings, &id, Some(&text))?,
            Some(id) => {
                let mut shelf: Shelf = state::load(&key(&id), VERSION)?;
                let known = shelf.find(&id).into_iter().flat_map(|known| &known.failures);
                known.filter(|failure| failure.text == text).map(|failure| failure.count).sum()
            }
            None => 0,
        };
        let answer = if settings.modify { Answer::modify(text) } else { Answer::pass() };
        Ok(answer
            .metadata("error_class", class)
            .metadata("agent_class", event.kind.as_deref().map(|kind| excerpt(kind, 64)))
            .metadata("attempt", event.attempt)
            .metadata("recurrence", recurrence))
    }

    fn session_end(cx: &Context, _event: &SessionEnd) -> Result<Answer, Error> {
        // What was learned stays; a failure that waits for its fix is of this session only.
        let (session, key) = session(cx);
        let pending: Pending = state::load(&key, VERSION)?;
        if pending.session == session {
            state::delete(&key)?;
        }
        Ok(Answer::pass())
    }
}

/// Returns the name of a command in the store. A lesson of one repository is not told in another, whose owner may
/// be someone else.
fn id(cx: &Context, head: &str) -> String {
    format!("{:016x} {head}", hash([cx.place()]))
}

/// Returns whether the call failed; `None` if the agent does not report it.
fn has_failed(result: &ToolResult) -> Option<bool> {
    match (result.success, result.exit_status) {
        (None, None) => None,
        (success, status) => Some(success == Some(false) || status.is_some_and(|status| status != 0)),
    }
}

/// Returns the numbers of successes and failures of a command.
fn counts(id: &str) -> Result<[u64; 2], Error> {
    let [worked, failed] = counters(id);
    // A counter that is damaged counts nothing.
    let count = |key: &str| -> Result<u64, Error> {
        let text = state::get(key)?.and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(text.and_then(|text| text.trim().parse().ok()).unwrap_or(0))
    };
    Ok([count(&worked)?, count(&failed)?])
}

/// Adds to a counter; one that is damaged begins anew.
fn count(key: &str) -> Result<(), Error> {
    if state::increment(key, 1).is_err() {
        state::delete(key)?;
        state::increment(key, 1)?;
    }
    Ok(())
}

/// Notes the result of a command; returns the number of times that it has failed this way.
fn record(cx: &Context, settings: &Settings, id: &str, error: Option<&str>) -> Result<u64, Error> {
    let [worked, failed] = counters(id);
    let key = key(id);
    let mut shelf: Shelf = state::load(&key, VERSION)?;
    if error.is_none() && shelf.find(id).is_none() {
        // Of a command that never failed there is nothing to know but that it works.
        return Ok(0);
    }
    count(if error.is_some() { &failed } else { &worked })?;
    let (known, forgotten) = shelf.called(id, cx.timestamp_ms, settings.per_key());
    let recurrence = match error {
        Some(error) => known.failed(error, cx.timestamp_ms),
        None => {
            known.failing = false;
            0
        }
    };
    state::save(&key, VERSION, &shelf)?;
    for id in forgotten {
        counters(&id).iter().try_for_each(|key| state::delete(key))?;
    }
    Ok(recurrence)
}

/// Notes the result of a call, and its meaning for the failure before it.
fn note(
    cx: &Context,
    settings: &Settings,
    result: &ToolResult,
    id: &str,
    error: Option<&str>,
) -> Result<u64, Error> {
    let recurrence = record(cx, settings, id, error)?;
    let Some(line) = result.call.command.as_deref().map(str::trim) else { return Ok(recurrence) };
    let Some((program, _)) = signature::program(line) else { return Ok(recurrence) };
    let conversation = hash([cx.conversation_id.as_str(), cx.place()]);
    let (session, key) = session(cx);
    let pending: Pending = state::load(&key, VERSION)?;
    if pending.conversation == conversation && pending.program == program {
        learn(&pending, line, error.is_none())?;
    }
    if let Some(error) = error {
        let (id, error) = (id.to_owned(), error.to_owned());
        let line = hash([line]);
        state::save(&key, VERSION, &Pending { session, conversation, program, id, error, line })?;
    } else if pending.conversation == conversation && pending.program == program {
        state::delete(&key)?;
    }
    Ok(recurrence)
}

/// Learns from the call that followed a failure of the same program.
fn learn(pending: &Pending, line: &str, worked: bool) -> Result<(), Error> {
    let key = key(&pending.id);
    let mut shelf: Shelf = state::load(&key, VERSION)?;
    let failures = shelf.find(&pending.id).map(|known: &mut Known| known.failures.iter_mut());
    let Some(failure) = failures.into_iter().flatten().find(|failure| failure.text == pending.error) else {
        return Ok(());
    };
    if pending.line == hash([line]) {
        failure.retries = failure.retries.saturating_add(1);
        failure.helped = failure.helped.saturating_add(u64::from(worked));
    } else if worked {
        let clean = Secrets::default().redact(line);
        failure.fix = Some(excerpt(clean.as_deref().unwrap_or(line), FIX));
    } else {
        return Ok(());
    }
    state::save(&key, VERSION, &shelf)
}

/// Returns the alert before a call that is known to fail.
fn alert(settings: &Settings, head: &str, failure: &Failure, worked: u64, failed: u64) -> String {
    let name = head.split_once(' ').map_or(head, |(_, name)| name);
    let mut text = format!(
        "`{name}` has failed {failed} of {} times; the last error: {}.",
        worked.saturating_add(failed),
        failure.text.trim_end_matches('.')
    );
    if let Some(fix) = settings.fix(head, &failure.text) {
        text.push_str(&format!(" Known fix: {fix}"));
    } else if let Some(fix) = &failure.fix {
        text.push_str(&format!(" After this error this has worked: `{fix}`"));
    }
    if failure.helped > 0 {
        text.push_str(&format!(" Trying again helped {} of {} times.", failure.helped, failure.retries));
    } else if failure.retries >= 2 {
        text.push_str(&format!(" Trying again has not helped ({} times).", failure.retries));
    }
    text
}

hookbox_sdk::export_hook!(ErrorKb);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_says_how_often_why_and_what_helps() {
        let failure = Failure { text: "error: no lock.".into(), ..Failure::default() };
        let known =
            Failure { fix: Some("cargo test --locked".into()), retries: 3, helped: 1, ..failure.clone() };
        let tried = Failure { retries: 2, ..failure.clone() };
        let fixes = vec![Fix { words: "No Lock".into(), fix: "remove\nthe lock".into() }];
        let set = Settings { fixes, ..Settings::default() };
        let begin = "`cargo test` has failed 3 of 4 times; the last error: error: no lock.";
        for (settings, failure, rest) in [
            (&Settings::default(), &failure, ""),
            (&set, &known, " Known fix: remove the lock Trying again helped 1 of 3 times."),
            (
                &Settings::default(),
                &known,
                " After this error this has worked: `cargo test --locked` Trying again helped 1 of 3 times.",
            ),
            (&Settings::default(), &tried, " Trying again has not helped (2 times)."),
        ] {
            assert_eq!(alert(settings, "shell cargo test", failure, 1, 3), format!("{begin}{rest}"));
        }
    }

    #[test]
    fn fixes_are_found_by_words_of_the_error_or_the_command() {
        let text = r#"[{"match": "dist", "fix": "rm -r dist"}, {"match": "cargo", "fix": "fetch"}, {"match": " ", "fix": "no"}]"#;
        let settings: Settings =
            hookbox_sdk::settings_from(vec![("fixes".to_owned(), text.to_owned())]).unwrap();
        for (head, error, expected) in [
            ("shell make", "stale DIST", Some("rm -r dist")),
            ("shell cargo test", "x", Some("fetch")),
            ("shell make", "x y", None),
        ] {
            assert_eq!(settings.fix(head, error).as_deref(), expected);
        }
        let wrong = vec![("fixes".to_owned(), r#"[{"match": "a"}]"#.to_owned())];
        assert!(hookbox_sdk::settings_from::<Settings>(wrong).unwrap_err().to_string().contains("`fix`"));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        for (max_signatures, expected) in [(0, 0), (1, 1), (512, 8), (513, 9), (u64::MAX, 64)] {
            assert_eq!(Settings { max_signatures, ..Settings::default() }.per_key(), expected);
        }
    }
}
