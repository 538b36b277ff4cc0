//! The worth of the files at a path.

use hookbox_shell::{Arg, Run, Sort, is_in, join_path};

/// Directories in which programs keep temporary files.
const TEMPORARY: [&str; 8] = [
    "/tmp/",
    "/var/tmp/",
    "/private/tmp/",
    "/private/var/tmp/",
    "/var/folders/",
    "/private/var/folders/",
    "/dev/shm/",
    // The work trees of a runner of GitLab.
    "/builds/",
];

/// Directories that a build or an installation makes again.
const BUILT: &str = "node_modules target dist build .venv venv __pycache__ .next .nuxt .output .svelte-kit coverage \
    htmlcov .nyc_output .pytest_cache .mypy_cache .ruff_cache .tox .nox .cache .parcel-cache .turbo .gradle .eggs \
    .dart_tool .angular .vite .webpack .rollup.cache .serverless .aws-sam .terraform cdk.out out obj _build _site \
    .docusaurus .expo .yarn .pnpm-store bower_components DerivedData .build .hypothesis .ipynb_checkpoints tmp temp \
    .tmp logs dist-newstyle .stack-work zig-out zig-cache .zig-cache storybook-static test-results playwright-report \
    .eslintcache .rspec_status .bundle cmake-build-debug cmake-build-release pkg-build site-packages deps .elixir_ls \
    .clj-kondo .cpcache .shadow-cljs elm-stuff .spago .astro .wrangler .vercel .netlify public/build .sass-cache \
    .jekyll-cache .output .temp Debug Release .bazel bazel-bin bazel-out bazel-testlogs .pub-cache nimcache _output Pods";

/// Directories of the same kind whose last name alone says too little.
const BUILT_BELOW: [&str; 3] = ["vendor/bundle", "Carthage/Build", "Carthage/Checkouts"];

/// Caches below a home directory: their programs fill them again.
const CACHES: &str = ".npm/_cacache .npm/_npx .npm/_logs .cargo/registry/cache .cargo/registry/index \
    .cargo/registry/src .cargo/git/checkouts .cargo/git/db .m2/repository .gradle/caches .ivy2/cache \
    .nuget/packages .composer/cache .cabal/packages .hex/packages .konan/cache .bun/install/cache \
    .local/share/pnpm/store .terraform.d/plugin-cache .cocoapods/repos .conda/pkgs .android/cache go/pkg/mod \
    AppData/Local/npm-cache";

/// Endings of the names of files that programs make.
const GENERATED: &str = "pyc pyo o obj a so class log tmp temp swp swo bak bk orig rej cache egg-info gcda gcno gcov profraw \
    profdata dSYM pid lock.tmp DS_Store coverage tsbuildinfo elc beam hi map out test dist-info snap.new prof trace";

/// The names of such files.
const GENERATED_FILES: &str = ".DS_Store .coverage package-lock.json yarn.lock pnpm-lock.yaml Cargo.lock poetry.lock uv.lock \
    Podfile.lock Gemfile.lock composer.lock";

/// Directories of the system whose loss stops a machine.
const SYSTEM: &str = "bin boot dev etc lib lib64 opt proc root sbin srv sys usr var System";

/// The worth of the files at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Below a temporary directory.
    Temporary,
    /// Below a directory that a build makes again, or a file that a program makes.
    Built,
    /// A file or directory of the work directory.
    Project,
    /// All of the work directory, or a directory around it.
    Whole,
    /// Below the home directory, or another directory of a user.
    Elsewhere,
    /// The root, a home directory, or a directory of the system.
    System,
    /// A device.
    Device,
    /// Not known.
    Unknown,
}

impl Area {
    /// Returns the area of an argument of a command. It is a cheap one only if it is that in each directory in which the
    /// command may run.
    pub fn of(arg: &Arg, run: &Run, cwd: &str) -> Self {
        let first = Self::in_directory(arg, run.directory.as_deref(), cwd);
        let mut others = run.elsewhere.iter().map(|it| Self::in_directory(arg, Some(it), cwd));
        if first.is_cheap() { others.find(|it| !it.is_cheap()).unwrap_or(first) } else { first }
    }

