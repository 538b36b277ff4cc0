//! Install and uninstall on texts, whatever they look like.

use serde_json::Value;

use super::desired::{DesiredEntry, InstallOptions, desired_entries, usual_events};
use super::edit_file::FileFormat;
use crate::agent::Agent;
use crate::config::{DocumentError, Level, Surroundings, file, json_value, read};

fn of_user(agent: Agent) -> FileFormat {
    FileFormat::new(agent, Level::User)
}

fn merge(agent: Agent, bytes: &[u8], desired: &[DesiredEntry]) -> Result<Vec<u8>, DocumentError> {
    of_user(agent).merge(bytes, desired)
}

fn events(agent: Agent, bytes: &[u8]) -> Vec<String> {
    of_user(agent).events(bytes)
}

fn has_ours(agent: Agent, bytes: &[u8]) -> bool {
    !events(agent, bytes).is_empty()
}

/// The agents that have a JSON file of commands in a project.
fn agents() -> impl Iterator<Item = Agent> {
    let here = Surroundings::new("/srv/shop");
    Agent::ALL
        .into_iter()
        .filter(move |agent| !agent.spec().config.is_toml && file(*agent, Level::Project, &here).is_some())
}

fn installed(agent: Agent, text: &str) -> String {
    let desired = desired_entries(agent, &InstallOptions::new("/usr/bin/hookbox")).unwrap();
    let bytes = merge(agent, text.as_bytes(), &desired).unwrap_or_else(|error| panic!("{error}: {text}"));
    String::from_utf8(bytes).unwrap()
}

fn removed(agent: Agent, text: &str) -> String {
    let left = of_user(agent).remove(text.as_bytes(), None);
    String::from_utf8(left.unwrap_or_else(|error| panic!("{error}: {text}"))).unwrap()
}

/// The text without its blanks, and without a comma after a last value.
fn solid(text: &str) -> String {
    let text: String = text.chars().filter(|it| !it.is_whitespace()).collect();
    text.replace(",}", "}").replace(",]", "]")
}

#[test]
fn a_new_file_holds_an_entry_for_every_usual_event_of_the_agent() {
    for agent in agents() {
        let text = installed(agent, "");
        let found = read(agent, text.as_bytes()).unwrap();
        assert!(found.problems.is_empty() && found.switches.is_empty(), "{agent}: {found:?}");
        let names: Vec<_> = found.entries.iter().map(|it| it.event.as_str()).collect();
        let want: Vec<_> = usual_events(agent).map(|it| it.name).collect();
        assert_eq!(names, want, "{agent}");
        assert!(found.entries.iter().all(crate::config::Entry::is_for_every_tool));
        assert_eq!(events(agent, text.as_bytes()), want);
        let value: Value = serde_json::from_str(&text).unwrap();
        let form = &agent.spec().config.entry;
        assert_eq!(value.get("version").is_some(), form.has_version || form.is_list);
        let left = removed(agent, &text);
        assert!(of_user(agent).is_bare(left.as_bytes()), "{agent}: {left:?}");
    }
}

#[test]
fn the_entries_look_as_each_agent_wants_them() {
    let first = |agent: Agent, event: &str| {
        let options = InstallOptions {
            events: vec![event.to_owned()],
            is_strict: true,
            ..InstallOptions::new("/opt/my box/hookbox")
        };
        let bytes = merge(agent, b"", &desired_entries(agent, &options).unwrap()).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    assert_eq!(
        first(Agent::Gemini, "AfterTool"),
        r#"{
  "hooks": {
    "AfterTool": [
      {
        "hooks": [
          {
            "type": "command",
            "name": "hookbox",
            "command": "'/opt/my box/hookbox' bridge gemini --event AfterTool --deadline 15s",
            "timeout": 30000
          }
        ]
      }
    ]
  }
}
"#
    );
    assert_eq!(
        first(Agent::Cursor, "preToolUse"),
        r#"{
  "version": 1,
  "hooks": {
    "preToolUse": [
      {
        "command": "'/opt/my box/hookbox' bridge cursor --event preToolUse --deadline 15s",
        "timeout": 30,
        "failClosed": true
      }
    ]
  }
}
"#
    );
    let copilot = first(Agent::Copilot, "PreToolUse");
    assert!(
        copilot.contains("\"bash\": \"'/opt/my box/hookbox' bridge copilot --event PreToolUse"),
        "{copilot}"
    );
    assert!(copilot.contains("\"timeoutSec\": 30") && copilot.contains("exit 2"), "{copilot}");
}

