;; Blocks with a reason that lies outside its memory.
(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
    (call $block (i32.const 0x7fff0000) (i32.const 1000))
    (i32.const 2048))
