//! Programs that remove files.

use hookbox_judge::{
    Area, Denial, PathKind, Preset, Scene, git_parts, has, is_generated, is_made_again, listed, operands,
    surely_has,
};
use hookbox_shell::{Arg, Place, Run, Sort, is_in};

use crate::moved::{VALUES, brings, earlier, has_work, is_below, is_free, is_free_behind};
use crate::state::is_excused;

/// Judges a program that removes files.
pub(crate) fn judge(scene: &Scene<'_>, name: &str) -> Option<Denial> {
    let args = scene.run.args();
    match name {
        "rm" | "unlink" | "rimraf" | "del-cli" | "srm" | "rmtree" => rm(scene, name),
        "find" => find(scene),
        "git" => cleaned(scene),
        "tar" if has(args, '\0', "--remove-files") => {
            let is_lost = |it: &&Arg| it.text.ends_with("/dev/null");
            args.iter()
                .find(is_lost)
                .map(|_| denial("removes files and keeps no archive of them", "tar -tf archive.tar"))
        }
        "tar" if has(args, '\0', "--recursive-unlink") => {
            let place = args.windows(2).find(|it| it.first().is_some_and(|it| it.text == "-C"));
            let place = place.and_then(|it| it.last()).cloned().unwrap_or_else(|| Arg::plain("."));
            (scene.preset > Preset::Relaxed && !is_free_behind(scene, &place))
                .then(|| denial("removes directories before it unpacks others", "tar -tf archive.tar"))
        }
        "rsync" | "rclone" if !surely_has(args, 'n', "--dry-run", listed(VALUES)) => sync(scene, name),
        _ => None,
    }
}

fn denial(what: &str, safer: &str) -> Denial {
    Denial::new(what, "these files can't be recovered", safer)
}

fn rm(scene: &Scene<'_>, name: &str) -> Option<Denial> {
    let args = scene.run.args();
    let recursive = match name {
        "rimraf" | "del-cli" | "rmtree" => true,
        "unlink" => false,
        _ => has(args, 'r', "--recursive") || has(args, 'R', ""),
    };
    if has(args, '\0', "--no-preserve-root") {
        return Some(denial("removes the root", "ls /"));
    }
    let targets = operands(args, "");
    targets_of(scene, targets, recursive)
}

fn targets_of(scene: &Scene<'_>, targets: Vec<&Arg>, recursive: bool) -> Option<Denial> {
    targets.into_iter().find_map(|target| removal(scene, target, recursive))
}

