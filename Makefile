# check runs what CI runs. The others are short names for the commands below them.
.PHONY: check quick dist bench generate

check:
	.ci/run

quick:
	.ci/run format vet
	go test -short ./...

dist:
	go run ./internal/dist

bench:
	go run ./cmd/ocl bench engine

generate:
	go generate ./internal/kernel
	gofmt -l internal/kernel
