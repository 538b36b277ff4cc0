//! Work that was moved or linked to where files are temporary or built: by the line, or earlier in the session.

use hookbox_judge::{Area, PathKind, Preset, Scene, git_parts, has, operands};
use hookbox_shell::{Arg, FileUse, Place, UsedFile, fits, is_in, join_path};
use serde::{Deserialize, Serialize};

/// Calls in code that move a file, or make a link to one.
const CALLS: &str = "move rename renames renameSync os.replace symlink symlinkSync";

/// Options of `rsync` and `rclone` that take the next word.
pub(crate) const VALUES: &str = "-e --rsh --exclude --include --exclude-from --include-from --filter -f --files-from -B --block-size -M \
    --remote-option -T --temp-dir --bwlimit --backup-dir --suffix --max-delete --max-size --min-size --max-alloc \
    --partial-dir --timeout --contimeout --port --compare-dest --copy-dest --link-dest --chmod --chown --usermap --groupmap \
    --log-file --log-file-format --out-format --password-file --address --sockopts --rsync-path --modify-window -@ \
    --compress-level --skip-compress --compress-choice --checksum-choice --checksum-seed --iconv --info --debug \
    --stop-after --stop-at --write-batch --only-write-batch --read-batch --protocol --outbuf --copy-as --config \
    --transfers --checkers --max-age --min-age --log-level --exclude-if-present";

/// The longest chain of moves that is followed, in paths: each is compared with each move of the line.
const MAX_CHAIN: usize = 16;

/// A path to which work was moved or linked.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Brought {
    pub(crate) path: String,
    /// True for a link: without it, its work is where it was.
    pub(crate) is_link: bool,
}

impl Brought {
    /// Returns true if the work is at this path, below it or around it, or if the path leads through a link to it. In
    /// both paths, a part may be a pattern or unknown.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        let is_one = |pattern: &str, name: &str| match pattern.find(['$', '`', '*', '?', '[']) {
            Some(at) if pattern.as_bytes().get(at).is_some_and(|it| matches!(it, b'$' | b'`')) => {
                pattern.get(..at).is_some_and(|it| name.starts_with(it))
            }
            Some(_) => fits(pattern.as_bytes(), name.as_bytes()),
            None => false,
        };
        let mut parts = path.split('/').zip(self.path.split('/')).enumerate();
        // An unknown beginning may be anywhere.
        parts.all(|(at, (a, b))| a == b || at > 0 && (is_one(a, b) || is_one(b, a)))
            && (!self.is_link || path.split('/').count() > self.path.split('/').count())
    }
}

/// Returns true if nothing is lost with a target: it is temporary or built, and no work was brought there.
pub(crate) fn is_free(scene: &Scene<'_>, target: &Arg) -> bool {
    Area::of(target, scene.run, scene.cwd).is_cheap() && !has_work(scene, target)
}

/// Returns the same for a command that uses the file behind a link.
pub(crate) fn is_free_behind(scene: &Scene<'_>, target: &Arg) -> bool {
    let inner = Arg { text: format!("{}/", target.text), sort: target.sort };
    Area::of(target, scene.run, scene.cwd).is_cheap() && !has_work(scene, &inner)
}

/// Returns true if work was brought to a target.
pub(crate) fn has_work(scene: &Scene<'_>, target: &Arg) -> bool {
    if scene.preset == Preset::Relaxed {
        return false;
    }
    let is_brought =
        |scene: &Scene<'_>, arg: &Arg| paths(scene, arg).iter().any(|it| scene.around.is_brought(it));
    if is_brought(scene, target) {
        return true;
    }
    let mut wanted = paths(scene, target);
    // Work may have been moved twice.
    for earlier in earlier(scene).collect::<Vec<_>>().into_iter().rev() {
        for (from, to) in moves(&earlier) {
            if !to.iter().any(|to| wanted.iter().any(|it| to.is_at(it))) {
                continue;
            }
            if wanted.len() > MAX_CHAIN || is_work(&earlier, &from) || is_brought(&earlier, &from) {
                return true;
            }
            wanted.extend(paths(&earlier, &from));
        }
    }
    false
}

/// Returns true for files that no program makes again, and that neither the session nor the line made.
fn is_work(scene: &Scene<'_>, from: &Arg) -> bool {
    let is_own = |it: &String| {
        scene.around.path(it).is_some_and(|it| it.kind == PathKind::Missing) || is_made(scene, it)
    };
    let known = || scene.absolute(from);
    !Area::of(from, scene.run, scene.cwd).is_cheap()
        && (scene.run.place != Place::Here || known().is_empty() || !known().iter().all(is_own))
}

