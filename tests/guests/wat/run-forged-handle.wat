;; Makes up a handle that the host never gave.
(import "hookbox:hook/types@0.2.0" "[method]document.size" (func $size (param i32) (result i64)))
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (drop (call $size (i32.const 77)))
    (unreachable))
