//! What in a command line may be the name of a file. Rather too much than too little: a word that names no file costs a
//! look.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What parts words in a shell line, and what stands around a path in one.
const BETWEEN: &[char] =
    &[' ', '\t', '\n', '\r', ';', '|', '&', '(', ')', '<', '>', '"', '\'', '`', '=', ',', ':', '{', '}'];

/// What ends a word of a shell outside of quotes.
const ENDS: &[char] = &[' ', '\t', '\n', '\r', ';', '|', '&', '(', ')', '<', '>', '`'];

/// What stands between paths within a word.
const PARTS: &[char] = &['=', ',', ':', '{', '}', '@'];

/// How deep lines stand in words of lines, as in `sh -c '…'`.
const MAX_DEPTH: usize = 4;

/// How many variables of one word are replaced by their defaults.
const MAX_VARIABLES: usize = 64;

/// How many directories a line may go to.
const MAX_DIRECTORIES: usize = 32;

/// The longest path, on any system.
const MAX_PATH: usize = 4096;

/// What goes to the directory that its next word names.
const GOES: [&str; 5] = ["cd", "pushd", "-C", "--chdir", "--directory"];

/// Programs that run what a file says that no word names, or what stands in their arguments.
const RUNNERS: [&str; 35] = [
    "bazel",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "deno",
    "docker",
    "eval",
    "find",
    "git",
    "go",
    "gmake",
    "gradle",
    "gradlew",
    "just",
    "make",
    "mvn",
    "mvnw",
    "ninja",
    "nox",
    "npm",
    "npx",
    "pnpm",
    "podman",
    "poetry",
    "pre-commit",
    "pytest",
    "rake",
    "task",
    "tox",
    "uv",
    "uvx",
    "xargs",
    "yarn",
    "yarnpkg",
];

/// Languages whose scripts load other files: by a path beside them, or by a name that is looked for in many places.
/// Versions after the name do not matter.
const LANGUAGES: [&str; 17] = [
    "python", "pypy", "node", "nodejs", "bun", "deno", "tsx", "ts-node", "ruby", "perl", "php", "lua",
    "luajit", "tclsh", "rscript", "java", "pwsh",
];

/// Options with which a language runs what stands in the line.
const CODE: [&str; 4] = ["--eval", "--print", "--command", "-command"];
/// How much longer lines get by the directories that stand in the place of variables, in bytes: there may be many of them
/// in one line.
const MAX_FILLED: usize = 1 << 20;

/// Variables that say where a program looks for what it runs, or for what it loads before.
const LOADERS: [&str; 22] = [
    "BASH_ENV",
    "BASHOPTS",
    "CDPATH",
    "CLASSPATH",
    "ENV",
    "FPATH",
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "PATH",
    "PROMPT_COMMAND",
    "PS4",
    "PWD",
    "RUSTC_WRAPPER",
    "SHELL",
    "SHELLOPTS",
    "TMPDIR",
    "VIRTUAL_ENV",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "ZDOTDIR",
];

/// The same, of whole families of variables.
const LOADER_HEADS: [&str; 16] = [
    "BASH_FUNC_",
    "BUN_",
    "CARGO_",
    "DENO_",
    "DYLD_",
    "GCONV_",
    "GEM_",
    "GIT_",
    "LD_",
    "LUA_",
    "NODE_",
    "NPM_",
    "PERL",
    "PHP",
    "PYTHON",
    "RUBY",
];

/// Tails of the names of variables that hold the directory of a project or a plugin.
const LOADER_TAILS: [&str; 4] = ["_PROJECT_DIR", "_PLUGIN_ROOT", "PLUGIN_ROOT", "_CWD"];

/// Which variables of a hook are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variables {
    /// Those that hold the directory of the repository.
    pub(crate) project: &'static [&'static str],
    /// Those that hold the directory in which it runs, or its plugin's.
    pub(crate) plugin: &'static [&'static str],
    /// What its declaration sets beside these.
    pub(crate) own: Vec<(String, String)>,
}

