;; Gives the host the same address for everything: what it reads then is its own confusion.
(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 131072))
