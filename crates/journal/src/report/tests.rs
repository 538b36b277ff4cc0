use std::cell::Cell;
use std::io::Read as _;
use std::rc::Rc;

use super::*;

fn options() -> Options {
    Options { version: "1.2.3".to_owned(), made: Timestamp::UNIX_EPOCH, since: None }
}

fn record(command: &str, verdict: Value, hooks: Value) -> Value {
    json!({
        "v": 1, "id": "k3j9x0qv2m", "time": "2026-11-26T04:15:04.123Z", "agent": "a",
        "event": {"event": "before_tool_call", "tool_name": "bash", "tool_input": {"command": command}},
        "verdict": verdict,
        "report": {"duration_us": 123, "hooks": hooks},
    })
}

fn page(records: Vec<Value>, backtest: Option<Value>) -> (String, Counts) {
    let mut out = Vec::new();
    let counts = write(&mut out, records.into_iter(), backtest, &options()).unwrap();
    (String::from_utf8(out).unwrap(), counts)
}

/// Returns the text of each script that begins with this tag.
fn scripts<'a>(page: &'a str, tag: &str) -> Vec<&'a str> {
    page.split(tag).skip(1).map(|rest| rest.split("</script>").next().unwrap()).collect()
}

fn rows(page: &str) -> Vec<Value> {
    let blocks = scripts(page, "<script type=\"application/json\" class=\"rows\">");
    blocks.into_iter().map(|it| serde_json::from_str(it).unwrap()).collect()
}

fn records(page: &str) -> Vec<Value> {
    let unpack = |packed: &str| {
        let mut text = String::new();
        let packed = BASE64_STANDARD.decode(packed).unwrap();
        flate2::read::ZlibDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    scripts(page, "<script type=\"text/plain\" class=\"records\">").into_iter().flat_map(unpack).collect()
}

#[test]
fn text_from_outside_is_data_and_comes_back_unchanged() {
    let hostile = [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]>--!><img src=x onerror=alert(1)>&amp;",
        "\u{2028}\u{2029}\u{202e}\u{1b}[2J\0\"\\",
        "{{script}}{{data}}{{policy}}{{style}}",
    ];
    let (empty, _) = page(vec![], None);
    for text in hostile {
        let hooks =
            json!([{"name": text, "status": "blocked", "message": text, "rights": [text], "kind": text}]);
        let verdict = json!({"blocked": true, "reason": text, "blocked_by": text});
        let mut given = record(text, verdict, hooks);
        given["agent"] = text.into();
        given[text] = text.into();
        let backtest = json!({"hooks": {text: {"commands": [{"command": text}]}}});
        let (page, _) = page(vec![given.clone()], Some(backtest.clone()));
        assert_eq!(page.matches('<').count(), empty.matches('<').count() + 4, "two more scripts: {text:?}");
        assert_eq!(page.matches("<!--").count(), 0, "{text:?}");
        assert!(!page.contains(['\u{2028}', '\u{2029}', '\u{1b}', '\0']), "{text:?}");
        assert_eq!(records(&page), [given]);
        let row = &rows(&page)[0]["rows"][0];
        assert_eq!((&row[7], &row[9]), (&json!(text), &json!(text)));
        let summary = scripts(&page, "<script type=\"application/json\" id=\"summary-data\">");
        assert_eq!(serde_json::from_str::<Value>(summary[0]).unwrap()["backtest"], backtest);
    }
}

#[test]
fn the_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else() {
    let (page, _) = page(vec![record("ls", json!({"blocked": false}), json!([]))], None);
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    let script = scripts(&page, "<script>");
    assert_eq!(script.len(), 1);
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    let policy =
        page.split("Content-Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    let expected = format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(script[0]),
        hash(style)
    );
    assert_eq!(policy, expected);
    // The policy is before everything that it is about.
    assert!(page.find("Content-Security-Policy") < page.find("<style>"));
}

#[test]
fn the_page_names_no_other_file_and_makes_no_markup_from_text() {
    for text in [PAGE, STYLE, SCRIPT] {
        let text = text.replace("http://www.w3.org/2000/svg", "");
        for word in [
            "://",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "url(",
            "@import",
        ] {
            assert!(!text.contains(word), "{word}");
        }
    }
    for word in ["</script", "<!--", "<script"] {
        assert!(!SCRIPT.contains(word), "{word} would end or change the script");
    }
}

