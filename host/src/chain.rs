//! One event through a chain of hooks (design, section 5).

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tracing::Instrument as _;

use crate::capability::Denial;
use crate::event::{Event, EventName};
use crate::facts;
use crate::hook::{Budget, Descriptor, Hook, HookError, OnFailure, Origin, Subscription};
use crate::outcome::{Action, Answers, Author, Fold, MAX_CONTEXT, Outcome, Spent, Verdict};
use crate::redact;
use crate::report::{Cause, HookReport, Kind, Report, Status};
#[cfg(feature = "otel")]
use crate::telemetry::Telemetry;
use crate::text;

/// How much of a hook's log a report keeps, in bytes (the budget has cut it before; escaping may lengthen it).
const MAX_LOG: usize = 128 << 10;
/// How long a message in a report may be, in bytes.
const MAX_MESSAGE: usize = 2_000;
/// How much of a changed value the log shows, in bytes.
const MAX_CHANGE: usize = 1_024;

tokio::task_local! {
    /// Set while a hook of this task runs.
    static INSIDE_A_HOOK: ();
}

/// The limits of a chain.
#[derive(Clone, Debug)]
pub struct ChainOptions {
    /// How long the user's and the host's hooks may take together. 60 s.
    pub deadline: Duration,
    /// How long the hooks of a repository that the user trusts may take together, on a clock of their own. 60 s.
    pub repo_deadline: Duration,
    /// How long the hooks of a repository that the user has not trusted may take together. 5 s.
    pub untrusted_deadline: Duration,
    /// The user's home directory, for the facts of a tool call.
    pub home: Option<PathBuf>,
    /// How deep in hooks this process is (`HOOKBOX_DEPTH`); more than 0 means a hook started it.
    pub depth: u32,
    /// Run hooks also from inside a hook.
    pub allow_nested: bool,
    /// Where sessions report each event. Nowhere.
    #[cfg(feature = "otel")]
    pub telemetry: Option<Telemetry>,
}

impl Default for ChainOptions {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(60),
            repo_deadline: Duration::from_secs(60),
            untrusted_deadline: Duration::from_secs(5),
            home: None,
            depth: 0,
            allow_nested: false,
            #[cfg(feature = "otel")]
            telemetry: None,
        }
    }
}

impl ChainOptions {
    /// The same where all hooks of an event may take only so long together, whoever brought them: half of it is for the
    /// user's and the host's hooks, a third for those of a repository that the user trusts, a sixth, at most 5 s, for
    /// those that nobody trusts.
    #[must_use]
    pub fn within(self, total: Duration) -> Self {
        let untrusted_deadline = (total / 6).min(Self::default().untrusted_deadline);
        Self { deadline: total / 2, repo_deadline: total / 3, untrusted_deadline, ..self }
    }
}

/// What a chain made of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Fired {
    /// The event as the last hook saw it, with every change that was applied.
    pub event: Event,
    /// What the hooks decided.
    pub verdict: Verdict,
    /// What each of them did.
    pub report: Report,
}

/// Whether any of these hooks wants to see this event.
pub fn concerns(hooks: &[Arc<dyn Hook>], event: &EventName) -> bool {
    hooks.iter().any(|hook| hook.descriptor().subscribes_to(event))
}

/// Runs one event through the hooks that want to see it. `hooks` are in the order of their registration (tier,
/// root, plugin, file name; then code); their order in the chain follows from it, from who brought them and from
/// their priorities.
pub async fn run(hooks: &[Arc<dyn Hook>], event: Event, options: &ChainOptions) -> Fired {
    let mut clocks = Clocks::new(options);
    let mut ruled = rule(hooks, event, &mut clocks, options, MAX_CONTEXT).await;
    ruled.observe(&mut clocks).await;
    ruled.fired
}

/// An event on which the hooks have ruled, and those that only observe what came of it.
#[derive(Debug)]
pub(crate) struct Ruled {
    pub(crate) fired: Fired,
    /// Observers that come after a block, each with its place in the report.
    late: Vec<(usize, Late)>,
    began: Instant,
}

