;; Traps.
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32) (unreachable))
