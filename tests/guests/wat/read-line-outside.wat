;; Reads a line that lies outside its memory.
(import "hookbox:hook/facts@0.2.0" "read-line" (func $read (param i32 i32 i32)))
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (call $read (i32.const 0x7fff0000) (i32.const 100) (i32.const 4096))
    (unreachable))
