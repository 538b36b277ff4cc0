use serde_json::json;

use super::*;

/// A minute in milliseconds.
const MINUTE: u64 = 60_000;

fn call() -> BlockedCall {
    BlockedCall {
        tool: "bash".to_owned(),
        input: BlockedCall::digest_of(&json!({"command": "make"}).into()),
        directory: "/repo".to_owned(),
        session: Some("s".to_owned()),
        agent: Some("claude".to_owned()),
        guard: "guard.wasm".to_owned(),
        digest: Some(Digest::of(b"guard")),
        cause: None,
        managed: false,
    }
}

fn code(number: u8) -> Code {
    Code::from_random([number; 8])
}

fn pending(number: u8, call: BlockedCall, when_ms: u64) -> Pending {
    Pending { code: code(number), call, shown: "{}".to_owned(), reason: "no".to_owned(), when_ms }
}

fn allowed(term: Term) -> Allowances {
    let mut all = Allowances::default();
    all.note(pending(1, call(), 0));
    all.grant(&code(1), term, MINUTE).unwrap();
    all
}

#[test]
fn an_allowance_is_for_one_call_of_one_guard_in_its_place() {
    let other = |change: fn(&mut BlockedCall)| {
        let mut other = call();
        change(&mut other);
        other
    };
    // once, for, always here, always
    for (what, call, want) in [
        ("the same", call(), "yyyy"),
        ("another tool", other(|it| it.tool = "sh".to_owned()), "nnnn"),
        ("another input", other(|it| it.input = Digest::of(b"x")), "nnnn"),
        ("another directory", other(|it| it.directory = "/".to_owned()), "nnny"),
        ("another session", other(|it| it.session = Some("t".to_owned())), "nnyy"),
        ("no session", other(|it| it.session = None), "nnyy"),
        ("another guard", other(|it| it.guard = "guard".to_owned()), "nnnn"),
        ("a changed guard", other(|it| it.digest = Some(Digest::of(b"x"))), "nnnn"),
        ("a guard that failed", other(|it| it.cause = Some(Cause::Timeout)), "nnnn"),
    ] {
        let terms = [Term::Once, Term::For(5 * MINUTE), Term::AlwaysHere, Term::Always];
        let covers = |term| allowed(term).covering(&call, 2 * MINUTE).is_some();
        let found: String = terms.map(|term| if covers(term) { 'y' } else { 'n' }).iter().collect();
        assert_eq!(found, want, "{what}");
    }
}

#[test]
fn an_allowance_ends_with_its_time_and_does_not_begin_before_it_was_given() {
    let now = MINUTE;
    for (term, after, want) in [
        (Term::Once, ONCE - 1, true),
        (Term::Once, ONCE, false),
        (Term::For(MINUTE), MINUTE - 1, true),
        (Term::For(MINUTE), MINUTE, false),
        (Term::Always, 1000 * ONCE, true),
        (Term::AlwaysHere, 1000 * ONCE, true),
    ] {
        let all = allowed(term);
        assert_eq!(all.covering(&call(), now + after).is_some(), want, "{term:?} {after}");
        let is_timed = term.lifetime().is_some();
        assert_eq!(all.covering(&call(), now - 1).is_none(), is_timed, "{term:?}: the clock was set back");
    }
}

#[test]
fn what_is_allowed_once_is_taken_once_and_all_or_nothing() {
    let other = BlockedCall { guard: "other".to_owned(), ..call() };
    let mut all = allowed(Term::Once);
    assert_eq!(all.take(&[call(), other.clone()], MINUTE), None);
    assert_eq!(all.take(&[call()], MINUTE), Some(vec![Term::Once]));
    assert_eq!(all.take(&[call()], MINUTE), None);

    all.note(pending(2, other.clone(), 0));
    all.grant(&code(2), Term::Once, 0).unwrap();
    assert_eq!(all.take(&[other.clone(), other.clone()], MINUTE), None, "twice is not once");
    all.note(pending(3, other.clone(), 0));
    all.grant(&code(3), Term::Always, 0).unwrap();
    assert_eq!(all.take(&[other], MINUTE), Some(vec![Term::Always]), "what stays is used first");
    assert_eq!(all.granted.len(), 2);
}

