;; Reads a line of 1000 letters again and again, and uses the memory of the last reading for the next.
(import "hookbox:hook/facts@0.2.0" "read-line" (func $read (param i32 i32 i32)))
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (memory.fill (i32.const 65536) (i32.const 97) (i32.const 1000))
    (loop $again
        (global.set $top (i32.const 131072))
        (call $read (i32.const 65536) (i32.const 1000) (i32.const 4096))
        (br $again))
    (unreachable))
