//! Files and directories that the agent made in this session.
//!
//! Before a tool runs, the paths that it may make and that are missing are noted. Those that are there after it count as
//! made. In doubt, nothing is made.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

use hookbox_judge::{Area, PathKind, PathState, Preset, Scene, Surroundings, Told, operands};
use hookbox_sdk::prelude::*;
use hookbox_sdk::shell::{Arg, Mode, Place, Reading, Run, join_path};
use hookbox_sdk::state;
use hookbox_shell::{FileUse, is_in, quoted};
use serde::{Deserialize, Serialize};

use crate::moved::{Brought, ancestors, brings, brought, is_below};

/// The number of paths of a session; the oldest go first.
const MAX_PATHS: usize = 256;

/// The number of paths of a call that are asked about: each question starts git.
const MAX_OF_CALL: usize = 8;

/// The number of missing directories around a path that are asked about.
const MAX_LEVELS: usize = 8;

/// The number of sessions; the oldest go first.
const MAX_SESSIONS: usize = 32;

/// The time after which a path does not count as made any more, in milliseconds.
const MAX_AGE: u64 = 24 * 60 * 60 * 1000;

/// The longest name of a session, in bytes.
const MAX_NAME: usize = 256;

/// The version of the stored form.
const VERSION: u32 = 1;

/// Programs whose operands may be files or directories that they make.
const MAKERS: &str = "mkdir touch tee cp install curl wget";

/// Parts of lines with a command that makes something, or that brings work from elsewhere. Others are not read again.
const SIGNS: [&str; 20] = [
    ">", "mkdir", "touch", "tee", "cp", "install", "curl", "wget", "clone", "mv", "rsync", "ln", "mount",
    "move", "Move to:", "rename", "replace", "link", "zip", "sdel",
];

/// The paths of a session.
#[derive(Debug, Default, PartialEq, Deserialize, Serialize)]
struct Made {
    paths: Vec<Entry>,
    /// The paths to which work was moved or linked.
    #[serde(default)]
    brought: Vec<Brought>,
}

/// A path that was missing before a tool ran.
#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Entry {
    path: String,
    /// The time of that call, in milliseconds since 1970.
    since: u64,
    /// True if the path was there after the tool had run.
    is_made: bool,
    /// The number that it had then. Another file in its place is not the agent's.
    #[serde(default)]
    id: Option<u64>,
}

impl Made {
    /// Notes the paths that are missing, each by its outermost directory that is missing too.
    fn expect(&mut self, paths: &[String], kind: impl Fn(&str) -> Option<PathKind>, now: u64) {
        for path in paths {
            let is_missing = |it: &&str| kind(it) == Some(PathKind::Missing);
            let around: Vec<&str> = ancestors(path).collect();
            let Some(outermost) = around.into_iter().rev().take(MAX_LEVELS).take_while(is_missing).last()
            else {
                // Somebody else made a path that is there already, if the agent did not.
                self.paths.retain(|it| it.is_made || !is_below(path, &it.path));
                continue;
            };
            if self.paths.iter().any(|it| it.is_made && it.path != outermost && is_below(outermost, &it.path))
            {
                continue;
            }
            self.paths.retain(|it| !is_below(&it.path, outermost));
            self.paths.push(Entry { path: outermost.to_owned(), since: now, is_made: false, id: None });
        }
        let surplus = self.paths.len().saturating_sub(MAX_PATHS);
        self.paths.drain(..surplus);
    }

    /// Turns the paths of a call that are there now into made ones, and forgets the others of the call. A made file that
    /// the call wrote again may be another one now.
    fn confirm(&mut self, paths: &[String], find: impl Fn(&str) -> Option<(PathKind, Option<u64>)>) {
        self.paths.retain_mut(|it| {
            let is_of_call =
                paths.iter().any(|path| if it.is_made { *path == it.path } else { is_below(path, &it.path) });
            if !is_of_call {
                return true;
            }
            let found = find(&it.path);
            it.id = found.and_then(|(_, id)| id);
            it.is_made = matches!(found, Some((PathKind::File | PathKind::Directory, _)));
            it.is_made
        });
    }