/// Judges the removal of a file or directory.
fn removal(scene: &Scene<'_>, target: &Arg, recursive: bool) -> Option<Denial> {
    let (run, cwd) = (scene.run, scene.cwd);
    let text = target.text.as_str();
    let is_fed =
        target.sort == Sort::Input || run.via.iter().any(|it| matches!(it.as_str(), "xargs" | "parallel"));
    // `find … | while read f; do rm "$f"; done`
    let is_read = || {
        let name = text.strip_prefix('$').map(|it| it.trim_start_matches('{').trim_end_matches('}'));
        let is_name = name.is_some_and(|it| it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_'));
        is_name && !recursive && target.sort == Sort::Input && scene.input().any(lists_files)
    };
    // `{}/../x` is beside what was found.
    if is_fed && text.contains("{}") && !text.contains("..") || is_read() {
        return fed(scene);
    }
    let area = match Area::of(target, run, cwd) {
        Area::Temporary if may_leave(target) => Area::Unknown,
        area => area,
    };
    let is_built = area == Area::Project && is_made_again(scene.reading, target);
    if (area.is_cheap() || is_built) && has_work(scene, target) {
        return Some(filled(target));
    }
    if area.is_cheap() || is_built || is_made(scene, target) || is_temporary_of_code(scene, target) {
        return (scene.preset == Preset::Strict && recursive && area == Area::Built)
            .then(|| denial(&format!("removes {text}"), &format!("ls -la {text}")));
    }
    let what = match area {
        Area::System => format!("removes {text}, which is a home directory or a part of the system"),
        Area::Whole => format!("removes {text}, which is the work directory or more"),
        Area::Unknown => format!("removes {text}, whose value is not known and may be empty"),
        _ => format!("removes {text}"),
    };
    let is_excused = || matches!(area, Area::Project | Area::Elsewhere) && is_excused(scene, target);
    if recursive {
        if scene.preset == Preset::Relaxed && !matches!(area, Area::System | Area::Whole) {
            return None;
        }
        let look = if area == Area::System { list(target) } else { look(target) };
        return (!is_excused()).then(|| denial(&what, &look));
    }
    let is_all = target.sort == Sort::Pattern;
    let denial = match area {
        Area::System if !is_home(target) || is_all => Some(denial(&what, &list(target))),
        Area::Device => Some(denial(&what, "ls -l /dev")),
        _ if scene.preset == Preset::Relaxed => None,
        Area::Whole if is_all => Some(denial(&what, "ls -la")),
        _ if is_all && !is_narrow(text) => Some(denial(&what, &look(target))),
        _ if is_store(text) => Some(denial(&what, &look(target))),
        // Code that goes through a directory removes more than one file.
        Area::Unknown if run.call.is_some() && goes_through(scene) => Some(denial(&what, &look(target))),
        _ => None,
    };
    denial.filter(|_| !is_excused())
}

/// Returns true for `/tmp/$X`: without a value it is the directory, and a value with `..` leads out of it.
fn may_leave(target: &Arg) -> bool {
    let name = target.text.trim_end_matches('/').rsplit_once("/$").map(|(_, name)| name);
    let is_value = |it: &str| {
        let is_name = it.starts_with(|it: char| it.is_ascii_alphabetic() || matches!(it, '_' | '{'));
        it.starts_with('(') || is_name && !it.contains('/') && !is_in("USER UID LOGNAME RANDOM", it)
    };
    target.sort == Sort::Unknown && name.is_some_and(is_value)
}

/// Refuses to remove what is at a target that would be free without the work that is there.
fn filled(target: &Arg) -> Denial {
    let what = format!("removes {}, to which files were moved or linked before", target.text);
    denial(&what, &look(target))
}

/// Judges `git clean` where the files are temporary or built.
fn cleaned(scene: &Scene<'_>) -> Option<Denial> {
    let (sub, args, directory) = git_parts(scene.run.args())?;
    let directory = directory.map_or(".", |it| it.text.as_str());
    let named = operands(args, "-e --exclude");
    let mut targets: Vec<String> = named.iter().map(|it| format!("{directory}/{}", it.text)).collect();
    if targets.is_empty() {
        targets.push(directory.to_owned());
    }
    let is_filled = |it: &Arg| Area::of(it, scene.run, scene.cwd).is_cheap() && !is_free_behind(scene, it);
    let is_real = sub == "clean"
        && has(args, 'f', "--force")
        && !surely_has(args, 'n', "--dry-run", listed("-e --exclude"));
    targets.into_iter().map(Arg::plain).find(|it| is_real && is_filled(it)).map(|it| filled(&it))
}

/// Returns true if code of the line lists files.
fn goes_through(scene: &Scene<'_>) -> bool {
    let lists = ["listdir", "glob", "os.walk", "iterdir", "readdir", "scandir"];
    let is_temporary = |it: &str| it.contains("/tmp") || it.contains("tempfile") || it.contains("pyc");
    scene
        .reading
        .code
        .iter()
        .any(|it| lists.iter().any(|list| it.text.contains(list)) && !is_temporary(&it.text))
}

fn is_home(target: &Arg) -> bool {
    target.text.starts_with('~')
}

/// Returns true for a pattern that has a name, such as `test-*.json` or `a?.txt`.
fn is_narrow(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    let fixed = name.chars().take_while(|it| !"*?[{".contains(*it)).filter(|it| it.is_alphanumeric()).count();
    fixed >= 3
}

/// Returns true for a file that keeps data, keys or history.
fn is_store(text: &str) -> bool {
    let is_key = ["/.ssh/", "/.gnupg/", "/.aws/", ".git/"]
        .iter()
        .any(|it| text.contains(it) || text.starts_with(it.trim_start_matches('/')));
    is_key && !text.ends_with(".lock") && !text.contains("/hooks/") && !text.contains("known_hosts")
}

/// Returns true if the line made the directory before, and moved nothing into it. It surely did if nothing is there yet, or
/// if it would have ended at a directory that is.
fn is_made(scene: &Scene<'_>, target: &Arg) -> bool {
    let own = scene.absolute(target);
    let is_absent = || {
        let is_missing = |it: &String| scene.around.path(it).is_some_and(|it| it.kind == PathKind::Missing);
        scene.run.place == Place::Here && own.iter().all(is_missing)
    };
    let is_made = |it: Scene<'_>| {
        let args = it.run.args();
        let named = match (it.run.program(), args) {
            (Some("mkdir"), _) => operands(args, "-m --mode"),
            (Some("git"), [first, _, .., last]) if first.text == "clone" => vec![last],
            _ => return false,
        };
        let made: Vec<String> = named.into_iter().flat_map(|arg| it.absolute(arg)).collect();
        let succeeds =
            ["--parents", "--help", "--version"].iter().any(|it| has(args, '\0', it)) || has(args, 'p', "");
        own.iter().all(|own| made.contains(own)) && it.run.via.is_empty() && !succeeds && scene.needs(it.at)
            || own.iter().all(|own| made.iter().any(|it| is_below(it, own))) && is_absent()
    };
    !own.is_empty() && earlier(scene).any(is_made) && !earlier(scene).any(|it| brings(&it))
}

