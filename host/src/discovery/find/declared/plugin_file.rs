//! The files of its plugin that a declared command runs.

use std::path::{Path, PathBuf};

use hookbox_shell::{Known, Run, Use, base_name, is_interpreter, runs, use_of};

use super::{Declared, Handler, PLUGIN_VARIABLES};
use crate::native::command::CommandLine;
use crate::trust::tree_digest::is_script;

/// Replaces the variable with the plugin in a line, so that a shell reads it as the start of a path.
const ROOT: &str = "/.hookbox-plugin-root";

/// A file of a plugin that a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginFile {
    /// The path in the plugin, as the command writes it: `..` may lead out.
    pub path: PathBuf,
    /// True if the command starts it as a program, which needs an execute bit.
    pub is_program: bool,
}

impl Declared {
    /// Returns the files of its plugin that its command runs, as far as its text shows them. Paths with variables or
    /// patterns are left out, and so are files that a command only reads, writes or tests.
    pub(crate) fn plugin_files(&self) -> Vec<PluginFile> {
        let (line, mut files) = match &self.handler {
            Ok(Handler::Command(line)) => (line, Files::new(true)),
            Ok(Handler::Wired(command)) => (&command.line, Files::new(false)),
            _ => return Vec::new(),
        };
        match line {
            CommandLine::Shell(line) | CommandLine::Bash(line) => files.line(line),
            CommandLine::Program { program, args } => {
                let quoted = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
                let words: Vec<String> = std::iter::once(program).chain(args).map(quoted).collect();
                files.line(&words.join(" "));
            }
        }
        files.found
    }
}

/// The files that were found so far.
struct Files {
    found: Vec<PluginFile>,
    /// True if relative paths are paths in the plugin.
    runs_in_plugin: bool,
}

impl Files {
    fn new(runs_in_plugin: bool) -> Self {
        Self { found: Vec::new(), runs_in_plugin }
    }

    /// Reads a shell line.
    fn line(&mut self, line: &str) {
        let reading = runs(&with_root(line), &Known::default());
        // After `cd`, a relative path is one in another directory.
        let moves = |run: &Run| matches!(run.program(), Some("cd" | "chdir" | "pushd"));
        self.runs_in_plugin &= !reading.runs.iter().any(moves);
        reading.runs.iter().for_each(|run| self.command(run));
    }

    /// Reads a command. A script in its words has commands of its own.
    fn command(&mut self, run: &Run) {
        // A word that is not known is no path.
        let words: Vec<&str> =
            run.words.iter().map(|it| if it.is_plain() { it.text.as_str() } else { "" }).collect();
        let Some((program, args)) = words.split_first() else { return };
        if let Some(path) = self.path(program, false) {
            // They run a script by its name, as an interpreter does.
            let is_run_by = |it: &String| matches!(base_name(it), "uv" | "bun" | "deno" | "npx" | "poetry");
            self.found.push(PluginFile { path, is_program: !run.via.iter().any(is_run_by) });
        }
        let is_shell = use_of(&words) == Use::Shell;
        if !is_shell && !is_interpreter(base_name(program)) {
            return;
        }
        let is_code = |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
        if is_shell && args.iter().any(is_code) {
            return;
        }
        let operand = args.iter().position(|word| !word.starts_with('-'));
        for (at, word) in args.iter().enumerate() {
            let path = self.path(word, Some(at) == operand);
            // A further script is one that the first one runs.
            let runs = |path: &PathBuf| Some(at) == operand || word.starts_with(ROOT) && is_script(path);
            self.found.extend(path.filter(runs).map(|path| PluginFile { path, is_program: false }));
        }
    }

    /// Returns the path in the plugin that a word means; `None` if it means none, or is not known before it runs. The name
    /// of a script alone is a path only as the operand of an interpreter. A relative path with `..` may be one of the
    /// repository.
    fn path(&self, word: &str, is_operand: bool) -> Option<PathBuf> {
        let path = match word.strip_prefix(ROOT) {
            Some(path) => path.strip_prefix('/')?,
            None => {
                let is_path = word.contains('/') || is_operand && is_script(Path::new(word));
                let is_inside = !word.starts_with(['/', '~']) && !word.split('/').any(|part| part == "..");
                Some(word).filter(|_| self.runs_in_plugin && is_path && is_inside)?
            }
        };
        let path = path.trim_start_matches('/');
        (!path.is_empty() && !path.contains(['$', '`', '*', '?', '[', '{'])).then(|| path.into())
    }
}

