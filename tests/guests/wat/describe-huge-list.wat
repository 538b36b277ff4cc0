;; Subscribes four thousand million times.
(func (export "hookbox:hook/hook@0.2.0#describe") (result i32)
    (call $manifest)
    (i32.store (i32.const 1052) (i32.const 0xffffffff))
    (i32.const 1024))