impl Variables {
    fn known(&self) -> impl Iterator<Item = &'static str> {
        self.project.iter().chain(self.plugin).copied()
    }

    /// Whether more may be used because of what is set.
    fn lead_elsewhere(&self) -> bool {
        self.own.iter().any(|(name, _)| {
            let upper = name.to_ascii_uppercase();
            LOADERS.contains(&upper.as_str())
                || LOADER_HEADS.iter().any(|head| upper.starts_with(head))
                || LOADER_TAILS.iter().any(|tail| upper.ends_with(tail))
        })
    }

    /// Whether a line does anything with a known variable but to use its value: it may set it.
    fn may_be_set_by(&self, line: &str) -> bool {
        self.known().any(|name| {
            line.match_indices(name).any(|(at, _)| {
                let (before, rest) = line.split_at(at);
                let is_whole = !before.ends_with(is_of_name)
                    && !rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(is_of_name));
                is_whole && !before.ends_with('$') && !before.ends_with("${")
            })
        })
    }
}

/// Puts directories in the place of variables.
struct Filler<'v> {
    variables: &'v Variables,
    repo: Cow<'v, str>,
    base: Cow<'v, str>,
    /// How many bytes may still be added.
    left: usize,
}

impl Filler<'_> {
    /// A text with the known variables in it replaced. Any other stays as it is, and so does what is too much.
    fn fill(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let (inside, is_braced) = after.strip_prefix('{').map_or((after, false), |inside| (inside, true));
            let end = inside.find(|c| !is_of_name(c)).unwrap_or(inside.len());
            let (name, tail) = inside.split_at(end);
            let tail = if is_braced { tail.strip_prefix('}') } else { Some(tail) };
            let path = match name {
                _ if self.variables.project.contains(&name) => Some(&self.repo),
                _ if self.variables.plugin.contains(&name) => Some(&self.base),
                _ => None,
            };
            match (path, tail) {
                (Some(path), Some(tail)) if path.len() <= self.left => {
                    self.left -= path.len();
                    out.push_str(path);
                    rest = tail;
                }
                _ => {
                    out.push('$');
                    rest = after;
                }
            }
        }
        out.push_str(rest);
        out
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// What a command line says of files.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// What may name a file or a directory.
    pub(super) words: BTreeSet<String>,
    /// The words as a shell takes them, and what follows a `=` in one, without those that it only goes to.
    pub(super) used: BTreeSet<String>,
    /// Where the line goes, seen from where it starts: what it names may be meant from there.
    pub(super) directories: BTreeSet<PathBuf>,
    /// Whether it may use files that no word names.
    pub(super) more: bool,
    /// Whether it runs a language whose scripts load other files.
    pub(super) loads: bool,
}

/// The words of these lines, and of what their variables hold, that may name a file. Variables that hookbox sets stand for
/// what they hold; any other variable for its default, or for nothing; of a word that begins with one, or with `/`, the
/// rest may be a path in the repository.
pub(super) fn of(lines: &[String], variables: &Variables, repo: &Path, base: &Path) -> Words {
    let mut filler =
        Filler { variables, repo: repo.to_string_lossy(), base: base.to_string_lossy(), left: MAX_FILLED };
    let mut words = Words { more: variables.lead_elsewhere(), ..Words::default() };
    let mut last = String::new();
    for line in lines.iter().chain(variables.own.iter().map(|(_, value)| value)) {
        let raw = filler.fill(line);
        words.words.insert(raw.clone());
        // In quotes a path may hold what parts words elsewhere.
        words.words.extend(raw.split(['"', '\'']).map(str::to_owned));
        for word in raw.split(BETWEEN) {
            words.add(word);
        }
        let mut tokens = Vec::new();
        unquote(line, 0, &mut tokens);
        for token in tokens {
            let word = filler.fill(&token);
            words.more |= variables.may_be_set_by(&token);
            words.add(&word);
            words.after(&last, &word);
            let rest =
                [repo, base].iter().fold(word.clone(), |word, it| word.replace(&*it.to_string_lossy(), ""));
            words.more |= is_open(&rest);
            // `cd -- DIR` goes there, too.
            if !(GOES.contains(&last.as_str()) && word.starts_with('-')) {
                last = word;
            }
        }
        words.more |= line.contains('`') || variables.may_be_set_by(line);
    }
    words.words.remove("");
    words.words.retain(|word| word.len() <= MAX_PATH);
    words
}