    fn in_directory(arg: &Arg, directory: Option<&str>, cwd: &str) -> Self {
        let text = arg.text.trim_end_matches('/');
        if text.is_empty() && arg.text.starts_with('/') {
            return Self::System;
        }
        // Bash takes the carriage return at the end of a line as a part of the name, and others do not.
        let path = join_path(directory.unwrap_or("$PWD"), arg.text.trim_end_matches('\r'));
        let is_pattern_of_all = arg.sort == Sort::Pattern
            && matches!(path.rsplit('/').next(), Some("*" | ".*" | "**" | "{*,.*}" | ".[!.]*" | "*.*"));
        // All files of a directory are worth what the directory is.
        let place = if is_pattern_of_all {
            path.rsplit_once('/').map_or(".", |(place, _)| if place.is_empty() { "/" } else { place })
        } else {
            &path
        };
        let in_cwd = cwd.len() > 1 && place.strip_prefix(cwd).is_some_and(|it| it.starts_with('/'));
        let is_around = cwd.strip_prefix(place).is_some_and(|it| it.is_empty() || it.starts_with('/'));
        // A work directory below a temporary one is still a work directory.
        let is_own = in_cwd || is_around && !is_pattern_of_all || place == cwd;
        let is_temporary = !is_own
            && TEMPORARY.iter().any(|it| {
                place.strip_prefix(it).is_some_and(|it| !it.is_empty())
                    || is_pattern_of_all && place == it.trim_end_matches('/')
            });
        if is_temporary {
            return Self::Temporary;
        }
        if place.starts_with("/dev/") {
            return if matches!(place, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
                || place.starts_with("/dev/fd/")
            {
                Self::Temporary
            } else {
                Self::Device
            };
        }
        let parts: Vec<&str> = place.split('/').filter(|it| !it.is_empty()).collect();
        let is_absolute = place.starts_with('/');
        let roots = match parts.first() {
            _ if in_cwd => cwd.split('/').filter(|it| !it.is_empty()).count(),
            // `build` in a home directory is not a project's.
            Some(&"~") if is_of_home(parts.get(1)) => 2,
            Some(&("home" | "Users")) if is_absolute && is_of_home(parts.get(2)) => 3,
            Some(first) if is_absolute && is_in(SYSTEM, first) && *first != "srv" && *first != "root" => {
                usize::MAX
            }
            _ if is_absolute => 2,
            Some(&"~") => 1,
            _ => 0,
        };
        // The last part of a path with an unknown beginning is enough: `$ROOT/node_modules`.
        let is_built =
            |it: &&str| is_in(BUILT, it) || it.ends_with(".egg-info") || it.starts_with("cmake-build");
        let is_known_name = |it: &&str| !it.contains(['$', '`', '(']);
        let is_cache = match parts.as_slice() {
            ["~", rest @ ..] | ["home" | "Users", _, rest @ ..] => is_cached(rest),
            _ => false,
        };
        let is_pair = |it: &[&str]| BUILT_BELOW.contains(&it.join("/").as_str());
        if is_cache
            || parts.get(roots..).unwrap_or_default().windows(2).any(is_pair)
            || parts.iter().skip(roots).filter(|it| is_known_name(it)).any(is_built)
            || parts.iter().skip(roots).next_back().is_some_and(|it| is_known_name(it) && is_generated(it))
        {
            return Self::Built;
        }
        if arg.sort == Sort::Unknown || arg.sort == Sort::Input {
            return Self::Unknown;
        }
        if parts.first().is_some_and(|it| it.starts_with('$')) {
            return Self::Unknown;
        }
        if place == cwd
            || place == "."
            || place == ".."
            || !is_absolute && parts.first() == Some(&"..") && parts.iter().all(|it| *it == "..")
            || is_absolute
                && cwd.starts_with('/')
                && cwd.starts_with(&format!("{}/", place.trim_end_matches('/')))
        {
            return if parts.len() < 2 && is_absolute { Self::System } else { Self::Whole };
        }
        if !is_absolute && parts.first() != Some(&"~") {
            return if parts.first() == Some(&"..") { Self::Elsewhere } else { Self::Project };
        }
        if in_cwd {
            return Self::Project;
        }
        match parts.as_slice() {
            [] | ["~"] | ["home" | "Users", _] | ["home" | "Users"] => Self::System,
            [first, ..] if is_in(SYSTEM, first) => Self::System,
            _ => Self::Elsewhere,
        }
    }

    /// Returns true if the files are made again by a program, or are temporary.
    pub fn is_cheap(self) -> bool {
        matches!(self, Self::Temporary | Self::Built)
    }
}

/// Returns true for a directory right in a home directory that no program makes there.
fn is_of_home(name: Option<&&str>) -> bool {
    name.is_some_and(|it| !it.starts_with('.') && !matches!(*it, "node_modules" | "__pycache__"))
}

/// Returns true for a path below a home directory that is one of its caches, or below one.
fn is_cached(parts: &[&str]) -> bool {
    let starts = |cache: &str| cache.split('/').enumerate().all(|(at, it)| parts.get(at) == Some(&it));
    // All caches of macOS at once are some programs' data.
    CACHES.split(' ').any(starts) || starts("Library/Caches") && parts.len() > 2
}

/// Returns true for the name of a file, or a pattern of names, that a program makes.
pub fn is_generated(name: &str) -> bool {
    let name = name.trim_matches('*');
    name.len() > 1 && name.ends_with('~')
        || is_in(GENERATED_FILES, name)
        || name
            .rsplit_once('.')
            .is_some_and(|(_, ending)| is_in(GENERATED, ending.trim_end_matches(['*', '?'])))
        || is_in(BUILT, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_directory_below_a_temporary_one_is_a_work_directory() {
        let run = Run { directory: Some("/tmp/p".to_owned()), ..Run::default() };
        for (path, area) in [
            ("src", Area::Project),
            (".", Area::Whole),
            ("*", Area::Whole),
            ("build", Area::Built),
            ("/tmp/q", Area::Temporary),
        ] {
            let sort = if path == "*" { Sort::Pattern } else { Sort::Plain };
            assert_eq!(Area::of(&Arg { text: path.to_owned(), sort }, &run, "/tmp/p"), area, "{path}");
        }
    }

    #[test]
    fn a_path_has_a_worth() {
        let run = Run { directory: Some("/home/me/p".to_owned()), ..Run::default() };
        for (path, sort, area) in [
            ("/tmp/x", Sort::Plain, Area::Temporary),
            ("/tmp/$X/y", Sort::Unknown, Area::Temporary),
            ("/tmp", Sort::Plain, Area::Elsewhere),
            ("/tmp/*", Sort::Pattern, Area::Temporary),
            ("/tmp/../etc", Sort::Plain, Area::System),
            ("build", Sort::Plain, Area::Built),
            ("./a/node_modules/b", Sort::Plain, Area::Built),
            ("$ROOT/dist", Sort::Unknown, Area::Built),
            ("*.pyc", Sort::Pattern, Area::Built),
            ("/usr/lib/build", Sort::Plain, Area::System),
            ("ios/Pods", Sort::Plain, Area::Built),
            ("vendor/bundle", Sort::Plain, Area::Built),
            ("vendor", Sort::Plain, Area::Project),
            ("~/build", Sort::Plain, Area::Elsewhere),
            ("/home/me/dist", Sort::Plain, Area::Elsewhere),
            ("~/p/build", Sort::Plain, Area::Built),
            ("~/node_modules", Sort::Plain, Area::Built),
            ("~/.cache", Sort::Plain, Area::Built),
            ("~/Library/Caches/x", Sort::Plain, Area::Built),
            ("~/Library/Caches/*", Sort::Pattern, Area::Elsewhere),
            ("~/Library/Caches/../x", Sort::Plain, Area::Elsewhere),
            ("~/.m2/repository/org/x", Sort::Plain, Area::Built),
            ("~/.m2", Sort::Plain, Area::Elsewhere),
            ("/home/you/.npm/_cacache", Sort::Plain, Area::Built),
            ("/home/you/.npm", Sort::Plain, Area::Elsewhere),
            ("~/.cargo/registry/cache", Sort::Plain, Area::Built),
            ("~/.cargo/registry", Sort::Plain, Area::Elsewhere),
            ("/srv/.cargo/registry/cache", Sort::Plain, Area::System),
            ("src", Sort::Plain, Area::Project),
            ("/home/me/p/src", Sort::Plain, Area::Project),
            ("*", Sort::Pattern, Area::Whole),
            (".", Sort::Plain, Area::Whole),
            ("..", Sort::Plain, Area::Whole),
            ("../q", Sort::Plain, Area::Elsewhere),
            ("~/x", Sort::Plain, Area::Elsewhere),
            ("~", Sort::Plain, Area::System),
            ("/", Sort::Plain, Area::System),
            ("/*", Sort::Pattern, Area::System),
            ("/dev/sda", Sort::Plain, Area::Device),
            ("/dev/null", Sort::Plain, Area::Temporary),
            ("$X", Sort::Unknown, Area::Unknown),
            ("$X/*", Sort::Unknown, Area::Unknown),
        ] {
            let arg = Arg { text: path.to_owned(), sort };
            assert_eq!(Area::of(&arg, &run, "/home/me/p"), area, "{path}");
        }
    }
}
