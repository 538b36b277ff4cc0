module github.com/hookbox/hookbox/clients/go

go 1.22
