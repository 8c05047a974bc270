module parsers

go 1.19
