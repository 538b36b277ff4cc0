;; Three memories that grow in turn: no one of them is large.
(memory $first (export "memory") 3)
(memory $second 1)
(memory $third 1)
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (loop $again
        (if (i32.lt_s (memory.grow $first (i32.const 16)) (i32.const 0)) (then (unreachable)))
        (if (i32.lt_s (memory.grow $second (i32.const 16)) (i32.const 0)) (then (unreachable)))
        (if (i32.lt_s (memory.grow $third (i32.const 16)) (i32.const 0)) (then (unreachable)))
        (br $again))
    (unreachable))
