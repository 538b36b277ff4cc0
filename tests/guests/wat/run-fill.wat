;; Fills a gigabyte at once, which it does not have; refused memory does not stop it.
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (drop (memory.grow (i32.const 16384)))
    (memory.fill (i32.const 0) (i32.const 1) (i32.const 1073741824))
    (unreachable))
