//! Aliases and branches that an option moves.

use hookbox_judge::{Denial, Scene, has, operands};
use hookbox_shell::{Arg, Run};

use super::words::parts;

/// Branches that exist nearly everywhere.
const MAIN: [&str; 4] = ["main", "master", "develop", "trunk"];

fn moves() -> Option<Denial> {
    Some(Denial::new("moves a branch that exists", "its commits have no name any more", "git branch --list"))
}

/// Returns the run that an alias of the line stands for: of `-c alias.NAME=VALUE`, or of `git config` before.
pub(crate) fn of_alias(scene: &Scene<'_>, sub: &str, args: &[Arg]) -> Option<Run> {
    let key = format!("alias.{sub}").to_ascii_lowercase();
    let of_option = settings(scene.run.args()).find(|(name, _)| name.eq_ignore_ascii_case(&key));
    let of_line = || {
        scene.before().iter().rev().filter(|it| it.program() == Some("git")).find_map(|run| {
            let (sub, args, _) = parts(run.args()).filter(|(sub, _, _)| *sub == "config")?;
            let at = args.iter().position(|it| it.text.eq_ignore_ascii_case(&key))?;
            let value = args.get(at + 1).map(|it| it.text.as_str())?;
            (sub == "config").then_some(value)
        })
    };
    let value = of_option.map(|(_, value)| value).or_else(of_line)?;
    // The reading has the commands of an alias that is a script.
    if value.starts_with('!') || value.split_ascii_whitespace().next().is_none_or(|it| it == sub) {
        return None;
    }
    let words = value.split_ascii_whitespace().map(|it| Arg::plain(it.trim_matches(['"', '\''])));
    let words = [Arg::plain("git")].into_iter().chain(words).chain(args.iter().cloned()).collect();
    Some(Run { words, ..scene.run.clone() })
}

/// Returns the keys and values of the options `-c`.
pub(crate) fn settings(args: &[Arg]) -> impl Iterator<Item = (&str, &str)> {
    args.windows(2).filter_map(|it| match it {
        [option, value] if option.text == "-c" => value.text.split_once('='),
        _ => None,
    })
}

/// Returns true if a setting of the command forces a push.
pub(crate) fn pushes_by_force(args: &[Arg]) -> bool {
    settings(args).any(|(key, value)| {
        let key = key.to_ascii_lowercase();
        key.starts_with("remote.")
            && (key.ends_with(".push") && value.starts_with('+')
                || key.ends_with(".mirror") && value != "false")
    })
}

/// Judges `switch -C` and `checkout -B`: they move a branch that may exist.
pub(crate) fn created_again(args: &[Arg], letter: char, is_strict: bool) -> Option<Denial> {
    let at = args.iter().position(|it| {
        let is_group = it.text.starts_with('-') && !it.text.starts_with("--");
        is_group && it.text.contains(letter) || letter == 'C' && it.text == "--force-create"
    })?;
    let name = args.get(at + 1).map(|it| it.text.as_str()).unwrap_or_default();
    (is_strict || MAIN.contains(&name)).then(moves).flatten()
}

/// Judges `branch -M OLD NEW` and `branch -C OLD NEW`: they replace a branch of the new name.
pub(crate) fn renamed(args: &[Arg], is_strict: bool) -> Option<Denial> {
    let replaces = has(args, 'M', "") || has(args, 'C', "");
    let names = operands(args, "");
    let [old, new] = names.as_slice() else { return None };
    let is_main = |it: &Arg| MAIN.contains(&it.text.as_str());
    // The name of the main branch may change, such as from `master` to `main`.
    (replaces && (is_strict || is_main(new) && !is_main(old))).then(moves).flatten()
}

/// Judges `fetch` and `pull`: a `+` in front of a reference replaces a branch of this repository.
pub(crate) fn fetched(args: &[Arg]) -> Option<Denial> {
    let is_forced = has(args, 'f', "--force");
    let short = |it: &str| it.trim_start_matches("refs/heads/").to_owned();
    let replaces = operands(args, "--depth --deepen -o --upload-pack -j").into_iter().skip(1).any(|it| {
        let spec = it.text.strip_prefix('+').or_else(|| is_forced.then_some(it.text.as_str()));
        let Some((from, to)) = spec.and_then(|it| it.split_once(':')) else { return false };
        let to = short(to);
        MAIN.contains(&to.as_str()) || to == short(from) && !to.starts_with("refs/") && !to.is_empty()
    });
    replaces.then(moves).flatten()
}
