//! The steps before and after the hooks of one event. What one event leaves for the next is in small files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::known::Known;
use super::question::{End, Question, refused};
use super::session_file::{FollowUps, Told};
use super::sessions::{DOCTOR, Note};
use crate::agent::failed_calls::Withheld;
use crate::agent::{Fate, Reply, Request};
use crate::event::{AgentStop, Context, Event, EventData, EventName, InvokedBy};
use crate::finding::millis;
use crate::hook::{Cause, Kind};
use crate::manager::{Entry, EntryStatus, Manager, Problem};
use crate::outcome::{Ruling, Verdict, Warning};
use crate::session::{Checkout, Decided, Fired, MAX_FOLLOW_UPS};
use crate::text;

/// The reply to an agent, and the work that remains after it.
#[derive(Debug)]
#[must_use]
pub struct Answer {
    /// The reply.
    pub reply: Reply,
    rest: Vec<Decided>,
    /// The time for the rest.
    left: Duration,
}

impl Answer {
    /// Runs the hooks that follow an event ([`Decided::follow_up`]), in half of the time that is left,
    /// because the agent may wait for the end of the process. Returns their warnings for the user.
    pub async fn follow_up(self) -> Vec<String> {
        let until = Instant::now() + self.left / 2;
        let mut said = Vec::new();
        for rest in self.rest {
            let told = rest.fired().verdict.warnings.len();
            let left = until.saturating_duration_since(Instant::now());
            // The agent has its answer: these hooks cannot inject text.
            let mut rest = rest.within(left * 9 / 10);
            let _ = tokio::time::timeout(left, rest.follow_up()).await;
            let warnings = rest.into_fired().verdict.warnings.into_iter().skip(told);
            said.extend(warnings.map(|warning| text::escape(&warning.text, 4_000)));
        }
        said
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, rest: Vec::new(), left: Duration::ZERO }
    }
}

/// One event on its way through the hooks.
pub(super) struct Steps<'a> {
    known: &'a Known,
    manager: &'a Manager,
    request: Request,
    /// The private data directory.
    data: Option<PathBuf>,
    told: Told,
    /// True if the doctor tries the event.
    is_try: bool,
}

impl<'a> Steps<'a> {
    pub(super) fn new(known: &'a Known, manager: &'a Manager, request: Request) -> Self {
        let data = manager.trust_file().map(|file| file.directory().to_owned());
        let session = request.event.context.conversation_id.as_str();
        let (told, is_try) = (Told::of(data.as_deref(), known.agent(), session), session == DOCTOR);
        Self { known, manager, request, data, told, is_try }
    }

    /// Runs the hooks of an event between the steps. `stale` is a problem with the directory of the project, and the hooks
    /// were found from `directory`.
    pub(super) async fn answer(mut self, stale: Option<String>, directory: &Path) -> Answer {
        let standing: Vec<String> = stale.into_iter().chain(problems(self.manager, false)).collect();
        let off = problems(self.manager, true);
        self.note_session(directory);
        self.set_checkout(directory);
        let count = self.follow_ups();
        let session = self.manager.session(self.request.event.context.conversation_id.clone());
        let session = if self.is_try { session.for_trials() } else { session };
        // The look into what is not trusted is on its own clock.
        let look = self.manager.untrusted_time();
        let session = session.within(self.known.left_for_hooks() + look * 9 / 10).untrusted_took(look);

        let mut decided = session.decide(self.request.event.clone()).await;

        let fired = decided.fired_mut();
        count.iter().for_each(|count| keep(count, fired));
        let (withheld, mut rest) = self.judge_failed(fired).await;
        self.tell(off, standing, fired);
        signed(&mut fired.verdict, self.manager);
        let asked = self.ask_elsewhere(fired).await;
        let mut reply = self.request.answer_with(&fired.verdict, &fired.event, withheld);
        asked.iter().for_each(|note| reply.note(note));
        self.known.rule(reply.clone());
        rest.insert(0, decided);
        Answer { reply, rest, left: self.known.left() }
    }

    /// Notes that the session is open, or that it has ended, for commands that ask whether an agent works here.
    fn note_session(&self, directory: &Path) {
        let session = &self.request.event.context.conversation_id;
        let note = self.data.as_deref().and_then(|data| Note::of(data, self.known.agent(), session));
        let Some(note) = note else { return };
        if self.request.event.name() == EventName::SessionEnd {
            return note.close();
        }
        let repository = self.manager.repository();
        note.open(repository.as_deref().unwrap_or(directory), self.known.begins_session());
    }

    /// Sets the repository and branch of the directory from which hooks are looked for. The working directory of
    /// the event follows the model's `cd`.
    fn set_checkout(&mut self, directory: &Path) {
        let context = Arc::make_mut(&mut self.request.event.context);
        let Checkout { repository, branch } = Checkout::of(directory);
        (context.repository, context.branch) = (repository, branch);
    }

