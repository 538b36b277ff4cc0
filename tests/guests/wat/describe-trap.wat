;; Traps in `describe`.
(func (export "hookbox:hook/hook@0.2.0#describe") (result i32) (unreachable))
