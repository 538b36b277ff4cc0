//! Commands that lose nothing in the present state of the repository.

use hookbox_judge::{Scene, git_parts, has, operands};
use hookbox_shell::{Arg, Run, is_in, join_path};

/// Returns true if the state of the repository shows that a subcommand loses nothing. In doubt it is false.
pub(crate) fn keeps(scene: &Scene<'_>, sub: &str, args: &[Arg], directory: Option<&Arg>) -> bool {
    let Some(place) = Place::of(scene, directory) else { return false };
    match sub {
        "reset" => scene.is_excusable(|it| checked_out(it).is_some()) && place.resets(args),
        "branch" => scene.is_excusable(keeps_branches) && place.branch(args),
        "fetch" | "pull" => scene.is_excusable(keeps_branches) && place.fetched(args),
        "update-ref" => scene.is_excusable(keeps_branches) && place.update_ref(args),
        "worktree" => scene.is_excusable(|_| false) && place.worktree(args),
        "clean" => scene.is_excusable(|_| false) && place.clean(args),
        "checkout" => scene.is_excusable(|_| false) && place.checkout(args),
        "switch" => {
            let is_forced = has(args, 'f', "--force") || has(args, '\0', "--discard-changes");
            scene.is_excusable(|_| false)
                && (!is_forced || place.is_clean())
                && place.is_created_from_pushed(args, "-C --force-create")
        }
        "restore" => scene.is_excusable(|_| false) && place.restore(args),
        "rm" => scene.is_excusable(|_| false) && place.rm(args),
        _ => false,
    }
}

/// The directories in which the command may run.
struct Place<'a> {
    scene: &'a Scene<'a>,
    directories: Vec<String>,
}

impl<'a> Place<'a> {
    fn of(scene: &'a Scene<'a>, directory: Option<&Arg>) -> Option<Self> {
        let mut options = scene.run.args();
        let mut directory_options = 0;
        // Other options in front of the subcommand may name another repository, or change a setting.
        while let [first, rest @ ..] = options
            && first.text.starts_with('-')
        {
            options = match first.text.as_str() {
                "-C" => {
                    directory_options += 1;
                    rest.get(1..)?
                }
                "--no-pager" | "-P" => rest,
                _ => return None,
            };
        }
        let directories = scene.absolute(directory.unwrap_or(&Arg::plain(".")));
        (directory_options < 2 && !directories.is_empty()).then_some(Self { scene, directories })
    }

    fn all_trees(&self, test: impl Fn(&hookbox_judge::Tree) -> bool) -> bool {
        self.directories.iter().all(|it| self.scene.around.tree(it).is_some_and(|tree| test(&tree)))
    }

    fn is_clean(&self) -> bool {
        self.all_trees(hookbox_judge::Tree::is_clean)
    }

    fn is_pushed(&self, reference: &str) -> bool {
        self.directories.iter().all(|it| self.scene.around.is_pushed(it, reference) == Some(true))
    }

    fn has_pushed_branch(&self, name: &Arg) -> bool {
        name.is_plain() && self.is_pushed(&format!("refs/heads/{}", name.text))
    }

    /// Returns true if a commit has every file at a path.
    fn is_committed(&self, path: &Arg) -> bool {
        self.all_paths(path, |state| state.is_committed())
    }

    fn all_paths(&self, path: &Arg, test: impl Fn(&hookbox_judge::PathState) -> bool) -> bool {
        let is_simple = path.is_plain() && !path.text.starts_with([':', '~']);
        let state = |it: &String| self.scene.around.path(&join_path(it, &path.text));
        is_simple && self.directories.iter().all(|it| state(it).is_some_and(|state| test(&state)))
    }

    /// `reset --hard`: the changes are lost, and the commits that only this branch has.
    fn resets(&self, args: &[Arg]) -> bool {
        let stays = operands(args, "").iter().all(|it| matches!(it.text.as_str(), "HEAD" | "@"));
        if stays {
            return self.all_trees(|it| !it.changed);
        }
        // A file that git does not know may be in the way of one of the other commit, but for `--keep`.
        let heads = self.scene.before().iter().filter_map(checked_out);
        (has(args, '\0', "--keep") || self.is_clean())
            && self.is_pushed("HEAD")
            && heads.into_iter().all(|it| self.is_pushed(it))
    }

    /// `clean`: the files are lost that git neither tracks nor ignores.
    fn clean(&self, args: &[Arg]) -> bool {
        !has(args, 'x', "") && !has(args, 'X', "") && self.all_trees(|it| !it.untracked)
    }

    fn checkout(&self, args: &[Arg]) -> bool {
        if args.iter().any(|it| it.text.starts_with("--pathspec")) {
            return false;
        }
        let creates = has(args, 'B', "");
        if has(args, 'f', "--force") || creates {
            let is_kept = !has(args, 'f', "--force") || self.is_clean();
            return is_kept && (!creates || self.is_created_from_pushed(args, "-B"));
        }
        let operands = operands(args, "--conflict");
        let dashes = args.iter().position(|it| it.text == "--");
        let (before, paths) = match dashes {
            Some(at) => {
                let behind = args.len() - at - 1;
                operands.split_at(operands.len().saturating_sub(behind))
            }
            None if operands.len() > 1 => operands.split_at(1),
            None => operands.split_at(0),
        };
        // Without `--`, the first word is a commit or one more path.
        let is_one_more = |it: &&Arg| {
            dashes.is_some()
                || self.is_committed(it)
                || self.all_paths(it, |state| state.kind == hookbox_judge::PathKind::Missing)
        };
        let is_committed = !paths.is_empty()
            && before.iter().all(is_one_more)
            && paths.iter().all(|it| self.is_committed(it));
        is_committed || self.are_kept(before.is_empty())
    }

