;; Says that its answer lies where none can lie.
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32) (call $pass) (i32.const 2049))
