//! The schema of rules files, and the reader of rules.

use std::fs;
use std::path::{Path, PathBuf};

use hookbox::EventName;
use hookbox::rules::{ENDING, Rules};
use hookbox_system::toml_value;
use jsonschema::Validator;
use serde_json::json;

use super::{faults, validator};
use crate::environment::{TestEnvironment, repository};

const PAGE: &str = "docs/src/rules.md";

/// Returns the rules files below a directory of the repository.
fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        let is_ours = !name.starts_with('.') && !["target", "node_modules"].contains(&name.as_str());
        if entry.file_type().unwrap().is_dir() && is_ours {
            files(&path, found);
        } else if name.ends_with(ENDING) {
            found.push(path);
        }
    }
}

/// Returns the faults that the schema finds in a rules file.
fn wrong(text: &str) -> Vec<String> {
    faults("rules", None, &toml_value::json(text).unwrap_or_else(|why| panic!("{why}: {text}")))
}

#[test]
fn every_rules_file_and_example_of_the_page_fits_the_schema() {
    let mut found = Vec::new();
    files(&repository(), &mut found);
    let mut texts: Vec<String> = found.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(!texts.is_empty());
    let page = fs::read_to_string(repository().join(PAGE)).unwrap();
    let blocks = page.split("```toml\n").skip(1).map(|it| it.split("```").next().unwrap());
    texts.extend(blocks.filter(|it| it.contains("[[rule]]")).map(str::to_owned));
    assert!(texts.len() >= 4, "{}", texts.len());
    for text in texts {
        assert_eq!(wrong(&text), Vec::<String>::new(), "{text}");
        Rules::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let rule = "[[rule]]\nanswer = \"block\"\nreason = \"no\"\n";
    for lines in [
        "comand = \"git push\"",
        "unless = { paths = \"x\" }",
        "unless = {}",
        "unless = 5",
        "unless = []",
        "unless = { answer = \"block\", tool = \"x\" }",
        "kind = \"shel\"",
        "kind = []",
        "on_failure = \"block\"",
        "command = \"\"",
        "command = 5",
        "command = [\"a\", 5]",
        "unless = { command = \" \" }",
        "with = [\"-f\", \"\"]",
        "tool = \"\"",
        "path = \"\"",
        "field = { a = \"x\" }",
        "field = { \"/a\" = 5 }",
        "inside = \"yes\"",
        "count = { times = 1, within = \"1m\" }",
        "count = { times = 2 }",
        "count = { times = 2, within = \"2h\" }",
        "count = { times = 2, within = \"1m\", per = \"day\" }",
        "count = 2",
        "suggest = \"\"",
        "name = \" \"",
        "must_match = 5",
        "must_pass = []",
        "must_match = [\"x\", 5]",
    ] {
        let text = format!("{rule}{lines}\n");
        assert!(Rules::read(text.as_bytes()).is_err(), "the reader: {lines}");
        assert!(!wrong(&text).is_empty(), "the schema: {lines}");
    }
    for text in [
        String::new(),
        "rule = []".to_owned(),
        "rule = 5".to_owned(),
        "[[rule]]\nreason = \"no\"".to_owned(),
        "[[rule]]\nanswer = \"block\"".to_owned(),
        "[[rule]]\nanswer = \"deny\"\nreason = \"no\"".to_owned(),
        format!("on_failure = \"blok\"\n{rule}"),
        format!("priority = \"high\"\n{rule}"),
        format!("priority = 5000000000\n{rule}"),
        format!("description = 5\n{rule}"),
        format!("event = \"before_tool_cal\"\n{rule}"),
        format!("x = 1\n{rule}"),
        format!("[[rules]]\n{rule}"),
        rule.repeat(257),
    ] {
        assert!(Rules::read(text.as_bytes()).is_err(), "the reader: {text}");
        assert!(!wrong(&text).is_empty(), "the schema: {text}");
    }
}

#[test]
fn the_schema_takes_every_key_that_the_reader_takes() {
    let rule = "answer = \"warn\"\nreason = \"no\"\n";
    for text in [
        format!("[rule]\n{rule}"),
        format!(
            "event = \"PreToolUse\"\npriority = -3\non_failure = \"pass\"\ndescription = \"\"\n[[rule]]\n{rule}"
        ),
        format!("[[rule]]\n{rule}name = \"n\"\nsuggest = \"s\"\nkind = [\"shell\", \"mcp\"]\ntool = \"*\"\n"),
        format!("[[rule]]\n{rule}path = [\"a\"]\ninside = true\nfield = {{ \"/a\" = 'b', \"/c\" = '' }}\n"),
        format!("[[rule]]\n{rule}count = {{ times = 2, within = \"90 s\", per = \"all\" }}\n"),
        format!("[[rule]]\n{rule}unless = [{{ command = \"a *\", with = \"-b\" }}, {{ inside = false }}]\n"),
        format!(
            "[[rule]]\n{rule}command = \"a\"\nmust_match = [\"a\", {{ input = {{ command = \"a\" }} }}]\n"
        ),
    ] {
        Rules::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(wrong(&text), Vec::<String>::new(), "{text}");
    }
}

/// Checks that the schema takes a file just if the reader does.
#[track_caller]
fn agree(validator: &Validator, text: &str) {
    let read = Rules::read(text.as_bytes());
    assert_eq!(validator.is_valid(&toml_value::json(text).unwrap()), read.is_ok(), "{read:?}: {text}");
}

#[test]
fn the_schema_knows_each_event_with_its_answers_and_conditions() {
    let validator = validator("rules", None);
    let schema = hookbox::dialect::schema::Schema::named("rules").unwrap().document();
    let names = schema["properties"]["event"]["enum"].as_array().unwrap();
    let own = EventName::ALL.iter().flat_map(|it| [Some(it.as_str()), it.base_coat()]).flatten();
    for name in own.map(|it| json!(it)) {
        assert!(names.contains(&name), "{name}");
    }
    for name in names {
        for answer in ["block", "ask", "warn", "inject"] {
            let rule = format!("event = {name}\n[[rule]]\nanswer = \"{answer}\"\nreason = \"no\"\n");
            agree(&validator, &rule);
        }
        let rule = format!("event = {name}\n[[rule]]\nanswer = \"warn\"\nreason = \"no\"\n");
        for condition in ["command = \"a\"", "unless = { tool = \"a\" }", "unless = [{ inside = true }]"] {
            agree(&validator, &format!("{rule}{condition}\n"));
        }
    }
}

#[test]
fn the_program_checks_a_rules_file() {
    let env = TestEnvironment::new();
    let rule = "[[rule]]\nanswer = \"block\"\nreason = \"no\"\n";
    for (lines, code, printed) in [
        ("command = \"a\"\n", 0, ""),
        ("comand = \"a\"\n", 1, "/rule/0: "),
        ("command = \"a\"\nmust_match = \"b\"\n", 1, "line 5: \"rule 1\" does not match \"b\" of must_match"),
        ("command = [\n", 1, "(whole): not TOML: "),
    ] {
        env.file("repo/x.rules.toml", format!("{rule}{lines}"));
        let output = env.hookbox(["schema", "rules", "--check", "x.rules.toml"]);
        assert_eq!(output.code, Some(code), "{output:#?}");
        assert!(output.stdout.starts_with(printed), "{output:#?}");
    }
}