    /// Returns true if files may be replaced: by those of the index, or by those of another commit.
    fn are_kept(&self, by_index: bool) -> bool {
        self.all_trees(|it| !it.changed && (by_index || !it.untracked))
    }

    fn restore(&self, args: &[Arg]) -> bool {
        let has_source = args.iter().any(|it| it.text.starts_with("-s") || it.text.starts_with("--so"));
        let paths = operands(args, "-s --source");
        let is_listed = args.iter().any(|it| it.text.starts_with("--pathspec"));
        !is_listed
            && (!paths.is_empty() && paths.iter().all(|it| self.is_committed(it))
                || self.are_kept(!has_source))
    }

    fn rm(&self, args: &[Arg]) -> bool {
        let paths = operands(args, "");
        let is_listed = args.iter().any(|it| it.text.starts_with("--pathspec"));
        let is_kept = |it: &&Arg| self.all_paths(it, |state| !state.changed);
        !is_listed && !paths.is_empty() && (paths.iter().all(is_kept) || self.all_trees(|it| !it.changed))
    }

    /// `branch -D`, `-f` and `-M`: the commits are lost that only this branch has.
    fn branch(&self, args: &[Arg]) -> bool {
        let has_only = |list: &str| {
            let mut options = args.iter().filter(|it| it.text.starts_with('-'));
            options.all(|it| is_in(list, &it.text))
        };
        let names = operands(args, "");
        let has_pushed = |names: &[&Arg]| names.iter().all(|it| self.has_pushed_branch(it));
        match names.as_slice() {
            [] => false,
            [name, ..] if has_only("-f --force -q --quiet") => has_pushed(&[*name]),
            names if has_only("-D -d -f --delete --force -q --quiet") => has_pushed(names),
            [_, new] if has_only("-M -C -q --quiet") => has_pushed(&[*new]),
            _ => false,
        }
    }

    /// `switch -C` and `checkout -B`: the branch is another one then.
    fn is_created_from_pushed(&self, args: &[Arg], options: &str) -> bool {
        let is_option = |it: &Arg| options.split(' ').any(|option| option == it.text);
        let is_group = |it: &Arg| {
            it.text.starts_with('-')
                && !it.text.starts_with("--")
                && it.text.contains(['B', 'C'])
                && !is_option(it)
        };
        if args.iter().any(is_group) {
            return false;
        }
        let name = args.iter().position(is_option).and_then(|at| args.get(at + 1));
        name.is_none_or(|it| self.has_pushed_branch(it))
    }

    fn fetched(&self, args: &[Arg]) -> bool {
        let specs = operands(args, "--depth --deepen -o --upload-pack -j").into_iter().skip(1);
        let mut targets = specs.map(|it| {
            let to = it.is_plain().then(|| it.text.rsplit_once(':')).flatten().map(|(_, to)| to);
            to.map(|it| it.trim_start_matches("refs/heads/").to_owned())
        });
        targets.all(|it| it.is_some_and(|it| self.has_pushed_branch(&Arg::plain(it))))
    }

    fn update_ref(&self, args: &[Arg]) -> bool {
        matches!(args, [option, name] if option.text == "-d" && name.is_plain()
            && name.text.starts_with("refs/heads/") && self.is_pushed(&name.text))
    }

    /// `worktree remove --force`: its changes are lost, and commits that no branch has. Ignored files are lost without
    /// `--force`, too.
    fn worktree(&self, args: &[Arg]) -> bool {
        let [remove, rest @ ..] = args else { return false };
        let options = rest.iter().filter(|it| it.text.starts_with('-')).map(|it| it.text.as_str());
        // Twice, it removes one that somebody has locked.
        let options: Vec<&str> = options.collect();
        let names = operands(rest, "");
        let ([name], ["-f" | "--force"]) = (names.as_slice(), options.as_slice()) else { return false };
        remove.text == "remove"
            && name.is_plain()
            && self.directories.iter().all(|it| {
                let path = join_path(it, &name.text);
                self.scene.around.tree(&path).is_some_and(|tree| {
                    let is_named =
                        tree.branch.is_some() || self.scene.around.is_pushed(&path, "HEAD") == Some(true);
                    tree.root == path && tree.linked && tree.is_clean() && is_named
                })
            })
    }
}

/// Returns the branch or commit that a `git checkout` or `git switch` without options checks out.
fn checked_out(run: &Run) -> Option<&str> {
    let (sub, args) = plain_parts(run)?;
    let [name] = args else { return None };
    let is_name = name.is_plain() && !name.text.starts_with('-');
    (matches!(sub, "checkout" | "switch") && is_name).then_some(name.text.as_str())
}

/// Returns true if a command changes no branch but the one that is checked out, which gains only commits.
fn keeps_branches(run: &Run) -> bool {
    let Some((sub, args)) = plain_parts(run) else { return false };
    let first = args.first().map(|it| it.text.as_str()).unwrap_or_default();
    match sub {
        "pull" => args.iter().all(|it| it.is_plain() && !it.text.contains([':', '+'])),
        "branch" => matches!(first, "-d" | "-D"),
        "worktree" => matches!(first, "remove" | "prune"),
        _ => checked_out(run).is_some(),
    }
}

/// Returns the subcommand of git and its arguments, if there is nothing in front of it.
fn plain_parts(run: &Run) -> Option<(&str, &[Arg])> {
    let first = run.args().first().filter(|it| it.is_plain() && !it.text.starts_with('-'));
    let (sub, args, _) = git_parts(run.args()).filter(|_| run.program() == Some("git") && first.is_some())?;
    Some((sub, args))
}
