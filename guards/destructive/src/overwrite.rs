//! Programs and redirections that overwrite files and devices, or close them.

use hookbox_judge::{Area, Denial, Preset, Scene, has, operands};
use hookbox_shell::{Arg, Mode, Run, Sort, unpacks};

use crate::moved::is_free_behind;
use crate::remove;

fn lost(what: &str, look: &str) -> Denial {
    Denial::new(what, "the old contents are lost", look)
}

/// Judges the files that the output of a command goes to.
pub(crate) fn redirections(scene: &Scene<'_>) -> Option<Denial> {
    let run = scene.run;
    let prints_nothing = match run.program() {
        None => run.words.is_empty(),
        Some("true" | ":" | "false" | "test" | "cd" | "sleep") => true,
        // The shell's own output goes there from now on.
        Some("exec") => run.args().is_empty(),
        Some("echo" | "printf") => {
            let args: Vec<&Arg> = run.args().iter().filter(|it| it.text != "-n").collect();
            args.iter().all(|it| it.text.is_empty())
                && (run.args().len() > args.len() || run.program() == Some("printf"))
        }
        Some("cat" | "dd") => {
            let all_empty = run.args().iter().all(|it| it.text == "/dev/null");
            all_empty && (!run.args().is_empty() || reads_nothing(run))
        }
        _ => false,
    };
    run.redirections.iter().filter(|it| it.mode == Mode::Write).find_map(|it| {
        let target = &it.target;
        let area = Area::of(target, run, scene.cwd);
        if area == Area::Device {
            return Some(lost(&format!("writes to the device {}", target.text), "lsblk"));
        }
        if scene.preset == Preset::Relaxed {
            return None;
        }
        let keeps = matches!(
            target.text.as_str(),
            "/etc/passwd" | "/etc/shadow" | "/etc/sudoers" | "/etc/fstab" | "/etc/hosts"
        );
        if keeps {
            return Some(
                lost(&format!("replaces {}", target.text), &format!("cp {} /tmp/", target.text)).save(),
            );
        }
        // `find … -exec sh -c ': > {}'`
        let is_found = target.text.contains("{}") && scene.input().next().is_some();
        if prints_nothing && is_found {
            return remove::fed(scene).map(|_| emptied(&target.text));
        }
        let is_lost = || if area.is_cheap() { !is_free_behind(scene, target) } else { empties(target) };
        (prints_nothing && is_lost()).then(|| emptied(&target.text))
    })
}

/// Returns true if the input of a command is empty: `< /dev/null`, `<<< ''`.
fn reads_nothing(run: &Run) -> bool {
    run.redirections.iter().any(|it| match it.mode {
        Mode::Read => it.target.text == "/dev/null",
        Mode::Text => it.target.text.trim().is_empty() && it.target.sort == Sort::Plain,
        _ => false,
    })
}

/// Returns true for a device without an end, or without a beginning.
fn is_nothing(it: &Arg) -> bool {
    matches!(it.text.as_str(), "/dev/null" | "/dev/zero" | "/dev/full" | "/dev/random" | "/dev/urandom")
}

/// Returns true for a script of `sed` that deletes every line, or what is in it: `d`, `/./d`, `s/.*//`.
fn takes_all_lines(script: &str) -> bool {
    let bare = |it: &str| it.trim_start_matches('^').trim_end_matches('$').to_owned();
    let deleted = script.strip_prefix('/').and_then(|it| it.strip_suffix("/d"));
    let replaced = script.strip_prefix("s/").and_then(|it| it.split_once("//"));
    matches!(script, "d" | "1,$d" | "0,$d" | "1,$ d")
        || deleted.is_some_and(|it| it != "^$" && matches!(bare(it).as_str(), "" | "." | ".*"))
        || replaced.is_some_and(|(it, _)| bare(it) == ".*")
}

fn emptied(text: &str) -> Denial {
    lost(&format!("empties {text}"), "git diff --stat")
}