/// A hook that runs after the ruling.
struct Late(Arc<dyn Hook>);

impl fmt::Debug for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.descriptor().name)
    }
}

impl Ruled {
    /// Runs the observers that come after a block. Nothing of it changes the ruling.
    pub(crate) async fn observe(&mut self, clocks: &mut Clocks) {
        let Fired { event, verdict, report } = &mut self.fired;
        for (at, Late(hook)) in std::mem::take(&mut self.late) {
            let began = self.began.elapsed();
            let ran = clocks.run(hook.as_ref(), event).await;
            let mut fold = Fold::new();
            // It blocks nothing, so that the model reads nothing of it.
            let member = Member { hook: &hook, observe: true, untrusted: None };
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

/// Runs one event up to the ruling, on these clocks and with room for only so many bytes of context.
pub(crate) async fn rule(
    hooks: &[Arc<dyn Hook>],
    event: Event,
    clocks: &mut Clocks,
    options: &ChainOptions,
    room: usize,
) -> Ruled {
    let span =
        tracing::debug_span!("event", name = %event.name(), conversation = %event.context.conversation_id);
    rule_in_order(hooks, event, clocks, options, Fold::with_room(room)).instrument(span).await
}

async fn rule_in_order(
    hooks: &[Arc<dyn Hook>],
    mut event: Event,
    clocks: &mut Clocks,
    options: &ChainOptions,
    mut fold: Fold,
) -> Ruled {
    let began = Instant::now();
    let mut report = Report::new(event.name());
    let mut late = Vec::new();
    if concerns(hooks, &report.event) {
        work_out_facts(&mut event, options);
        let order = in_run_order(hooks, &event);
        clocks.expect(order.iter().map(|(hook, _)| hook.descriptor()));
        for member in members(order) {
            let Member { hook, observe, .. } = member;
            let descriptor = hook.descriptor();
            let started = began.elapsed();
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
            let ran = clocks.run(hook.as_ref(), &event).await;
            let input_before = event.tool_call().map(|call| call.input.clone());
            let mut hook_report = settle(&mut fold, &mut event, &member, ran);
            hook_report.started = started;
            if event.tool_call().map(|call| &call.input) != input_before.as_ref() {
                work_out_facts(&mut event, options);
            }
            trace(&report.event, &hook_report);
            report.hooks.push(hook_report);
        }
    }
    report.duration = began.elapsed();
    let fired = Fired { verdict: fold.finish(&event), event, report };
    Ruled { fired, late, began }
}

/// Whether a block has ended the chain for this hook.
///
/// After a tool call a block undoes nothing: the tool has run, and its output goes on to the model. So a hook that the
/// user has not trusted cannot, by blocking there, keep the user's hooks from the output.
fn ends(fold: &Fold, descriptor: &Descriptor, event: &EventName) -> bool {
    let is_theirs = *event == EventName::AfterToolCall && descriptor.tier.origin() != Origin::Repo;
    if is_theirs { fold.is_blocked_by_trusted() } else { fold.is_blocked() }
}

/// The hooks that want to see this event, in run order, each with whether it only observes.
pub fn in_run_order<'a>(hooks: &'a [Arc<dyn Hook>], event: &Event) -> Vec<(&'a Arc<dyn Hook>, bool)> {
    let mut order: Vec<(&Arc<dyn Hook>, &Subscription)> = hooks
        .iter()
        .filter_map(|hook| {
            let wanted = hook.descriptor().subscriptions.iter().find(|wanted| wanted.matches(event))?;
            Some((hook, wanted))
        })
        .collect();
    // The sort is stable: ties keep the order of registration.
    order.sort_by_key(|(hook, wanted)| (hook.descriptor().tier.origin(), wanted.priority));
    order.into_iter().map(|(hook, wanted)| (hook, wanted.observe)).collect()
}

/// A hook at its turn.
struct Member<'a> {
    hook: &'a Arc<dyn Hook>,
    observe: bool,
    /// The words for it that the model may read, where the user does not trust it.
    untrusted: Option<String>,
}

impl<'a> Member<'a> {
    fn descriptor(&self) -> &'a Descriptor {
        self.hook.descriptor()
    }

