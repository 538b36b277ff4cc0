;; Fills a table of five million elements again and again: one instruction each time.
(table $table 5000000 funcref)
(func (export "hookbox:hook/hook@0.1.0#run") (param i32) (result i32)
    (loop $again
        (table.fill $table (i32.const 0) (ref.null func) (i32.const 5000000))
        (br $again))
    (unreachable))