/// Returns the line with a path in place of the variables with the plugin.
fn with_root(line: &str) -> String {
    let mut line = line.to_owned();
    for name in PLUGIN_VARIABLES {
        line = line.replace(&format!("${{{name}}}"), ROOT);
        let (mut replaced, mut rest) = (String::new(), line.as_str());
        let variable = format!("${name}");
        while let Some((before, after)) = rest.split_once(&variable) {
            let goes_on = after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            replaced.push_str(before);
            replaced.push_str(if goes_on { &variable } else { ROOT });
            rest = after;
        }
        line = replaced + rest;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str, runs_in_plugin: bool) -> Vec<String> {
        let mut files = Files::new(runs_in_plugin);
        files.line(line);
        let shown = |it: PluginFile| format!("{}{}", it.path.display(), if it.is_program { "*" } else { "" });
        files.found.into_iter().map(shown).collect()
    }

    #[test]
    fn a_line_names_the_files_that_it_runs() {
        for (line, want) in [
            ("${CLAUDE_PLUGIN_ROOT}/a/x.sh", "a/x.sh*"),
            ("$CLAUDE_PLUGIN_ROOT/a/x.sh --now", "a/x.sh*"),
            ("\"${CLAUDE_PLUGIN_ROOT}/a b/x\"", "a b/x*"),
            ("\"${CLAUDE_PLUGIN_ROOT}\"/a\\ b/x", "a b/x*"),
            ("'${CLAUDE_PLUGIN_ROOT}/x'", "x*"),
            ("${CLAUDE_PLUGIN_ROOT}//x", "x*"),
            ("${CLAUDE_PLUGIN_ROOT}/../other/x", "../other/x*"),
            ("A=1 exec ${CLAUDE_PLUGIN_ROOT}/x", "x*"),
            ("PYTHONPATH=\"${CLAUDE_PLUGIN_ROOT}\" python3 \"${CLAUDE_PLUGIN_ROOT}/x\"", "x"),
            ("python3.12 -u ${CLAUDE_PLUGIN_ROOT}/hooks/x.py", "hooks/x.py"),
            ("bash \"${CLAUDE_PLUGIN_ROOT}/x\"", "x"),
            ("/usr/bin/env bash ${CLAUDE_PLUGIN_ROOT}/x.sh ${CLAUDE_PLUGIN_ROOT}/y.py", "x.sh y.py"),
            ("sh -c '\"${CLAUDE_PLUGIN_ROOT}/x\" | cat'", "x*"),
            ("cd /tmp && ${CLAUDE_PLUGIN_ROOT}/x || true", "x*"),
            ("source ${CLAUDE_PLUGIN_ROOT}/env", "env"),
            ("node --no-warnings ${CLAUDE_PLUGIN_ROOT}/x.mjs --data ${CLAUDE_PLUGIN_ROOT}/data", "x.mjs"),
            // Nothing runs these, or nobody knows them.
            ("[ -f ${CLAUDE_PLUGIN_ROOT}/x ] && cat ${CLAUDE_PLUGIN_ROOT}/x.sh", ""),
            ("mkdir -p ${CLAUDE_PLUGIN_ROOT}/data && echo > ${CLAUDE_PLUGIN_ROOT}/out.sh", ""),
            ("${CLAUDE_PLUGIN_ROOT}/bin/$(uname)/x", ""),
            ("bash ${CLAUDE_PLUGIN_ROOT}/$NAME.sh; bash ${CLAUDE_PLUGIN_ROOT}/*.sh", ""),
            ("${CLAUDE_PLUGIN_ROOTS}/x; $CLAUDE_PLUGIN_ROOT2/x", ""),
            ("cargo run --manifest-path ${CLAUDE_PLUGIN_ROOT}/Cargo.toml", ""),
            ("python3 -m json.tool", ""),
            ("./x; hooks/x; python3 hooks/x.py", ""),
            ("${CLAUDE_PLUGIN_ROOT}", ""),
        ] {
            assert_eq!(found(line, false).join(" "), want, "{line}");
        }
    }

    #[test]
    fn a_command_that_runs_in_its_plugin_has_relative_paths() {
        for (line, want) in [
            ("hooks/x --now", "hooks/x*"),
            ("python hooks/x.py", "hooks/x.py"),
            ("python x.py --out made/y.py", "x.py"),
            ("python -c 'print(1)'", ""),
            ("jq -c . hooks/x.json", ""),
            ("/usr/bin/x; ~/bin/x; x", ""),
            ("cd hooks && ./x", ""),
            ("sh ../../../lib/x.sh", ""),
        ] {
            assert_eq!(found(line, true).join(" "), want, "{line}");
        }
    }
}