    fn author(&self) -> Author<'_> {
        Author { name: &self.descriptor().name, untrusted: self.untrusted.as_deref() }
    }
}

/// Gives those that the user does not trust words in the place of their names, which somebody else chose.
fn members<'a>(order: Vec<(&'a Arc<dyn Hook>, bool)>) -> Vec<Member<'a>> {
    let group = |hook: &Arc<dyn Hook>| {
        let descriptor = hook.descriptor();
        (!descriptor.trusted).then(|| descriptor.tier.origin())
    };
    let groups: Vec<Option<Origin>> = order.iter().map(|(hook, _)| group(hook)).collect();
    let words = |at: usize| {
        let origin = (*groups.get(at)?)?;
        let count = |groups: &[Option<Origin>]| groups.iter().filter(|it| **it == Some(origin)).count();
        let hook =
            if origin == Origin::Repo { "a hook of this repository" } else { "a hook that is not trusted" };
        Some(format!("{hook} ({} of {})", count(groups.get(..=at)?), count(&groups)))
    };
    let member = |(at, (hook, observe)): (usize, (&'a Arc<dyn Hook>, bool))| Member {
        hook,
        observe,
        untrusted: words(at),
    };
    order.into_iter().enumerate().map(member).collect()
}

fn work_out_facts(event: &mut Event, options: &ChainOptions) {
    let cwd = PathBuf::from(&event.context.cwd);
    if let Some(call) = event.tool_call_mut() {
        call.facts = Arc::new(facts::of(&call.name, &call.input, &cwd, options.home.as_deref()));
    }
}

/// What became of one hook.
struct Ran {
    result: Result<Outcome, HookError>,
    duration: Duration,
}

impl Ran {
    fn refused() -> Self {
        let what = "hooks are not run from inside a hook";
        Self { result: Err(HookError::new(Cause::Denied, what)), duration: Duration::ZERO }
    }
}

/// The time that is left to each group of hooks. What one group uses up never shortens another's.
#[derive(Debug)]
pub(crate) struct Clocks {
    untrusted: Clock,
    repo: Clock,
    others: Clock,
    /// Whether this happens inside a hook, where nothing is started.
    is_nested: bool,
}

/// The time that is left to one group of hooks.
#[derive(Debug)]
struct Clock {
    left: Duration,
    /// How many of the group have not had their turn.
    waiting: u32,
    /// The hook that used up the most, and how much.
    slowest: Option<(String, Duration)>,
}

impl Clock {
    fn new(left: Duration) -> Self {
        Self { left, waiting: 0, slowest: None }
    }

    /// How long the hook may take whose turn it is: half of what is left, and of the other half as much as each of those
    /// that wait behind it. So no hook that hangs takes the time of all others.
    fn part(&self) -> Duration {
        let half = self.left / 2;
        if self.waiting == 0 { self.left } else { half + half / (self.waiting + 1) }
    }

    /// Names the hook that used up more of the time than this part, if one did.
    fn used_by(&self, part: Duration) -> String {
        let slowest = self.slowest.as_ref().filter(|(_, used)| *used > part);
        slowest.map(|(name, used)| format!("; {name} took {:?} of it", rounded(*used))).unwrap_or_default()
    }

    /// Notes how long a hook took.
    fn spend(&mut self, descriptor: &Descriptor, used: Duration) {
        self.left = self.left.saturating_sub(used);
        if self.slowest.as_ref().is_none_or(|(_, most)| used > *most) {
            self.slowest = Some((Author::trusted(&descriptor.name).shown(), used));
        }
    }
}

/// The time of a group, in the message of a hook that it was too short for.
const ALL_TIME: &str = "the time that the hooks have together";

