//! One event through a chain of hooks.

mod clocks;
mod door;
mod member;
mod options;
mod redaction;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::Instrument as _;

pub(crate) use self::clocks::Clocks;
use self::clocks::Ran;
pub(crate) use self::door::{Door, Opens};
use self::member::{Member, members};
pub use self::options::ChainOptions;
pub(crate) use self::options::TextRules;
use crate::capability::{Capability, Denial};
use crate::event::{Context, Event, EventData, EventName, ToolCall};
use crate::hook::{Cause, Descriptor, Hook, Kind, OnFailure, Origin, Subscription};
use crate::outcome::{Action, Answers, Author, Fold, Outcome, Spent, Verdict, Warning};
use crate::report::{HookReport, Report, Status};
use crate::{facts, redact};
use hookbox_system::{limits, text};

/// The name of the tool for shell lines that no tool of the agent runs: hooks for Claude Code's shell tool see them, and all
/// that look at the kind of a tool.
const SHELL: &str = "Bash";

/// The limit on a hook's log in a report, in bytes. The budget has cut it before, but escaping may lengthen
/// it.
const MAX_LOG: usize = 128 << 10;
/// The number of lines of a hook's log that go to the log of the host.
const MAX_LOG_LINES: usize = 100;

/// An event that went through a chain, with the verdict.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fired {
    /// The event as the last hook saw it, with every change that was applied.
    pub event: Event,
    /// The decision of the hooks.
    pub verdict: Verdict,
    /// The report, hook by hook.
    pub report: Report,
}

/// Returns true if any of these hooks subscribes to this event.
pub(crate) fn concerns(hooks: &[Arc<dyn Hook>], event: &EventName) -> bool {
    hooks.iter().any(|hook| hook.descriptor().subscribes_to(event))
}

/// Runs one event through the hooks that subscribe to it. `hooks` are in the order of their registration
/// (tier, root, plugin, file name; then code). Their order in the chain is by origin, priority and
/// registration. Secrets are removed from the text that the hooks give the model.
pub async fn run(hooks: &[Arc<dyn Hook>], event: Event, options: &ChainOptions) -> Fired {
    let mut clocks = Clocks::new(options);
    let mut ruled = rule(hooks, event, &mut clocks, options, TextRules::new(true), None).await;
    ruled.observe(&mut clocks).await;
    *ruled.fired
}

/// An event with its verdict, and the observers that still have to run.
#[derive(Debug)]
pub(crate) struct Ruled {
    /// Boxed: it is handed on many times.
    pub(crate) fired: Box<Fired>,
    /// Observers that come after a block, each with its place in the report.
    late: Vec<(usize, Late)>,
    began: Instant,
    /// True if secrets are removed from the messages of observers that fail.
    redacts: bool,
}

/// A hook that runs after the ruling.
struct Late(Arc<dyn Hook>);

impl fmt::Debug for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.descriptor().name)
    }
}

impl Ruled {
    /// Returns true if observers still have to run.
    pub(crate) fn has_observers(&self) -> bool {
        !self.late.is_empty()
    }

    /// Adds the block or the question about the lines that the call writes, with the report of their hooks.
    pub(crate) fn add(&mut self, of_lines: Self) {
        let Fired { verdict, report, .. } = *of_lines.fired;
        let own = &mut *self.fired;
        own.verdict.warnings.extend(verdict.warnings);
        if verdict.block.is_none() && verdict.ask.is_none() {
            return;
        }
        (own.verdict.block, own.verdict.allowed) = (verdict.block, None);
        own.verdict.ask = verdict.ask.or(own.verdict.ask.take()).filter(|_| own.verdict.block.is_none());
        let text =
            "the agent runs shell lines of a skill or a command file by itself: they were judged like a call"
                .to_owned();
        own.verdict.warnings.push(Warning { hook: None, text });
        own.report.hooks.extend(report.hooks);
    }

    /// Runs the observers that come after a block. They cannot change the verdict.
    pub(crate) async fn observe(&mut self, clocks: &mut Clocks) {
        let Fired { event, verdict, report } = &mut *self.fired;
        for (at, Late(hook)) in std::mem::take(&mut self.late) {
            let began = self.began.elapsed();
            let ran = clocks.run(hook.as_ref(), event).await;
            let mut fold = Fold::new();
            // An observer cannot block, so the model never reads its name.
            let member = Member { hook: &hook, observe: true, untrusted: None, redacts: self.redacts };
            let settled = settle(&mut fold, event, &member, ran);
            trace(&report.event, &settled);
            verdict.warnings.extend(fold.finish(event).warnings);
            if let Some(place) = report.hooks.get_mut(at) {
                *place = HookReport { started: began, ..settled };
            }
            report.duration = self.began.elapsed();
        }
    }
}