/// Returns true for a variable of code whose only value is a new temporary directory.
fn is_temporary_of_code(scene: &Scene<'_>, target: &Arg) -> bool {
    let name = target.text.as_str();
    let is_name = !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    if scene.run.call.is_none() || target.sort != Sort::Unknown || !is_name {
        return false;
    }
    let in_name = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '.';
    let values = scene.reading.code.iter().flat_map(|code| {
        code.text.match_indices(name).filter_map(|(at, _)| {
            let (before, after) = (code.text.get(..at)?, code.text.get(at + name.len()..)?.trim_start());
            let value = after.strip_prefix('=').filter(|it| !it.starts_with('='))?;
            (!before.ends_with(in_name)).then(|| value.trim_start())
        })
    });
    let makes = |it: &str| ["tempfile.mkdtemp(", "mkdtemp("].iter().any(|call| it.starts_with(call));
    let values: Vec<&str> = values.collect();
    !values.is_empty() && values.into_iter().all(makes)
}

/// Returns a command that shows the files at a target that git does not track.
fn look(target: &Arg) -> String {
    named("git status --short --ignored", target)
}

/// Returns a command that lists a target outside repositories.
fn list(target: &Arg) -> String {
    named("ls -la", target)
}

/// Returns a command for a target, whose name is left out if it is not a simple path.
fn named(command: &str, target: &Arg) -> String {
    let text = target.text.trim_end_matches('*');
    let text = if text.len() > 1 { text.trim_end_matches('/') } else { text };
    let is_simple =
        !text.is_empty() && text.chars().all(|it| it.is_ascii_alphanumeric() || "-_./~".contains(it));
    if target.is_plain() && is_simple && !text.starts_with('-') {
        format!("{command} {text}")
    } else {
        command.to_owned()
    }
}

/// Returns true for a program that prints the names of files below a directory.
fn lists_files(run: &Run) -> bool {
    let has_word = |word: &str| run.args().iter().any(|it| it.text == word);
    match run.program() {
        Some("find" | "fd") => true,
        Some("git") => has_word("ls-files"),
        Some("rg") => has_word("--files"),
        _ => false,
    }
}

/// Judges `rm` with the names that another command prints.
pub(crate) fn fed(scene: &Scene<'_>) -> Option<Denial> {
    let sources: Vec<&Run> = scene.input().collect();
    for source in sources.iter().rev() {
        match source.program() {
            Some("find") => return found(scene, source),
            Some("fd") => {
                let names = operands(source.args(), "-e -t -d --extension --type");
                let args = source.args();
                let option = args.iter().position(|it| matches!(it.text.as_str(), "-e" | "--extension"));
                let ending = option.and_then(|at| args.get(at + 1));
                let is_cheap = names.iter().any(|it| is_generated(it.text.trim_matches(['^', '$', '\\'])))
                    || ending.is_some_and(|it| is_generated(&format!("*.{}", it.text)));
                return (!is_cheap).then(|| denial("removes what it finds", "fd --list-details"));
            }
            Some("ls") => {
                let places = operands(source.args(), "");
                let source = Scene { run: source, ..*scene };
                let all = !places.is_empty() && places.iter().all(|it| is_free(&source, it));
                return (!all).then(|| denial("removes what `ls` prints", "ls -la"));
            }
            Some("grep" | "egrep" | "rg") => {
                let cheap = source
                    .args()
                    .iter()
                    .any(|it| is_generated(it.text.trim_end_matches('$').trim_start_matches('\\')));
                if cheap {
                    return None;
                }
            }
            _ => {}
        }
    }
    (scene.preset > Preset::Relaxed)
        .then(|| denial("removes files whose names are known only while the line runs", "git status --short"))
}

fn find(scene: &Scene<'_>) -> Option<Denial> {
    let args = scene.run.args();
    if !args.iter().any(|it| it.text == "-delete") {
        return None;
    }
    let is_start = |it: &&Arg| !it.text.starts_with('-');
    let mut places = args.iter().take_while(is_start).peekable();
    // Behind `-L` are the targets of links.
    let follows = args.iter().any(|it| it.text == "-follow");
    let is_own = places.peek().is_some() && !follows && places.all(|it| is_excused(scene, it));
    if is_own { None } else { found(scene, scene.run) }
}

