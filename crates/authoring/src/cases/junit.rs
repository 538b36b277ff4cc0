//! The results as a JUnit file, as the schemas of Ant and of Jenkins have it.

use std::time::Duration;

use hookbox::{escape, escape_lines};

use super::player::Played;

/// The longest text in a file, in bytes.
const MAX_TEXT: usize = 64 << 10;

/// Returns the results as JUnit's XML: a suite for each file.
pub fn junit(played: &[Played]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S").to_string();
    for (id, cases) in played.chunk_by(|a, b| a.file == b.file).enumerate() {
        let Some(first) = cases.first() else { continue };
        let failures = cases.iter().filter(|played| !played.differences.is_empty()).count();
        let skipped = cases.iter().filter(|played| played.came.skipped.is_some()).count();
        let time = seconds(cases.iter().map(|played| played.duration).sum());
        let file = attribute(&first.file.to_string_lossy());
        xml.push_str(&format!(
            "  <testsuite name={file} package={file} id=\"{id}\" timestamp=\"{now}\" hostname=\"localhost\" \
             tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{time}\">\n    <properties/>\n",
            cases.len()
        ));
        cases.iter().for_each(|played| xml.push_str(&case(played)));
        xml.push_str("    <system-out/>\n    <system-err/>\n  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn case(played: &Played) -> String {
    let (name, time) = (attribute(&played.case.name), seconds(played.duration));
    let hook = attribute(&played.hook.file_name().unwrap_or_default().to_string_lossy());
    let start = format!("    <testcase name={name} classname={hook} time=\"{time}\"");
    let differences = &played.differences;
    if let Some(why) = &played.came.skipped {
        let why = attribute(why);
        return format!("{start}>\n      <skipped message={why}/>\n    </testcase>\n");
    }
    if differences.is_empty() {
        return format!("{start}/>\n");
    }
    let what: Vec<String> = differences.iter().map(super::Difference::what).collect();
    let mut text = String::new();
    for difference in differences {
        text.push_str(&format!("{}\n", difference.what()));
        difference.lines().iter().for_each(|(sign, line)| text.push_str(&format!("{sign} {line}\n")));
    }
    let (message, text) = (attribute(&what.join(", ")), xml(&escape_lines(&text, MAX_TEXT)));
    format!(
        "{start}>\n      <failure type=\"difference\" message={message}>{text}</failure>\n    </testcase>\n"
    )
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Returns a value of an attribute, in quotes.
fn attribute(text: &str) -> String {
    format!("\"{}\"", xml(&escape(text, MAX_TEXT)))
}

/// Escapes the characters with a meaning in XML, and replaces those that XML 1.0 cannot contain.
fn xml(text: &str) -> String {
    let text = text.replace(|c| !is_allowed(c), "\u{fffd}").replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns true for the characters of XML 1.0.
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::case::Came;
    use super::super::compare::Difference;
    use super::super::read::parse;
    use super::*;

    const ODD: &str = "a\u{0}\u{1}\u{8}\u{b}\u{1b}[31m\r\n\t\u{7f}\u{85}\u{202e}\u{fffe}\u{ffff}\u{1f600}<b>&amp;\"']]><![CDATA[ -->";

    fn played(name: &str, came: Came, differences: Vec<Difference>) -> Played {
        let (_, mut cases) = parse("[[case]]\nname = 'x'\ncommand = 'ls'\n").unwrap();
        let mut case = cases.remove(0);
        name.clone_into(&mut case.name);
        let (file, hook) = (format!("cases/{ODD}.toml").into(), format!("/{ODD}").into());
        Played { file, position: 0, hook, case, came, differences, duration: Duration::from_millis(1) }
    }

    fn difference(expected: &str, came: &str) -> Difference {
        let (expected, came) = (json!(expected), json!(came));
        Difference { key: "files".to_owned(), name: Some(ODD.to_owned()), expected, came, is_writable: true }
    }

    /// Checks that a text is well-formed XML, as far as this module writes it, and returns its elements.
    fn elements(xml: &str) -> Vec<String> {
        assert!(xml.chars().all(is_allowed), "a character is not allowed");
        let (mut open, mut names) = (Vec::new(), Vec::new());
        let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").unwrap();
        while let Some((text, from)) = rest.split_once('<') {
            check_references(text);
            let (tag, after) = from.split_once('>').unwrap();
            rest = after;
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "{tag}");
                continue;
            }
            let name = tag.split([' ', '/']).next().unwrap();
            assert!(
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
                "{tag}"
            );
            names.push(name.to_owned());
            if !tag.ends_with('/') {
                open.push(name.to_owned());
            }
            check_references(tag);
            // In quotes: every second piece.
            let outside: String = tag.split('"').step_by(2).collect();
            assert!(tag.matches('"').count() % 2 == 0 && !outside.contains('&'), "{tag}");
        }
        assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest:?}");
        names
    }

    fn check_references(text: &str) {
        assert!(!text.contains("]]>") && !text.contains('>'), "{text}");
        for reference in text.split('&').skip(1) {
            let name = reference.split(';').next().unwrap();
            assert!(["amp", "lt", "gt", "quot"].contains(&name), "{name}");
        }
    }

    #[test]
    fn odd_names_and_texts_are_valid_xml() {
        let skipped = Came { skipped: Some(ODD.to_owned()), ..Came::default() };
        let all = [
            played(ODD, Came::default(), Vec::new()),
            played(ODD, Came::default(), vec![difference(ODD, "]]>"), difference("", ODD)]),
            played(ODD, skipped, Vec::new()),
        ];
        let names = elements(&junit(&all));
        let count = |wanted: &str| names.iter().filter(|name| *name == wanted).count();
        assert_eq!((count("testsuite"), count("testcase"), count("failure"), count("skipped")), (1, 3, 1, 1));
    }

    #[test]
    fn a_megabyte_of_output_is_cut() {
        let long = "]]>&<\u{1}\"x\n".repeat(100_000);
        let xml = junit(&[played(&long, Came::default(), vec![difference("short", &long)])]);
        assert_eq!(elements(&xml).len(), 7);
        // Each text is cut before a character of it becomes at most six.
        assert!(xml.len() < 20 * MAX_TEXT, "{}", xml.len());
    }

    #[test]
    fn characters_that_xml_cannot_contain_are_replaced() {
        for (text, want) in
            [("a\u{1}b", "a\u{fffd}b"), ("\u{ffff}", "\u{fffd}"), ("a\t\n", "a\t\n"), ("]]>", "]]&gt;")]
        {
            assert_eq!(xml(text), want);
        }
    }
}