#[test]
fn other_entries_keep_their_places_and_ours_come_last() {
    let text = r#"{
    "model": "opus", 
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}
        ],
        "Unheard": [1, 2]
    },

    "last": true
}"#;
    let with = installed(Agent::Claude, text);
    let entries = read(Agent::Claude, with.as_bytes()).unwrap().entries;
    assert_eq!((entries[0].command.as_str(), entries[0].position), ("mine", (0, 0)));
    assert_eq!((entries[1].event.as_str(), entries[1].position), ("PreToolUse", (1, 0)));
    assert!(
        with.starts_with("{\n    \"model\": \"opus\", \n") && with.ends_with("},\n\n    \"last\": true\n}")
    );
    assert_eq!(removed(Agent::Claude, &with), text);
}

#[test]
fn a_file_in_lines_that_was_edited_since_comes_back_byte_for_byte_but_for_the_edit() {
    for (agent, text) in [
        (
            Agent::Claude,
            "{\r\n    \"model\":\"opus\", \r\n    \"hooks\": {\r\n        \"PreToolUse\": [\r\n            {\"matcher\": \"Bash\", \"hooks\": []}\r\n        ]\r\n    }\r\n}",
        ),
        (
            Agent::Gemini,
            "// mine\n{\n\t\"model\": \"opus\", // the best\n\n\t/* none */\n\t\"hooks\": {\n\t\t\"BeforeTool\": [\n\t\t\t{} // odd\n\t\t]\n\t},\n\t\"last\": [1, 2]\n}\n",
        ),
        (
            Agent::Codex,
            "{\n  \"description\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      5\n    ]\n  }\n}\n",
        ),
        (Agent::Qwen, "{\n  \"model\": \"opus\"\n}\n"),
    ] {
        let edited = installed(agent, text).replace("opus", "haiku");
        assert_eq!(removed(agent, &edited), text.replace("opus", "haiku"), "{agent}");
    }
}

#[test]
fn installing_again_changes_no_byte_and_other_options_change_ours_in_place() {
    for agent in agents() {
        let once = installed(agent, "{\n\t\"a\": 1\n}");
        assert_eq!(installed(agent, &once), once, "{agent}");
        let options = InstallOptions {
            is_strict: true,
            deadline: std::time::Duration::from_secs(5),
            ..InstallOptions::new("/opt/hookbox")
        };
        let strict = merge(agent, once.as_bytes(), &desired_entries(agent, &options).unwrap()).unwrap();
        let fresh = merge(agent, b"{\n\t\"a\": 1\n}", &desired_entries(agent, &options).unwrap()).unwrap();
        assert_eq!(String::from_utf8(strict.clone()).unwrap(), String::from_utf8(fresh).unwrap(), "{agent}");
        let back = String::from_utf8(strict).unwrap();
        assert_eq!(installed(agent, &back), once, "{agent}");
    }
}

#[test]
fn what_was_added_to_our_entry_by_hand_stays_in_it() {
    let text = installed(Agent::Claude, "")
        .replace("\"timeout\": 30", "\"statusMessage\": \"guard\",\n            \"timeout\": 99");
    let again = installed(Agent::Claude, &text);
    assert_eq!(again, text.replace("99", "30"));
    let old =
        r#"{"version": 1, "hooks": {"PreToolUse": [{"command": "hookbox bridge copilot", "timeout": 3}]}}"#;
    let found = read(Agent::Copilot, installed(Agent::Copilot, old).as_bytes()).unwrap();
    let of_tool: Vec<_> = found.entries.iter().filter(|it| it.event == "PreToolUse").collect();
    assert_eq!((of_tool.len(), of_tool[0].timeout.as_secs()), (1, 30));
}