/// Returns the call of a shell with the lines of a skill or a command file that an event writes or uses: an agent runs them
/// by itself. `None` if there are none.
pub(crate) fn lines_of_files(event: &Event, options: &ChainOptions) -> Option<Event> {
    let cwd = Path::new(&event.context.cwd);
    let line = facts::shell_line(&event.data, cwd, options.home.as_deref(), &options.command_files)?;
    let mut shell = ToolCall::new(SHELL, serde_json::json!({ "command": line }));
    if let EventData::BeforeToolCall(call) = &event.data {
        shell.id.clone_from(&call.id);
    }
    let mut context = Context::clone(&event.context);
    // The payload is one of the whole call.
    context.payload = None;
    Some(Event { context: Arc::new(context), data: EventData::BeforeToolCall(shell) })
}

/// Creates the span of an event for the host's log.
pub(crate) fn span(name: &EventName, context: &Context) -> tracing::Span {
    tracing::debug_span!("event", name = %name, conversation = %context.conversation_id)
}

/// Runs one event up to the verdict, on these clocks and with these rules for text. The door has the user's allowances.
pub(crate) async fn rule(
    hooks: &[Arc<dyn Hook>],
    event: Event,
    clocks: &mut Clocks,
    options: &ChainOptions,
    rules: TextRules,
    door: Option<Door>,
) -> Ruled {
    let span = span(&event.name(), &event.context);
    rule_in_order(hooks, event, clocks, options, rules, door).instrument(span).await
}

async fn rule_in_order(
    hooks: &[Arc<dyn Hook>],
    event: Event,
    clocks: &mut Clocks,
    options: &ChainOptions,
    TextRules { room, redacts }: TextRules,
    mut door: Option<Door>,
) -> Ruled {
    let began = Instant::now();
    let mut fold = Fold::with_room(room);
    let report = Report::new(event.name());
    let mut fired = Box::new(Fired { event, verdict: Verdict::default(), report });
    let Fired { event, verdict, report } = &mut *fired;
    let mut late = Vec::new();
    if concerns(hooks, &report.event) {
        work_out_facts(event, options);
        let mut order = in_run_order(hooks, event);
        let once = order.len();
        // A later hook may change the call that the administrator's hooks have judged: then they judge it again.
        let is_managed = |hook: &Arc<dyn Hook>| hook.descriptor().tier.origin() == Origin::Managed;
        let of_managed = order.iter().filter(|(hook, observe)| is_managed(hook) && !observe);
        order.extend(of_managed.copied().collect::<Vec<_>>());
        let mut judged = event.tool_call().map(|call| call.input.clone());
        clocks.expect(order.iter().map(|(hook, _)| hook.descriptor()));
        for (at, member) in members(order, redacts).into_iter().enumerate() {
            let Member { hook, observe, .. } = member;
            let descriptor = hook.descriptor();
            let started = began.elapsed();
            if at >= once && event.tool_call().map(|call| &call.input) == judged.as_ref() {
                clocks.skip(descriptor);
                continue;
            }
            if ends(&fold, descriptor, &report.event) {
                if observe {
                    late.push((report.hooks.len(), Late(Arc::clone(hook))));
                } else {
                    clocks.skip(descriptor);
                }
                let skipped = empty_report(descriptor, Status::Skipped);
                report.hooks.push(HookReport { started, ..skipped });
                continue;
            }
            let ran = clocks.run(hook.as_ref(), event).await;
            let input_before = event.tool_call().map(|call| call.input.clone());
            let mut hook_report = settle(&mut fold, event, &member, ran);
            if let (Status::Blocked, Some(door)) = (hook_report.status, &mut door) {
                let place = (&mut hook_report, report.hooks.len());
                door.pass(&mut fold, (event, input_before.as_ref()), descriptor, place);
            }
            hook_report.started = started;
            if event.tool_call().map(|call| &call.input) != input_before.as_ref() {
                work_out_facts(event, options);
            }
            if at < once && is_managed(hook) {
                judged = event.tool_call().map(|call| call.input.clone());
            }
            trace(&report.event, &hook_report);
            report.hooks.push(hook_report);
        }
    }
    if let Some(door) = door {
        Box::pin(door.close(&mut fold, &mut report.hooks)).await;
    }
    *verdict = fold.finish(event);
    report.duration = began.elapsed();
    Ruled { fired, late, began, redacts }
}

