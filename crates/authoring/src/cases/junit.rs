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
        let failures = cases.iter().filter(|played| !played.outcome.differences.is_empty()).count();
        let skipped = cases.iter().filter(|played| played.outcome.came.skipped.is_some()).count();
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
    let differences = &played.outcome.differences;
    if let Some(why) = &played.outcome.came.skipped {
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

/// Escapes the characters with a meaning in XML, and those that it cannot contain.
fn xml(text: &str) -> String {
    let text = text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}").replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