#[test]
fn fewer_events_take_the_others_out_and_doubles_become_one() {
    let all = installed(Agent::Codex, "");
    let options =
        InstallOptions { events: vec!["PreToolUse".into()], ..InstallOptions::new("/usr/bin/hookbox") };
    let few = merge(Agent::Codex, all.as_bytes(), &desired_entries(Agent::Codex, &options).unwrap()).unwrap();
    assert_eq!(events(Agent::Codex, &few), ["PreToolUse"]);
    let group = r#"{"hooks": [{"type": "command", "command": "hookbox bridge codex --event PreToolUse"}]}"#;
    let doubled = format!(r#"{{"hooks": {{"PreToolUse": [{group}, {{"hooks": []}}, {group}]}}}}"#);
    let one =
        merge(Agent::Codex, doubled.as_bytes(), &desired_entries(Agent::Codex, &options).unwrap()).unwrap();
    assert_eq!(read(Agent::Codex, &one).unwrap().entries.len(), 1);
}

#[test]
fn containers_that_are_empty_without_our_entries_go_with_them() {
    for (text, want) in [
        ("{\"hooks\": {\"Stop\": [], \"Unheard\": []}}", "{\"hooks\":{\"Unheard\":[]}}"),
        ("{\"hooks\": {\"Stop\": []}, \"a\": {}}", "{\"a\":{}}"),
        ("{\"hooks\": {}}", "{}"),
        ("{\"hooks\": {\"Stop\": [{\"hooks\": []}]}}", "{\"hooks\":{\"Stop\":[{\"hooks\":[]}]}}"),
    ] {
        assert_eq!(solid(&removed(Agent::Claude, &installed(Agent::Claude, text))), want, "{text}");
        assert_eq!(removed(Agent::Claude, text), text);
    }
}

#[test]
fn an_entry_of_ours_that_somebody_limited_is_made_anew() {
    let options =
        InstallOptions { events: vec!["PreToolUse".into()], ..InstallOptions::new("/usr/bin/hookbox") };
    let desired = desired_entries(Agent::Claude, &options).unwrap();
    let merged =
        |text: &str| String::from_utf8(merge(Agent::Claude, text.as_bytes(), &desired).unwrap()).unwrap();
    let right = merged("");
    let whole = right.split_whitespace().collect::<String>();
    for (from, to, stays) in [
        ("\"hooks\": [\n", "\"matcher\": \"Edit\", \"hooks\": [\n", false),
        ("\"hooks\": [\n", "\"matcher\": \"*\", \"hooks\": [\n", true),
        ("\"type\": \"command\"", "\"type\": \"prompt\"", false),
        ("\"type\": \"command\"", "\"type\": \"command\", \"async\": true", false),
        ("\"type\": \"command\"", "\"type\": \"command\", \"async\": false", true),
        ("\"type\": \"command\"", "\"type\": \"command\", \"if\": \"Bash(ls)\"", false),
        ("\"type\": \"command\"", "\"type\": \"command\", \"once\": true", false),
        ("\"type\": \"command\"", "\"type\": \"command\", \"enabled\": false", false),
    ] {
        let edited = right.replacen(from, to, 1);
        assert_ne!(edited, right, "{from}");
        let again = merged(&edited);
        if stays {
            assert_eq!(again, edited);
        } else {
            assert_eq!(again.split_whitespace().collect::<String>(), whole, "{edited}");
        }
    }
}

#[test]
fn a_command_line_that_is_not_known_again_is_never_written() {
    let mut desired = desired_entries(Agent::Claude, &InstallOptions::new("hookbox")).unwrap();
    desired[0].says.insert("command".to_owned(), "other bridge claude".into());
    let error = merge(Agent::Claude, b"{}", &desired).unwrap_err();
    assert!(error.what.contains("knows again"), "{error}");
}

#[test]
fn what_somebody_wrote_around_hookbox_is_not_touched() {
    let text = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "X=1 hookbox bridge claude | tee log"}]}]}}"#;
    assert!(!has_ours(Agent::Claude, text.as_bytes()));
    let configuration = read(Agent::Claude, text.as_bytes()).unwrap();
    assert_eq!(of_user(Agent::Claude).calls(&configuration, |is_ours| !is_ours), 1);
    assert_eq!(solid(&removed(Agent::Claude, &installed(Agent::Claude, text))), solid(text));
}

#[test]
fn a_file_that_means_two_things_is_left_alone() {
    let desired = desired_entries(Agent::Claude, &InstallOptions::new("hookbox")).unwrap();
    for (text, want) in [
        ("{\"hooks\": {}, \"hooks\": {}}", "line 1, column 15: expected \"hooks\" once"),
        ("{\"hooks\":\n {\"Stop\": [], \"Stop\": []}}", "line 2, column 15: expected \"Stop\" once"),
        ("{\"hooks\": []}", "line 1, column 11: expected an object for \"hooks\", found an array"),
        ("{\"hooks\": {\"Stop\": {}}}", "line 1, column 20: expected a list for \"Stop\", found an object"),
        ("[]", "expected an object"),
        ("{", "line 1"),
        ("{\"a\": 1} // mine", "line 1, column 10"),
    ] {
        let error = merge(Agent::Claude, text.as_bytes(), &desired).unwrap_err();
        assert!(error.what.contains(want), "{text}: {error}");
        assert!(!error.hint.is_empty());
    }
}