    /// Notes how often hooks made the agent go on so far, unless the agent counts that itself.
    fn follow_ups(&mut self) -> Option<FollowUps> {
        let agent = self.known.agent();
        let Request { event: Event { context, data }, goes_on, .. } = &mut self.request;
        let EventData::AgentStop(AgentStop { follow_ups, .. }) = data else { return None };
        if agent.spec().counts_follow_ups {
            return None;
        }
        let is_subagent = context.invoked_by == InvokedBy::Subagent;
        let count =
            FollowUps::of(self.data.as_deref(), agent, &context.conversation_id, is_subagent, *goes_on);
        *follow_ups = count.so_far();
        Some(count)
    }

    /// Notes a call that is blocked, and lets the hooks after a call judge the failed calls of a batch. Their warnings and
    /// texts join those of the event.
    async fn judge_failed(&mut self, of_batch: &mut Fired) -> (Withheld, Vec<Decided>) {
        if let (EventData::BeforeToolCall(call), true) =
            (&of_batch.event.data, of_batch.verdict.block.is_some())
        {
            self.told.block(call);
        }
        // A blocked call did not happen, and the batch has it among its failed ones.
        let mut failed = std::mem::take(&mut self.request.failed);
        failed.retain(|result| !self.told.has_blocked(&result.call));
        let (mut withheld, mut rest) = (Withheld::default(), Vec::new());
        let policy = self.manager.on_failure(Some(&EventName::AfterToolCall));
        for result in failed {
            self.known.set(|state| (state.policy, state.withholds) = (policy, true));
            // The payload is one of the batch.
            let mut context = Context::clone(&self.request.event.context);
            context.payload = None;
            let session = self.manager.session(context.conversation_id.clone());
            let event = Event { context: Arc::new(context), data: EventData::AfterToolCall(result) };
            let decided = session.within(self.known.left_for_hooks()).decide(event).await;
            let fired = decided.fired();
            withheld.add(self.known.agent().spec(), &fired.verdict, &fired.event, policy);
            of_batch.verdict.warnings.extend(fired.verdict.warnings.iter().cloned());
            of_batch.verdict.context.extend(fired.verdict.context.iter().cloned());
            rest.push(decided);
        }
        (withheld, rest)
    }

    /// Adds the notes of the request and the problems. The user hears once in a session of an untrusted hook and of a broken
    /// file: each event finds them anew.
    fn tell(&self, off: Vec<String>, mut standing: Vec<String>, fired: &mut Fired) {
        standing.extend(untrusted(fired, self.manager));
        let mut shown = self.request.notes.clone();
        if self.request.event.name() == EventName::SessionStart {
            self.told.forget();
            let warned = fired.verdict.warnings.iter().map(|warning| &warning.text);
            let _ = self.told.unheard(warned.chain(&standing).cloned().collect());
            shown.extend(standing);
        } else {
            shown.extend(self.told.unheard(standing));
        }
        let problems = self.manager.problems();
        let is_shown = |problem: &Problem| {
            let text = text::escape(&problem.to_string(), 1000);
            off.iter().chain(&shown).any(|it| it.starts_with(&text))
        };
        let is_said = |warning: &Warning| problems.iter().any(|it| it.says(warning) && is_shown(it));
        fired.verdict.warnings.retain(|warning| !is_said(warning));
        fired.verdict.warnings.extend(shown.into_iter().map(Warning::new));
        // They are first, so that the others do not push them out of sight.
        fired.verdict.warnings.splice(0..0, off.into_iter().map(Warning::new));
    }

    /// Lets the user answer the question of a hook, if the agent cannot ask and `hookbox approve` runs. Returns a note for the
    /// user.
    async fn ask_elsewhere(&self, fired: &mut Fired) -> Option<String> {
        let request = &self.request;
        let data = self.data.as_deref().filter(|_| !self.is_try);
        let ruling = fired.verdict.ask.as_ref().filter(|_| request.own.ask == Fate::Blocks)?.clone();
        let call = fired.event.tool_call()?;
        // The rest is for what comes after the answer.
        let time = self.known.left_for_hooks();
        let question = Question {
            agent: request.agent.title().to_owned(),
            tool: call.name.clone(),
            input: call.input.text().to_owned(),
            directory: fired.event.context.cwd.clone(),
            session: fired.event.context.conversation_id.clone(),
            hook: ruling.by.clone(),
            is_trusted: ruling.trusted,
            reason: ruling.for_user().to_owned(),
            time_ms: millis(time),
        };
        // Until there is an answer, the call is blocked, also if this process has to end.
        self.known.rule(request.answer(&fired.verdict, &fired.event));
        let why = match question.ask(data?).await {
            End::Answered(true) => {
                fired.verdict.ask = None;
                let name = text::escape(&ruling.by, 200);
                return Some(format!("{name} asked about this call, and you said yes"));
            }
            End::Answered(false) => "the user was asked, and said no",
            End::Unanswered => "the user was asked, and did not answer in time",
            End::Unasked(why) => return why,
        };
        (fired.verdict.ask, fired.verdict.block) = (None, Some(refused(&ruling, why)));
        None
    }
}