/// Returns true if a block has ended the chain for this hook.
///
/// After a tool call a block undoes nothing: the tool has run, and its output goes on to the model. So a hook
/// that the user has not trusted cannot, by blocking there, keep the user's hooks from the output.
///
/// A block at `on_budget_exceeded` refuses large work and makes no room. So it cannot keep the user's hooks
/// from asking for a rotation either if it is not trusted, and never a built-in hook: the user's settings ask
/// for that rotation.
fn ends(fold: &Fold, descriptor: &Descriptor, event: &EventName) -> bool {
    let is_budget = *event == EventName::OnBudgetExceeded;
    if is_budget && descriptor.kind == Kind::Builtin {
        return false;
    }
    let is_theirs =
        (is_budget || *event == EventName::AfterToolCall) && descriptor.tier.origin() != Origin::Repo;
    if is_theirs { fold.is_blocked_by_trusted() } else { fold.is_blocked() }
}

/// Returns the hooks that subscribe to this event, in run order, each with its `observe`.
pub(crate) fn in_run_order<'a>(hooks: &'a [Arc<dyn Hook>], event: &Event) -> Vec<(&'a Arc<dyn Hook>, bool)> {
    let mut order: Vec<(&Arc<dyn Hook>, &Subscription)> = hooks
        .iter()
        .filter_map(|hook| {
            let wanted = hook.descriptor().subscriptions.iter().find(|wanted| wanted.matches(event))?;
            Some((hook, wanted))
        })
        .collect();
    // The sort is stable: ties keep the order of registration.
    order.sort_by_key(|(hook, wanted)| (hook.descriptor().tier.origin(), wanted.priority));
    order.into_iter().map(|(hook, wanted)| (hook, hook.descriptor().only_observes(wanted))).collect()
}

/// Works out the facts of the event's tool call.
pub fn work_out_facts(event: &mut Event, options: &ChainOptions) {
    let cwd = PathBuf::from(&event.context.cwd);
    if let Some(call) = event.tool_call_mut() {
        call.facts = Arc::new(facts::of(&call.name, &call.input, &cwd, options.home.as_deref()));
    }
}

fn empty_report(descriptor: &Descriptor, status: Status) -> HookReport {
    HookReport {
        name: descriptor.name.clone(),
        kind: descriptor.kind,
        tier: descriptor.tier.as_str(),
        trusted: descriptor.trusted,
        status,
        would: None,
        cause: None,
        started: Duration::ZERO,
        duration: Duration::ZERO,
        fuel: None,
        memory_peak: None,
        message: None,
        limit: None,
        changes: Vec::new(),
        log: String::new(),
        metadata: serde_json::Map::new(),
        denied: Vec::new(),
        passed_over: None,
        inputs: None,
    }
}

/// Applies a hook's answer or its failure policy, and writes its part of the report.
fn settle(fold: &mut Fold, event: &mut Event, member: &Member<'_>, ran: Ran) -> HookReport {
    let mut report = empty_report(member.descriptor(), Status::Passed);
    (report.duration, report.passed_over) = (ran.duration, ran.passed_over);
    let mut outcome = match ran.result {
        Ok(outcome) => outcome,
        Err(error) => {
            note_spent(&mut report, &error.spent);
            report.limit = error.limit;
            // A hook that gave up after a denial has failed because of it.
            let wanting = error.cause == Cause::Exit && !report.denied.is_empty();
            let cause = if wanting { Cause::Denied } else { error.cause };
            fail(fold, event, member, &mut report, cause, &error.message);
            warn_denied(fold, member.author(), &report.denied);
            return report;
        }
    };
    note_spent(&mut report, &outcome.spent);
    if !report.denied.is_empty() {
        report.cause = Some(Cause::Denied);
        dispute(fold, member);
        warn_denied(fold, member.author(), &report.denied);
    }
    report.metadata = std::mem::take(&mut outcome.metadata);
    if member.observe {
        // On copies: the report shows the effect, and there is none.
        answer(&mut Fold::new(), &mut event.clone(), member, &mut report, outcome);
        report.would = Some(report.status).filter(|it| !matches!(it, Status::Passed | Status::PassedOver));
        report.status = Status::Observed;
    } else {
        answer(fold, event, member, &mut report, outcome);
    }
    report
}

