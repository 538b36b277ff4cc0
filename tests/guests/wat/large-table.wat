;; Has a table of a hundred million elements from the start.
(table 100000000 funcref)
