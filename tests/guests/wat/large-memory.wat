;; Has a memory of a gigabyte from the start.
(memory (export "memory") 16384)
