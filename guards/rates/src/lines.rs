//! Makes command lines: by a grammar of shells, by changes of the corpus, and of loose pieces. No line is run.

/// A source of numbers that is the same for the same seed (SplitMix64).
pub(crate) struct Numbers(u64);

impl Numbers {
    /// Makes the source of a line, by its seed and its place.
    pub(crate) fn of(seed: u64, at: u64) -> Self {
        let mut numbers = Self(seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        numbers.next();
        numbers
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Returns a number below a bound.
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or_default()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list.get(self.below(list.len())).copied().unwrap_or_default()
    }

    fn one_of(&mut self, (words, texts): (&'static str, &[&'static str])) -> &'static str {
        self.pick(&words.split(' ').chain(texts.iter().copied()).collect::<Vec<_>>())
    }
}

/// Words with spaces between them, and texts that have spaces or no letters that are seen.
const PROGRAMS: (&str, &[&str]) = (
    "rm ls git find echo cat cd sudo env xargs sh bash python3 node perl awk sed docker kubectl ssh psql \
     curl npm npx tar eval export alias source . trap read set shift unset printf test dd mv cp ln \
     timeout nice parallel make gh aws terraform chmod tee true exec command coproc mapfile retry tmux \
     xterm local x ./run.sh",
    &["declare -n"],
);

const WORDS: (&str, &[&str]) = (
    "-rf -f --force -c -e -exec -delete -- - src . .. / ~ /tmp/x build .env ~/.ssh/id_rsa {} ; + -name \
     *.py * reset --hard push clean -fdx checkout delete pod exec run -it install \
     https://x.example.org/i.sh origin main HEAD~1 drop rmtree('src') console.log(1) 1 --help -I{} -0 \
     of=/dev/sda = rm -C -eq a=b ' \" \\ $ ` #",
    &[
        "import shutil",
        "DROP TABLE x",
        "a b",
        "\u{e9}\u{4e16}\u{1f600}",
        "CC=rm -rf x",
        "system(\"rm -rf x\")",
        "os.rename('a', 'b')",
    ],
);

const NAMES: [&str; 8] = ["a", "HOME", "x_1", "@", "*", "#", "1", "IFS"];

const OPERATORS: [&str; 9] = [" && ", " || ", "; ", " | ", " & ", "\n", " |& ", ";;", " "];

const PIECES: (&str, &[&str]) = (
    "$( ) ` ' \" \\ $' ${ } $(( )) (( [[ ]] { ( <<< <( >( > >> 2>&1 &> < | || && ; ;; & fi done esac \
     {a,b} {1..9} ! # * ? ~",
    &[
        "<<E\n",
        "\nE\n",
        "<<-'E'\n",
        "\n",
        "\r\n",
        "\t",
        "if ",
        "then ",
        "for a in ",
        "do ",
        "while ",
        "case x in ",
        "function f ",
        "f() ",
        "\0",
        "\u{7f}",
        "\u{feff}",
        "\u{202e}",
    ],
);

/// Makes the line with this place.
pub(crate) fn line(numbers: &mut Numbers, corpus: &[&str]) -> String {
    match numbers.below(1000) {
        0..400 => changed(numbers, corpus),
        400..900 => list(numbers, 4),
        900..998 => soup(numbers, corpus),
        _ => repeated(numbers, corpus),
    }
}

/// Changes a line of the corpus in some places.
fn changed(numbers: &mut Numbers, corpus: &[&str]) -> String {
    let mut line = numbers.pick(corpus).to_owned();
    for _ in 0..=numbers.below(6) {
        line = change(numbers, line, corpus);
        // A change may double the length.
        if line.len() > 1 << 15 {
            break;
        }
    }
    line
}

/// Returns a place between two letters.
fn place(numbers: &mut Numbers, line: &str) -> usize {
    let at = numbers.below(line.len() + 1);
    (at..=line.len()).find(|it| line.is_char_boundary(*it)).unwrap_or(line.len())
}

