;; Answers with an action that there is not.
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (call $pass)
    (i32.store8 (i32.const 2052) (i32.const 200))
    (i32.const 2048))
