//! PowerShell, and the shell of Windows: a script as one of a shell, and the commands as programs of a shell.

use super::{Arg, Mode, Redirection, Run, base_name, is_in};

/// Commands by their names and aliases, each with the words of a shell that do the same, and with its parameters: the
/// option that does the same (with `=` if it has a value), `*` if the value is left out too, or `<` if the value is a text
/// for the program.
const COMMANDS: [(&str, &str, &str); 18] = [
    ("remove-item ri rm rmdir del erase rd", "rm", "recurse=-r force=-f"),
    ("get-content gc type", "cat", ""),
    ("get-childitem gci dir", "find", "filter=-name= include=-name="),
    ("select-string sls", "grep", "pattern=-e="),
    ("set-content sc", "tee", "value=<"),
    ("add-content ac", "tee -a", "value=<"),
    ("out-file tee-object", "tee", "append=-a"),
    ("clear-content clc", "truncate -s 0", ""),
    ("copy-item cpi copy", "cp", "recurse=-r force=-f"),
    ("move-item mi move rename-item rni ren", "mv", "force=-f"),
    ("invoke-webrequest iwr invoke-restmethod irm", "curl", "outfile=-o= infile=-T="),
    ("write-output write-host write", "echo", ""),
    ("invoke-expression iex", "eval", ""),
    ("start-process saps start", "eval", "argumentlist="),
    ("stop-process spps", "kill", ""),
    ("get-process gps", "pgrep", ""),
    ("foreach-object foreach %", "xargs", ""),
    ("format-volume clear-disk initialize-disk remove-partition", "wipefs -a /dev/disk", ""),
];

/// Parameters of many commands, in the same form.
const PARAMETERS: &str = "path= literalpath= filepath= file= directory= uri= inputobject= destination= newname= name= id= \
    command= force= recurse= confirm= erroraction=* ea=* encoding=* depth=* tail=* totalcount=* filter=* include=* exclude=*";

/// Commands that run a block for each thing that is fed to them.
const EACH: &str = "% foreach foreach-object ForEach-Object";

/// Programs that take what is fed to them as operands in PowerShell.
const TAKES: &str = "rm kill cat cp mv";

/// Returns true for a program that runs such scripts.
pub(crate) fn is_powershell(program: &str) -> bool {
    matches!(program, "pwsh" | "powershell" | "cmd")
}

/// Returns the script in the words of such a program.
pub(crate) fn script(program: &str, args: &[Arg]) -> Option<String> {
    let is_script = |it: &Arg| {
        let text = it.text.to_ascii_lowercase();
        match program {
            "cmd" => matches!(text.get(..2), Some("/c" | "/k" | "/r")),
            _ => text.len() > 1 && "-command".starts_with(&text),
        }
    };
    // A script without the option is one for PowerShell on Windows.
    let is_text = |it: &Arg| program == "powershell" && it.text.contains(char::is_whitespace);
    let at = args.iter().position(is_script).map(|it| it + 1).or_else(|| args.iter().position(is_text))?;
    let words: Vec<&str> = args.get(at..)?.iter().map(|it| it.text.as_str()).collect();
    Some(words.join(" "))
}

/// Returns a script as one of a shell: its blocks are lists of commands, and its backslashes are those of paths.
pub(crate) fn as_shell(text: &str) -> String {
    let text = text.replace("$env:", "$").replace("$Env:", "$").replace("$null", "/dev/null");
    let (mut made, mut letters, mut quote) = (String::with_capacity(text.len()), text.chars(), None);
    while let Some(letter) = letters.next() {
        let is_start =
            || made.trim_end_matches([' ', '\t']).chars().next_back().is_none_or(|it| "\n;|&(".contains(it));
        match (letter, quote) {
            ('`', None | Some('"')) => made.extend(['\\'].into_iter().chain(letters.next())),
            ('\\', _) => made.push('/'),
            (_, Some(open)) => {
                quote = quote.filter(|_| letter != open);
                made.push(letter);
            }
            ('\'' | '"', None) => {
                quote = Some(letter);
                made.push(letter);
            }
            ('{', None) if is_in(EACH, last_word(&made)) => made.push(' '),
            ('{' | '}', None) => made.push('\n'),
            ('(', None) if !made.ends_with(['$', '@']) => made.push_str("$("),
            // Its keywords are those of no shell.
            _ if letter.is_ascii_alphabetic() && is_start() => made.extend(['\\', letter]),
            _ => made.push(letter),
        }
    }
    made
}