/// Returns true if an empty file of this name is a loss: a new marker or log has no ending of source or data.
fn empties(target: &Arg) -> bool {
    let name = target.text.rsplit('/').next().unwrap_or_default();
    !matches!(name, "__init__.py" | ".gitkeep" | ".keep" | "py.typed" | ".nojekyll" | ".hushlogin")
        && (name.contains('.') && !name.starts_with('.')
            || target.sort != Sort::Plain
            || name.starts_with('.')
            || matches!(name, "Makefile" | "Dockerfile" | "LICENSE"))
}

/// Judges a program that overwrites.
pub(crate) fn judge(scene: &Scene<'_>, name: &str) -> Option<Denial> {
    let (run, args) = (scene.run, scene.run.args());
    let area = |it: &Arg| Area::of(it, run, scene.cwd);
    let is_free = |it: &Arg| is_free_behind(scene, it);
    let is_relaxed = scene.preset == Preset::Relaxed;
    match name {
        "dd" => {
            let value = |key: &str| {
                args.iter()
                    .find_map(|it| Some(Arg { text: it.text.strip_prefix(key)?.to_owned(), sort: it.sort }))
            };
            let target = value("of=")?;
            let is_image = [".img", ".iso", ".bin", ".dat", ".raw", ".qcow2", ".swap"]
                .iter()
                .any(|it| target.text.ends_with(it));
            let place = area(&target);
            let is_erased = match value("if=") {
                Some(it) => it.text.starts_with("/dev/"),
                None => reads_nothing(run),
            };
            (place == Area::Device || !is_image && is_erased && !is_free(&target))
                .then(|| lost(&format!("writes over {}", target.text), "lsblk"))
        }
        "shred" | "wipe" | "srm" | "scrub" => {
            let target = operands(args, "-n -s --iterations --size").into_iter().find(|it| !is_free(it))?;
            Some(lost(&format!("destroys {}", target.text), "git status --short"))
        }
        "truncate" => {
            let is_larger = args
                .iter()
                .any(|it| it.text.starts_with("-s+") || it.text.starts_with("+") || it.text.contains("=+"));
            let target = operands(args, "-s --size -r --reference").into_iter().find(|it| !is_free(it))?;
            let is_zero = args.iter().any(|it| {
                matches!(it.text.as_str(), "0" | "-s0" | "--size=0")
                    || it.text.starts_with("-s-")
                    || it.text.starts_with('-') && it.text.ends_with("s0")
            });
            (!is_larger && (is_zero || scene.preset == Preset::Strict) && !is_relaxed)
                .then(|| emptied(&target.text))
        }
        "sed" | "perl" | "ruby" => {
            let in_place = args.iter().any(|it| {
                it.text.starts_with("-i")
                    || it.text.starts_with("--in-place")
                    || name != "sed" && it.text == "-ni"
            });
            // A script that deletes every line, or prints none.
            let is_nothing = |it: &&Arg| match name {
                "perl" | "ruby" => it.text.is_empty() && has(args, 'n', ""),
                _ => takes_all_lines(&it.text) || it.text.is_empty() && has(args, 'n', ""),
            };
            let target = operands(args, "-E").into_iter().rfind(|it| !is_free(it))?;
            let is_empty = args.iter().filter(|it| it.text != target.text).any(|it| is_nothing(&it));
            (in_place && is_empty && !is_relaxed).then(|| emptied(&target.text))
        }
        "tee" => {
            let is_nothing = reads_nothing(run) && !has(args, 'a', "--append");
            let targets = operands(args, "");
            if let Some(target) = targets.iter().find(|it| is_nothing && !is_relaxed && !is_free(it)) {
                return Some(emptied(&target.text));
            }
            let target = targets.into_iter().find(|it| area(it) == Area::Device)?;
            Some(lost(&format!("writes to the device {}", target.text), "lsblk"))
        }
        "cp" | "mv" | "install" | "ln" => moved(scene, name),
        // `%d|wq` empties the file and writes it.
        "vim" | "vi" | "nvim" | "ex" | "ed" if scene.preset > Preset::Relaxed => {
            let given = || run.redirections.iter().filter(|it| it.mode == Mode::Text).map(|it| &it.target);
            let lines = || args.iter().chain(given()).flat_map(|it| it.text.lines());
            let texts = || lines().map(|it| it.trim_start_matches(['+', ':']));
            let takes_all = |it: &str| {
                ["%d", "1,$d", ",d"].iter().any(|all| it.starts_with(all))
                    || it.starts_with("norm") && it.ends_with("ggdG")
            };
            let writes = texts().any(|it| {
                it.contains("|w")
                    || it.contains("|x")
                    || matches!(
                        it.trim_end_matches('!'),
                        "w" | "wq" | "wqa" | "wa" | "x" | "xa" | "up" | "update"
                    )
            });
            let files = operands(run.args(), "-c --cmd -S -u");
            let file = files.into_iter().rfind(|it| !it.text.starts_with('+'))?;
            let is_lost = texts().any(takes_all) && writes && !is_free(file);
            is_lost.then(|| emptied(&file.text))
        }
        "sort" => {
            let output = args.windows(2).find(|it| it.first().is_some_and(|it| it.text == "-o"));
            let (target, inputs) = (output?.last()?, operands(args, "-o -k -t -S -T"));
            let is_empty = !inputs.is_empty() && inputs.into_iter().all(is_nothing);
            (is_empty && !is_relaxed && !is_free(target)).then(|| emptied(&target.text))
        }
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" | "chflags" => closed(scene, name),
        _ if !is_relaxed => unpacked(scene, name),
        _ => None,
    }
}

