//! `hookbox guard add`, which `hookbox install` does as well.

use std::process::ExitCode;

use hookbox::capability::Capability;
use hookbox::manager::{EntryStatus, Manager};
use hookbox::trust::{Scope, TrustFile};
use hookbox::{Mode, escape};
use hookbox_guards::{Guard, Preset, SettingsFile, Status};
use serde_json::{Value, json};

use super::own::{Own, explained, fix_git, preset_of};
use crate::error::{EXIT_FAILED, InputError, hint, say, warn};
use crate::interrupt::unless_interrupted;
use crate::progress::working;
use crate::{approval, compiler, human, options, output};

/// The guards to add.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) guards: Vec<&'static Guard>,
    pub(crate) preset: Option<Preset>,
    /// True if they are put into shadow mode.
    pub(crate) observe: bool,
    /// True if files that hookbox did not write are replaced.
    pub(crate) force: bool,
}

/// A guard, and what is done with its place.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) guard: &'static Guard,
    deed: Deed,
    /// The preset and the mode that it has now.
    preset: String,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Add,
    Update,
    Replace,
    /// It is there, in this version.
    Stay,
    /// A file that hookbox did not write is in its place, and stays.
    Keep,
}

impl Deed {
    fn of(status: &Status, force: bool) -> Self {
        match status {
            Status::Missing => Self::Add,
            Status::Older(_) => Self::Update,
            Status::Current => Self::Stay,
            Status::Changed if force => Self::Replace,
            Status::Changed => Self::Keep,
        }
    }

    /// Returns the word for a deed of the plan, and the word for one that is done, as in JSON.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Add => ("add", "added"),
            Self::Update => ("update", "updated"),
            Self::Replace => ("replace", "replaced"),
            Self::Stay => ("stay", "unchanged"),
            Self::Keep => ("keep", "kept"),
        }
    }

    fn writes(self) -> bool {
        matches!(self, Self::Add | Self::Update | Self::Replace)
    }
}

impl Added {
    /// Returns true if the guard was written.
    pub(crate) fn is_written(&self) -> bool {
        self.deed.writes()
    }

    /// Returns true if the file in the place of the guard was left alone.
    fn is_kept(&self) -> bool {
        self.deed == Deed::Keep
    }
}

pub(super) async fn run(
    locate: &options::Locate,
    chosen: &Chosen,
    yes: bool,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    locate.enter()?;
    human::required(locate, &[], !yes)?;
    let ask = |question: &str| approval::confirm(question, yes).map(|()| true);
    let added = add(locate, chosen, ask).await?;
    fix_git(locate)?;
    if as_json {
        let own = Own::find(locate)?;
        output::json(&added.iter().map(|it| row(&own, it)).collect::<Vec<_>>())?;
    } else {
        show_done(&Own::find(locate)?, &added)?;
    }
    Ok(if added.iter().any(Added::is_kept) { ExitCode::from(EXIT_FAILED) } else { ExitCode::SUCCESS })
}

/// Shows the guards, asks, compiles them, and puts them into their places, in this order: an event never waits for one.
/// Returns nothing after a no.
pub(crate) async fn add(
    locate: &options::Locate,
    chosen: &Chosen,
    ask: impl FnOnce(&str) -> Result<bool, InputError>,
) -> anyhow::Result<Vec<Added>> {
    let plan = Plan::new(locate, chosen)?;
    if !plan.is_empty() {
        plan.show();
        if !ask("Put these guards there?")? {
            return Ok(Vec::new());
        }
    }
    plan.carry_out(locate).await
}

/// The guards, and what is going to be done with the place of each.
pub(crate) struct Plan {
    own: Own,
    settings: SettingsFile,
    /// True beside a guard for which something changes.
    added: Vec<(Added, bool)>,
}

impl Plan {
    /// Compares the guards with their places, and changes nothing.
    pub(crate) fn new(locate: &options::Locate, chosen: &Chosen) -> anyhow::Result<Self> {
        let own = Own::find(locate)?;
        let mut settings = own.settings()?;
        let mut added = Vec::new();
        for guard in chosen.guards.iter().copied() {
            let deed = Deed::of(&own.status(guard)?, chosen.force);
            let before = (preset_of(&settings, guard), settings.mode(guard));
            if let Some(preset) = chosen.preset.filter(|_| deed != Deed::Keep) {
                settings.set_preset(guard, preset).map_err(explained)?;
            }
            if chosen.observe && deed != Deed::Keep {
                settings.set_mode(guard, Mode::Observe).map_err(explained)?;
            }
            let (preset, mode) = (preset_of(&settings, guard), settings.mode(guard));
            if deed == Deed::Keep {
                let path = own.shown(&own.path(guard));
                warn(format_args!("{path}: this is not what hookbox wrote: it stays"));
                hint(format_args!("to replace it: hookbox guard add {} --force", guard.name));
            }
            let is_new = deed.writes() || before != (preset.clone(), mode);
            added.push((Added { guard, deed, preset, mode }, is_new));
        }
        Ok(Self { own, settings, added })
    }

    fn wanted(&self) -> impl Iterator<Item = &Added> {
        self.added.iter().filter(|(_, is_new)| *is_new).map(|(added, _)| added)
    }