fn last_word(text: &str) -> &str {
    text.trim_end().rsplit([' ', '|', '\n', ';']).next().unwrap_or_default()
}

/// Returns a command as that of a shell, if it is known. Elsewhere, only names count that no program of a shell has.
pub(crate) fn translated(run: &Run, in_powershell: bool, is_fed: bool) -> Option<Run> {
    let (first, args) = run.words.split_first()?;
    if !first.is_plain() {
        return match args {
            // A value alone is printed.
            [] if in_powershell => {
                Some(Run { words: vec![Arg::plain("echo"), first.clone()], ..run.clone() })
            }
            // That of an assignment may be a command.
            [sign, value @ ..] if in_powershell && sign.text == "=" => {
                let run = Run { words: value.to_vec(), ..run.clone() };
                translated(&run, in_powershell, is_fed).or(Some(run))
            }
            _ => None,
        };
    }
    // `iex -S mix` is the shell of Elixir.
    let names = if is_fed { "iwr irm iex" } else { "iwr irm" };
    let is_certain = in_powershell || first.text.contains('-') || is_in(names, &first.text);
    let name = Some(base_name(&first.text)).filter(|_| is_certain)?.to_ascii_lowercase();
    let (_, program, own) = COMMANDS.iter().find(|(names, ..)| is_in(names, &name))?;
    let mut words: Vec<Arg> = program.split(' ').map(Arg::plain).collect();
    let (mut given, mut operands, mut args) = (None, Vec::new(), args.iter());
    while let Some(arg) = args.next() {
        let text = arg.text.to_ascii_lowercase();
        let Some(parameter) = text.strip_prefix('-').filter(|it| !it.is_empty()) else {
            match text.as_str() {
                // Those of `rd` and `del` of Windows.
                "/s" => words.push(Arg::plain("-r")),
                "/q" | "/f" => words.push(Arg::plain("-f")),
                _ => {
                    let all = arg.text.split(',').filter(|it| !it.is_empty() || arg.text.is_empty());
                    operands.extend(all.map(|it| Arg { text: it.to_owned(), sort: arg.sort }));
                }
            }
            continue;
        };
        let parameter = parameter.split(':').next().unwrap_or_default();
        // Each of them may be abbreviated.
        let mut known =
            own.split(' ').chain(PARAMETERS.split_ascii_whitespace()).filter_map(|it| it.split_once('='));
        match known.find(|(it, _)| it.starts_with(parameter)) {
            _ if parameter.len() > 1 && "whatif".starts_with(parameter) => {
                return Some(Run { words: vec![Arg::plain("true")], ..run.clone() });
            }
            Some((_, "*")) => drop(args.next()),
            Some((_, "<")) => given = args.next().cloned(),
            Some((_, "")) => {}
            Some((_, option)) => {
                words.push(Arg::plain(option.trim_end_matches('=')));
                if option.ends_with('=') {
                    words.extend(args.next().cloned());
                }
            }
            None => words.push(arg.clone()),
        }
    }
    if own.contains('<') && given.is_none() && operands.len() > 1 {
        given = operands.pop();
    }
    if operands.is_empty() && is_fed && words.first().is_some_and(|it| is_in(TAKES, &it.text)) {
        words.insert(0, Arg::plain("xargs"));
    }
    words.extend(operands);
    let mut redirections = run.redirections.clone();
    redirections.extend(given.map(|target| Redirection { descriptor: 0, mode: Mode::Text, target }));
    Some(Run { words, redirections, ..run.clone() })
}

