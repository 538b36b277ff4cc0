;; Answers with four thousand million texts.
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (call $pass)
    (i32.store (i32.const 2072) (i32.const 8))
    (i32.store (i32.const 2076) (i32.const 0xffffffff))
    (i32.const 2048))
