;; Traps in `describe`.
(func (export "hookbox:hook/hook@0.1.0#describe") (result i32) (unreachable))
