//! One thread of a backtest.

use std::collections::HashSet;
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use hookbox::event::ToolKind;
use hookbox::internal::chain::{self, ChainOptions};
use hookbox::internal::facts;
use hookbox::session::Fired;
use hookbox::{Context, Event, EventData, Hook, Status, ToolCall, escape, prefix, shown_path};
use jiff::Timestamp;
use tokio::runtime::Runtime;

use super::tally::{Backtest, FileProblem, Group, MAX_GROUPS, PastHookTally, Verdicts};
use super::{Options, SessionFile};
use crate::session_files::{self, Found, PastCall, PastHook};
use hookbox_system::limits;

/// The work that threads share.
pub(super) struct Work<'a> {
    pub(super) hooks: &'a [Arc<dyn Hook>],
    pub(super) options: Options<'a>,
    pub(super) bytes: &'a AtomicU64,
    pub(super) tally: Mutex<Backtest>,
    /// The hashes of the lines and calls that were counted.
    pub(super) seen: Mutex<HashSet<u64>>,
    pub(super) hasher: RandomState,
}

impl Work<'_> {
    /// Returns true for the first line or call with this id. One without an id is always the first.
    fn is_first(&self, format: &str, id: Option<&String>) -> bool {
        let Some(id) = id else { return true };
        let hash = self.hasher.hash_one((format, id));
        hookbox_system::mutex::lock(&self.seen).insert(hash)
    }

    fn tally(&self) -> MutexGuard<'_, Backtest> {
        hookbox_system::mutex::lock(&self.tally)
    }
}

/// A group of commands that waits for the next call of the session: its hook, its key, and the time of its first call.
type Waiting = (String, (String, String), Option<Timestamp>);

pub(super) struct Worker<'a> {
    pub(super) work: &'a Work<'a>,
    pub(super) runtime: Runtime,
    pub(super) waiting: Vec<Waiting>,
}

impl Worker<'_> {
    /// Judges the calls of a file.
    pub(super) fn file(&mut self, file: &SessionFile) {
        self.waiting.clear();
        let work = self.work;
        let read = File::open(&file.path).and_then(|opened| {
            let input = BufReader::with_capacity(1 << 16, Counting { input: opened, bytes: work.bytes });
            session_files::read(input, work.options.formats, |format, found| match found {
                Found::Call(call) => self.call(format, &call),
                Found::Hook(hook) => self.past_hook(format, &hook),
            })
        });
        let reason = match read {
            Ok(session_files::Summary { format: Some(format), unread_lines }) => {
                let mut tally = work.tally();
                let source = tally.sources.entry(format).or_default();
                source.files += 1;
                source.unread_lines += unread_lines;
                return;
            }
            Ok(_) if !file.is_named => return,
            Ok(_) => "it is not a session file of a known format, nor of the journal".to_owned(),
            Err(error) => error.to_string(),
        };
        let path = shown_path(&file.path);
        work.tally().problems.push(FileProblem { path, reason });
    }

    /// Returns true for a time before the first that counts.
    fn is_left_out(&self, time: Option<Timestamp>) -> bool {
        time.zip(self.work.options.since).is_some_and(|(time, since)| time < since)
    }

    fn past_hook(&mut self, format: &'static str, hook: &PastHook) {
        if self.is_left_out(time_of(hook.time.as_ref())) || !self.work.is_first(format, hook.id.as_ref()) {
            return;
        }
        let key = (escape(&hook.name, limits::WORD), escape(&hook.command, limits::EXCERPT));
        let all = &mut self.work.tally().past_hooks;
        if all.len() < MAX_GROUPS || all.contains_key(&key) {
            let PastHookTally { runs, failed, total_ms } = all.entry(key).or_default();
            *runs += 1;
            *failed += u64::from(hook.failed);
            *total_ms = total_ms.saturating_add(hook.duration_ms.unwrap_or_default());
        }
    }

    fn call(&mut self, format: &'static str, call: &PastCall) {
        self.answer_waiting(call);
        let time = time_of(call.time.as_ref());
        if self.is_left_out(time) || !self.work.is_first(format, call.id.as_ref()) {
            return;
        }
        let is_shell = !call.is_script && hookbox_calls::kind_of(&call.tool) == ToolKind::Shell;
        let fired = self.judge(call, time);
        let is_read = fired.as_ref().is_some_and(|all| all.iter().all(|it| !is_unread(it)));
        let mut tally = self.work.tally();
        let source = tally.sources.entry(format).or_default();
        source.calls += 1;
        source.shell_calls += u64::from(is_shell);
        source.not_read += u64::from(!is_read);
        let Some(fired) = fired.filter(|_| is_read) else { return };
        let verdict = verdict(&fired);
        tally.verdicts.add(verdict);
        count(&mut tally.tools, escape(&call.tool, limits::WORD), verdict);
        if let Some(time) = time {
            count(&mut tally.days, time.to_string().chars().take(10).collect(), verdict);
        }
        for fired in &fired {
            self.waiting.extend(count_hooks(&mut tally, call, time, fired));
        }
    }

    /// Asks the hooks about a call of the past. Returns nothing if it cannot be read.
    fn judge(&self, call: &PastCall, time: Option<Timestamp>) -> Option<Vec<Fired>> {
        let mut context = Context::new(
            call.session.as_deref().unwrap_or("backtest"),
            call.directory.as_deref().unwrap_or("/"),
        );
        context.mode.clone_from(&call.mode);
        if let Some(at) = time.and_then(|it| u64::try_from(it.as_millisecond()).ok()) {
            context.timestamp_ms = at;
        }
        let (context, options) =
            (Arc::new(context), ChainOptions { allowances: false, ..ChainOptions::default() });
        let judge = |(tool, input): &(String, serde_json::Value)| {
            let data = EventData::BeforeToolCall(ToolCall::new(tool.clone(), input.clone()));
            let event = Event { context: Arc::clone(&context), data };
            self.runtime.block_on(chain::run(self.work.hooks, event, &options))
        };
        Some(call.judged.as_ref()?.iter().map(judge).collect())
    }

    /// Tells groups the call that the agent made next, also if it counts elsewhere.
    fn answer_waiting(&mut self, call: &PastCall) {
        if self.waiting.is_empty() {
            return;
        }
        let input = call.judged.iter().flatten().next();
        let command = input.map(|(tool, input)| command(&ToolCall::new(tool.clone(), input.clone())));
        let next = (escape(&call.tool, limits::WORD), command.unwrap_or_default());
        let mut tally = self.work.tally();
        for (hook, key, first) in std::mem::take(&mut self.waiting) {
            let group = tally.hooks.get_mut(&hook).and_then(|it| it.groups.get_mut(&key));
            // Another thread may have found an earlier call of this group.
            if let Some(group) = group.filter(|it| it.first == first) {
                group.next = Some(next.clone());
            }
        }
    }
}

