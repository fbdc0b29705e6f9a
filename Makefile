# check runs what CI runs, and all also what takes long. The others are short names for the commands below them. `make dist PLATFORMS=linux/arm64` packs
# one binary; without PLATFORMS dist packs all five.
.PHONY: check all quick dist bench generate

check:
	.ci/run

all:
	.ci/run all

quick:
	.ci/run format vet
	go test -short ./...

dist:
	tools/dist $(PLATFORMS)

bench:
	go run ./cmd/ocl bench engine

generate:
	go generate ./internal/kernel
	gofmt -l internal/kernel