/// Returns true if the agent made a path or a directory around it, and no symlink in it leads elsewhere.
pub(crate) fn is_made(scene: &Scene<'_>, path: &str) -> bool {
    let is_real = |it: &str| scene.around.path(it).is_some_and(|it| it.kind != PathKind::Link);
    if !is_real(path) {
        return false;
    }
    let mut inner = ancestors(path).skip_while(|it| !scene.around.is_made(it)).peekable();
    inner.peek().is_some() && inner.all(is_real)
}

/// Returns true for a directory, and for what is in it.
pub(crate) fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

/// Returns a path and those of the directories around it.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let parents = path.char_indices().filter(|(at, it)| *at > 0 && *it == '/');
    parents.filter_map(|(at, _)| path.get(..at)).chain([path])
}

/// Returns the places to which a command brings work.
pub(crate) fn brought(scene: &Scene<'_>, at_most: usize) -> Vec<Brought> {
    let work = moves(scene).into_iter().enumerate().filter(|(at, (from, _))| {
        // Each question about the disk takes its time.
        *at >= at_most || is_work(scene, from) || has_work(scene, from)
    });
    work.flat_map(|(_, (_, to))| to).filter(|it| it.path.starts_with(['/', '~'])).collect()
}

/// Returns true if a command may put work into a directory that the agent made.
pub(crate) fn brings(scene: &Scene<'_>) -> bool {
    let args = scene.run.args();
    match scene.run.program() {
        Some("mv" | "rsync" | "ln" | "mount") => true,
        Some("apply_patch") => scene.run.files().iter().any(|it| it.usage == FileUse::Moves),
        Some("git") => git_parts(args).is_some_and(|(sub, ..)| sub == "mv"),
        _ => packs(scene).is_some() || moves_in_code(scene),
    }
}

/// Returns the commands of the line before this one.
pub(crate) fn earlier<'a>(scene: &Scene<'a>) -> impl Iterator<Item = Scene<'a>> {
    let (scene, runs) = (*scene, scene.reading.runs.get(..scene.at).unwrap_or_default());
    runs.iter().enumerate().map(move |(at, run)| Scene { run, at, ..scene })
}

/// Returns the archive of a program that takes the files away, and these files.
fn packs<'a>(scene: &Scene<'a>) -> Option<(Arg, Vec<&'a Arg>)> {
    let args = scene.run.args();
    let is_plain = |it: &&Arg| !it.text.starts_with('-');
    let mut operands = match scene.run.program()? {
        "zip" if has(args, 'm', "--move") => operands(args, ""),
        "7z" if has(args, '\0', "-sdel") || args.iter().any(|it| it.text == "-sdel") => {
            args.iter().filter(is_plain).skip(1).collect()
        }
        "tar" if has(args, '\0', "--remove-files") => operands(args, "-C"),
        _ => return None,
    };
    // `tar cf ARCHIVE`
    if scene.run.args().first().is_some_and(|it| is_plain(&it) && it.text.ends_with('f')) {
        operands.drain(..1.min(operands.len()));
    }
    (!operands.is_empty()).then(|| (operands.remove(0).clone(), operands))
}

/// Returns true if a command has code that moves or links something. Known paths of it are commands of their own.
fn moves_in_code(scene: &Scene<'_>) -> bool {
    let in_name = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let is_call = |text: &str, name: &str| {
        text.match_indices(name).any(|(at, _)| {
            let (before, after) =
                (text.get(..at).unwrap_or_default(), text.get(at + name.len()..).unwrap_or_default());
            !before.ends_with(in_name) && !after.starts_with(in_name)
        })
    };
    let mut code = scene.reading.code.iter().filter(|it| it.run == scene.at);
    code.any(|it| CALLS.split_ascii_whitespace().any(|name| is_call(&it.text, name)))
}