/// Counts the answers of hooks to a call. Returns the groups of which it is the first call.
fn count_hooks(all: &mut Backtest, call: &PastCall, time: Option<Timestamp>, fired: &Fired) -> Vec<Waiting> {
    let command = fired.event.tool_call().map(command).unwrap_or_default();
    let mut waiting = Vec::new();
    for report in &fired.report.hooks {
        let name = escape(&report.name, limits::WORD);
        let tally = all.hooks.entry(name.clone()).or_default();
        tally.observes |= report.status == Status::Observed;
        // In shadow mode, the answer that would have counted.
        let (count, answer) = match report.would.unwrap_or(report.status) {
            Status::Skipped => continue,
            Status::Blocked => (&mut tally.block, Some("block")),
            Status::Asked => (&mut tally.ask, Some("ask")),
            Status::Changed => (&mut tally.modify, Some("modify")),
            Status::Failed => (&mut tally.failed, Some("failed")),
            _ => (&mut 0, None),
        };
        *count += 1;
        tally.calls += 1;
        tally.time += report.duration;
        tally.longest = tally.longest.max(report.duration);
        tally.fuel = tally.fuel.saturating_add(report.fuel.unwrap_or_default());
        if let Some(answer) = answer {
            let key = (escape(&call.tool, limits::WORD), command.clone());
            let reason = report.message.clone().unwrap_or_default();
            if tally.group(key.clone(), Group { count: 1, answer, first: time, reason, next: None }) {
                waiting.push((name, key, time));
            }
        }
    }
    waiting
}

/// Reads a time of a session file.
fn time_of(text: Option<&String>) -> Option<Timestamp> {
    text.and_then(|it| it.parse().ok())
}

/// Returns true for a call of a shell without a command.
fn is_unread(fired: &Fired) -> bool {
    fired.event.tool_call().is_some_and(|it| it.facts.kind == ToolKind::Shell && it.facts.command.is_none())
}

/// Returns the command of a call, or its input, to be shown.
fn command(call: &ToolCall) -> String {
    let facts = facts::of(&call.name, &call.input, Path::new("/"), None);
    let text = facts.command.map_or_else(|| call.input.text().to_owned(), |it| it.to_string());
    escape(prefix(&text, limits::EXCERPT), limits::EXCERPT)
}

/// Returns the strictest verdict, as a count.
fn verdict(fired: &[Fired]) -> Verdicts {
    let any = |is: fn(&Fired) -> bool| fired.iter().any(is);
    let (mut counts, one) = (Verdicts::default(), 1);
    if any(|it| it.verdict.block.is_some()) {
        counts.block = one;
    } else if any(|it| it.verdict.ask.is_some()) {
        counts.ask = one;
    } else if any(|it| it.verdict.modified) {
        counts.modify = one;
    } else {
        counts.pass = one;
    }
    counts
}

fn count(all: &mut std::collections::BTreeMap<String, Verdicts>, key: String, verdict: Verdicts) {
    if all.len() < MAX_GROUPS || all.contains_key(&key) {
        all.entry(key).or_default().add(verdict);
    }
}

/// A file that counts the bytes that are read.
struct Counting<'a> {
    input: File,
    bytes: &'a AtomicU64,
}

impl Read for Counting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
