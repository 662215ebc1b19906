module seaway/example

go 1.21
