;; Waits in a host call for an hour.
(import "wasi:clocks/monotonic-clock@0.2.12" "subscribe-duration" (func $subscribe (param i64) (result i32)))
(import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $wait (param i32)))
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (call $wait (call $subscribe (i64.const 3600000000000)))
    (unreachable))