/// Returns what a command moves or links, each with the paths at which it may be after that.
fn moves(scene: &Scene<'_>) -> Vec<(Arg, Vec<Brought>)> {
    let args = scene.run.args();
    let program = scene.run.program().unwrap_or_default();
    let of_git = git_parts(args).filter(|(sub, ..)| program == "git" && *sub == "mv");
    let removes_sources = || has(args, '\0', "--remove-source-files");
    if of_git.is_some() || is_in("mv ln mount", program) || program == "rsync" && removes_sources() {
        let (named, mut from) = match program {
            "git" => (None, operands(of_git.map_or(args, |(_, args, _)| args), "")),
            "mount" => (None, operands(args, "-t -o")),
            "rsync" => (None, operands(args, VALUES)),
            _ => (directory(args), operands(args, "-S --suffix -t --target-directory")),
        };
        from.retain(|it| named.as_ref().is_none_or(|named| !std::ptr::eq(*it, named.0)));
        let is_known = named.is_some() || from.len() > 2;
        let Some(to) = named.map(|it| it.1).or_else(|| from.pop().cloned()) else { return Vec::new() };
        let is_link = program == "ln";
        return from.into_iter().map(|it| (it.clone(), ends(scene, it, &to, is_known, is_link))).collect();
    }
    if program == "apply_patch" {
        let files = scene.run.files();
        let moved = files.windows(2).filter(|it| matches!(it, [from, _] if from.usage == FileUse::Moves));
        let arg = |it: &UsedFile<'_>| Arg::plain(it.path);
        let moved = moved.filter_map(|it| Some((arg(it.first()?), arg(it.last()?))));
        let to =
            |it: &Arg| paths(scene, it).into_iter().map(|path| Brought { path, is_link: false }).collect();
        return moved.map(|(from, it)| (from, to(&it))).collect();
    }
    if let Some((archive, from)) = packs(scene) {
        let long = Arg { text: format!("{}.zip", archive.text), sort: archive.sort };
        let to = [archive, long].into_iter().flat_map(|it| paths(scene, &it));
        let to: Vec<_> = to.map(|path| Brought { path, is_link: false }).collect();
        return from.into_iter().map(|it| (it.clone(), to.clone())).collect();
    }
    Vec::new()
}

/// Returns the directory that `-t` names, and the argument with it.
fn directory(args: &[Arg]) -> Option<(&Arg, Arg)> {
    args.iter().enumerate().find_map(|(at, it)| {
        let behind = || args.get(at + 1).map(|it| (it, it.clone()));
        let joined = |text: &str| Some((it, Arg { text: text.to_owned(), sort: it.sort }));
        let is_long = |name: &str| name.starts_with('t') && "target-directory".starts_with(name);
        match it.text.strip_prefix("--").map(|it| it.split_once('=').ok_or(it)) {
            Some(Ok((name, value))) => is_long(name).then(|| joined(value)).flatten(),
            Some(Err(name)) => is_long(name).then(behind).flatten(),
            None => match it.text.strip_prefix('-')?.split_once('t')?.1 {
                "" => behind(),
                value => joined(value),
            },
        }
    })
}

/// Returns the paths at which a file may be after a move. A directory that is named by nothing but its name may be there
/// already, or not.
fn ends(scene: &Scene<'_>, from: &Arg, to: &Arg, is_known: bool, is_link: bool) -> Vec<Brought> {
    let name = from.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_directory =
        is_known || to.text.ends_with('/') || is_in("/tmp /var/tmp /dev/shm /private/tmp", &to.text);
    let inner = match name {
        "*" | "." => to.text.clone(),
        name => format!("{}/{name}", to.text),
    };
    let inner = Arg { text: inner, sort: to.sort };
    let mut all = paths(scene, &inner);
    if !is_directory {
        all.extend(paths(scene, to));
    }
    all.into_iter().map(|path| Brought { path, is_link }).collect()
}

/// Returns the paths that an argument may mean; what is unknown of them, and patterns, as they are written.
fn paths(scene: &Scene<'_>, arg: &Arg) -> Vec<String> {
    // All files of a directory are behind it, also if it is a link.
    let is_inside = arg.text.len() > 1 && arg.text.ends_with('/');
    let end = if is_inside { "/*" } else { "" };
    let of = |directory: &str| {
        let path = match arg.text.starts_with('$') {
            true => arg.text.trim_end_matches('/').to_owned(),
            false if directory.starts_with('$') => join_path(directory, &arg.text),
            false => join_path(&join_path(scene.cwd, directory), &arg.text),
        };
        path + end
    };
    let elsewhere = scene.run.elsewhere.iter().map(String::as_str);
    [scene.run.directory.as_deref().unwrap_or("$PWD")].into_iter().chain(elsewhere).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_its_directories() {
        assert_eq!(ancestors("/a/b c/d").collect::<Vec<_>>(), ["/a", "/a/b c", "/a/b c/d"]);
    }
}
