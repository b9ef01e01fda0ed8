module github.com/queenkv/queenkv

go 1.25.0
