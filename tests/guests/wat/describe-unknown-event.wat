;; Subscribes to an event whose name would repaint the terminal.
(data $bytes "\1b[2J\e2\80\ae\0d\0aevent")
(func (export "hookbox:hook/hook@0.2.0#describe") (result i32)
    (call $manifest)
    (memory.init $bytes (i32.const 4096) (i32.const 0) (i32.const 14))
    (i32.store (i32.const 1280) (i32.const 4096))
    (i32.store (i32.const 1284) (i32.const 14))
    (i32.const 1024))
