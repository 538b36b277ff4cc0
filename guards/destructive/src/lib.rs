//! Blocks commands that destroy files, disks, volumes, cloud resources and databases.
//!
//! It judges the commands that a line would really run; see the README.

mod databases;
mod made;
mod moved;
mod overwrite;
mod remove;
mod services;
mod state;
mod test_databases;

use hookbox_judge::{Denial, Scene, answer};
use hookbox_sdk::Action;
use hookbox_sdk::prelude::*;
use hookbox_shell::Place;

use made::Around;

/// The hook.
pub struct Guard;

/// The schema of the settings, which hookbox checks before the hook runs.
const SCHEMA: &str = include_str!("../settings.schema.json");

/// Judges one command.
pub fn rule(scene: &Scene<'_>) -> Option<Denial> {
    if scene.reading.multiplies {
        let why = "it starts processes until the machine stops";
        return Some(Denial::new("calls itself without an end", why, "").by("fork-bomb"));
    }
    let overwrites = |denial: Denial| denial.by("overwrite");
    // The files of a container that is made for a command are lost with it anyway.
    let keeps_files = scene.run.place != Place::NewContainer;
    let redirected = keeps_files.then(|| overwrite::redirections(scene)).flatten();
    redirected.map(overwrites).or_else(|| {
        let name = scene.run.program()?;
        // `--help` and `--version` change nothing.
        if matches!(scene.run.args(), [only] if matches!(only.text.as_str(), "--help" | "--version")) {
            return None;
        }
        let of_files = || {
            let removed = remove::judge(scene, name).map(|it| it.by("remove"));
            removed.or_else(|| overwrite::judge(scene, name).map(overwrites))
        };
        let of_files = keeps_files.then(of_files).flatten();
        of_files
            .or_else(|| databases::judge(scene, name).map(|it| it.by("database")))
            .or_else(|| services::judge(scene, name).map(|it| it.by("service")))
    })
}

/// Words of lines that may destroy something, beside the programs of [`services`] and [`databases`].
const DESTROYS: &str = "rm grm unlink rimraf del-cli srm rmtree -delete --remove-files rsync rclone \
    dd shred wipe scrub truncate -i* --in-place* -ni tee cp mv gmv gcp install ln gln chmod chown chgrp setfacl \
    chattr chflags zip mount exec unzip vim vi nvim ex ed --recursive-unlink sort tar gtar bsdtar clean -sdel apply_patch";

/// Words of lines that may make a file that the session remembers.
const MAKES: &str = "mkdir touch tee cp gcp install curl wget clone >";

/// Returns the lines that the guard sees before they run. A test asks it about the others.
fn seen_before() -> String {
    let services = services::TABLE.iter().map(|row| row.programs);
    let words: Vec<&str> = [DESTROYS, MAKES, databases::CLIENTS].into_iter().chain(services).collect();
    format!("kind:shell naming {}", words.join(" "))
}

impl Hook for Guard {
    fn manifest() -> Manifest {
        let (before, after) = (seen_before(), format!("kind:shell naming {MAKES}"));
        Manifest::new("destructive", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            // A tool that is not known may be a shell by another name.
            .on_tools(Event::BeforeToolCall, [&before, "kind:mcp", "kind:other", "kind:write", "kind:edit"])
            // Late, so that it judges what other hooks have made of the call.
            .priority(90)
            .on_tools(Event::AfterToolCall, [&after, "kind:write", "kind:edit"])
            .observe()
            .capability(Capability::WorkTree)
            .capability(Capability::Store)
            .on_failure_block()
    }

    fn before_tool_call(cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
        let around = Around::of(cx);
        let answer = answer(cx, call, rule, &around)?;
        if answer.action == Action::Pass {
            around.before(call);
        }
        Ok(answer)
    }

    fn after_tool_call(cx: &Context, result: &ToolResult) -> Result<Answer, Error> {
        Around::of(cx).after(&result.call);
        Ok(Answer::pass())
    }
}

hookbox_sdk::export_hook!(Guard, settings: SCHEMA);

#[cfg(test)]
mod tests;
