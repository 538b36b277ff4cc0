//! Judges a shell line.

use hookbox_judge::runs_code;
use hookbox_sdk::shell::{Mode, Place, Reading, Run};
use hookbox_sdk::{Context, ToolCall};
use hookbox_shell::{Arg, base_name};

use crate::finding::{Finding, Risk, sends, shows, shows_file, shows_variable, writes_token};
use crate::hides::{copies_for_programs, hides_all, hides_values};
use crate::pipeline::{Pipeline, Pipelines, has_output};
use crate::places::{has_token, is_env_file, is_secret_glob, is_secret_name, is_secret_path, variable};
use crate::programs::{
    SENDERS, is_about_secrets, is_dump, is_edit, is_filter, is_known, is_upload, is_value, keeps_words,
    operands, prints_input, shows_contents, shows_files, shows_with, starts_reader,
};
use crate::{code, printers};

/// Programs that tell no more than names and sizes.
const LISTERS: [&str; 9] = ["ls", "test", "[", "[[", "stat", "echo", "printf", "cd", "git"];

/// The hosts from which a machine in a cloud gets its keys.
const METADATA: [&str; 3] = ["169.254.169.254", "metadata.google.internal", "169.254.170.2"];

/// Judges a line: the first use of a secret with the highest risk.
pub(crate) fn judge(cx: &Context, call: &ToolCall, line: &str) -> Option<Finding> {
    let reading = cx.read_line_of(call, line);
    let pipelines = Pipelines::of(&reading);
    let mut found: Option<Finding> = None;
    for at in 0..reading.runs.len() {
        keep(&mut found, of_run(&reading, &pipelines, at));
    }
    keep(&mut found, indirect(&reading, line));
    let mut found = found.or_else(|| reading.runs.iter().find_map(input).map(|it| shows_file(&it)))?;
    // The model works in this directory.
    found.safer = found.safer.replace(&format!(" {}/", cx.cwd), " ");
    Some(found)
}

/// Judges `echo ${!v}`, which shows a variable whose name is elsewhere in the line.
fn indirect(reading: &Reading, line: &str) -> Option<Finding> {
    // The reader writes it as `$!v`.
    let is_indirect =
        |it: &Arg| it.text.split("$!").skip(1).any(|it| it.starts_with(|it: char| it.is_ascii_alphabetic()));
    let shows = |it: &Run| matches!(it.program(), Some("echo" | "printf")) && !has_output(it);
    reading.runs.iter().find(|it| shows(it) && it.args().iter().any(is_indirect))?;
    let names = line.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    names.into_iter().find(|it| is_secret_name(it)).map(shows_variable)
}

/// Keeps the finding with the higher risk.
fn keep(found: &mut Option<Finding>, other: Option<Finding>) {
    let rank = |it: &Option<Finding>| it.as_ref().map_or(3, |it| it.risk as u8);
    if rank(&other) < rank(found) {
        *found = other;
    }
}

/// Returns a file with secrets that is the input of a command.
fn input(run: &Run) -> Option<String> {
    let read = run.redirections.iter().filter(|it| it.mode == Mode::Read).map(|it| it.target.text.as_str());
    // `xargs -a FILE`
    let is_xargs = run.via.iter().any(|it| it == "xargs");
    let given = run.whole.windows(2).filter_map(|it| match it {
        [option, file] if is_xargs && matches!(option.text.as_str(), "-a" | "--arg-file") => {
            Some(file.text.as_str())
        }
        _ => None,
    });
    read.chain(given).map(|it| full(run, it)).find(|it| is_secret_path(it))
}

/// Returns a path with the directory in which a command runs.
fn full(run: &Run, path: &str) -> String {
    match &run.directory {
        Some(directory) if directory != "." && !path.starts_with(['/', '~', '$', '-']) => {
            format!("{}/{path}", directory.trim_end_matches('/'))
        }
        _ => path.to_owned(),
    }
}

