;; Answers with six million empty texts, all in memory that it has.
(memory (export "memory") 768)
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (call $pass)
    (i32.store (i32.const 2072) (i32.const 131072))
    (i32.store (i32.const 2076) (i32.const 6000000))
    (i32.const 2048))