#[test]
fn each_event_has_one_verdict_with_its_hook_and_reason() {
    let passed = json!({"blocked": false});
    let hook = |status: &str| json!([{"name": "h", "status": status, "message": "why"}]);
    let cases = [
        (passed.clone(), json!([]), ["passed", "", ""]),
        (passed.clone(), hook("passed"), ["passed", "", ""]),
        (passed.clone(), hook("failed"), ["passed", "h", "why"]),
        (passed.clone(), hook("observed"), ["passed", "", ""]),
        (passed.clone(), hook("changed"), ["changed", "h", "why"]),
        (passed, hook("allowed"), ["allowed", "h", "why"]),
        (json!({"ask": {"reason": "r", "by": "b"}}), hook("changed"), ["asked", "b", "r"]),
        (json!({"allowed": {"reason": "r", "by": "b"}}), json!([]), ["allowed", "b", "r"]),
        (json!({"blocked": true, "reason": "r", "blocked_by": "b"}), hook("failed"), ["blocked", "b", "r"]),
        (json!({"blocked": "no"}), json!("none"), ["passed", "", ""]),
    ];
    for (verdict, hooks, expected) in cases {
        let (page, counts) = page(vec![record("ls", verdict.clone(), hooks.clone())], None);
        let block = &rows(&page)[0];
        let row = &block["rows"][0];
        let by = usize::try_from(row[8].as_u64().unwrap()).unwrap();
        assert_eq!(json!([row[2], block["words"][by], row[9]]), json!(expected), "{verdict} {hooks}");
        assert_eq!(counts.events, 1);
        assert_eq!(counts.failed, u64::from(hooks[0]["status"] == "failed"));
        assert_eq!(
            (counts.blocked, counts.asked),
            (u64::from(row[2] == "blocked"), u64::from(row[2] == "asked"))
        );
    }
}

#[test]
fn a_row_shows_the_part_of_an_event_that_tells_most() {
    let cases = [
        (json!({"tool_name": "bash", "tool_input": {"command": "ls", "description": "d"}}), "ls"),
        (json!({"tool_name": "Edit", "tool_input": {"new_string": "n", "file_path": "/a"}}), "/a"),
        (json!({"tool_name": "x", "tool_input": "not an object"}), "not an object"),
        (json!({"tool_name": "x", "tool_input": {"b": [1]}}), r#"{"b":[1]}"#),
        (json!({"tool_name": "x"}), ""),
        (json!({"event": "user_message_send", "message": "hi"}), "hi"),
        (json!({"event": "turn_end"}), ""),
    ];
    for (event, expected) in cases {
        let mut given = record("", json!({}), json!([]));
        given["event"] = event.clone();
        assert_eq!(rows(&page(vec![given], None).0)[0]["rows"][0][7], expected, "{event}");
    }
}

#[test]
fn lines_that_are_not_records_are_counted_and_left_out() {
    let whole = record("ls", json!({}), json!([]));
    let mut timeless = whole.clone();
    timeless["time"] = "yesterday".into();
    let odd =
        vec![Value::Null, json!([]), json!({}), json!({"time": "2026-11-26T04:15:04Z"}), timeless, whole];
    let (page, counts) = page(odd, None);
    assert_eq!(counts, Counts { events: 1, unread: 5, ..Counts::default() });
    assert_eq!((rows(&page).len(), records(&page).len()), (1, 1));
}

#[test]
fn an_empty_journal_is_a_page_without_events() {
    let (page, counts) = page(vec![], None);
    assert_eq!(counts, Counts::default());
    assert!(rows(&page).is_empty() && page.ends_with("</html>\n"), "{page}");
}

#[test]
fn a_record_with_megabytes_is_cut_and_says_so() {
    let mut given = record("ls", json!({"blocked": false}), json!([]));
    given["event"]["tool_output"] = "é".repeat(1 << 20).into();
    let (long, _) = page(vec![given.clone()], None);
    let kept = &records(&long)[0];
    assert_eq!((&kept["cut"], &kept["id"]), (&json!(true), &given["id"]));
    assert!(kept["event"]["tool_output"].as_str().unwrap().len() < 3_000);
    // Many short parts are as long.
    given["event"]["tool_output"] = (0..200_000).map(|it| (it.to_string(), json!(it))).collect();
    let (many, _) = page(vec![given.clone()], None);
    assert_eq!(records(&many)[0]["time"], given["time"]);
    assert!(long.len() < 200_000 && many.len() < 200_000, "{} {}", long.len(), many.len());
}

/// Counts the bytes that were written.
struct Counting(Rc<Cell<usize>>);

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_hundred_thousand_records_are_written_as_they_come_and_names_are_bounded() {
    let written = Rc::new(Cell::new(0));
    let (mut last, mut waiting, mut longest) = (0, 0, 0);
    let all = (0..100_000).map(|number| {
        if written.get() == last {
            waiting += 1;
        } else {
            (last, waiting) = (written.get(), 0);
        }
        longest = longest.max(waiting);
        json!({
            "id": "i", "time": "2026-11-26T04:15:04Z",
            "event": {"event": "before_tool_call", "tool_name": format!("tool-{number}")},
        })
    });
    let counts = write(&mut Counting(Rc::clone(&written)), all, None, &options()).unwrap();
    assert_eq!(counts.events, 100_000);
    assert!(longest <= MAX_EVENTS, "{longest} records were kept");
    assert!(written.get() < 15_000_000, "{} bytes", written.get());
}
