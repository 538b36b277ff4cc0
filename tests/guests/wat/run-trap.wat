;; Traps.
(func (export "hookbox:hook/hook@0.1.0#run") (param i32) (result i32) (unreachable))
