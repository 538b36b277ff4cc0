//! `builtin:self-protection`: an agent must not switch off its own guards.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use super::command::{self, Finding};
use super::itself;
use super::protected::Protected;
use super::real::RealPaths;
use super::{Builtin, Surroundings, Wishes};
use crate::event::{Event, EventName, Facts, ToolCall, ToolKind};
use crate::facts;
use crate::hook::{Budget, Descriptor, Hook, HookError, OnFailure};
use crate::outcome::Outcome;
use crate::report::Kind;
use crate::text;

/// The name of the built-in guard of hookbox's own files.
pub const SELF_PROTECTION: &str = "builtin:self-protection";

pub(super) const BUILTIN: Builtin = Builtin {
    name: SELF_PROTECTION,
    description: "Blocks tool calls that change what guards the agent.",
    settings: &[],
    make: |around, wishes| Arc::new(SelfProtection::new(around, wishes)),
};

/// How much of a path a reason shows, in bytes.
const SHOWN: usize = 200;

/// Blocks tool calls that write to hookbox's settings, trust and hook files, to the program itself or to the agent's hook configuration, and
/// shell lines that run `hookbox trust`, `untrust`, `grants`, `plugin`, `install` or `uninstall`: as far as the facts
/// of a call show it.
pub struct SelfProtection {
    descriptor: Descriptor,
    protected: Protected,
    home: Option<PathBuf>,
    /// The settings file that can switch it off, for people.
    switch: String,
}

impl SelfProtection {
    /// The guard of these files. This looks at the file system once: what is a symlink now is guarded where it leads
    /// to as well.
    pub(crate) fn new(around: &Surroundings, wishes: &Wishes) -> Self {
        let Surroundings { roots, home, repository, mut places, thresholds: _ } = around.clone();
        let protected = Protected::new(&roots, Vec::new(), home.clone());
        places.extend(itself::places());
        let by_name = home.iter().chain(&repository).flat_map(|base| protected.below(base));
        let mut real = RealPaths::default();
        let led: Vec<PathBuf> =
            by_name.chain(places.iter().cloned()).filter_map(|path| real.of(&path)).collect();
        let led = led.into_iter().filter(|path| !protected.holds(&path.to_string_lossy()));
        let led: Vec<PathBuf> = led.chain(places).collect();
        let descriptor = Descriptor::new(SELF_PROTECTION, Kind::Builtin)
            .on(EventName::BeforeToolCall)
            .on_failure(OnFailure::Block);
        let descriptor = wishes.prioritise(descriptor);
        let root = roots.first().map_or(".hookbox", String::as_str);
        let switch = format!("~/{root}/hookbox.toml");
        Self { descriptor, protected: protected.with_places(led), home, switch }
    }

    /// What is protected and stands somewhere in the input of a call of which not all paths are known: input that is
    /// no JSON has none, and of very many only the first are kept.
    fn mentioned(&self, call: &ToolCall, facts: &Facts, cwd: &Path) -> Option<String> {
        if !facts.paths.is_empty() && facts.paths.len() < facts::MAX_PATHS {
            return None;
        }
        let text = call.input.value().as_str().unwrap_or_else(|| call.input.text());
        text.split(|c: char| c.is_whitespace() || "\"'`,;:{}[]()<>=\\".contains(c))
            .find(|word| !word.is_empty() && self.protected.holds_word(word, cwd))
            .map(str::to_owned)
    }

    /// Why a call must not run.
    fn objection(&self, call: &ToolCall, facts: &Facts, cwd: &Path) -> Option<String> {
        let found = match facts.kind {
            ToolKind::Shell => command::judge(facts.command.as_deref()?, &self.protected, cwd)?,
            ToolKind::Write | ToolKind::Edit => {
                let named = facts.paths.iter().map(|it| &it.path).find(|path| self.protected.holds(path));
                Finding::Changes(named.cloned().or_else(|| self.mentioned(call, facts, cwd))?)
            }
            ToolKind::Mcp | ToolKind::Other => {
                // `mcp__files__write_file` is named for what it does.
                let tool = itself::tool_of_server(&call.name)?;
                let facts = facts::of(tool, &call.input, cwd, self.home.as_deref());
                let is_known = matches!(facts.kind, ToolKind::Shell | ToolKind::Write | ToolKind::Edit);
                return is_known.then(|| self.objection(call, &facts, cwd))?;
            }
            _ => return None,
        };
        let what = match found {
            Finding::Runs(subcommand) => {
                format!("this runs `hookbox {subcommand}`, which is the user's to run")
            }
            Finding::Changes(path) => format!(
                "this may change {}, which belongs to the hooks that watch over this agent",
                text::escape(&path, SHOWN)
            ),
            Finding::Ends => "this may end hookbox, which watches over this agent".to_owned(),
            Finding::Unclear(what) => {
                format!("this line cannot be read to its end, and mentions {}", text::escape(&what, SHOWN))
            }
        };
        Some(format!(
            "{what}; ask the user to do it. The user can switch this guard off in {}: [hooks.\"{SELF_PROTECTION}\"] \
             with enabled = false",
            self.switch
        ))
    }
}

#[async_trait]
impl Hook for SelfProtection {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    async fn run(&self, event: &Event, _: &Budget) -> Result<Outcome, HookError> {
        let cwd = Path::new(&event.context.cwd);
        let objection = event.tool_call().and_then(|call| self.objection(call, &call.facts, cwd));
        Ok(objection.map_or_else(Outcome::pass, Outcome::block))
    }
}