/// Applies a hook's answer, and writes it into the report.
fn answer(
    fold: &mut Fold,
    event: &mut Event,
    member: &Member<'_>,
    report: &mut HookReport,
    mut outcome: Outcome,
) {
    let descriptor = member.descriptor();
    let mut refused = outcome.restrict(descriptor.answers);
    if member.observe {
        // Nothing of it counts, so no part of it fails.
        refused = Answers::NONE;
    }
    if let (true, Some(fix)) = (refused.allow, &descriptor.to_allow) {
        // The hook has not failed: it does not object, so what other hooks allow counts.
        refused.allow = false;
        report.cause = Some(Cause::Denied);
        let denial = Denial { right: Capability::Allow.to_string(), fix: fix.clone() };
        warn_denied(fold, member.author(), std::slice::from_ref(&denial));
        report.denied.push(denial);
    }
    if member.redacts {
        redaction::clean(&event.name(), &mut outcome);
    }
    let allows = event.name().allows();
    let blocks = allows.block && matches!(outcome.action, Action::Block(_));
    let asks = allows.ask && matches!(outcome.action, Action::Ask(_));
    if let Action::Block(reason) | Action::Ask(reason) | Action::Allow(reason) = &outcome.action {
        report.message = Some(text::escape(reason, limits::MESSAGE));
    }
    report.changes = fold.apply(event, member.author(), outcome);
    if let Some(cut) = fold.take_cut() {
        report.message = Some(match report.message.take() {
            Some(reason) => format!("{reason} ({cut})"),
            None => cut,
        });
    }
    report.status = match () {
        () if blocks => Status::Blocked,
        () if asks => Status::Asked,
        () if !report.changes.is_empty() => Status::Changed,
        () if report.passed_over.is_some() => Status::PassedOver,
        () => Status::Passed,
    };
    if refused != Answers::NONE {
        let why = if descriptor.trusted { "does not declare" } else { "may not give, not being trusted" };
        let message = format!("gave answers that it {why} ({}): not applied", refused.names().join(", "));
        fail(fold, event, member, report, Cause::Denied, &message);
    }
}

/// Notes that a hook could not judge. One that only observes would not have been heard.
fn dispute(fold: &mut Fold, member: &Member<'_>) {
    if !member.observe {
        fold.dispute();
    }
}

/// Warns of the rights that a hook lacked, and how to allow them.
fn warn_denied(fold: &mut Fold, author: Author<'_>, denied: &[Denial]) {
    for Denial { right, fix } in denied {
        fold.warn(Some(author.name), format!("{} was denied {right}; {fix}", author.shown()));
    }
}

fn note_spent(report: &mut HookReport, spent: &Spent) {
    report.fuel = spent.fuel;
    report.memory_peak = spent.memory_peak;
    report.log = text::escape_lines(&spent.log, MAX_LOG);
    report.denied.clone_from(&spent.denied);
    report.inputs.clone_from(&spent.inputs);
}

/// Records a failure: a warning or a block by the hook's policy, never silent.
fn fail(
    fold: &mut Fold,
    event: &Event,
    member: &Member<'_>,
    report: &mut HookReport,
    cause: Cause,
    message: &str,
) {
    let (descriptor, mut author) = (member.descriptor(), member.author());
    if cause == Cause::Untrusted {
        // It has changed since it was found, and the message may name files of the repository.
        author.untrusted = author.untrusted.or(Some("a hook that has changed since it was trusted"));
    }
    let standing = if descriptor.trusted { "" } else { " (not trusted)" };
    let mut message = text::prefix(message, limits::MESSAGE).to_owned();
    if member.redacts {
        redaction::clean_text(&mut message);
    }
    let what = match cause {
        Cause::Untrusted => format!("skipped {}: {message}", author.shown()),
        _ => format!("{}{standing} failed ({cause}): {message}", author.shown()),
    };
    report.cause = Some(cause);
    report.message = Some(message);
    dispute(fold, member);
    let blocks = descriptor.on_failure == OnFailure::Block && event.name().allows().block && !member.observe;
    if blocks {
        fold.block(author, cause, what.clone());
        report.status = Status::Blocked;
    } else if report.status != Status::Blocked {
        report.status = if cause == Cause::Untrusted { Status::Untrusted } else { Status::Failed };
    }
    fold.warn(Some(author.name), what);
}

fn trace(event: &EventName, hook: &HookReport) {
    let (name, status, micros) = (&hook.name, hook.status.as_str(), hook.duration.as_micros());
    match hook.cause {
        Some(cause) => {
            let message = || redact::text(hook.message.as_deref().unwrap_or_default());
            tracing::warn!(%event, hook = %name, status, %cause, micros, message = %message(), "hook failed");
        }
        None => {
            let would = hook.would.map(Status::as_str);
            tracing::debug!(%event, hook = %name, status, would, micros, "hook ran");
        }
    }
    for line in hook.log.lines().take(MAX_LOG_LINES) {
        tracing::info!(target: "hookbox::output", %event, hook = %name, "{}", redact::text(line));
    }
    for change in hook.changes.iter().filter(|_| hook.would.is_none()) {
        tracing::info!(
            target: "hookbox::change",
            %event,
            hook = %name,
            what = change.what,
            from = %redact::line(&change.before, limits::MESSAGE),
            to = %redact::line(&change.after, limits::MESSAGE),
            "changed"
        );
    }
}
