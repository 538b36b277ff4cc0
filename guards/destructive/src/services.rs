//! Programs that destroy disks, containers, cloud resources and databases as a whole.

mod table;

use hookbox_judge::{Area, Denial, Preset, Scene, Step, surely_has};
use hookbox_shell::{Arg, Mode, is_in};

pub(crate) use table::TABLE;

/// A row of the table.
pub(crate) struct Row {
    /// The names of the programs. A `*` at the end of one stands for any letters.
    pub(crate) programs: &'static str,
    /// The first letters of the programs, as bits: most rows are left out by them.
    pub(crate) firsts: u32,
    /// Words that must be there. Options are anywhere, others in this order; `a|b` is one of two, `*` at an end of a
    /// word stands for any letters, and a word with `!` in front must be absent.
    pub(crate) words: &'static str,
    /// The loss.
    pub(crate) what: &'static str,
    /// The command of the next step.
    pub(crate) safer: &'static str,
    /// The next step.
    pub(crate) step: Step,
    /// The preset from which on it is denied.
    pub(crate) from: Preset,
}

/// Returns the bits of the first letters of these programs.
pub(crate) const fn firsts(programs: &str) -> u32 {
    let (mut bytes, mut found, mut is_first) = (programs.as_bytes(), 0, true);
    while let [byte, rest @ ..] = bytes {
        if is_first {
            found |= bit(*byte);
        }
        is_first = byte.is_ascii_whitespace();
        bytes = rest;
    }
    found
}

const fn bit(byte: u8) -> u32 {
    1 << (byte & 31)
}

/// Options whose next word is a name.
const VALUES: &str = "--subscription --output --project --format --context --namespace --profile --region \
    --kubeconfig --cluster -n -o";

/// Options with which a program changes nothing.
const TRIES: [&str; 5] = ["--dry-run", "--dryrun", "--help", "-help", "--list"];

/// Options that take no word.
const FLAGS: &str = "--dry-run --dryrun --help --list --force --all --recursive --delete --debug --verbose --quiet --yes --wait \
    --purge --prune --ignore-not-found --all-namespaces --ignore-daemonsets --delete-emptydir-data --delete-local-data \
    --stats --progress --exact-timestamps --no-paginate --auto-approve --non-interactive -y -q -v -A -R";

fn fits(pattern: &str, word: &str) -> bool {
    pattern.split('|').any(|it| match (it.strip_prefix('*'), it.strip_suffix('*')) {
        (Some(end), Some(_)) => word.contains(end.trim_end_matches('*')),
        (Some(end), _) => word.ends_with(end),
        (_, Some(begin)) => word.starts_with(begin),
        _ => word == it,
    })
}

/// Returns true if an option is among the arguments.
fn has_option(args: &[Arg], option: &str) -> bool {
    option.split('|').any(|option| {
        let letter = option.strip_prefix('-').filter(|it| it.len() == 1);
        args.iter().any(|it| {
            let text = it.text.as_str();
            let is_group = text.starts_with('-') && !text.starts_with("--") && text.len() < 7;
            text == option
                || text.strip_prefix(option).is_some_and(|it| it.starts_with('='))
                || is_group && letter.is_some_and(|it| text.contains(it))
        })
    })
}

fn matches(row: &Row, args: &[Arg]) -> bool {
    // The values of common options are no words of the command.
    let has_value =
        |at: usize| at.checked_sub(1).and_then(|it| args.get(it)).is_some_and(|it| is_in(VALUES, &it.text));
    let mut rest = args.iter().enumerate().filter(|(at, _)| !has_value(*at)).map(|(_, it)| it);
    row.words.split_ascii_whitespace().all(|word| match word.strip_prefix('!') {
        Some(absent) if absent.starts_with('-') => !has_option(args, absent),
        Some(absent) => !args.iter().any(|it| fits(absent, &it.text)),
        None if word.starts_with('-') => has_option(args, word),
        None => rest.by_ref().any(|it| fits(word, &it.text)),
    })
}