/// Counts that hooks make the agent go on. Messages that cannot be counted, or are too many, are not applied.
fn keep(count: &FollowUps, fired: &mut Fired) {
    if fired.verdict.follow_ups.is_empty() {
        return;
    }
    let why = match count.add() {
        Ok(number) if number <= MAX_FOLLOW_UPS => return,
        Ok(_) => format!("more than {MAX_FOLLOW_UPS} times in a row"),
        Err(error) => format!("and how often cannot be kept ({error})"),
    };
    fired.verdict.drop_follow_ups(format!("a hook makes the agent go on, {why}: not applied"));
}

/// Adds to the reason of a block or a question who decided it, and the file in which the user changes that.
/// A built-in hook says it itself, and the model reads no word about an untrusted hook.
fn signed(verdict: &mut Verdict, manager: &Manager) {
    let entries = manager.entries();
    let blocks = verdict.block.iter_mut().map(|it| (it.needed_for_model(), it));
    let asks = verdict.ask.iter_mut().map(|it| (it.for_user().to_owned(), it));
    for (reason, ruling) in blocks.chain(asks).filter(|(_, it)| it.trusted) {
        let is_it = |entry: &&Entry| entry.name == ruling.by && entry.kind != Kind::Builtin;
        let Some(entry) = entries.iter().find(is_it).filter(|_| !reason.trim().is_empty()) else { continue };
        let name = text::escape(&ruling.by, 200);
        let file = match &entry.plugin {
            // A change of its files would end the trust in them.
            Some(plugin) => format!("; it is of the plugin {}", text::escape(plugin, 200)),
            None => entry.settings_file().map_or_else(String::new, |file| {
                format!("; the user can change it in {}", text::escape(&from_home(&file), 1000))
            }),
        };
        let mut signed = Ruling::trusted(ruling.by.as_str(), format!("{reason} (hookbox: {name}{file})"));
        signed.code = ruling.code.take();
        *ruling = signed;
    }
}

/// Returns a path as the user would type it: `~` is the home directory.
fn from_home(path: &Path) -> String {
    let rest = std::env::home_dir().and_then(|home| path.strip_prefix(home).ok());
    rest.map_or_else(|| path.to_string_lossy().into_owned(), |rest| format!("~/{}", rest.to_string_lossy()))
}

/// Returns the problems of finding the hooks: those by which a hook of the user is off, or all others.
fn problems(manager: &Manager, is_off: bool) -> Vec<String> {
    let with_hint = |problem: &Problem| match &problem.hint {
        Some(hint) => text::escape(&format!("{problem}; hint: {hint}"), 1000),
        None => text::escape(&problem.to_string(), 1000),
    };
    manager.problems().iter().filter(|it| it.is_off == is_off).map(with_hint).collect()
}

/// Takes out the warnings about untrusted hooks, which the chain repeats at every event, and returns one note for all hooks
/// that wait for trust: the user may count on a guard among them, also before its event comes. A hook that lost its trust
/// since the hooks were found keeps its warning.
fn untrusted(fired: &mut Fired, manager: &Manager) -> Option<String> {
    let (hooks, found) = (&fired.report.hooks, manager.entries());
    let is_trusted = |name: &str| found.iter().any(|it| it.name == name && it.trusted);
    let is_standing = |warning: &Warning| {
        let Some(name) = &warning.hook else { return false };
        let mut of = hooks.iter().filter(|hook| hook.name == *name).peekable();
        of.peek().is_some() && of.all(|hook| hook.cause == Some(Cause::Untrusted)) && !is_trusted(name)
    };
    fired.verdict.warnings.retain(|warning| !is_standing(warning));
    // One that has changed has a problem of its own.
    let waits = |it: &&Entry| it.status == EntryStatus::Untrusted && it.found.record.is_none();
    let count = found.iter().filter(waits).count();
    match count {
        0 => None,
        1 => Some("a hook does not run, because you have not trusted it: see `hookbox list`, and `hookbox trust NAME`".to_owned()),
        _ => Some(format!(
            "{count} hooks do not run, because you have not trusted them: see `hookbox list`, and `hookbox trust NAME`"
        )),
    }
}