#[test]
fn a_comment_that_somebody_put_beside_our_entry_survives_it() {
    let with = installed(Agent::Gemini, "{}\n");
    let edited = with.replacen("\"BeforeTool\": [", "\"BeforeTool\": [ // why: see the wiki", 1);
    let left = removed(Agent::Gemini, &edited);
    let is_bare = of_user(Agent::Gemini).is_bare(left.as_bytes());
    assert!(
        left.contains("// why: see the wiki") && !is_bare && !has_ours(Agent::Gemini, left.as_bytes()),
        "{left}"
    );
    assert!(read(Agent::Gemini, left.as_bytes()).unwrap().entries.is_empty());
}

#[test]
fn entries_that_somebody_added_beside_ours_survive_them() {
    for agent in [Agent::Claude, Agent::Gemini] {
        let event = usual_events(agent).next().unwrap().name;
        for before in ["{}", "", "{\"a\":1}", "{\n  \"hooks\": {}\n}\n"] {
            let with = installed(agent, before);
            let theirs = "{\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}";
            for edited in [
                with.replacen(&format!("\"{event}\": ["), &format!("\"{event}\": [{theirs},"), 1),
                with.replacen(&format!("\"{event}\":["), &format!("\"{event}\":[{theirs},"), 1),
            ] {
                if edited == with {
                    continue;
                }
                let left = removed(agent, &edited);
                let found = read(agent, left.as_bytes()).unwrap();
                assert_eq!((found.entries.len(), found.problems.len()), (1, 0), "{left}");
                assert_eq!(found.entries[0].command, "theirs");
            }
        }
    }
}

/// Numbers that look random, and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

/// A configuration as people, programs and nobody would write it.
struct Writer {
    random: Random,
    agent: Agent,
    names: u64,
    is_flat: bool,
    newline: &'static str,
}

impl Writer {
    fn new(seed: u64, agent: Agent) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.below(2);
        }
        let is_flat = random.below(5) == 0;
        let newline = if random.below(4) == 0 { "\r\n" } else { "\n" };
        Self { random, agent, names: 0, is_flat, newline }
    }

    fn gap(&mut self, level: usize) -> String {
        if self.is_flat {
            return self.random.one(&["", "", " "]).to_owned();
        }
        let line = format!("{}{}", self.newline, self.random.one(&["\t", "  ", "    "]).repeat(level));
        let mut gap = match self.random.below(8) {
            0 => String::new(),
            1 => " ".to_owned(),
            2 => format!("{}{line}", self.newline),
            _ => line.clone(),
        };
        if self.agent.spec().config.reads_comments {
            match self.random.below(12) {
                0 => gap = format!(" // a \" [ {{ , comment{line}"),
                1 => gap.push_str("/* , ] } \" */ "),
                2 => gap = format!(" /* two{}lines */{line}", self.newline),
                _ => {}
            }
        }
        gap
    }

    fn container(&mut self, brackets: [&str; 2], items: Vec<String>, level: usize) -> String {
        let mut out = brackets[0].to_owned();
        let count = items.len();
        for (at, item) in items.into_iter().enumerate() {
            out.push_str(&self.gap(level + 1));
            out.push_str(&item);
            if at + 1 < count {
                out.push_str(if self.random.below(9) == 0 { " ," } else { "," });
            } else if self.agent.spec().config.reads_comments && self.random.below(4) == 0 {
                out.push_str(self.random.one(&[",", " ,"]));
            }
        }
        out.push_str(&self.gap(level));
        out + brackets[1]
    }

    fn member(&mut self, name: &str, value: &str) -> String {
        format!("\"{name}\"{}{value}", self.random.one(&[":", ": ", ": ", " : "]))
    }

    fn scalar(&mut self) -> String {
        self.names += 1;
        match self.random.below(3) {
            0 => format!("\"@{}@\"", self.names),
            1 => self.random.one(&["1", "-2.50e3", "true", "null", "\"\\\" // \\u00e9 \\\\\""]).to_owned(),
            _ => self.random.one(&["{}", "[]", "[ ]", "\"{\""]).to_owned(),
        }
    }

    fn entry(&mut self, level: usize) -> String {
        let command = self.agent.spec().config.entry.command();
        let items = vec![self.member("type", "\"command\""), self.member(command, "\"other // hookbox\"")];
        let entry = self.container(["{", "}"], items, level + 3);
        if !self.agent.spec().config.entry.is_grouped() {
            return entry;
        }
        let list = self.container(["[", "]"], vec![entry], level + 2);
        let mut items = vec![self.member("hooks", &list)];
        if self.random.below(2) == 0 {
            items.insert(0, self.member("matcher", "\"Bash\""));
        }
        self.container(["{", "}"], items, level + 1)
    }

    fn hooks(&mut self) -> String {
        let names: Vec<&str> = usual_events(self.agent).map(|it| it.name).chain(["Unheard"]).collect();
        let mut items = Vec::new();
        for name in names {
            if self.random.below(6) == 0 {
                let count = self.random.below(3);
                let entries = (0..count).map(|_| self.entry(3)).collect();
                let list = self.container(["[", "]"], entries, 2);
                items.push(self.member(name, &list));
            }
        }
        self.container(["{", "}"], items, 1)
    }

    fn document(&mut self) -> String {
        let mut items = Vec::new();
        if self.random.below(2) == 0 {
            items.push(self.member("version", "1"));
        }
        for _ in 0..self.random.below(4) {
            let value = self.scalar();
            let name = format!("key {}", self.names);
            items.push(self.member(&name, &value));
        }
        if self.random.below(3) != 0 {
            let hooks = self.hooks();
            let at = usize::try_from(self.random.below(items.len() as u64 + 1)).unwrap();
            items.insert(at, self.member("hooks", &hooks));
        }
        let mark = self.random.one(&["", "", "\u{feff}"]);
        let root = self.container(["{", "}"], items, 0);
        let lead = if self.agent.spec().config.reads_comments {
            self.random.one(&["", "// mine\n", "\n"])
        } else {
            ""
        };
        format!("{mark}{lead}{root}{}", self.random.one(&["", "\n", "\n\n", " \r\n"]))
    }
}