/// Judges a program by the table.
pub(crate) fn judge(scene: &Scene<'_>, name: &str) -> Option<Denial> {
    let args = scene.run.args();
    // `python manage.py x` and `php artisan x` are known by their scripts.
    let script = args.first().map(|it| hookbox_shell::base_name(&it.text)).unwrap_or_default();
    let is_script = matches!(script, "manage.py" | "artisan" | "console");
    let (name, args) = if is_script { (script, args.get(1..).unwrap_or_default()) } else { (name, args) };
    let first = bit(*name.as_bytes().first()?);
    let row = TABLE
        .iter()
        .filter(|it| it.firsts & first != 0 && it.from <= scene.preset)
        .find(|row| row.programs.split_ascii_whitespace().any(|it| fits(it, name)) && matches(row, args))?;
    // Any other option may take the next word.
    let takes = |it: &str| !is_in(FLAGS, it) && !row.words.split([' ', '|']).any(|word| word == it);
    let is_try = |option: &&str| surely_has(args, '\0', option, takes);
    if TRIES.iter().any(is_try) || args.iter().any(|it| it.text == "help") {
        return None;
    }
    if scene.preset < Preset::Strict && matches!(name, "kubectl" | "oc") && deletes_pods(args) {
        return None;
    }
    if row.what == table::DATABASE && crate::test_databases::is_of_tests(scene) {
        return None;
    }
    if row.what == DISK && !touches_device(scene) {
        return None;
    }
    Some(Denial { step: row.step, ..Denial::new(row.what, "this can't be undone", row.safer) })
}

/// Returns true for the removal of named pods only. Their controller makes them again; a pod without one is rare, and its
/// file is in the project.
fn deletes_pods(args: &[Arg]) -> bool {
    let Some(at) = args.iter().position(|it| it.text == "delete") else { return false };
    let is_wide = |it: &str| {
        matches!(it, "--all" | "-A" | "--all-namespaces" | "--force" | "-R")
            || "-l --selector --field-selector -f --filename -k --kustomize --grace-period=0"
                .split(' ')
                .any(|option| it.starts_with(option))
    };
    if args.iter().any(|it| is_wide(&it.text) || !it.is_plain()) {
        return false;
    }
    let mut names = args.iter().enumerate().skip(at + 1).filter(|(at, it)| {
        let is_value = args.get(at - 1).is_some_and(|it| is_in(VALUES, &it.text));
        !it.text.starts_with('-') && !is_value
    });
    let is_pod = |it: &str| matches!(it, "pod" | "pods" | "po");
    match names.next() {
        Some((_, it)) if is_pod(&it.text) => names.next().is_some(),
        Some((_, it)) => {
            let is_one = |it: &Arg| it.text.split_once('/').is_some_and(|(kind, _)| is_pod(kind));
            is_one(it) && names.all(|(_, it)| is_one(it))
        }
        None => false,
    }
}

/// The loss of a disk: programs that work on images in files, too.
pub(crate) const DISK: &str = "overwrites a disk or its file systems";

fn touches_device(scene: &Scene<'_>) -> bool {
    let operands: Vec<&Arg> = scene.run.args().iter().filter(|it| !it.text.starts_with('-')).collect();
    let is_file = |it: &&&Arg| {
        it.text.contains('/') && Area::of(it, scene.run, scene.cwd) != Area::Device
            || [".img", ".iso", ".raw"].iter().any(|end| it.text.ends_with(end))
    };
    let from_text = scene.run.redirections.iter().any(|it| matches!(it.mode, Mode::Read | Mode::Text));
    !operands.is_empty() && operands.iter().find(is_file).is_none() || from_text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_knows_the_first_letters_of_its_programs() {
        for row in TABLE {
            for program in row.programs.split_ascii_whitespace() {
                let first = program.as_bytes().first().copied().unwrap();
                assert!(row.firsts & bit(first) != 0 && first != b'*', "{program}");
            }
        }
        assert_eq!(firsts("ab cd"), bit(b'a') | bit(b'c'));
    }
}
