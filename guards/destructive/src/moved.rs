//! Work that the line puts into a directory before it removes that directory.

use hookbox_judge::{Area, Scene, has, operands};
use hookbox_shell::{Arg, Run, join_path};

/// Returns true if the target has files of the project: the line moved them there, or made a link to them there.
pub(crate) fn has_work(scene: &Scene<'_>, target: &Arg) -> bool {
    let target = path(scene.run, &target.text);
    // All files of a directory are worth what the directory is.
    let (place, inside) = match target.rsplit_once('/') {
        Some((place, "*" | ".*" | "**" | ".")) => (place, true),
        _ => (target.as_str(), false),
    };
    scene.before().iter().any(|run| {
        let is_link = match run.program() {
            Some("mv" | "gmv") => false,
            Some("ln" | "gln") => true,
            // An archive that takes the files away.
            Some("zip") if has(run.args(), 'm', "--move") => {
                let archive = operands(run.args(), "").first().map(|it| path(run, &it.text));
                return archive
                    .is_some_and(|it| is_below(&it, place) || it.strip_suffix(".zip") == Some(place));
            }
            _ => return false,
        };
        places(scene, run).any(|it| {
            let is_around = is_below(&it, place);
            let is_in = is_below(place, &it);
            // Without a link, its work is where it was.
            if is_link { is_in && *place != it || inside && *place == it } else { is_around || is_in }
        })
    })
}

fn path(run: &Run, text: &str) -> String {
    join_path(run.directory.as_deref().unwrap_or("$PWD"), text)
}

/// Returns true for a place, and for those below it.
fn is_below(place: &str, directory: &str) -> bool {
    place.strip_prefix(directory).is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

/// Returns the paths at which the work may be after a move. A directory that is named by nothing but its name may be
/// there already, or not.
fn places<'a>(scene: &'a Scene<'_>, run: &'a Run) -> impl Iterator<Item = String> + 'a {
    let args = run.args();
    let option = args.iter().position(|it| matches!(it.text.as_str(), "-t" | "--target-directory"));
    let named = option.and_then(|at| args.get(at + 1));
    let mut sources = operands(args, "-S --suffix -t --target-directory");
    let target = match named {
        Some(it) => Some(it),
        None => sources.pop(),
    };
    let is_known = named.is_some() || sources.len() > 1;
    let work = sources.into_iter().filter(|it| !Area::of(it, run, scene.cwd).is_cheap());
    work.flat_map(move |source| {
        let Some(target) = target else { return Vec::new() };
        let directory = path(run, &target.text);
        let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let inner = match name {
            "*" | "." => directory.clone(),
            name => join_path(&directory, name),
        };
        let is_directory = is_known
            || target.text.ends_with('/')
            || matches!(directory.as_str(), "/tmp" | "/var/tmp" | "/dev/shm" | "/private/tmp");
        if is_directory { vec![inner] } else { vec![directory, inner] }
    })
}