/// Returns the meaning of a document: its value without empty lists of hooks and without the version.
fn meaning(agent: Agent, text: &str) -> Value {
    let mut value = json_value(text.as_bytes());
    let Some(root) = value.as_object_mut() else { return value };
    if agent.spec().config.entry.has_version {
        root.shift_remove("version");
    }
    if let Some(hooks) = root.get_mut("hooks").and_then(Value::as_object_mut) {
        hooks.retain(|_, list| list.as_array().is_none_or(|it| !it.is_empty()));
        if hooks.is_empty() {
            root.shift_remove("hooks");
        }
    }
    value
}

/// Asserts that the texts are equal in meaning, and also in everything but blanks if that is all that they say.
#[track_caller]
fn assert_alike(agent: Agent, left: &str, text: &str) {
    let meaning_of = |text: &str| meaning(agent, text);
    assert_eq!(meaning_of(left), meaning_of(text), "{agent}\n--- left\n{left}\n--- text\n{text}");
    if json_value(text.as_bytes()) == meaning_of(text) && !agent.spec().config.entry.has_version {
        assert_eq!(solid(left), solid(text), "{agent}\n--- left\n{left}\n--- text\n{text}");
    }
}

#[test]
fn install_then_uninstall_keeps_the_meaning_of_any_document_also_when_it_was_edited_between() {
    // The documents here have objects of events.
    for agent in agents().filter(|agent| !agent.spec().config.entry.is_list) {
        for seed in 1..60 {
            let text = Writer::new(seed, agent).document();
            let with = installed(agent, &text);
            let shown = || format!("{agent} {seed}\n--- before\n{text}\n--- installed\n{with}\n---");
            assert_eq!(installed(agent, &with), with, "again: {}", shown());
            let (before, after) =
                (read(agent, text.as_bytes()).unwrap(), read(agent, with.as_bytes()).unwrap());
            let ours = usual_events(agent).count();
            assert_eq!(after.entries.len(), before.entries.len() + ours, "{}", shown());
            let others: Vec<_> =
                after.entries.iter().filter(|it| !super::is_ours(agent, &it.command)).cloned().collect();
            assert_eq!(others, before.entries, "{}", shown());

            assert_alike(agent, &removed(agent, &with), &text);
            let edit = |text: &str| {
                let mut text = text.to_owned();
                for (at, new) in ["{\"x\":\n[1]}", "1, \"more\": [ ]", "\"longer\"", "7"].iter().enumerate() {
                    text = text.replace(&format!("\"@{}@\"", at + 1), new);
                }
                text + "\n"
            };
            let left = removed(agent, &edit(&with));
            assert!(!has_ours(agent, left.as_bytes()), "{}", shown());
            assert_eq!(read(agent, left.as_bytes()).unwrap().entries, before.entries, "{}", shown());
            assert_alike(agent, &left, &edit(&text));
        }
    }
}