    /// Forgets what may get other work from these paths, or at them; everything if they are not known.
    fn forget(&mut self, paths: Option<&[String]>) {
        let Some(paths) = paths else { return self.paths.clear() };
        self.paths
            .retain(|it| !paths.iter().any(|path| is_below(path, &it.path) || is_below(&it.path, path)));
    }

    /// Notes the paths to which work was moved or linked; the oldest go first.
    fn bring(&mut self, paths: &[Brought]) {
        self.brought.retain(|it| !paths.contains(it));
        self.brought.extend_from_slice(paths);
        let surplus = self.brought.len().saturating_sub(MAX_PATHS);
        self.brought.drain(..surplus);
    }

    /// Returns true if work was moved to this path, below it or around it, or if the path leads through a link to work.
    fn has_brought(&self, path: &str) -> bool {
        self.brought.iter().any(|it| it.is_at(path))
    }

    /// Returns true if the agent made this file or directory, which has this number now.
    fn has(&self, path: &str, id: impl FnOnce() -> Option<u64>, now: u64) -> bool {
        let found = self.paths.iter().find(|it| it.is_made && it.path == path && is_fresh(it.since, now));
        found.is_some_and(|it| it.id == id())
    }

    /// Returns the time of the last note.
    fn last(&self) -> u64 {
        self.paths.iter().map(|it| it.since).max().unwrap_or_default()
    }
}

fn is_fresh(since: u64, now: u64) -> bool {
    now.saturating_sub(since) < MAX_AGE
}

/// The effect of a call on files.
#[derive(Debug, PartialEq)]
enum Effect {
    /// It may make these paths.
    Makes(Vec<String>),
    /// It may bring work of others to these paths, or anywhere. The second list has those to which it brings work that no
    /// program makes again.
    Brings(Option<Vec<String>>, Vec<Brought>),
}

impl Effect {
    fn nothing() -> Self {
        Self::Makes(Vec::new())
    }

    fn of(cx: &Context, call: &ToolCall, around: &dyn Surroundings) -> Self {
        let is_of_files = matches!(call.kind, ToolKind::Write | ToolKind::Edit);
        let moved = is_of_files.then(|| moved_by_tool(cx, call)).flatten();
        if is_of_files && moved.is_none() {
            return Self::Makes(call.paths.iter().map(|it| it.path.clone()).take(MAX_OF_CALL).collect());
        }
        let lines = moved.map_or_else(|| cx.lines_of(call), |it| vec![it]);
        let line = lines.join("\n");
        let cwd = call.directory().map_or_else(|| cx.cwd.clone(), |it| join_path(&cx.cwd, &it));
        match cwd.starts_with('/') && SIGNS.iter().any(|it| line.contains(it)) {
            true => Self::of_line(&cx.read_line_of(call, &line), &line, &cwd, around),
            false => Self::nothing(),
        }
    }

    fn of_line(reading: &Reading, line: &str, cwd: &str, around: &dyn Surroundings) -> Self {
        let scenes = || {
            reading.runs.iter().enumerate().map(|(at, run)| {
                let preset = Preset::Standard;
                Scene { reading, run, at, cwd, preset, line, around }
            })
        };
        let mut bringing = scenes().filter(brings).peekable();
        if bringing.peek().is_some() {
            let paths: Option<Vec<_>> = bringing.map(|it| ends(&it)).collect();
            let kept = scenes().filter(brings).flat_map(|it| brought(&it, MAX_OF_CALL)).collect();
            return Self::Brings(paths.map(|it| it.concat()), kept);
        }
        let here = scenes().filter(|it| it.run.place == Place::Here);
        let made = here.flat_map(|scene| {
            let is_worth =
                |it: &Arg| !it.text.contains("://") && !Area::of(it, scene.run, scene.cwd).is_cheap();
            let targets = targets(scene.run).into_iter().filter(is_worth);
            targets.flat_map(|it| scene.absolute(&it)).collect::<Vec<_>>()
        });
        Self::Makes(made.take(MAX_OF_CALL).collect())
    }
}

