;; Fills 48 MiB again and again: one instruction each time.
(memory (export "memory") 768)
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (loop $again
        (memory.fill (i32.const 65536) (i32.const 1) (i32.const 50000000))
        (br $again))
    (unreachable))