impl Words {
    /// A word, and what in it may be a path.
    fn add(&mut self, word: &str) {
        let plain = without_variables(word);
        for word in [word, &plain] {
            self.words.insert(word.to_owned());
            for part in word.split(PARTS) {
                self.words.insert(part.to_owned());
                // What follows the colon of `${NAME:-DEFAULT}`.
                self.words.insert(part.trim_start_matches(['-', '+', '?']).to_owned());
            }
            // An option with its value in one word, such as `-fFILE`.
            if word.starts_with('-')
                && let Some((at, _)) = word.char_indices().nth(2)
            {
                self.words.insert(word.get(at..).unwrap_or_default().to_owned());
            }
            if word.starts_with(['$', '/'])
                && let Some((_, rest)) = word.split_once('/')
            {
                self.words.insert(rest.trim_start_matches('/').to_owned());
            }
        }
    }

    /// What a word means by the one before it.
    fn after(&mut self, last: &str, word: &str) {
        let attached = ["--chdir=", "--directory="].iter().find_map(|it| word.strip_prefix(it));
        if let Some(directory) = attached {
            self.enter(&without_variables(directory));
        } else if GOES.contains(&last) && !word.starts_with('-') {
            self.enter(&without_variables(word));
        } else {
            let value = word.split_once('=').map(|(_, value)| value);
            self.used.extend([Some(word), value].into_iter().flatten().map(str::to_owned));
        }
        // A module of Python.
        if last == "-m" {
            let module = word.replace('.', "/");
            self.words.extend(word.split('.').next().map(str::to_owned));
            self.words.extend([format!("{module}.py"), module]);
        }
        let program = word.rsplit('/').next().unwrap_or(word);
        self.more |= RUNNERS.contains(&program);
        // Code in the line loads what it likes.
        self.more |= self.loads && is_code(word);
        let language =
            program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_ascii_lowercase();
        self.loads |= LANGUAGES.contains(&language.as_str());
    }

    /// Goes to a directory, from wherever the line may be.
    fn enter(&mut self, directory: &str) {
        if directory.is_empty() || directory.len() > MAX_PATH {
            return;
        }
        let from_here: Vec<PathBuf> = self.directories.iter().map(|it| it.join(directory)).collect();
        for path in [PathBuf::from(directory)].into_iter().chain(from_here) {
            if self.directories.len() == MAX_DIRECTORIES || path.as_os_str().len() > MAX_PATH {
                self.more = true;
                return;
            }
            self.directories.insert(path);
        }
    }
}

/// Whether an option of a language says that code follows: `-e`, `-c`, `-r`, `-p`, also after other letters, or with the
/// code in the same word. Rather too often: more is said then than needed.
fn is_code(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    let first = letters.chars().take(3).any(|c| matches!(c, 'e' | 'E' | 'c' | 'r' | 'p'));
    first || CODE.contains(&name)
}

/// Whether a shell makes something else of a word than what stands there.
fn is_open(word: &str) -> bool {
    let is_pattern = word.contains(['*', '?']) || (word.contains('[') && !matches!(word, "[" | "[["));
    let is_list = word.contains('{') && word.contains(',');
    word.contains('$') || is_pattern || is_list || word.starts_with('~')
}