    /// Returns true if nothing is to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.wanted().next().is_none()
    }

    /// Shows what is going to be done.
    pub(crate) fn show(&self) {
        say(format_args!("guards in {}:", self.own.directory()));
        for it in self.wanted() {
            let (name, (deed, _), from) = (it.guard.name, it.deed.words(), it.guard.protects_from);
            say(format_args!("  {name:<12}  {deed:<7}  {:<8}  {from}", it.preset));
            if it.mode == Mode::Observe {
                say(format_args!(
                    "  {:<12}  in shadow mode: it records what it would stop, and stops nothing",
                    ""
                ));
            }
            for right in permissions(it.guard) {
                say(format_args!("  {:<12}  is granted {right}: {}", "", approval::means(&right)));
            }
        }
    }

    /// Returns true if a guard asks for a permission that the user has not granted to the guard of this name.
    pub(crate) fn asks_for_more(&self, locate: &options::Locate) -> anyhow::Result<bool> {
        if self.is_empty() {
            return Ok(false);
        }
        let records = approval::read(&TrustFile::new(&locate.data()?))?;
        Ok(self.wanted().any(|it| {
            let path = self.own.path(it.guard);
            let record = self.own.below_home(&path).and_then(|path| records.get(&Scope::Global, path));
            let granted = record.map(|it| it.grants.as_slice()).unwrap_or_default();
            permissions(it.guard).iter().any(|right| !granted.contains(right))
        }))
    }

    /// Compiles the guards, and puts them into their places with their settings and grants.
    pub(crate) async fn carry_out(self, locate: &options::Locate) -> anyhow::Result<Vec<Added>> {
        if !self.is_empty() {
            let written: Vec<&'static Guard> =
                self.wanted().filter(|it| it.deed.writes()).map(|it| it.guard).collect();
            let own = self.own.open(locate)?;
            compile(locate, &written).await?;
            write(&own, &self.settings, &written)?;
            examine(locate, &own, &written).await?;
        }
        Ok(self.added.into_iter().map(|(added, _)| added).collect())
    }
}

/// Returns the permissions that a guard asks for.
fn permissions(guard: &Guard) -> Vec<Capability> {
    guard.permissions.iter().filter_map(|text| text.parse().ok()).collect()
}

/// Compiles guards before an event could wait for them.
async fn compile(locate: &options::Locate, guards: &[&'static Guard]) -> anyhow::Result<()> {
    let runtime = compiler::cached_runtime(&locate.discovery()?);
    let all = async {
        let mut loading = tokio::task::JoinSet::new();
        for guard in guards.iter().copied() {
            let runtime = runtime.clone();
            loading.spawn(async move { (guard, runtime.load(guard.component.to_vec()).await) });
        }
        loading.join_all().await
    };
    let what = format!("compiling {} guards, once", guards.len());
    for (guard, loaded) in unless_interrupted(working(&what, all)).await? {
        loaded.map_err(|error| {
            let what = format!("{}: cannot be compiled here: {}", guard.name, escape(&error.message, 500));
            InputError::refused(what, "nothing was changed")
        })?;
    }
    Ok(())
}

fn write(own: &Own, settings: &SettingsFile, guards: &[&'static Guard]) -> anyhow::Result<()> {
    // First, so that no guard runs with the wrong preset.
    settings.write().map_err(explained)?;
    for guard in guards {
        own.shelf.add(guard).map_err(explained)?;
    }
    Ok(())
}

/// Grants what the guards ask for, and warns of those that do not run.
async fn examine(locate: &options::Locate, own: &Own, guards: &[&'static Guard]) -> anyhow::Result<()> {
    let manager = unless_interrupted(locate.manager()).await??;
    for guard in guards.iter().copied() {
        grant(&manager, own, guard)?;
    }
    if let Some(why) = manager.switched_off() {
        warn(why);
    }
    let entries = manager.entries();
    for guard in guards {
        let path = own.path(guard);
        let entry = entries.iter().find(|it| it.path.as_deref() == Some(&*path));
        match entry.filter(|it| it.status != EntryStatus::Active) {
            Some(entry) => {
                let problem = entry.problem.as_deref().unwrap_or(entry.status.as_str());
                warn(format_args!("{} does not run: {problem}", guard.hook()));
            }
            None if entry.is_none() => warn(format_args!("{} is not found as a hook", own.shown(&path))),
            None => {}
        }
    }
    Ok(())
}

/// Records the grants of a guard, for the bytes that were just written.
fn grant(manager: &Manager, own: &Own, guard: &Guard) -> anyhow::Result<()> {
    let rights = permissions(guard);
    if rights.is_empty() {
        return Ok(());
    }
    let hook = approval::find(manager, &own.path(guard).to_string_lossy())?;
    let digest = approval::digest(&hook)?;
    approval::grantable(manager, &hook, &rights)?;
    let record = approval::record(&hook, digest, hook.asked(), rights)?;
    approval::update(&approval::trust_file(manager)?, |records| records.insert(record))
}

fn row(own: &Own, it: &Added) -> Value {
    json!({
        "name": it.guard.name,
        "path": own.path(it.guard),
        "change": it.deed.words().1,
        "preset": it.preset,
        "mode": it.mode,
        "digest": it.guard.digest(),
    })
}

fn show_done(own: &Own, added: &[Added]) -> anyhow::Result<()> {
    for it in added.iter().filter(|it| !it.is_kept()) {
        let path = own.shown(&own.path(it.guard));
        let mode = if it.mode == Mode::Observe { ", in shadow mode" } else { "" };
        output::text(&format!("{} {path} (preset {}{mode})", it.deed.words().1, it.preset))?;
    }
    let observing: Vec<&str> =
        added.iter().filter(|it| it.mode == Mode::Observe).map(|it| it.guard.name).collect();
    if !observing.is_empty() {
        hint(format_args!("shadow mode ends with: hookbox guard enforce {}", observing.join(" ")));
    }
    hint("to see what a guard answers: hookbox explain 'git push --force'");
    Ok(())
}
