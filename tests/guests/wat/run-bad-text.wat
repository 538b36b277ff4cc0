;; Blocks with a reason that is no UTF-8.
(data $bytes "\ff\fe\80\c0")
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (memory.init $bytes (i32.const 4096) (i32.const 0) (i32.const 4))
    (call $block (i32.const 4096) (i32.const 4))
    (i32.const 2048))