/// Judges the removal of what `find` finds.
fn found(scene: &Scene<'_>, run: &Run) -> Option<Denial> {
    let all = run.args();
    let is_action = |it: &&Arg| {
        !matches!(
            it.text.as_str(),
            "-delete" | "-exec" | "-execdir" | "-ok" | "-okdir" | "-print" | "-print0"
        )
    };
    // A test behind the action selects nothing for it.
    let args = all.get(..all.iter().take_while(is_action).count()).unwrap_or_default();
    let is_start = |it: &&Arg| !it.text.starts_with('-') && !matches!(it.text.as_str(), "(" | "!");
    let options = args.iter().take_while(|it| matches!(it.text.as_str(), "-H" | "-L" | "-P")).count();
    let places: Vec<&Arg> = args.iter().skip(options).take_while(is_start).collect();
    let is_name =
        |it: &Arg| matches!(it.text.as_str(), "-name" | "-iname" | "-path" | "-wholename" | "-ipath");
    let is = |at: usize, text: &str| args.get(at).is_some_and(|it| it.text == text);
    // `find` does not delete the files that it prunes.
    let is_pruned = |at: usize| is(at + 2, "-prune") && (is(at + 3, "-o") || is(at + 3, "-or"));
    let tests = args.iter().enumerate().filter(|(at, it)| is_name(it) && !is_pruned(*at));
    let mut tests = tests.filter_map(|(at, _)| args.get(at + 1)).peekable();
    let by_name = tests.peek().is_some();
    let is_inverted = args.iter().any(|it| matches!(it.text.as_str(), "!" | "-not"));
    let is_cheap_name = |it: &Arg| {
        is_generated(&it.text)
            || it.text.split('/').any(|it| !it.trim_matches('*').is_empty() && is_generated(it))
    };
    if by_name && !is_inverted && !has_alternative(all) && tests.all(is_cheap_name) {
        return None;
    }
    let is_cheap = |it: &&Arg| {
        let is_root = matches!(it.text.trim_end_matches('/'), "/tmp" | "/var/tmp");
        let scene = Scene { run, ..*scene };
        is_free(&scene, it) || is_root && !has_work(&scene, it)
    };
    if !places.is_empty() && places.iter().all(is_cheap) {
        return None;
    }
    // Only what is empty is lost.
    if args.iter().any(|it| it.text == "-empty") && !is_inverted && !all.iter().any(is_or) {
        return None;
    }
    if args.windows(2).any(|it| matches!(it, [a, b] if a.text == "-type" && b.text == "l"))
        || scene.preset == Preset::Relaxed
    {
        let is_large =
            places.iter().any(|it| matches!(Area::of(it, run, scene.cwd), Area::System | Area::Whole));
        return is_large.then(|| denial("removes what it finds", "find . -maxdepth 1"));
    }
    Some(denial("removes what it finds", "find . -maxdepth 1"))
}

fn is_or(it: &Arg) -> bool {
    matches!(it.text.as_str(), "-o" | "-or" | ",")
}

/// Returns true if the action of `find` belongs to one side of `-o` or `,` only: outside brackets, and not behind `-prune`.
fn has_alternative(args: &[Arg]) -> bool {
    let mut depth = 0usize;
    args.iter().enumerate().any(|(at, it)| {
        match it.text.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_pruned = at.checked_sub(1).and_then(|it| args.get(it)).is_some_and(|it| it.text == "-prune");
        depth == 0 && is_or(it) && !is_pruned
    })
}

/// Judges programs that make one directory like another.
fn sync(scene: &Scene<'_>, name: &str) -> Option<Denial> {
    let args = scene.run.args();
    let operands = operands(args, VALUES);
    let target = operands.last()?;
    let removes = match name {
        "rsync" => args.iter().any(|it| it.text.starts_with("--del") || it.text == "--remove-source-files"),
        _ => matches!(operands.first()?.text.as_str(), "sync" | "purge" | "delete" | "rmdirs" | "move"),
    };
    if !removes || !target.text.contains(':') && is_free_behind(scene, target) {
        return None;
    }
    if scene.preset == Preset::Relaxed
        && name == "rsync"
        && !matches!(Area::of(target, scene.run, scene.cwd), Area::System)
    {
        return None;
    }
    let look = if name == "rsync" { "rsync --dry-run --itemize-changes" } else { "rclone check --dry-run" };
    Some(denial("removes files that the source does not have", look))
}
