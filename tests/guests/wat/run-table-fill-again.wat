;; Fills a table of ninety thousand elements again and again: one instruction each time.
(table $table 90000 funcref)
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (loop $again
        (table.fill $table (i32.const 0) (ref.null func) (i32.const 90000))
        (br $again))
    (unreachable))
