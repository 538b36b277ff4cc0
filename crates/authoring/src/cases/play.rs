//! Sends the event of a case to its hook, in the process of the case.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use hookbox::capability::Capability;
use hookbox::dialect::Dialect;
use hookbox::event::EventData;
use hookbox::internal::clock::TestClock;
use hookbox::manager::{Entry, EntryStatus, Manager};
use hookbox::session::{Asked, Explanation, Session};
use hookbox::store::{Bucket, Store};
use hookbox::trust::{Scope, TrustFile};
use hookbox::{Action, Context, Event, EventName, Network, Outcome, Runtime, escape};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::case::{Came, Case, CaseFile, Changed, Content, Failure, Verdict, to_toml};
use super::error::{CaseError, CaseErrorKind};
use super::place::Place;
use super::replies::{self, Requests};
use super::wire::Wire;
use hookbox_system::limits;

/// The work of the process of a case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The case file.
    pub file: PathBuf,
    /// The position of the case in the file, from 0.
    pub case: usize,
    /// The hook, absolute.
    pub hook: PathBuf,
    /// The temporary directory of the case.
    pub place: PathBuf,
    /// The directory of compiled code.
    pub cache: Option<PathBuf>,
    /// The agent through whose wire the event goes.
    pub dialect: Option<String>,
}

/// Runs a case in this process, whose environment and working directory are those of the case. With a wire, the event
/// goes through it to the hook, and the verdict back.
///
/// # Errors
///
/// [`CaseError`] if the case file cannot be read, or the surroundings cannot be made.
pub async fn play(task: &Task, runtime: &Runtime, wire: Option<&dyn Wire>) -> Result<Came, CaseError> {
    let file = CaseFile::read(&task.file)?;
    let case = file.cases.get(task.case).ok_or_else(|| CaseErrorKind::no_cases().at(&task.file))?;
    let at_place = |error| CaseErrorKind::Io(error).at(&task.place);
    let place = Place::at(&task.place).map_err(at_place)?;
    place.put_files(&case.files).map_err(at_place)?;
    place.put_hook(&task.hook).map_err(at_place)?;
    let (network, requests) = replies::network(&case.http);
    let time = Time::of(case);
    let runtime = runtime.clone().with_clock(time.clock.clone());
    let find = async || manager(&place, &runtime, network.clone()).await;
    let mut manager = find().await;
    if !case.settings.is_empty() || case.on_failure.is_some() || !case.grants.is_empty() {
        if let Some(unfit) = configure(case, &place, &manager).map_err(|kind| kind.at(&task.place))? {
            return Ok(Came { unfit: Some(unfit), ..Came::default() });
        }
        manager = find().await;
    }
    let player = Playing { case, place: &place, hook: &task.hook, manager, time, requests, wire };
    player.play().await.map_err(|kind| kind.at(&task.place))
}

async fn manager(place: &Place, runtime: &Runtime, network: Network) -> Manager {
    let builder = Manager::builder()
        .cwd(place.work())
        .home(place.home())
        .roots([".hookbox"])
        .cache(None)
        .data(Some(place.data()))
        .runtime(runtime.clone())
        .network(network)
        .builtins(false)
        // The hook of the agent that tests a hook is another one.
        .allow_nested(true);
    builder.build().await
}

/// Writes the settings and grants of the case. Returns the reason if a grant means nothing.
fn configure(case: &Case, place: &Place, manager: &Manager) -> Result<Option<String>, CaseErrorKind> {
    let mut document = toml_edit::DocumentMut::new();
    for entry in manager.entries().iter() {
        let mut table = toml_edit::Table::new();
        if let Some(on_failure) = case.on_failure {
            table.insert("on_failure", toml_edit::value(on_failure.as_str()));
        }
        if let Some(settings) = to_toml(&Value::Object(case.settings.clone())) {
            table.insert("settings", toml_edit::value(settings));
        }
        let hooks = document.entry("hooks").or_insert_with(toml_edit::table);
        if let Some(hooks) = hooks.as_table_mut() {
            hooks.insert(&entry.name, toml_edit::Item::Table(table));
        }
    }
    fs::write(place.settings(), document.to_string())?;
    let components = manager.entries();
    let components = components.iter().filter_map(|hook| Some((hook, hook.found.manifest.as_ref()?)));
    let components: Vec<_> = components.collect();
    let is_asked = |grant: &Capability| {
        components.iter().any(|(_, it)| it.capabilities.iter().any(|asked| grant.intersect(asked).is_some()))
    };
    if let Some(grant) = case.grants.iter().find(|grant| !is_asked(grant)) {
        return Ok(Some(format!("the case grants {grant}, and the hook does not ask for it")));
    }
    let surroundings = |error: &dyn std::error::Error| CaseErrorKind::Surroundings(error.to_string());
    let mut records = Vec::new();
    for (hook, manifest) in components {
        let digest = hook.trust_digest().map_err(|error| surroundings(&error))?;
        let asked = manifest.capabilities.clone();
        records.extend(digest.and_then(|it| hook.approved(it, asked, case.grants.clone())));
    }
    let file = TrustFile::new(place.data());
    let written = file.update(|all| records.into_iter().for_each(|record| all.insert(record)));
    written.map_err(|error| surroundings(&error))?;
    Ok(None)
}

