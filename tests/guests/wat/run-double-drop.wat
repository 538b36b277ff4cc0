;; Drops the document of the event twice.
(import "hookbox:hook/types@0.2.0" "[resource-drop]document" (func $drop (param i32)))
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (call $drop (i32.const 1))
    (call $drop (i32.const 1))
    (unreachable))