/// A time as it is shown: in whole milliseconds.
fn rounded(time: Duration) -> Duration {
    time - Duration::from_nanos(u64::from(time.subsec_nanos() % 1_000_000))
}

impl Clocks {
    pub(crate) fn new(options: &ChainOptions) -> Self {
        Self {
            untrusted: Clock::new(options.untrusted_deadline),
            repo: Clock::new(options.repo_deadline),
            others: Clock::new(options.deadline),
            is_nested: !options.allow_nested && (options.depth > 0 || INSIDE_A_HOOK.try_get().is_ok()),
        }
    }

    /// The clock of a hook; `None` for what is built in, which starts nothing and judges whatever the others did.
    fn of(&mut self, descriptor: &Descriptor) -> Option<&mut Clock> {
        match (descriptor.kind, descriptor.trusted, descriptor.tier.origin()) {
            (Kind::Builtin, ..) => None,
            (_, false, _) => Some(&mut self.untrusted),
            (_, true, Origin::Repo) => Some(&mut self.repo),
            (_, true, Origin::User | Origin::Host) => Some(&mut self.others),
        }
    }

    /// Counts the hooks that are to have a turn.
    fn expect<'a>(&mut self, hooks: impl Iterator<Item = &'a Descriptor>) {
        for clock in [&mut self.untrusted, &mut self.repo, &mut self.others] {
            clock.waiting = 0;
        }
        for descriptor in hooks {
            if let Some(clock) = self.of(descriptor) {
                clock.waiting += 1;
            }
        }
    }

    /// Takes note that a hook has no turn.
    fn skip(&mut self, descriptor: &Descriptor) {
        if let Some(clock) = self.of(descriptor) {
            clock.waiting = clock.waiting.saturating_sub(1);
        }
    }

    async fn run(&mut self, hook: &dyn Hook, event: &Event) -> Ran {
        let descriptor = hook.descriptor();
        let is_nested = self.is_nested;
        let Some(clock) = self.of(descriptor) else {
            let budget = descriptor.budget;
            return bounded(hook, event, &budget, budget.wall).await;
        };
        clock.waiting = clock.waiting.saturating_sub(1);
        if is_nested {
            return Ran::refused();
        }
        let part = rounded(clock.part());
        if part.is_zero() {
            let what = format!("did not run: {ALL_TIME} was up{}", clock.used_by(part));
            return Ran { result: Err(HookError::new(Cause::Timeout, what)), duration: Duration::ZERO };
        }
        let budget = descriptor.budget.within(part);
        // Executables and components keep their wall-clock limit themselves, to end what they started and to
        // report what it used; waiting for a free slot is not on a component's clock. Nothing outlasts its part.
        let wall = match descriptor.kind {
            // It ends by its own clock, which stands still while others have the thread.
            Kind::Component if descriptor.budget.wall <= part => clock.left,
            Kind::Native | Kind::Command | Kind::Component => part,
            _ => budget.wall,
        };
        let mut ran = bounded(hook, event, &budget, wall).await;
        if let Err(error) = &mut ran.result
            && error.cause == Cause::Timeout
            && part < descriptor.budget.wall
        {
            error.message.push_str(&format!(", its part of {ALL_TIME}{}", clock.used_by(part)));
        }
        clock.spend(descriptor, ran.duration);
        ran
    }
}

/// Runs a hook for so long at most.
async fn bounded(hook: &dyn Hook, event: &Event, budget: &Budget, wall: Duration) -> Ran {
    let started = Instant::now();
    let run = INSIDE_A_HOOK.scope((), catch_panic(hook.run(event, budget)));
    // The grace lets the hook's own deadline come first where both are the same.
    let result = tokio::time::timeout(wall + Duration::from_millis(100), run)
        .await
        .unwrap_or_else(|_| Err(HookError::timeout(wall)));
    Ran { result, duration: started.elapsed() }
}