/// Judges an archive that is unpacked over the files of a whole directory.
fn unpacked(scene: &Scene<'_>, name: &str) -> Option<Denial> {
    let args = scene.run.args();
    let place = unpacks(name, args).filter(|it| it.text != ".")?;
    let (replaces, look) = match name {
        "unzip" => (has(args, 'o', ""), "unzip -l archive.zip"),
        "7z" => (args.iter().any(|it| it.text == "-y" || it.text == "-aoa"), "7z l archive.7z"),
        _ => {
            let keeps = has(args, 'k', "--keep-old-files") || has(args, '\0', "--skip-old-files");
            (!keeps, "tar -tf archive.tar")
        }
    };
    // A program is unpacked into `/opt`.
    let is_whole = place.text == "/" || !place.text.trim_end_matches('/').starts_with("/opt");
    (replaces && is_whole && is_root(scene, &place))
        .then(|| lost(&format!("overwrites files of {}", place.text), look))
}

fn moved(scene: &Scene<'_>, name: &str) -> Option<Denial> {
    let (run, args) = (scene.run, scene.run.args());
    let operands = operands(args, "-S --suffix -t --target-directory -m -o -g");
    let (target, sources) = operands.split_last()?;
    if matches!(target.text.as_str(), "/dev/null" | "/dev/zero") && name == "mv" {
        return Some(lost("moves files to where they are lost", "git status --short"));
    }
    if Area::of(target, run, scene.cwd) == Area::Device && !sources.is_empty() {
        return Some(lost(&format!("writes over the device {}", target.text), "lsblk"));
    }
    let is_forced = has(args, 'f', "--force")
        && match name {
            "cp" => has(args, 'r', "--recursive") || has(args, 'R', "") || has(args, 'a', "--archive"),
            "mv" => sources.iter().any(|it| it.sort == Sort::Pattern),
            _ => false,
        };
    if is_forced && scene.preset > Preset::Relaxed && is_root(scene, target) {
        return Some(lost(&format!("overwrites files of {}", target.text), "cp -rn").instead());
    }
    let from_nothing = sources.iter().any(|it| is_nothing(it));
    let replaces = matches!(name, "cp" | "install") || name == "ln" && has(args, 'f', "--force");
    if from_nothing && replaces && scene.preset > Preset::Relaxed && !is_free_behind(scene, target) {
        return Some(emptied(&target.text));
    }
    let takes_all = |it: &&&Arg| {
        let place = Area::of(it, run, scene.cwd);
        let is_link = it.text.starts_with("/usr/local/")
            || it.text.starts_with("/etc/")
            || it.text.starts_with("/opt/");
        place == Area::System && !is_link && it.text.split('/').filter(|it| !it.is_empty()).count() < 3
            || place == Area::Whole
                && it.sort == Sort::Pattern
                && Area::of(target, run, scene.cwd) == Area::Temporary
    };
    let source = sources.iter().find(takes_all).filter(|_| name == "mv")?;
    Some(lost(&format!("moves {} away", source.text), "git status --short"))
}

