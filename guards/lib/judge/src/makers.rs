//! Directories that a program of the same line makes again.

use hookbox_shell::{Arg, Reading, Run, Sort, is_in};

/// A program, its subcommands (any if there are none), and the directories that it makes.
const MAKERS: [(&str, &str, &str); 16] = [
    ("composer", "install update i u", "vendor"),
    ("go", "mod", "vendor"),
    ("bundle", "install package cache", "vendor"),
    ("cargo", "vendor", "vendor"),
    ("pod", "install update", "Pods"),
    ("dotnet", "build restore run test publish pack clean", "bin obj"),
    ("msbuild", "", "bin obj"),
    ("mkdocs", "build serve gh-deploy", "site"),
    ("hugo", "", "public resources"),
    ("hexo", "generate g server clean", "public"),
    ("zola", "build serve", "public"),
    ("gatsby", "build clean develop", "public"),
    ("sphinx-build", "", "html doctrees"),
    ("mdbook", "build serve clean", "book"),
    ("jekyll", "build serve clean", "_site"),
    ("doxygen", "", "html latex"),
];

/// Returns true for a directory of the project that a program of the line makes again, such as `bin` with `dotnet build`.
pub fn is_made_again(reading: &Reading, target: &Arg) -> bool {
    if !matches!(target.sort, Sort::Plain | Sort::Pattern) || target.text.starts_with(['/', '~']) {
        return false;
    }
    let name = target.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    // Few names have a maker, and a line may have thousands of commands.
    let mut makers = MAKERS.iter().filter(|(_, _, names)| is_in(names, name)).peekable();
    makers.peek().is_some() && reading.runs.iter().any(|run| makers.clone().any(|it| makes(run, *it)))
}

fn makes(run: &Run, (maker, subs, _): (&str, &str, &str)) -> bool {
    let mut args = run.args().iter().map(|it| it.text.as_str());
    let sub = args.find(|it| !it.starts_with('-')).unwrap_or_default();
    run.program() == Some(maker) && (subs.is_empty() || is_in(subs, sub))
}

#[cfg(test)]
mod tests {
    use hookbox_shell::{Known, runs};

    use super::*;

    #[test]
    fn a_directory_is_made_again_by_a_program_of_the_line() {
        for (line, path, expected) in [
            ("composer install", "vendor", true),
            ("cd api && composer install --no-dev", "api/vendor/", true),
            ("go mod vendor", "vendor", true),
            ("go build ./...", "vendor", false),
            ("dotnet build -c Release", "src/App/obj", true),
            ("dotnet build", "**/bin", true),
            ("dotnet new console", "bin", false),
            ("dotnet build", "src", false),
            ("mkdocs build", "site", true),
            ("echo mkdocs build", "site", false),
            ("hugo --minify", "public", true),
            ("hugo", "/srv/public", false),
            ("hugo", "content/../..", false),
        ] {
            let sort = if path.contains('*') { Sort::Pattern } else { Sort::Plain };
            let target = Arg { text: path.to_owned(), sort };
            assert_eq!(is_made_again(&runs(line, &Known::default()), &target), expected, "{line} {path}");
        }
    }
}