/// Judges a command.
fn of_run(reading: &Reading, pipelines: &Pipelines<'_>, at: usize) -> Option<Finding> {
    let run = reading.runs.get(at)?;
    let words = run.texts();
    let pipeline = pipelines.at(at);
    let mut found = of_words(run, &words, &pipeline);
    let is_inside = matches!(run.place, Place::Container | Place::NewContainer);
    let is_reader = is_inside && shows_files(run.program().unwrap_or_default());
    keep(&mut found, mounted(reading).filter(|_| is_reader).map(shows_file));
    let documents = run.redirections.iter().filter(|it| it.mode == Mode::Text);
    let texts = documents.map(|it| it.target.text.as_str()).chain(words.iter().copied());
    let program = base_name(words.first().unwrap_or(&""));
    let rest = words.get(1..).unwrap_or_default();
    if (has_output(run) || keeps_words(program, rest)) && texts.clone().any(has_token) {
        keep(&mut found, Some(writes_token()));
    }
    // `cat <<< "$GITHUB_TOKEN"`
    if pipeline.is_shown && !pipeline.is_kept && prints_input(program) && !hides_all(program, rest) {
        let mut expanded =
            run.redirections.iter().filter(|it| it.mode == Mode::Text && !it.target.is_plain());
        keep(&mut found, expanded.find_map(|it| variable(&it.target.text)).map(shows_variable));
    }
    keep(&mut found, texts.clone().find_map(|text| code::of_filter(program, text)));
    if runs_code(program) {
        let prints = words.contains(&"-p") || words.contains(&"--print");
        keep(&mut found, texts.clone().find_map(|text| code::judge(text, prints)));
    }
    if let Some(it) = found.as_mut().filter(|it| it.risk == Risk::Shows && pipeline.sends) {
        it.risk = Risk::Sends;
    }
    found
}

/// Judges the words of a command.
fn of_words(run: &Run, words: &[&str], pipeline: &Pipeline) -> Option<Finding> {
    let (program, rest) = words.split_first()?;
    let program = base_name(program);
    let secret = |word: &&&str| is_secret_path(&full(run, word));
    if let Some(printer) = printers::find(program, rest).filter(|_| pipeline.is_shown) {
        return Some(shows(&format!("This prints {}", printer.shows), printer.safer));
    }
    // A program does not show the files that it leaves out or writes.
    let mut left: Vec<&str> = without_values(rest, "--exclude --exclude-from --ignore -out --out -keyout");
    match program {
        "git" => left = without_values(&left, "-C -c --git-dir --work-tree"),
        "dd" => left.iter_mut().for_each(|it| *it = it.strip_prefix("if=").unwrap_or(it)),
        _ => {}
    }
    let rest = left.as_slice();
    let shows_glob = secret_glob(program, rest).filter(|_| pipeline.is_shown && !hides_all(program, rest));
    if let Some(glob) = shows_glob {
        return Some(shows_file(glob));
    }
    // The key of a program's own is the value of an option.
    let is_used = |word: &&&str| is_known(program) || !is_value(rest, word);
    let file = operands(program, rest).find(|word| secret(word) && is_used(word)).copied();
    // The names are the operands of a reader: `ls ~/.ssh/id_rsa | xargs cat`.
    if LISTERS.contains(&program) && pipeline.reads && file.is_some() {
        return file.map(shows_file);
    }
    let found = match program {
        "echo" | "printf" => {
            let name = rest
                .iter()
                .find_map(|word| variable(word))
                .filter(|_| pipeline.is_shown && !pipeline.is_kept);
            return name.map(shows_variable);
        }
        "printenv" if !rest.is_empty() => {
            return rest.iter().find(|it| is_secret_name(it)).map(|name| shows_variable(name));
        }
        "declare" | "typeset" | "export" if rest.len() > 1 && rest.contains(&"-p") => {
            return rest.iter().find(|it| is_secret_name(it)).map(|name| shows_variable(name));
        }
        "git" if shows_contents(rest) => {
            let of_commit = |word: &&&str| is_secret_path(word.rsplit(':').next().unwrap_or(word));
            // The words before the files are `grep` and its pattern.
            let before = if rest.contains(&"grep") { 2 } else { 0 };
            let operands = rest.iter().filter(|it| !it.starts_with('-'));
            return operands.skip(before).find(of_commit).map(|_| shows_file(""));
        }
        "git"
            if matches!(
                rest.iter().find(|it| !it.starts_with('-')),
                Some(&("add" | "commit" | "stage" | "hash-object"))
            ) =>
        {
            let is_committed = file.is_some() || rest.iter().any(|word| has_token(word));
            return is_committed.then(|| Finding {
                safer: "git status --short".to_owned(),
                ..sends("This puts a secret into the repository")
            });
        }
        "grep" | "egrep" | "rg" | "ag" if pipeline.dumps && rest.iter().any(|it| is_about_secrets(it)) => {
            Some(shows("This shows variables with secrets", "env | cut -d= -f1"))
        }
        "env" | "set" | "export" | "declare" | "printenv" if pipeline.sends && is_dump(program, rest) => {
            Some(sends("This sends the environment, with its secrets"))
        }
        _ if SENDERS.contains(&program) || is_upload(program, rest) => sender(run, rest),
        "perl" | "ruby" if is_filter(rest) => file.map(shows_file),
        "find" | "fd" if pipeline.reads || starts_reader(rest) => file.map(shows_file),
        _ if (shows_files(program) || shows_with(program, rest)) && !is_edit(program, rest) => {
            let is_hidden = |file: &str| {
                pipeline.hides_all
                    || hides_all(program, rest)
                    || is_env_file(file) && (pipeline.hides_values || hides_values(program, rest))
                    || is_env_file(file) && copies_for_programs(program, rest)
            };
            file.filter(|it| !is_hidden(it)).map(|it| shows_file(&full(run, it)))
        }
        _ => None,
    };
    if found.is_some() {
        return found;
    }
    let touched = file.filter(|_| !LISTERS.contains(&program));
    touched.map(|path| {
        let what = "This uses a file with secrets".to_owned();
        Finding { risk: Risk::Touches, what, ..shows_file(path) }
    })
}

