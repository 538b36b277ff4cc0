;; Reads a line of a million letters.
(import "hookbox:hook/facts@0.2.0" "read-line" (func $read (param i32 i32 i32)))
(memory (export "memory") 64)
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (memory.fill (i32.const 2000000) (i32.const 97) (i32.const 1000000))
    (call $read (i32.const 2000000) (i32.const 1000000) (i32.const 4096))
    (unreachable))
