# Each target that needs a PostgreSQL gets one from tests/with-postgres: the database of
# KV_TEST_DATABASE_URL, a container, binaries of this machine, or what apt-get installs.

GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

# Folders with a go.mod: modules of their own, so that users of the driver inherit no test's dependencies.
MODULES := $(patsubst %/,%,$(dir $(wildcard go.mod */go.mod cmd/*/go.mod)))

# A built program, not "go run", which would swallow the exit status and signals.
WITH_POSTGRES := bin/with-postgres

.DEFAULT_GOAL := help
.PHONY: help demo test test-snippets proof test-matrix mutants mutants-quick verify lint vuln dist snapshot kv-sweeper \
	bench bench-sql bench-driver bench-instructions bench-sweep bench-redis soak $(WITH_POSTGRES)

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1 \2/p' $(MAKEFILE_LIST) | while read -r target text; do \
		printf '  make %-18s %s\n' "$$target" "$$text"; done

demo: $(WITH_POSTGRES) ## get a PostgreSQL and run the main job: plainly, killed and resumed, twice at once, without Once
	$(WITH_POSTGRES) -- sh -c 'cd examples && go run ./payments/demo'

test: $(WITH_POSTGRES) ## get a PostgreSQL and run every test of every module, with the race detector
	$(WITH_POSTGRES) -- sh .ci/test $(MODULES)

proof: $(WITH_POSTGRES) ## get a PostgreSQL and run the long forms of the tests (hours with the default sizes)
	$(WITH_POSTGRES) -- sh .ci/proof

test-matrix: $(WITH_POSTGRES) ## run the SQL, conformance, races, install and sweeper tests on PostgreSQL 14 to 18, a row for each
	cd tests && go build -buildvcs=false -o ../bin/matrix ./matrix && ../bin/matrix

mutants: $(WITH_POSTGRES) ## make wrong changes to sql/ and kvpg, one at a time, and see the test that must fail fail
	cd tests && go build -buildvcs=false -o ../bin/mutants ./mutants
	$(WITH_POSTGRES) -- bin/mutants $(MUTANTS)

mutants-quick: MUTANTS := -quick
mutants-quick: mutants ## ten of the mutants, as CI runs them

verify: $(WITH_POSTGRES) ## check that dist/ and migrations/ are what sql/ makes, and that all ways to install agree
	$(WITH_POSTGRES) -- sh -c 'cd tests && go test -count=1 ./verify'

lint: ## gofmt, go mod tidy, go vet and golangci-lint on every module
	@unformatted="$$(gofmt -l .)"; test -z "$$unformatted" || { echo "gofmt -w these: $$unformatted"; exit 1; }
	@for module in $(MODULES); do echo "lint $$module"; \
		(cd $$module && go mod tidy -diff && go vet ./... && \
		go run $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml ./...) || exit 1; done

vuln: ## govulncheck on every module (asks the Go vulnerability database, so it needs the internet, and is no part of CI)
	@for module in $(MODULES); do echo "vuln $$module"; (cd $$module && go run $(GOVULNCHECK) ./...) || exit 1; done

dist: ## write dist/queen_kv.sql from sql/
	cd tests && go run ./generate dist

snapshot: ## freeze sql/ in migrations/: anew while no release holds the last number, else under a new one
	cd tests && go run ./generate snapshot

kv-sweeper: ## build bin/kv-sweeper, static and without what only a debugger reads
	cd cmd/kv-sweeper && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o ../../bin/kv-sweeper .

test-snippets: $(WITH_POSTGRES) ## run the examples of docs/other-languages.md in psql, Node and Python, and compare what they print
	cd tests && go build -buildvcs=false -o ../bin/run-snippets ./snippets
	$(WITH_POSTGRES) -- bin/run-snippets

bench: ## vary one factor at a time, functions and kvpg beside SQL by hand, into docs/benchmarks.md, and then bench-redis (half an hour, wants a quiet machine)
	cd bench && go build -buildvcs=false -o ../bin/bench-factors ./factors
	bin/bench-factors -out docs/benchmarks.md -plots docs/plots
	$(MAKE) bench-redis

bench-sql: ## compare the functions with hand-written statements, and write docs/benchmarks.md (minutes, wants a quiet machine)
	cd bench && go build -buildvcs=false -o ../bin/bench-sql ./sql
	bin/bench-sql -out docs/benchmarks.md

bench-driver: ## compare kvpg with pgx by hand, and write docs/benchmarks-driver.md (minutes, wants a quiet machine)
	cd bench && go build -buildvcs=false -o ../bin/bench-driver ./driver
	bin/bench-driver -out docs/benchmarks-driver.md

bench-instructions: ## count the processor instructions of each call, into docs/benchmarks-instructions.md (minutes, needs valgrind)
	cd bench && go build -buildvcs=false -o ../bin/bench-instructions ./instructions
	bin/bench-instructions -out docs/benchmarks-instructions.md

bench-sweep: kv-sweeper ## drain 1,000,000 of 5,000,000 rows, beside DELETEs by hand and puts, into docs/benchmarks-sweep.md (quiet machine)
	cd bench && go build -buildvcs=false -o ../bin/bench-sweep ./sweep
	bin/bench-sweep -out docs/benchmarks-sweep.md

bench-redis: ## a marker in Redis beside the effect: speed, what kills lose and double, into docs/benchmarks-redis.md (3 minutes)
	cd bench && go build -buildvcs=false -o ../bin/bench-redis ./redis
	bin/bench-redis -out docs/benchmarks-redis.md

soak: ## churn the table for each value of each storage setting, and write docs/soak.md with its plots (170 minutes, wants a quiet machine)
	cd bench && go build -buildvcs=false -o ../bin/soak ./soak
	bin/soak -out docs/soak.md -plots docs/plots

$(WITH_POSTGRES):
	@cd tests && go build -buildvcs=false -o ../$@ ./with-postgres