/// The words of a line as a shell takes them, without their quotes and backslashes, and the words of those that may be
/// lines themselves.
fn unquote(line: &str, depth: usize, tokens: &mut Vec<String>) {
    let mut word = String::new();
    let mut quote = None;
    let mut chars = line.chars().peekable();
    let mut end = |word: &mut String| {
        let word = std::mem::take(word);
        if word.is_empty() {
            return;
        }
        let has_more = word.contains(['\\', '\'', '"']) || word.contains(ENDS);
        let is_line = depth < MAX_DEPTH && word != line && has_more;
        let inner = is_line.then(|| word.clone());
        tokens.push(word);
        if let Some(inner) = inner {
            unquote(&inner, depth + 1, tokens);
        }
    };
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '\\') => word.extend(chars.next().filter(|c| *c != '\n')),
            (Some('"'), '\\') => match chars.next_if(|next| "$`\"\\\n".contains(*next)) {
                Some('\n') => {}
                Some(next) => word.push(next),
                None => word.push(c),
            },
            (None, _) if ENDS.contains(&c) => end(&mut word),
            _ => word.push(c),
        }
    }
    end(&mut word);
}

/// A word with its variables replaced by their defaults, the innermost first, or by nothing.
fn without_variables(word: &str) -> String {
    let mut word = word.to_owned();
    for _ in 0..MAX_VARIABLES {
        let Some((before, after)) = word.rsplit_once("${") else { break };
        let (inside, rest) = after.split_once('}').unwrap_or((after, ""));
        let default = inside.trim_start_matches(is_of_name).trim_start_matches([':', '-', '=', '+', '?']);
        word = format!("{before}{default}{rest}");
    }
    let mut parts = word.split('$');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |word, part| word + part.trim_start_matches(is_of_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claude() -> Variables {
        Variables { project: &["CLAUDE_PROJECT_DIR"], plugin: &["CLAUDE_PLUGIN_ROOT"], own: Vec::new() }
    }

    #[test]
    fn every_way_to_write_a_path_in_a_line_is_seen() {
        for line in [
            "python hooks/x.py",
            "python 'hooks/x.py'",
            "cd /tmp; hooks/x.py --now",
            "cd /tmp&&hooks/x.py",
            "CONFIG=hooks/x.py run",
            "\"$CLAUDE_PROJECT_DIR\"/hooks/x.py",
            "${CLAUDE_PROJECT_DIR}/hooks/x.py",
            "$(git rev-parse --show-toplevel)/hooks/x.py",
            "$HERE/hooks/x.py",
            "cat <hooks/x.py",
            "hooks/x.py",
            "python hook\\s/x.py",
            "python hook's/x'.py",
            "python hook\"s\"/x.py",
            "python ${NOSUCH:-hooks/x.py}",
            "python ${NOSUCH-hooks/x.py}",
            "python ${NOSUCH:-${NEITHER:-hooks/x}}.py",
            "python hooks$NOSUCH/x.py",
            "sh -c 'cd /tmp && sh -c \"hook\\s/x.py\"'",
            "python hooks/\\\nx.py",
            "awk -fhooks/x.py",
            "curl -d @hooks/x.py",
            "python -m hooks.x",
        ] {
            let words =
                of(&[line.to_owned()], &claude(), Path::new("/repo"), Path::new("/repo/plugin")).words;
            let found = words.contains("hooks/x.py") || words.contains("/repo/hooks/x.py");
            assert!(found, "{line}: {words:?}");
        }
        let spaced = of(&["sh \"my hooks/x y.sh\"".to_owned()], &claude(), Path::new("/"), Path::new("/"));
        assert!(spaced.words.contains("my hooks/x y.sh"));
    }

    #[test]
    fn a_line_says_where_it_goes() {
        for (line, want) in [
            ("cd a && ./x", &["a"][..]),
            ("cd -- 'a b'; x", &["a b"]),
            ("cd a && cd b", &["a", "a/b", "b"]),
            ("make -C \"$CLAUDE_PROJECT_DIR/a\"", &["/repo/a"]),
            ("env --chdir=a x", &["a"]),
            ("sh -c 'cd a; x'", &["a"]),
            ("echo a", &[]),
        ] {
            let words = of(&[line.to_owned()], &claude(), Path::new("/repo"), Path::new("/repo"));
            assert_eq!(words.directories, want.iter().map(PathBuf::from).collect(), "{line}");
        }
        let many = of(&["cd a;".repeat(5_000)], &claude(), Path::new("/repo"), Path::new("/repo"));
        assert!(many.more && many.directories.len() <= MAX_DIRECTORIES);
    }

    #[test]
    fn a_line_that_may_use_more_than_it_names_is_known() {
        for (line, more) in [
            ("sh tools/a.sh", false),
            ("cd tools && ./a.sh 2>&1", false),
            ("[ -f x ] && sh \"$CLAUDE_PROJECT_DIR\"/x", false),
            ("sh $(cat name)", true),
            ("sh `cat name`", true),
            ("sh $X", true),
            ("cd $X && ./a.sh", true),
            ("sh ${X:-tools/a.sh}", true),
            ("cat tools/*.sh | sh", true),
            ("sh ~/x", true),
            ("/usr/bin/make check", true),
            ("node -e \"require('./scripts/g')\"", true),
            ("node --eval=\"require('./scripts/g')\"", true),
            ("/usr/bin/python3.12 -c 'import g'", true),
            ("python3 -Ic 'import g'", true),
            ("perl -ne 'require \"g.pl\"'", true),
            ("env node -p 'require(1)'", true),
            ("sh -e -c 'sh tools/a.sh'", false),
            ("grep -e node x", false),
            // Only what this hook's agent sets is known, and only by its whole name.
            ("sh $GEMINI_PROJECT_DIR/x", true),
            ("sh $GEMINI_CWD/x", true),
            ("sh $CLAUDE_PROJECT_DIRS/x", true),
            ("sh ${CLAUDE_PROJECT_DIR/a/b}/x", true),
            ("CLAUDE_PROJECT_DIR=tools; sh $CLAUDE_PROJECT_DIR/x", true),
            ("export CLAUDE_PROJECT_'DIR'=tools; sh $CLAUDE_PROJECT_DIR/x", true),
            ("read -r CLAUDE_PROJECT_DIR <x; sh $CLAUDE_PROJECT_DIR/x", true),
            ("sh ${CLAUDE_PROJECT_DIR}/MY_CLAUDE_PROJECT_DIR", false),
        ] {
            assert_eq!(
                of(&[line.to_owned()], &claude(), Path::new("/repo"), Path::new("/repo")).more,
                more,
                "{line}"
            );
        }
    }

    #[test]
    fn what_a_declaration_sets_is_read_as_its_line_is() {
        for (name, value, more) in [
            ("MODE", "strict", false),
            ("CONFIG", "tools/config", false),
            ("CONFIG", "$X/config", true),
            ("CLAUDE_PROJECT_DIR", "tools", true),
            ("GEMINI_CWD", "tools", true),
            ("PATH", "tools", true),
            ("Path", "tools", true),
            ("BASH_ENV", "tools/x.sh", true),
            ("ENV", "x", true),
            ("LD_PRELOAD", "tools/x.so", true),
            ("PYTHONSTARTUP", "x.py", true),
            ("NODE_OPTIONS", "--require=tools/x.js", true),
            ("GIT_SSH_COMMAND", "tools/x", true),
        ] {
            let own = vec![(name.to_owned(), value.to_owned())];
            let variables = Variables { own, ..claude() };
            let words = of(&["sh guard.sh".to_owned()], &variables, Path::new("/repo"), Path::new("/repo"));
            assert_eq!(words.more, more, "{name}={value}");
            let value = value.rsplit('=').next().unwrap();
            assert!(words.words.contains(value) && words.words.contains("guard.sh"), "{name}: {words:?}");
        }
    }

    #[test]
    fn a_line_of_many_variables_does_not_grow_without_end() {
        let repo = format!("/{}", "r".repeat(4000));
        let line = "$CLAUDE_PROJECT_DIR/x ".repeat(50_000);
        let words = of(&[line], &claude(), Path::new(&repo), Path::new("/"));
        let len: usize = words.words.iter().map(String::len).sum();
        assert!(words.more && len < 8 << 20, "{len}");
    }

    #[test]
    fn a_hostile_line_ends() {
        for line in ["\\".repeat(100_001), "'\"".repeat(50_000), "${".repeat(50_000), "${A:-".repeat(20_000)]
        {
            of(&[line], &claude(), Path::new("/repo"), Path::new("/repo"));
        }
    }
}