#[test]
fn the_systems_file_also_sets_the_switches_and_gives_them_back() {
    let set = |agent: Agent, text: &str| {
        let desired = desired_entries(agent, &InstallOptions::new("/usr/bin/hookbox")).unwrap();
        let format = FileFormat::new(agent, Level::System);
        let merged = format.merge(text.as_bytes(), &desired).unwrap();
        assert_eq!(format.merge(&merged, &desired).unwrap(), merged, "{agent}");
        (format, merged)
    };
    for (agent, text, want) in [
        (Agent::Claude, "{}", ["null", "null"]),
        (Agent::Gemini, "{}", ["null", "true"]),
        (Agent::Qwen, "{\"a\": 1}", ["false", "true"]),
        (Agent::Qwen, "{\"disableAllHooks\": false, \"hooksConfig\": {\"x\": 1}}", ["false", "true"]),
        // The administrator has the last word; `install` warns of it.
        (Agent::Qwen, "{\"disableAllHooks\": true, \"hooksConfig\": 5}", ["true", "null"]),
    ] {
        let (format, merged) = set(agent, text);
        let value: Value = serde_json::from_slice(&merged).unwrap();
        let found = [&value["disableAllHooks"], &value["hooksConfig"]["enabled"]].map(Value::to_string);
        assert_eq!(found, want, "{agent} {text}");
        let left = String::from_utf8(format.remove(&merged, Some(text.as_bytes())).unwrap()).unwrap();
        assert_eq!(solid(&left), solid(text), "{agent}");
    }
    let (format, merged) = set(Agent::Gemini, "");
    assert!(format.is_bare(&format.remove(&merged, None).unwrap()));
}

#[test]
fn codexs_requirements_get_one_block_and_lose_it_again() {
    let options =
        InstallOptions { events: vec!["PreToolUse".into()], ..InstallOptions::new("/opt/h\"x/hookbox") };
    let desired = desired_entries(Agent::Codex, &options).unwrap();
    let format = FileFormat::new(Agent::Codex, Level::System);
    for (text, has_features) in [
        ("", true),
        ("# mine\nallowed_sandbox_modes = [\"read-only\"]\n", true),
        ("[features]\nhooks = true # pinned", false),
        ("[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"x\"\n", true),
    ] {
        let merged = format.merge(text.as_bytes(), &desired).unwrap();
        assert_eq!(format.merge(&merged, &desired).unwrap(), merged, "{text}");
        let shown = String::from_utf8(merged.clone()).unwrap();
        assert_eq!(shown.contains("[features]\nhooks = true\n"), has_features, "{shown}");
        let found = format.read(&merged);
        assert!(found.problems.is_empty() && found.kept_on == ["[features] hooks = false"], "{found:?}");
        assert_eq!(format.events(&merged), ["PreToolUse"]);
        assert_eq!(found.entries.last().unwrap().command, desired[0].line(Agent::Codex));
        assert_eq!(found.entries.last().unwrap().timeout.as_secs(), 30);
        let left = String::from_utf8(format.remove(&merged, None).unwrap()).unwrap();
        assert_eq!(left.trim_end(), text.trim_end());
        // What somebody has written after the block stays.
        let edited = format!("{shown}[extra]\na = 1\n");
        let left = format.remove(edited.as_bytes(), None).unwrap();
        assert!(String::from_utf8(left).unwrap().ends_with("[extra]\na = 1\n"));
    }
    for (text, words) in [
        ("[features]\nhooks = false\n", "hooks = true"),
        ("[features]\nother = true\n", "hooks = true"),
        ("hooks = {PreToolUse = []}\n", "another form"),
        ("[", "TOML"),
    ] {
        let error = format.merge(text.as_bytes(), &desired).unwrap_err();
        assert!(error.what.contains(words), "{text} {error}");
    }
    let cut = b"# hookbox begin: `hookbox uninstall --system` removes these lines\n";
    assert!(format.remove(cut, None).is_err());
}
