//! Tables of settings and schemas.

use super::*;

const SCHEMA: &str = r#"{
    "type": "object", "additionalProperties": false,
    "properties": {
        "deny": {"type": "array", "items": {"type": "string"}, "default": ["sudo"], "description": "Blocked."},
        "also_deny": {"type": "array", "items": {"type": "string"}},
        "mode": {"enum": ["ask", "block"], "default": "block"},
        "limit": {"type": "integer"},
        "ratio": {"type": "number"},
        "loud": {"type": "boolean"},
        "name": {"type": "string"},
        "by_tool": {"type": "object", "additionalProperties": false, "properties": {"shell": {"type": "integer"}}},
        "free": {"type": "object"},
        "any": {}
    }
}"#;

#[test]
fn a_setting_that_does_not_fit_is_named_with_the_nearest_key() {
    let schema = SettingsSchema::parse(SCHEMA.as_bytes()).unwrap();
    for (key, text, fault) in [
        ("deny", "[\"rm\"]", None),
        ("deny", "rm", Some("deny: expected a list, found \"rm\"")),
        ("deny", "[\"rm\",1]", Some("deny[1]: expected a text, found 1")),
        ("also_denny", "[]", Some("the hook has no setting also_denny (did you mean also_deny?)")),
        ("mode", "ask", None),
        ("mode", "warn", Some("mode: expected one of \"ask\", \"block\", found \"warn\"")),
        ("limit", "5", None),
        ("limit", "5.5", Some("limit: expected a whole number, found 5.5")),
        ("ratio", "5", None),
        ("loud", "yes", Some("loud: expected true or false, found \"yes\"")),
        ("name", "5", None),
        ("by_tool", "{\"shell\":1}", None),
        ("by_tool", "{\"shel\":1}", Some("the hook has no setting by_tool.shel (did you mean shell?)")),
        ("by_tool", "{\"shell\":\"x\"}", Some("by_tool.shell: expected a whole number, found \"x\"")),
        ("free", "{\"x\":1}", None),
        ("any", "x", None),
    ] {
        let settings = Settings::from([(key.to_owned(), text.to_owned())]);
        let found = schema.faults(&settings);
        let found: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(found, Vec::from_iter(fault), "{key} = {text}");
    }
}

#[test]
fn a_schema_that_is_not_understood_is_refused() {
    let deep = format!("{}{}", r#"{"type":"array","items":"#.repeat(200), "{}".to_owned() + &"}".repeat(200));
    for (json, why) in [
        ("", "EOF"),
        ("{}", "its type is not"),
        (r#"{"type": "array"}"#, "its type is not"),
        (r#"{"type": ["object", "null"]}"#, "expected"),
        (r#"{"type": "object", "required": ["a"]}"#, "unknown field `required`"),
        (r#"{"type": "object", "properties": {"a": {"pattern": "x"}}}"#, "unknown field `pattern`"),
        (&format!(r#"{{"type": "object", "properties": {{"a": {deep}}}}}"#), "recursion limit"),
        (r#"{"type": "object", "x-hookbox-tighten": true}"#, "x-hookbox-tighten is for"),
        (
            r#"{"type": "object", "properties": {"a": {"enum": [1, 2], "x-hookbox-tighten": true}}}"#,
            "x-hookbox-tighten is for",
        ),
        (
            r#"{"type": "object", "properties": {"a": {"enum": [1, 2], "default": 3, "x-hookbox-tighten": true}}}"#,
            "x-hookbox-tighten is for",
        ),
        (
            r#"{"type": "object", "properties": {"a": {"items": {"enum": [1], "default": 1, "x-hookbox-tighten": true}}}}"#,
            "x-hookbox-tighten is for",
        ),
        (&format!(r#"{{"type": "object"}}{}"#, " ".repeat(MAX_SCHEMA)), "are allowed"),
    ] {
        let error = SettingsSchema::parse(json.as_bytes()).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_repository_makes_a_marked_setting_stricter_and_nothing_else() {
    let json = r#"{"type": "object", "properties": {
        "preset": {"enum": ["relaxed", "standard", "strict"], "default": "standard", "x-hookbox-tighten": true},
        "level": {"type": "integer", "enum": [1, 2, 3], "default": 1, "x-hookbox-tighten": true},
        "plain": {"enum": ["a", "b"], "default": "a"}}}"#;
    let schema = SettingsSchema::parse(json.as_bytes()).unwrap();
    assert_eq!(SettingsSchema::parse(&serde_json::to_vec(&schema).unwrap()), Ok(schema.clone()));
    let only = "is not a setting that a repository can make stricter";
    for (key, users, theirs, want) in [
        ("preset", None, "strict", Ok(Some("standard"))),
        ("preset", None, "\"strict\"", Ok(Some("standard"))),
        ("preset", None, "standard", Ok(None)),
        (
            "preset",
            None,
            "relaxed",
            Err("preset: \"relaxed\" is looser than \"standard\": a repository can only"),
        ),
        ("preset", Some("relaxed"), "standard", Ok(Some("relaxed"))),
        ("preset", Some("strict"), "strict", Ok(None)),
        ("preset", Some("strict"), "standard", Err("is looser than \"strict\"")),
        // The user's own value is a mistake: the default counts.
        ("preset", Some("strickt"), "strict", Ok(Some("standard"))),
        ("preset", None, "paranoid", Err("expected one of")),
        ("preset", None, "", Err("expected one of")),
        ("level", None, "3", Ok(Some("1"))),
        ("level", Some("3"), "2", Err("level: 2 is looser than 3")),
        ("level", None, "three", Err("expected a whole number")),
        ("plain", None, "b", Err(only)),
        ("unknown", None, "b", Err(only)),
    ] {
        let found = schema.tighter(key, users, theirs);
        match (&found, want) {
            (Ok(found), Ok(want)) => {
                assert_eq!(found.as_ref().map(|it| it.before.as_str()), want, "{key} {users:?} {theirs}");
                let value = found.as_ref().map(|it| it.value.as_str());
                assert_eq!(value, want.map(|_| theirs.trim_matches('"')));
            }
            (Err(found), Err(want)) => assert!(found.contains(want), "{found}"),
            _ => panic!("{key} {users:?} {theirs}: {found:?}"),
        }
    }
}

#[test]
fn a_schema_is_written_as_it_was_read_and_shown_in_words() {
    let schema = SettingsSchema::parse(SCHEMA.as_bytes()).unwrap();
    let written = serde_json::to_vec(&schema).unwrap();
    assert_eq!(SettingsSchema::parse(&written), Ok(schema.clone()));
    for (key, want) in [
        ("deny", "a list, each a text, default [\"sudo\"]"),
        ("mode", "\"ask\" or \"block\", default \"block\""),
        ("limit", "a whole number"),
        ("any", "any value"),
    ] {
        assert_eq!(schema.properties[key].to_string(), want);
    }
}

#[test]
fn a_repository_can_make_the_preset_of_each_guard_stricter() {
    let guards = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../guards");
    for guard in ["destructive", "git", "injection", "secrets", "supply-chain"] {
        let json = std::fs::read(guards.join(guard).join("settings.schema.json")).unwrap();
        let schema = SettingsSchema::parse(&json).unwrap();
        for preset in ["relaxed", "standard"] {
            let tighter = schema.tighter("preset", Some(preset), "strict").unwrap().unwrap();
            assert_eq!((tighter.value.as_str(), tighter.before.as_str()), ("strict", preset), "{guard}");
        }
    }
}
