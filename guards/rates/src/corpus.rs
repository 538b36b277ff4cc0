//! Reads labelled lines.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// The answer that a line should get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// The guards must stop or mark it.
    Danger,
    /// The guards must let it pass.
    Safe,
}

/// A labelled command, or the labelled output of a tool.
#[derive(Debug)]
pub(crate) struct Line {
    /// The name of the file, without its ending.
    pub(crate) category: String,
    /// The name of the tool.
    pub(crate) tool: String,
    /// The command, or the output.
    pub(crate) text: String,
    /// True if it is the output of a tool.
    pub(crate) is_output: bool,
    /// The answer that it should get.
    pub(crate) label: Label,
}

/// A line as it is written.
#[derive(Debug, Deserialize)]
struct Written {
    command: Option<String>,
    output: Option<String>,
    tool: Option<String>,
    label: String,
}

/// Reads every `.jsonl` file of a directory, in the order of their names. Lines without a clear answer are left out.
pub(crate) fn read(dir: &Path) -> Result<Vec<Line>, String> {
    let fail = |error: std::io::Error| format!("cannot read {}: {error}", dir.display());
    let entries = fs::read_dir(dir).map_err(fail)?;
    let entries = entries.collect::<Result<Vec<_>, _>>().map_err(fail)?;
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    let mut lines = Vec::new();
    for file in files {
        let text =
            fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let category = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for (at, line) in text.lines().enumerate() {
            let parsed = parse(&category, line);
            lines.extend(parsed.map_err(|error| format!("{}:{}: {error}", file.display(), at + 1))?);
        }
    }
    if lines.is_empty() {
        return Err(format!("{} has no labelled lines", dir.display()));
    }
    Ok(lines)
}

fn parse(category: &str, line: &str) -> Result<Option<Line>, String> {
    let written: Written = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let label = match written.label.as_str() {
        "deny" | "attack" | "mark" => Label::Danger,
        "pass" | "allow" | "approve" | "real" | "harmless" => Label::Safe,
        // Not known to be safe is not the same as dangerous.
        "ask" => return Ok(None),
        other => return Err(format!("unknown label {other:?}")),
    };
    let is_output = written.output.is_some();
    let text = written.command.or(written.output).ok_or("expected a key `command` or `output`")?;
    let tool = written.tool.unwrap_or_else(|| "bash".to_owned());
    Ok(Some(Line { category: category.to_owned(), tool, text, is_output, label }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn ours() -> Vec<Line> {
        read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")).unwrap()
    }

    #[test]
    fn the_corpus_has_enough_lines_and_none_twice() {
        let (lines, mut seen) = (ours(), BTreeSet::new());
        for line in &lines {
            assert!(!line.text.trim().is_empty());
            assert!(seen.insert(&line.text), "twice: {:?}", line.text);
        }
        for (is_output, label, least) in [
            (false, Label::Danger, 900),
            (false, Label::Safe, 1600),
            (true, Label::Danger, 70),
            (true, Label::Safe, 140),
        ] {
            let found = lines.iter().filter(|it| it.is_output == is_output && it.label == label).count();
            assert!(found >= least, "{label:?}: {found} of {least}");
        }
    }

    #[test]
    fn each_line_of_the_corpus_has_its_keys_and_names_its_file() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|it| it != "jsonl") {
                continue;
            }
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            for line in fs::read_to_string(&path).unwrap().lines() {
                let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
                let keys: Vec<&str> = object.keys().map(String::as_str).collect();
                if stem == "injection" {
                    assert_eq!(keys, ["output", "tool", "label"], "{line}");
                    assert!(matches!(object["label"].as_str(), Some("mark" | "pass")), "{line}");
                } else {
                    assert_eq!(keys, ["command", "label", "category"], "{line}");
                    assert_eq!(object["category"], stem.as_str(), "{line}");
                    assert!(matches!(object["label"].as_str(), Some("deny" | "pass")), "{line}");
                }
            }
        }
    }

    #[test]
    fn labels_of_other_corpora_are_understood() {
        for (label, expected) in [
            ("deny", Some(Label::Danger)),
            ("attack", Some(Label::Danger)),
            ("mark", Some(Label::Danger)),
            ("pass", Some(Label::Safe)),
            ("allow", Some(Label::Safe)),
            ("approve", Some(Label::Safe)),
            ("real", Some(Label::Safe)),
            ("harmless", Some(Label::Safe)),
            ("ask", None),
        ] {
            let line = format!(r#"{{"command": "ls", "label": "{label}"}}"#);
            assert_eq!(parse("x", &line).unwrap().map(|it| it.label), expected, "{label}");
        }
        for broken in [r#"{"command": "ls", "label": "maybe"}"#, r#"{"label": "deny"}"#, "ls"] {
            assert!(parse("x", broken).is_err(), "{broken}");
        }
    }
}