/// Returns the line that moves what a tool for files moves: each file to the next one that is written.
fn moved_by_tool(cx: &Context, call: &ToolCall) -> Option<String> {
    let (mut line, mut from) = (String::new(), String::new());
    for file in cx.facts_of(call).files {
        match file.usage {
            FileUse::Moves => from += &format!("{} ", quoted(&file.path)),
            FileUse::Writes if !from.is_empty() => {
                line += &format!("mv -- {}{}\n", std::mem::take(&mut from), quoted(&file.path));
            }
            _ => {}
        }
    }
    Some(line).filter(|it| !it.is_empty())
}

/// Returns the known paths of a command that moves or links work. Without its target there is no answer, nor for code and
/// archives.
fn ends(scene: &Scene<'_>) -> Option<Vec<String>> {
    let args = scene.run.args();
    if !is_in("mv git rsync ln mount", scene.run.program()?) {
        return None;
    }
    let has_option = args.iter().any(|it| it.text.starts_with("-t") || it.text.starts_with("--t"));
    let operands = operands(args, "");
    let mut found = Vec::new();
    for (at, arg) in operands.iter().enumerate() {
        let paths = scene.absolute(arg);
        if paths.is_empty() && (has_option || at + 1 == operands.len()) {
            return None;
        }
        found.extend(paths);
    }
    // `--target-directory=x`
    let is_joined = args.iter().any(|it| it.text.starts_with("--t") && it.text.contains('='));
    let is_short = args.iter().any(|it| it.text.starts_with("-t") && it.text.len() > 2);
    (!is_joined && !is_short).then_some(found)
}

/// Returns the arguments and files that a command may make. Only what is missing before it and there after it counts, so
/// one too many does no harm.
fn targets(run: &Run) -> Vec<Arg> {
    let args = run.args();
    let named = || operands(args, "-m --mode -X --request -H --header");
    let last_name = |it: &str| {
        let name = it.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
        name.trim_end_matches(".git").to_owned()
    };
    let mut found: Vec<Arg> = match (run.program(), args) {
        (Some("git"), [sub, args @ ..]) if sub.text == "clone" => {
            match operands(args, "-b --branch -c --config -o --origin --depth -j --jobs").as_slice() {
                [from] => vec![Arg::plain(last_name(&from.text))],
                [_, to] => vec![(*to).clone()],
                _ => vec![],
            }
        }
        (Some("cp"), _) => {
            let mut named = named();
            match named.pop() {
                // The target may be a directory that gets them.
                Some(to) => {
                    let inner = named.iter().map(|it| Arg::plain(join_path(&to.text, &last_name(&it.text))));
                    inner.chain([to.clone()]).collect()
                }
                None => vec![],
            }
        }
        (Some(name), _) if is_in(MAKERS, name) => named().into_iter().cloned().collect(),
        _ => vec![],
    };
    let is_written = |it: Mode| matches!(it, Mode::Write | Mode::Append | Mode::Both);
    let files = run.redirections.iter().filter(|it| is_written(it.mode));
    found.extend(files.map(|it| it.target.clone()));
    found
}

/// The surroundings of a session. Each path is asked about once.
pub(crate) struct Around<'a> {
    cx: &'a Context,
    states: RefCell<BTreeMap<String, Option<PathState>>>,
    made: OnceCell<Made>,
}

impl<'a> Around<'a> {
    pub(crate) fn of(cx: &'a Context) -> Self {
        Self { cx, states: RefCell::default(), made: OnceCell::new() }
    }

