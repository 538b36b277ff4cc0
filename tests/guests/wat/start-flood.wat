;; Wants a gigabyte in its start function, and goes on where it is refused.
(func $begin (drop (memory.grow (i32.const 16384))))
(start $begin)