/// The answer as the agent understood it, and the event that it asked about; or the reason why it cannot.
type Taken = Result<(Outcome, Event), String>;

/// A case whose hook was found.
struct Playing<'a> {
    case: &'a Case,
    place: &'a Place,
    hook: &'a Path,
    manager: Manager,
    time: Time,
    requests: Requests,
    wire: Option<&'a dyn Wire>,
}

impl Playing<'_> {
    async fn play(self) -> Result<Came, CaseErrorKind> {
        self.fill_store().await?;
        let identities = self.identities();
        self.place.put_data(&self.case.files, &identities)?;
        let session = self.manager.session("case");
        let Case { event, data, before, times, .. } = self.case;
        for (number, earlier) in (1..).zip(before) {
            let explanation = match self.send(&session, &earlier.event, &earlier.data).await? {
                Ok((explanation, _)) => explanation,
                Err(came) => return Ok(came),
            };
            if let Some(why) = self.unfit(&explanation).or_else(|| self.failed(&explanation)) {
                let unfit = Some(format!("event {number} of `before`: {why}"));
                return Ok(Came { unfit, ..Came::default() });
            }
        }
        for _ in 1..*times {
            if let Err(came) = self.send(&session, event, data).await? {
                return Ok(came);
            }
        }
        let mut came = match self.send(&session, event, data).await? {
            Ok((explanation, taken)) => {
                let mut came = self.came(&explanation);
                match taken {
                    Some(Ok((outcome, asked))) => self.take_back(&mut came, outcome, &asked),
                    Some(Err(unfit)) => came.unfit = Some(unfit),
                    None => {}
                }
                came
            }
            Err(came) => return Ok(came),
        };
        let (requests, unanswered) = self.requests.take();
        came.requests = requests.iter().map(|request| self.place.neutral(request)).collect();
        came.problems.extend(unanswered);
        came.store = self.read_store().await?;
        came.files = self.place.changed_files(&self.case.files, &identities)?;
        Ok(came)
    }

    /// Sends the next event to the hook, through the wire of the agent if there is one. `Err` has the answer if it
    /// cannot be sent.
    async fn send(
        &self,
        session: &Session,
        event: &EventName,
        data: &Map<String, Value>,
    ) -> Result<Result<(Explanation, Option<Taken>), Came>, CaseErrorKind> {
        let asked = self.event(event, data)?;
        let Some(wire) = self.wire else {
            return Ok(Ok((session.explain(asked).await, None)));
        };
        let sent = match wire.send(&asked) {
            Ok(Some(sent)) => sent,
            Ok(None) => {
                let skipped = Some(format!("the agent does not send {} like this", asked.name()));
                return Ok(Err(Came { skipped, ..Came::default() }));
            }
            Err(unfit) => return Ok(Err(Came { unfit: Some(unfit), ..Came::default() })),
        };
        let explanation = session.explain(sent.event().clone()).await;
        let outcome = sent.outcome(&explanation.fired.verdict, &explanation.fired.event);
        Ok(Ok((explanation, Some(outcome.map(|outcome| (outcome, asked))))))
    }

    fn event(&self, event: &EventName, data: &Map<String, Value>) -> Result<Event, CaseErrorKind> {
        let mut context = Context::new("case", self.place.work().to_string_lossy());
        context.timestamp_ms = self.time.next().unwrap_or(context.timestamp_ms);
        let decoded = Dialect::of(event, data).decode(event, data.clone(), &context);
        Ok(decoded.map_err(|error| CaseErrorKind::Surroundings(error.to_string()))?.event)
    }

    fn came(&self, explanation: &Explanation) -> Came {
        let fired = &explanation.fired;
        let neutral = |text: &str| self.place.neutral(text);
        let all = |texts: &[String]| texts.iter().map(|text| neutral(text)).collect();
        let decided = &fired.verdict;
        let (verdict, ruling) = match (&decided.block, &decided.ask, &decided.allowed) {
            (Some(ruling), ..) => (Verdict::Block, Some(ruling)),
            (None, Some(ruling), _) => (Verdict::Ask, Some(ruling)),
            (None, None, Some(ruling)) => (Verdict::Allow, Some(ruling)),
            (None, None, None) => (Verdict::Pass, None),
        };
        let reports = || explanation.hooks.iter().filter_map(|hook| hook.report.as_ref());
        let failures = reports().filter_map(|report| {
            let message = neutral(report.message.as_deref().unwrap_or_default());
            Some(Failure { hook: report.name.clone(), cause: report.cause?, message })
        });
        let denied = reports().flat_map(|report| &report.denied);
        let denied =
            denied.map(|denial| format!("the hook lacks {}", escape(&denial.right, limits::MESSAGE)));
        let problems = self.manager.problems();
        let problems = problems.iter().map(|problem| neutral(&problem.to_string()));
        Came {
            unfit: self.unfit(explanation),
            skipped: None,
            verdict,
            reason: ruling.map(|ruling| neutral(ruling.for_user())),
            changed: fired.verdict.modified.then(|| self.new_value(&fired.event.data)).flatten(),
            context: all(&fired.verdict.context),
            warnings: fired.verdict.warnings.iter().map(|warning| neutral(&warning.text)).collect(),
            follow_ups: all(&fired.verdict.follow_ups),
            callback: fired.verdict.callback.as_ref().map(|callback| callback.name.clone()),
            log: neutral(&reports().map(|report| report.log.as_str()).collect::<String>()),
            requests: Vec::new(),
            store: BTreeMap::new(),
            files: BTreeMap::new(),
            fuel: reports().filter_map(|report| report.fuel).max(),
            memory: reports().filter_map(|report| report.memory_peak).max(),
            failures: failures.collect(),
            problems: problems.chain(denied).collect(),
        }
    }

    /// Returns the failure of a hook, in words.
    fn failed(&self, explanation: &Explanation) -> Option<String> {
        let mut reports = explanation.hooks.iter().filter_map(|hook| hook.report.as_ref());
        reports.find_map(|report| {
            let message = self.place.neutral(report.message.as_deref().unwrap_or_default());
            Some(format!("the hook failed: {}: {}", report.cause?, escape(&message, limits::MESSAGE)))
        })
    }

    /// Replaces the decision by the one that the agent understood.
    fn take_back(&self, came: &mut Came, outcome: Outcome, asked: &Event) {
        let (verdict, reason) = match outcome.action {
            Action::Block(reason) => (Verdict::Block, Some(reason)),
            Action::Ask(reason) => (Verdict::Ask, Some(reason)),
            Action::Allow(reason) => (Verdict::Allow, Some(reason)),
            Action::Modify(value) => {
                let value = self.place.neutral_value(&value);
                came.changed = self.new_value(&asked.data).map(|it| Changed { value, ..it });
                (Verdict::Pass, None)
            }
            _ => {
                came.changed = None;
                (Verdict::Pass, None)
            }
        };
        came.verdict = verdict;
        came.reason = reason.map(|reason| self.place.neutral(&reason));
    }

    fn new_value(&self, data: &EventData) -> Option<Changed> {
        let (name, value) = data.changeable()?;
        Some(Changed { name: name.to_owned(), value: self.place.neutral_value(&value) })
    }

    /// Returns the reason why no hook was asked, unless its tools or a condition of its own exclude the event.
    fn unfit(&self, explanation: &Explanation) -> Option<String> {
        let hooks = &explanation.hooks;
        let is_judged = |asked: &Asked| {
            matches!(asked, Asked::Yes | Asked::PassedOver(_) | Asked::OtherTools(_) | Asked::AfterBlock)
        };
        if hooks.iter().any(|hook| is_judged(&hook.asked)) {
            return None;
        }
        let shown = |text: &str| escape(&self.place.neutral(text), limits::MESSAGE);
        if let Some(hook) = hooks.iter().find(|hook| hook.entry.status == EntryStatus::Invalid) {
            return Some(format!(
                "the hook cannot be used: {}",
                shown(hook.entry.problem.as_deref().unwrap_or_default())
            ));
        }
        let event = explanation.fired.event.name();
        let mut events = Vec::new();
        events.extend(hooks.iter().flat_map(|hook| hook.entry.events.iter().map(|it| it.as_str())));
        if !events.is_empty() {
            return Some(format!("the hook is for {}, not for {event}", shown(&events.join(", "))));
        }
        let problem = self.manager.problems().first().map(|it| format!(": {}", shown(&it.to_string())));
        let name = self.hook.file_name().unwrap_or_default().to_string_lossy();
        Some(format!("{} is not a hook that runs{}", shown(&name), problem.unwrap_or_default()))
    }

    /// Returns the name of the state and of the data of each hook.
    fn identities(&self) -> Vec<String> {
        let identity = |entry: &Entry| {
            let name = self.place.identity(self.hook, &entry.name, entry.path.as_deref());
            Scope::Global.identity(entry.plugin.as_deref(), &name)
        };
        self.manager.entries().iter().map(identity).collect()
    }

    /// Returns the state of each hook.
    fn buckets(&self) -> Vec<Bucket> {
        let store = Store::at(self.place.data());
        self.identities().into_iter().map(|identity| store.bucket([identity])).collect()
    }

    async fn fill_store(&self) -> Result<(), CaseErrorKind> {
        let values = self.case.store.iter().filter_map(|(key, value)| match value {
            Content::Text(text) => Some((key.clone(), text.clone().into_bytes())),
            Content::Absent => None,
        });
        let values: Vec<_> = values.collect();
        if !values.is_empty() {
            for bucket in self.buckets() {
                bucket.set_many(values.clone()).await.map_err(no_store)?;
            }
        }
        Ok(())
    }

    async fn read_store(&self) -> Result<BTreeMap<String, String>, CaseErrorKind> {
        let mut found = BTreeMap::new();
        let expects = self.case.expect.as_ref().is_some_and(|expect| !expect.store.is_empty());
        if !expects && self.case.store.is_empty() && !self.case.grants.contains(&Capability::Store) {
            return Ok(found);
        }
        for bucket in self.buckets() {
            let mut cursor = None;
            loop {
                let (keys, next) = bucket.list_keys(cursor).await.map_err(no_store)?;
                for key in keys {
                    let value = bucket.get(key.clone()).await.map_err(no_store)?.unwrap_or_default();
                    found.insert(key, self.place.neutral(&String::from_utf8_lossy(&value)));
                }
                cursor = next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(found)
    }
}

fn no_store(error: impl std::fmt::Display) -> CaseErrorKind {
    CaseErrorKind::Surroundings(format!("the store of the case cannot be used: {error}"))
}

/// The times of the events of a case.
#[derive(Debug)]
pub(super) struct Time {
    /// The clock of components; the system's if the case says nothing about time.
    pub(super) clock: Option<TestClock>,
    start: u64,
    every: u64,
    events: AtomicU32,
}

impl Time {
    /// Starts the time of a case. One with `every` and without `clock` starts now.
    pub(super) fn of(case: &Case) -> Self {
        let is_set = case.clock.is_some() || case.every.is_some();
        let start = case.clock.unwrap_or_else(|| Context::new("case", "/").timestamp_ms);
        let every = case.every.map_or(0, |every| u64::try_from(every.as_millis()).unwrap_or(u64::MAX));
        Self { clock: is_set.then(|| TestClock::at(start)), start, every, events: AtomicU32::new(0) }
    }

    /// Sets the clock to the time of the next event, and returns it; `None` if it is the system's.
    pub(super) fn next(&self) -> Option<u64> {
        let clock = self.clock.as_ref()?;
        let number = self.events.fetch_add(1, Ordering::Relaxed);
        let now = self.start.saturating_add(self.every.saturating_mul(number.into()));
        clock.set(now);
        Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::parse;
    use super::*;

    fn time(keys: &str) -> Time {
        let text = format!("[[case]]\nname = 'x'\ncommand = 'ls'\ntimes = 3\n{keys}");
        let (_, cases) = parse(&text).unwrap();
        Time::of(&cases[0])
    }

    #[test]
    fn the_clock_moves_between_events() {
        let time = time("clock = 1970-01-01T00:00:01Z\nevery = '10s'");
        let clock = time.clock.clone().unwrap();
        for want in [1_000, 11_000, 21_000] {
            assert_eq!(time.next(), Some(want));
            assert_eq!(clock.time().as_millis(), u128::from(want));
        }
    }

    #[test]
    fn the_clock_stands_still_without_every_and_is_the_systems_without_both() {
        let still = time("clock = 1970-01-01T00:00:01Z");
        assert_eq!((still.next(), still.next()), (Some(1_000), Some(1_000)));
        assert_eq!(time("").next(), None);
        let moved = time("every = '1m'");
        let first = moved.next().unwrap();
        assert_eq!(moved.next(), Some(first + 60_000));
    }
}