#[test]
fn a_code_counts_for_ten_minutes_and_for_one_grant() {
    let mut all = Allowances::default();
    all.note(pending(1, call(), MINUTE));
    let grant =
        |mut all: Allowances, number, term, now| all.grant(&code(number), term, now).map(|it| it.term);
    for (number, term, now, want) in [
        (1, Term::Once, MINUTE, Ok(Term::Once)),
        (1, Term::Once, MINUTE + PENDING - 1, Ok(Term::Once)),
        (1, Term::Once, MINUTE + PENDING, Err(AllowError::UnknownCode)),
        (1, Term::Once, 0, Err(AllowError::UnknownCode)),
        (2, Term::Once, MINUTE, Err(AllowError::UnknownCode)),
        (1, Term::For(0), MINUTE, Err(AllowError::Time)),
        (1, Term::For(LONGEST + 1), MINUTE, Err(AllowError::Time)),
        (1, Term::For(LONGEST), MINUTE, Ok(Term::For(LONGEST))),
    ] {
        assert_eq!(grant(all.clone(), number, term, now), want, "{number} {term:?} {now}");
    }
    all.grant(&code(1), Term::Once, MINUTE).unwrap();
    assert_eq!(all.grant(&code(1), Term::Always, MINUTE), Err(AllowError::UnknownCode));
    assert_eq!(all.remove(&code(1)).unwrap().term, Term::Once);
    assert_eq!(all.remove(&code(1)), None);
}

#[test]
fn a_guard_that_failed_is_passed_only_once() {
    let failed = BlockedCall { cause: Some(Cause::Timeout), ..call() };
    let mut all = Allowances::default();
    all.note(pending(1, failed.clone(), 0));
    for term in [Term::For(MINUTE), Term::Always, Term::AlwaysHere] {
        assert_eq!(all.grant(&code(1), term, 0), Err(AllowError::FailedGuard));
    }
    all.grant(&code(1), Term::Once, 0).unwrap();
    assert!(all.covering(&call(), 0).is_none(), "it does not cover the same guard's own block");
    assert!(all.covering(&failed, 0).is_some());
}

#[test]
fn blocked_calls_are_few_and_one_call_has_one_code() {
    let mut all = Allowances::default();
    for number in 0..40_u8 {
        let call = BlockedCall { tool: number.to_string(), ..call() };
        all.note(pending(number, call, number.into()));
    }
    assert_eq!((all.pending.len(), all.pending[0].call.tool.as_str()), (MAX_OF_SESSION, "8"));
    let again = BlockedCall { tool: "9".to_owned(), ..call() };
    let before = all.clone();
    assert_eq!(all.note(pending(50, again.clone(), 100)), code(9));
    assert_eq!(all, before, "a moment later nothing is written");
    assert_eq!(all.note(pending(50, again, FRESH + 100)), code(9));
    assert_eq!((all.pending.len(), all.pending.last().unwrap().when_ms), (MAX_OF_SESSION, FRESH + 100));
    all.prune(PENDING + 50);
    assert_eq!(all.pending.len(), 1);
}

#[test]
fn the_blocks_of_one_session_push_out_no_code_of_another() {
    let mut all = Allowances::default();
    let mut block = |session: &str, number: u8| {
        let call = BlockedCall { tool: number.to_string(), session: Some(session.to_owned()), ..call() };
        all.note(pending(number, call, 0));
        let of =
            |name: &str| all.pending.iter().filter(|it| it.call.session.as_deref() == Some(name)).count();
        (of("a"), of("b"), of("c"), all.pending[0].call.tool.clone())
    };
    for (session, calls, want) in [
        ("a", 1, (1, 0, 0, "0")),
        ("b", 100, (1, 32, 0, "0")),
        ("c", 100, (1, 31, 32, "0")),
        ("a", 5, (5, 29, 30, "0")),
        ("b", 100, (5, 30, 29, "0")),
    ] {
        let last = (0..calls).map(|number| block(session, number)).last().unwrap();
        assert_eq!((last.0, last.1, last.2, last.3.as_str()), want, "{session}");
    }
}

#[test]
fn allowances_are_bounded() {
    let mut all = Allowances::default();
    for number in 0..=MAX_GRANTED {
        all.note(pending(1, BlockedCall { tool: number.to_string(), ..call() }, 0));
        let granted = all.grant(&code(1), Term::Always, 0);
        assert_eq!(granted.err(), (number == MAX_GRANTED).then_some(AllowError::Full));
    }
}

#[test]
fn an_input_has_one_digest_however_it_is_written_and_another_input_another() {
    let of = |text: &str| BlockedCall::digest_of(&Document::from_text(text));
    assert_eq!(of(r#"{"a": 1, "b": {"d": [1, 2], "c": null}}"#), of(r#"{"b":{"c":null,"d":[1,2]},"a":1}"#));
    let all = [
        r#"{"a":1}"#,
        r#"{"a":"1"}"#,
        r#"{"a":1.0}"#,
        r#"{"a":[1]}"#,
        r#"{"a":[[1]]}"#,
        r#"{"a":[1,[]]}"#,
        r#"{"a":{"1":null}}"#,
        r#"{"a":"\",b:"}"#,
        r#"{"a":18446744073709551616}"#,
        r#"{"a":18446744073709551617}"#,
        "\"{\"",
        "null",
    ];
    let digests: std::collections::BTreeSet<_> = all.iter().map(|text| of(text).to_string()).collect();
    assert_eq!(digests.len(), all.len());
}
