;; Logs a text that lies outside its memory.
(import "wasi:logging/logging@0.1.0-draft" "log" (func $log (param i32 i32 i32 i32 i32)))
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (call $log (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0x7fff0000) (i32.const 100))
    (unreachable))
