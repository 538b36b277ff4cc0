//! The parts that every core module of a hook needs. A file in `wat/` has only its unusual parts.

/// The parts, each with its export: left out if the module has its own.
const PARTS: [(&str, &str); 4] = [
    (r#"(export "memory")"#, r#"(memory (export "memory") 3)"#),
    (
        // Room for the host's data, from the third page on; it is never freed.
        r#"(export "cabi_realloc")"#,
        r#"
        (global $top (mut i32) (i32.const 131072))
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
            (local $at i32)
            (local.set $at
                (i32.and
                    (i32.add (global.get $top) (i32.sub (local.get 2) (i32.const 1)))
                    (i32.sub (i32.const 0) (local.get 2))))
            (global.set $top (i32.add (local.get $at) (local.get 3)))
            (local.get $at))"#,
    ),
    (
        r#"(export "hookbox:hook/hook@0.2.0#describe")"#,
        r#"
        (func (export "hookbox:hook/hook@0.2.0#describe") (result i32)
            (call $manifest) (i32.const 1024))"#,
    ),
    (
        r#"(export "hookbox:hook/hook@0.2.0#run")"#,
        r#"
        (func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
            (call $pass) (i32.const 2048))"#,
    ),
];

/// The functions that a module may call. Both write into the first page, which nothing else uses.
///
/// The manifest at 1024 is, by the canonical ABI: name 0, version 8, description 16, subscriptions 24,
/// answers 32, capabilities 36, on-failure 44; each text and list as address and length. The subscription at
/// 1280: event 0, tools 8, priority 16, observe 24. The answer at 2048: 0 is `ok`; action 4 (its value from 8
/// on), context 24, warnings 32, metadata 40.
const COMMON: &str = r#"
    (data $name "wat")
    (data $version "0.1.0")
    (data $event "before_tool_call")
    (func $manifest
        (memory.fill (i32.const 1024) (i32.const 0) (i32.const 512))
        (memory.init $name (i32.const 1100) (i32.const 0) (i32.const 3))
        (i32.store (i32.const 1024) (i32.const 1100))
        (i32.store (i32.const 1028) (i32.const 3))
        (memory.init $version (i32.const 1110) (i32.const 0) (i32.const 5))
        (i32.store (i32.const 1032) (i32.const 1110))
        (i32.store (i32.const 1036) (i32.const 5))
        (i32.store (i32.const 1048) (i32.const 1280))
        (i32.store (i32.const 1052) (i32.const 1))
        (memory.init $event (i32.const 1120) (i32.const 0) (i32.const 16))
        (i32.store (i32.const 1280) (i32.const 1120))
        (i32.store (i32.const 1284) (i32.const 16)))
    (func $pass
        (memory.fill (i32.const 2048) (i32.const 0) (i32.const 64)))
    ;; Blocks with a text of the first page.
    (func $block (param $at i32) (param $length i32)
        (call $pass)
        (i32.store8 (i32.const 2052) (i32.const 1))
        (i32.store (i32.const 2056) (local.get $at))
        (i32.store (i32.const 2060) (local.get $length)))"#;

/// A whole module: these fields, and what they lack. Imports have to come before everything else, so they are
/// first.
pub(crate) fn module(fields: &str) -> String {
    let missing: String =
        PARTS.iter().filter(|(export, _)| !fields.contains(export)).map(|(_, part)| *part).collect();
    format!("(module\n{fields}\n{missing}\n{COMMON}\n)")
}