    /// Notes what a call may make, before it runs.
    pub(crate) fn before(&self, call: &ToolCall) {
        let Some(session) = Session::of(self.cx) else { return };
        match Effect::of(self.cx, call, self) {
            Effect::Makes(paths) if self.knows(&paths) => {
                session.change(|made| made.expect(&paths, |it| self.kind(it), session.now));
            }
            Effect::Makes(_) => {}
            Effect::Brings(paths, kept) => session.change(|made| {
                made.forget(paths.as_deref());
                made.bring(&kept);
            }),
        }
    }

    /// Notes what a call has made, after it ran.
    pub(crate) fn after(&self, call: &ToolCall) {
        let Some(session) = Session::of(self.cx) else { return };
        if let Effect::Makes(paths) = Effect::of(self.cx, call, self)
            && self.knows(&paths)
        {
            session.change(|made| made.confirm(&paths, |it| self.path(it).map(|it| (it.kind, it.id))));
        }
    }

    fn kind(&self, path: &str) -> Option<PathKind> {
        self.path(path).map(|it| it.kind)
    }

    /// Returns false without the right, and outside the repository. Then there is nothing to remember.
    fn knows(&self, paths: &[String]) -> bool {
        paths.iter().any(|it| self.path(it).is_some())
    }
}

impl Surroundings for Around<'_> {
    fn path(&self, path: &str) -> Option<PathState> {
        *self.states.borrow_mut().entry(path.to_owned()).or_insert_with(|| Told.path(path))
    }

    fn is_made(&self, path: &str) -> bool {
        let read = || Session::of(self.cx).map(|it| it.read()).unwrap_or_default();
        let id = || self.path(path).and_then(|it| it.id);
        self.made.get_or_init(read).has(path, id, self.cx.timestamp_ms)
    }

    fn is_brought(&self, path: &str) -> bool {
        // Without the rights, and outside of a repository, nothing was noted. Any name tells that.
        if !self.knows(&[format!("{}/-", self.cx.cwd.trim_end_matches('/'))]) {
            return false;
        }
        let read = || Session::of(self.cx).map(|it| it.read()).unwrap_or_default();
        self.made.get_or_init(read).has_brought(path)
    }
}

/// The place of a session in the store. Whatever fails there, nothing is made.
struct Session {
    key: String,
    now: u64,
}

impl Session {
    fn of(cx: &Context) -> Option<Self> {
        let name = cx.conversation_id.as_str();
        let is_usable = !name.is_empty() && name.len() <= MAX_NAME;
        is_usable.then(|| Self { key: format!("made:{name}"), now: cx.timestamp_ms })
    }

    fn read(&self) -> Made {
        state::load(&self.key, VERSION).unwrap_or_default()
    }

    fn change(&self, change: impl FnOnce(&mut Made)) {
        let Ok(mut made) = state::load::<Made>(&self.key, VERSION) else { return };
        let is_new = made.paths.is_empty() && made.brought.is_empty();
        made.paths.retain(|it| is_fresh(it.since, self.now));
        change(&mut made);
        match made.paths.is_empty() && made.brought.is_empty() {
            true if is_new => return,
            true => drop(state::delete(&self.key)),
            // A change that is not kept must not leave what it forgot.
            false if state::save(&self.key, VERSION, &made).is_err() => drop(state::delete(&self.key)),
            false => {}
        }
        if is_new {
            self.remove_old_sessions();
        }
    }

    fn remove_old_sessions(&self) {
        let keys = state::keys().unwrap_or_default().into_iter().filter(|it| *it != self.key);
        let read = |key: String| (state::load::<Made>(&key, VERSION).unwrap_or_default().last(), key);
        let mut sessions: Vec<(u64, String)> = keys.map(read).collect();
        sessions.sort_unstable_by(|a, b| b.cmp(a));
        for (at, (last, key)) in sessions.iter().enumerate() {
            if at + 1 >= MAX_SESSIONS || !is_fresh(*last, self.now) {
                let _ = state::delete(key);
            }
        }
    }
}

#[cfg(test)]
#[path = "test_made.rs"]
mod tests;
