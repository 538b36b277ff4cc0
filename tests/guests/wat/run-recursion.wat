;; Calls itself without end, with a frame that is not small.
(func $deeper (param i64 i64 i64 i64) (result i64)
    (i64.add
        (call $deeper (local.get 1) (local.get 2) (local.get 3) (i64.add (local.get 0) (i64.const 1)))
        (local.get 3)))
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (drop (call $deeper (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4)))
    (unreachable))
