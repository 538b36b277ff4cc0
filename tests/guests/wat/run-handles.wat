;; Opens handles and never drops one.
(import "wasi:clocks/monotonic-clock@0.2.12" "subscribe-duration" (func $subscribe (param i64) (result i32)))
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (loop $again
        (drop (call $subscribe (i64.const 1)))
        (br $again))
    (unreachable))
