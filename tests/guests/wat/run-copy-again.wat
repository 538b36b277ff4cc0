;; Copies 24 MiB again and again: one instruction each time.
(memory (export "memory") 768)
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (loop $again
        (memory.copy (i32.const 65536) (i32.const 25000000) (i32.const 25000000))
        (br $again))
    (unreachable))