/// Returns the pattern of the files that a search shows, if it fits those with secrets.
fn secret_glob<'w>(program: &str, words: &[&'w str]) -> Option<&'w str> {
    let options = match program {
        "rg" => ["-g", "--glob", "--iglob"],
        "grep" | "egrep" | "fgrep" => ["--include"; 3],
        _ => return None,
    };
    words.iter().enumerate().find_map(|(at, word)| {
        let (option, joined) = word.split_once('=').map_or((*word, None), |(it, value)| (it, Some(value)));
        let value = joined.or_else(|| words.get(at + 1).copied()).filter(|_| options.contains(&option))?;
        Some(value).filter(|it| !it.starts_with('!') && is_secret_glob(it))
    })
}

/// Returns the directory with secrets that a line gives to a new container.
fn mounted(reading: &Reading) -> Option<&str> {
    let engines =
        reading.runs.iter().filter(|it| matches!(it.program(), Some("docker" | "podman" | "nerdctl")));
    let words = engines.flat_map(Run::args).filter(|it| it.text.contains([':', '=']));
    let mut pieces = words.flat_map(|it| it.text.split([':', ',', '=']));
    pieces.find(|it| it.contains('/') && is_secret_path(it))
}

/// Returns words without these options and their values.
fn without_values<'w>(words: &[&'w str], options: &str) -> Vec<&'w str> {
    let mut words = words.iter().copied();
    let mut left = Vec::new();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or(word);
        if !options.split(' ').any(|it| it == name) {
            left.push(word);
        } else if name == word {
            words.next();
        }
    }
    left
}

/// Judges the words of a program that sends.
fn sender(run: &Run, words: &[&str]) -> Option<Finding> {
    let mut before = "";
    for word in words {
        let option = std::mem::replace(&mut before, word);
        // `wget -i` reads addresses from a file.
        let is_own = option != "-i" || run.program() != Some("wget");
        let options = ["--cert", "--key", "-E", "-i", "-H", "--header", "-u", "--user", "-b"];
        if is_own && options.contains(&option) {
            // The name of the header tells whether it proves the sender.
            let name = word.split(':').next().unwrap_or_default().to_ascii_lowercase();
            let is_header = matches!(option, "-H" | "--header");
            let proves = ["auth", "token", "key", "cookie"].iter().any(|it| name.contains(it));
            if !word.contains("$(") && (proves || !is_header) {
                continue;
            }
        }
        let pieces = word.split(['@', '=', ';', ',', '<']).chain([*word]);
        if pieces.into_iter().any(|it| is_secret_path(&full(run, it)) && !it.contains("://")) {
            return Some(sends("This sends a file with secrets"));
        }
        if word.strip_prefix("file://").is_some_and(is_secret_path) {
            return Some(shows_file(word));
        }
        if METADATA.iter().any(|it| word.contains(it)) {
            return Some(shows("This asks the cloud for the keys of this machine", ""));
        }
        if variable(word).is_some() {
            return Some(sends("This sends a variable with a secret"));
        }
    }
    None
}