/// A hook from code that panics has failed; it does not take the agent with it.
async fn catch_panic(run: impl Future<Output = Result<Outcome, HookError>>) -> Result<Outcome, HookError> {
    let mut run = pin!(run);
    std::future::poll_fn(|cx| {
        std::panic::catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(cx))).unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<&str>().copied().map(str::to_owned);
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Poll::Ready(Err(HookError::new(Cause::Trap, format!("panicked: {}", text::escape(&said, 200)))))
        })
    })
    .await
}

fn empty_report(descriptor: &Descriptor, status: Status) -> HookReport {
    HookReport {
        name: descriptor.name.clone(),
        kind: descriptor.kind,
        tier: descriptor.tier.as_str(),
        trusted: descriptor.trusted,
        status,
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
    }
}

/// Applies what a hook answered, or its failure policy, and writes its part of the report.
fn settle(fold: &mut Fold, event: &mut Event, member: &Member<'_>, ran: Ran) -> HookReport {
    let descriptor = member.descriptor();
    let mut report = empty_report(descriptor, Status::Passed);
    report.duration = ran.duration;
    let mut outcome = match ran.result {
        Ok(outcome) => outcome,
        Err(error) => {
            note_spent(&mut report, &error.spent);
            report.limit = error.limit;
            // A hook that gives up for want of a right has failed for that.
            let wanting = error.cause == Cause::Exit && !report.denied.is_empty();
            let cause = if wanting { Cause::Denied } else { error.cause };
            fail(fold, event, member, &mut report, cause, &error.message);
            warn_denied(fold, member.author(), &report);
            return report;
        }
    };
    note_spent(&mut report, &outcome.spent);
    if !report.denied.is_empty() {
        report.cause = Some(Cause::Denied);
        warn_denied(fold, member.author(), &report);
    }
    report.metadata = std::mem::take(&mut outcome.metadata);
    if member.observe {
        report.status = Status::Observed;
        return report;
    }
    let refused = outcome.restrict(descriptor.answers);
    let allows = event.name().allows();
    let blocks = allows.block && matches!(outcome.action, Action::Block(_));
    let asks = allows.ask && matches!(outcome.action, Action::Ask(_));
    if let Action::Block(reason) | Action::Ask(reason) = &outcome.action {
        report.message = Some(text::escape(reason, MAX_MESSAGE));
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
        () => Status::Passed,
    };
    if refused != Answers::NONE {
        let why = if descriptor.trusted { "does not declare" } else { "may not give, not being trusted" };
        let message = format!("gave answers that it {why} ({}): not applied", refused.names().join(", "));
        fail(fold, event, member, &mut report, Cause::Denied, &message);
    }
    report
}

/// Says which rights a hook looked for in vain, and what would allow them.
fn warn_denied(fold: &mut Fold, author: Author<'_>, report: &HookReport) {
    for Denial { right, fix } in &report.denied {
        fold.warn(Some(author.name), format!("{} was denied {right}; {fix}", author.shown()));
    }
}

fn note_spent(report: &mut HookReport, spent: &Spent) {
    report.fuel = spent.fuel;
    report.memory_peak = spent.memory_peak;
    report.log = text::escape_lines(&spent.log, MAX_LOG);
    report.denied.clone_from(&spent.denied);
}

/// A failure: by the hook's policy a warning or a block, never silent.
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
    let message = text::prefix(message, MAX_MESSAGE);
    let what = format!("{}{standing} failed ({cause}): {message}", author.shown());
    report.cause = Some(cause);
    report.message = Some(message.to_owned());
    let blocks = descriptor.on_failure == OnFailure::Block && event.name().allows().block && !member.observe;
    if blocks {
        fold.block(author, what.clone());
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
        None => tracing::debug!(%event, hook = %name, status, micros, "hook ran"),
    }
    for change in &hook.changes {
        let shown = |value| redact::line(value, MAX_CHANGE);
        tracing::info!(
            target: "hookbox::change",
            %event,
            hook = %name,
            what = change.what,
            from = %shown(&change.before),
            to = %shown(&change.after),
            "changed"
        );
    }
}
