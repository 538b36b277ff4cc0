;; Traps before anything is called.
(func $begin (unreachable))
(start $begin)