/// Returns true for a home directory, the root, and a directory right below the root that is a part of the system.
fn is_root(scene: &Scene<'_>, place: &Arg) -> bool {
    let text = place.text.trim_end_matches('/');
    let is_deep = text.split('/').filter(|it| !it.is_empty()).count() > 1;
    match Area::of(place, scene.run, scene.cwd) {
        Area::System => !is_deep || text.starts_with("/home/") || text.starts_with("/Users/"),
        // A home directory around the work directory.
        Area::Whole => text.starts_with('/') && text != scene.cwd,
        _ => false,
    }
}

/// Judges programs that change who may use files.
fn closed(scene: &Scene<'_>, name: &str) -> Option<Denial> {
    let (run, args) = (scene.run, scene.run.args());
    if !(has(args, 'R', "--recursive") || args.iter().any(|it| it.text == "-hR")) {
        let target = operands(args, "").into_iter().skip(1).find(|it| it.text.starts_with(['/', '~']))?;
        let is_root = Area::of(target, run, scene.cwd) == Area::System
            && target.text.split('/').filter(|it| !it.is_empty()).count() < 2;
        let is_closed = matches!(args.first()?.text.as_str(), "000" | "0" | "0000" | "777" | "0777");
        return (is_root && is_closed && name == "chmod").then(|| refusal(&target.text));
    }
    let operands = operands(args, "--reference --from -m -x");
    let by_reference = args.iter().any(|it| it.text.starts_with("--reference"));
    let targets = operands.get(usize::from(!by_reference && name != "setfacl")..).unwrap_or_default();
    let mode = operands.first().map(|it| it.text.as_str()).unwrap_or_default();
    let is_closed = name == "chmod"
        && (mode.chars().all(|it| it == '0')
            || ["a-r", "-r", "a-rwx", "a=", "u-r", "ugo-rwx", "u=", "-rwx", "u-rwx", "u-rw"].contains(&mode));
    let is_open =
        name == "chmod" && matches!(mode, "777" | "0777" | "a+rwx" | "ugo+rwx" | "666" | "a+w" | "o+w");
    let target = targets.iter().find(|it| {
        let area = Area::of(it, run, scene.cwd);
        match area {
            Area::System => {
                let depth = it.text.split('/').filter(|it| !it.is_empty()).count();
                depth < 2
                    || it.text.starts_with("/etc")
                    || it.text.starts_with("/usr/") && !it.text.starts_with("/usr/local/")
                    || it.text.starts_with("/home") && depth < 3
                    || it.text.starts_with("/var/lib") && depth < 3
            }
            Area::Temporary | Area::Built => false,
            Area::Unknown => scene.preset == Preset::Strict || is_closed,
            _ if scene.preset == Preset::Relaxed => false,
            Area::Whole => is_closed || is_open || it.text.contains(".."),
            _ => is_closed || is_open && area == Area::Elsewhere,
        }
    })?;
    Some(refusal(&target.text))
}

fn refusal(text: &str) -> Denial {
    Denial::new(
        format!("changes who may use {text} and everything below it"),
        "the old permissions are lost",
        "ls -la",
    )
}
