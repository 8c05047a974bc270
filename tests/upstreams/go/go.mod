module upstream

go 1.19
