;; Wants tables of a hundred million elements.
(table $table 1 funcref)
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (loop $again
        (br_if $again (i32.ge_s (table.grow $table (ref.null func) (i32.const 1000000)) (i32.const 0))))
    (unreachable))