fn change(numbers: &mut Numbers, line: String, corpus: &[&str]) -> String {
    let at = place(numbers, &line);
    let (before, after) = line.split_at_checked(at).unwrap_or((&line, ""));
    match numbers.below(18) {
        0 => format!("{before}{}{after}", numbers.one_of(PIECES)),
        1 => format!("{before}{}", after.chars().skip(1).collect::<String>()),
        2 => before.to_owned(),
        3 => after.to_owned(),
        4 => format!("{after}{before}"),
        5 => format!("{before}{after}{}{}", numbers.pick(&OPERATORS), numbers.pick(corpus)),
        6 => format!("sh -c {}", quoted(&line)),
        7 => format!("echo \"$({line})\""),
        8 => format!(
            "{} {line}",
            numbers.pick(&["sudo", "env A=1", "timeout 5", "xargs", "nohup", "ssh h", "docker exec c"])
        ),
        9 => format!("bash <<'E'\n{line}\nE"),
        10 => line.replace(' ', numbers.pick(&["${IFS}", "\t", "  ", "\\\n", "\u{a0}"])),
        11 => format!("a={}; eval \"$a\"", quoted(&line)),
        12 => format!("f() {{ {line}; }}; f {}", numbers.one_of(WORDS)),
        13 => format!("python3 -c {}", quoted(&format!("import os; os.system({line:?})"))),
        14 => format!(
            "{before}{}{after}",
            before.chars().rev().take(40).collect::<String>().repeat(numbers.below(30))
        ),
        15 => {
            let pair = numbers
                .pick(&["$( )", "( )", "{ }", "\" \"", "' '", "` `", "${a:- }", "$(( ))", "[[ ]]", "<( )"]);
            let (open, close) = pair.split_once(' ').unwrap_or((pair, ""));
            let levels = numbers.below(90);
            format!("{before}{}{after}{}", open.repeat(levels), close.repeat(levels))
        }
        16 => {
            let letter =
                char::from_u32(u32::try_from(numbers.below(0x2_ffff)).unwrap_or(0)).unwrap_or('\u{fffd}');
            format!("{before}{letter}{after}")
        }
        _ => line.chars().map(|it| if numbers.one_in(20) { it.to_ascii_uppercase() } else { it }).collect(),
    }
}

fn quoted(line: &str) -> String {
    format!("'{}'", line.replace('\'', "'\\''"))
}

/// Makes a list of commands, so many levels deep.
fn list(numbers: &mut Numbers, depth: usize) -> String {
    let mut made = command(numbers, depth);
    while numbers.one_in(2) && made.len() < 1 << 12 {
        made.push_str(numbers.pick(&OPERATORS));
        made.push_str(&command(numbers, depth));
    }
    made
}

fn command(numbers: &mut Numbers, depth: usize) -> String {
    let Some(deeper) = depth.checked_sub(1) else { return simple(numbers, 0) };
    if !numbers.one_in(4) {
        return simple(numbers, depth);
    }
    let inner = list(numbers, deeper);
    match numbers.below(14) {
        0 => format!("if {inner}; then {}; fi", list(numbers, deeper)),
        1 => format!("for a in {} {}; do {inner}; done", word(numbers, deeper), word(numbers, deeper)),
        2 => format!("while {inner}; do {}; done", list(numbers, deeper)),
        3 => format!("case {} in {}) {inner};; esac", word(numbers, deeper), word(numbers, deeper)),
        4 => format!("f() {{ {inner}; }}; f {}", word(numbers, deeper)),
        5 => format!("( {inner} )"),
        6 => format!("{{ {inner}; }} > {}", word(numbers, deeper)),
        7 => format!("[[ {} == {} ]]", word(numbers, deeper), word(numbers, deeper)),
        8 => format!("(( a = {} + 1 ))", word(numbers, deeper)),
        9 => format!("cat <<{}\n{inner}\nE\n", numbers.pick(&["E", "'E'", "-E", "\"E\""])),
        10 => format!("! time {inner}"),
        11 => format!("coproc {{ {inner}; }}"),
        12 => format!("[[ {} -eq {} ]]", word(numbers, deeper), word(numbers, deeper)),
        _ => format!("{} -c {}", numbers.pick(&["sh", "bash", "python3", "su"]), quoted(&inner)),
    }
}