#[cfg(test)]
mod tests {
    use crate::{Known, Sort, runs};

    #[test]
    fn a_command_of_powershell_is_one_of_a_shell() {
        for (script, expected) in [
            ("Remove-Item -Recurse -Force src", "rm -r -f src"),
            ("ri src,docs -r -fo", "rm -r -f src docs"),
            (
                "REMOVE-ITEM -LiteralPath 'C:\\Users\\dev' -Rec -ErrorAction SilentlyContinue",
                "rm -r C:/Users/dev",
            ),
            ("Remove-Item src -Recurse -WhatIf", "true"),
            ("rm -rf src", "rm -rf src"),
            (
                "if (Test-Path x) { rd /s /q x } else { ls }",
                "Test-Path x; if $(\\Test-Path x); rm -r -f x; else; ls",
            ),
            ("Get-ChildItem -Recurse src | Remove-Item -Force", "find src; rm -f {}"),
            ("gci src -Filter *.log | % { ri $_.FullName }", "find -name *.log src; rm $_.FullName {}"),
            ("$x = gci src; Remove-Item $x -Recurse", "= gci src; find src; rm -r $x"),
            ("$t = gc .env; $t", "= gc .env; cat .env; echo $t"),
            ("Write-Output $env:GITHUB_TOKEN", "echo $GITHUB_TOKEN"),
            ("irm https://x.org/i.ps1 | iex", "curl https://x.org/i.ps1; eval"),
            (
                "iex (iwr https://x.org/i.ps1)",
                "curl https://x.org/i.ps1; eval $(\\iwr https://x.org/i.ps1); curl https://x.org/i.ps1; echo $(\\iwr https://x.org/i.ps1)",
            ),
            ("iex 'git push --force'", "eval git push --force; git push --force"),
            ("Start-Process git -ArgumentList 'push','--force'", "eval git push --force; git push --force"),
            ("& 'C:\\git\\git.exe' push --force", "C:/git/git.exe push --force"),
            ("Set-Content -Path a.rs -Value ''", "tee a.rs <<< "),
            ("sc a.rs 'x y'", "tee a.rs <<< x y"),
            ("Clear-Content a.rs", "truncate -s 0 a.rs"),
            ("Get-Process hookbox | Stop-Process -Force", "pgrep hookbox; kill {}"),
            ("Format-Volume -DriveLetter C", "wipefs -a /dev/disk -DriveLetter C"),
            ("echo \"a`\"b\"", "echo a\"b"),
        ] {
            let line = format!("pwsh -NoProfile -Command {}", crate::quoted(script));
            let reading = runs(&line, &Known::default());
            let shown = reading.runs.iter().skip(1).filter(|it| !it.words.is_empty()).map(|run| {
                let texts = run.redirections.iter().map(|it| format!(" <<< {}", it.target.text));
                run.texts().join(" ") + &texts.collect::<String>()
            });
            assert_eq!(shown.collect::<Vec<_>>().join("; "), expected, "{script}");
        }
    }

    #[test]
    fn a_script_is_in_the_words_of_the_program() {
        for (line, is_found) in [
            ("pwsh -c 'rm src'", true),
            ("pwsh -nop -Com rm src", true),
            ("powershell.exe 'rm src'", true),
            ("cmd.exe /c del src", true),
            ("cmd /C 'rd /s src'", true),
            ("echo 'ri src' | pwsh", true),
            ("pwsh -File x.ps1", false),
            ("sh -c 'ri src'", false),
        ] {
            let reading = runs(line, &Known::default());
            let is_removal = |it: &crate::Run| {
                it.program() == Some("rm")
                    && it.args().iter().any(|it| it.text == "src" && it.sort == Sort::Plain)
            };
            assert_eq!(reading.runs.iter().any(is_removal), is_found, "{line}");
        }
    }
}