fn simple(numbers: &mut Numbers, depth: usize) -> String {
    let mut made = String::new();
    if numbers.one_in(5) {
        made.push_str(&format!("{}={} ", numbers.pick(&NAMES), word(numbers, depth)));
    }
    made.push_str(numbers.one_of(PROGRAMS));
    for _ in 0..numbers.below(6) {
        made.push(' ');
        made.push_str(&word(numbers, depth));
    }
    if numbers.one_in(5) {
        made.push_str(numbers.pick(&[" > ", " >> ", " < ", " 2>&1 ", " <<< ", " &> "]));
        made.push_str(&word(numbers, depth));
    }
    made
}

fn word(numbers: &mut Numbers, depth: usize) -> String {
    let mut made = String::new();
    for _ in 0..=numbers.below(3) {
        let Some(deeper) = depth.checked_sub(1).filter(|_| numbers.one_in(3)) else {
            made.push_str(numbers.one_of(WORDS));
            if numbers.one_in(2) {
                break;
            }
            continue;
        };
        let (name, inner) = (numbers.pick(&NAMES), word(numbers, deeper));
        made.push_str(&match numbers.below(13) {
            0 => format!("${name}"),
            1 => format!(
                "${{{name}{}{inner}}}",
                numbers.pick(&[":-", ":=", "#", "%%", "/", ":", "^", "+", "[", "@"])
            ),
            2 => format!("$({})", command(numbers, deeper)),
            3 => format!("`{}`", command(numbers, deeper)),
            4 => format!("$(( {inner} * 2 ))"),
            5 => format!("\"{inner}\""),
            6 => quoted(&inner),
            7 => format!("$'{}'", inner.replace('\'', "\\x27")),
            8 => format!("{{{inner},{}}}", numbers.one_of(WORDS)),
            9 => format!("<({})", command(numbers, deeper)),
            10 => format!("{{1..{}}}", numbers.below(2_000_000)),
            11 => format!("${{{name}[{inner}]}}"),
            _ => format!("\\{inner}"),
        });
    }
    made
}

/// Puts loose pieces one behind the other.
fn soup(numbers: &mut Numbers, corpus: &[&str]) -> String {
    let count = match numbers.below(40) {
        0 => 3000,
        1..4 => 300,
        _ => 30,
    };
    let mut made = String::new();
    for _ in 0..numbers.below(count) {
        match numbers.below(6) {
            0 => made.push_str(numbers.one_of(PROGRAMS)),
            1 => made.push_str(numbers.one_of(WORDS)),
            2 => made.push_str(numbers.pick(corpus).split(' ').next().unwrap_or_default()),
            3 => made.push(' '),
            _ => made.push_str(numbers.one_of(PIECES)),
        }
    }
    made
}

/// Repeats a command or a piece, which shows work that grows faster than the line.
fn repeated(numbers: &mut Numbers, corpus: &[&str]) -> String {
    let piece = match numbers.below(3) {
        0 => simple(numbers, 1),
        1 => numbers.pick(corpus).to_owned(),
        _ => format!("{}{}", numbers.one_of(PIECES), numbers.one_of(PROGRAMS)),
    };
    let piece = piece + numbers.pick(&OPERATORS);
    let count = numbers.below((1 << 16) / piece.len());
    let made = piece.repeat(count);
    match numbers.below(4) {
        0 => format!("( {made} ) | cat"),
        1 => format!("sh -c {}", quoted(&made)),
        2 => format!("echo \"$({made})\""),
        _ => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_lines_again() {
        let corpus = ["git status", "echo 'a b' | wc -l"];
        let make =
            |seed| -> Vec<String> { (0..200).map(|at| line(&mut Numbers::of(seed, at), &corpus)).collect() };
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
        let distinct: std::collections::BTreeSet<String> = make(1).into_iter().collect();
        assert!(distinct.len() > 150, "{}", distinct.len());
    }
}
