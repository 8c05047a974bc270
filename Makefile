# The short way in: `make run` and `make test`. CMake and Ninja do the work (CMakePresets.json).
.DEFAULT_GOAL := all
.PHONY: all setup setup-run setup-bench setup-dynamo setup-release run checks gate test test-unit test-integration test-full test-dynamo bench-dynamo test-asan test-tsan test-tsan-threads \
        test-clang test-door-tsan test-page fuzz soak rate bench bench-translate lint analyze lint-full format dev-figures peer-files quality nightly install deb tarball test-packages clean

PRESET  ?= release
VENV    := tests/.venv
PYTEST  := $(VENV)/bin/python -m pytest
CTEST   := ctest --output-on-failure --no-tests=error -j2
JOBS    ?= 6
FUZZ_SECONDS ?= 5
SECONDS      ?= 3600
POOL_SECONDS ?= 600
PAGE_SECONDS ?= 60

all: ## the program and the library: all that is installed; calls no package manager
	@tools/build.sh release semroute semroute_shared semroute_static

setup: ## Debian packages, the Python test environment and the neural model, when missing
	@tools/setup.sh

setup-run: ## only what `make run` needs of it: packages for building, and the models
	@tools/setup.sh run

setup-bench: setup ## what measurements have beside us: nginx, HAProxy, gRPC for C++, ONNX Runtime
	@tools/setup.sh bench

setup-dynamo: setup ## NVIDIA Dynamo's frontend and mocker, in an environment of their own (0.7 GB)
	@tools/setup.sh dynamo

setup-release: setup ## what making packages needs
	@tools/setup.sh release

deb: setup-release ## Debian packages in build/packages
	@packaging/deb.sh

tarball: setup-release ## a folder that runs on other Linux machines, with its bill of materials, in build/packages
	@packaging/tarball.sh

test-packages: setup-release ## makes both, installs and starts them in a clean Debian (needs root)
	@tests/packages/.venv/bin/python -m pytest tests/packages

install: all ## into PREFIX (/usr/local), below DESTDIR
	@cmake --install build $(if $(PREFIX),--prefix $(PREFIX))

run: setup-run all ## start mock upstreams and the gateway, send requests, show where they went
	@python3 tools/demo.py

checks: setup ## seconds: order of the layers, words of documents, generated pages, format
	@python3 tools/lint_layers.py
	@python3 tools/lint_prose.py
	@python3 tools/architecture.py --check
	@tools/format.sh --check

gate: checks ## the fast checks, a build of everything, unit tests that are not long
	@tools/build.sh release all
	@$(CTEST) --test-dir build -LE long

test: test-unit test-integration ## everything but the sanitizers

test-unit: setup
	@tools/build.sh release all
	@$(CTEST) --test-dir build

test-integration: setup all
	@tools/build.sh release dialect_tables
	@$(PYTEST) -n $(JOBS) --dist loadfile tests/integration

test-full: setup all ## every combination behind the real Envoy, where `make test` takes each pair of settings
	@SEMROUTE_EXTPROC_FULL=1 $(PYTEST) tests/integration/test_extproc.py

test-dynamo: setup-dynamo all ## in front of NVIDIA Dynamo's real frontend
	@$(PYTEST) tests/integration/nightly_dynamo.py

bench-dynamo: setup-dynamo all ## one trace through Dynamo's KV router and through semroute, over Dynamo's own mocker workers
	@$(VENV)/bin/python tools/dynamo_trace.py $(if $(wildcard ../shared/data),--data ../shared/data)

test-asan test-tsan test-clang: test-%: setup ## unit tests under a sanitizer, or built by clang; LEAVE_OUT=arithmetic: not those
	@tools/build.sh $* all
	@$(CTEST) --test-dir build/$* $(if $(LEAVE_OUT),-LE $(LEAVE_OUT))

test-tsan-threads: setup ## the unit tests that have threads, under the thread sanitizer
	@tools/build.sh tsan tests_with_threads semroute
	@$(CTEST) --test-dir build/tsan -L threads -LE long

test-door-tsan: setup ## Envoy's door under load, with the thread sanitizer
	@tools/build.sh tsan semroute
	@SEMROUTE=build/tsan/semroute $(PYTEST) tests/integration/test_door_load.py

fuzz: setup ## every fuzz target for FUZZ_SECONDS over its kept corpus, or all within FUZZ_TOTAL seconds
	@tools/build.sh fuzz all
	@tools/fuzz.sh build/fuzz $(FUZZ_SECONDS) $(FUZZ_TOTAL)

test-page: setup all ## the live page in Chromium under 500 requests a second for PAGE_SECONDS
	@PAGE_SECONDS=$(PAGE_SECONDS) $(PYTEST) -s tests/integration/test_page.py -k many_requests

soak: setup all ## mixed traffic, reloads and faults for SECONDS, while memory and descriptors are watched; then workers that join, leave and fail for POOL_SECONDS
	@$(VENV)/bin/python tools/soak.py $(SECONDS) --out build/soak.md
	@build/semroute bench pool --soak --seconds $(POOL_SECONDS)

rate: setup all ## 10,000 requests a second that pass through, then 1,000 over workers that join, leave and fail, each for POOL_SECONDS: on an idle machine
	@build/semroute bench pool --pass-through --seconds $(POOL_SECONDS)
	@build/semroute bench pool --soak --seconds $(POOL_SECONDS)

bench: setup-bench all ## all measurements, with the peers that are installed; hours
	@cmake --preset release >/dev/null && tools/build.sh release bench_noop_extproc
	@for name in scan classify decide compress tokenizer start gateway extproc encoder concurrency guards cache pool paper; do build/semroute bench $$name || exit 1; done

bench-translate: setup all ## translation between the APIs, and LiteLLM doing the same in one run
	@build/semroute bench dialect
	@tests/litellm/.venv/bin/python bench/dialect_peer.py build/semroute

dev-figures: setup all ## accuracy on the labelled development files, where they are
	@training/dev_figures.sh

peer-files: setup all ## how configuration files of vLLM Semantic Router load, where they are: PEER=folder with index.jsonl
	@tools/peer_files.py build/semroute $(or $(PEER),../shared/data/peer-configs)

quality: setup all ## error rates of the shipped models, written to docs/quality/; not part of `make test`
	@training/figures_all.sh $(DATA)

lint: checks analyze ## the fast checks and static analysis

analyze: setup ## the public header's documents, static analysis: everything of what reads foreign bytes, the quick checks elsewhere
	@mkdir -p build && doxygen docs/Doxyfile
	@tools/analyze.sh

lint-full: lint ## the whole static analysis of every file
	@tools/analyze.sh --full

nightly: setup ## what takes too long for .ci/run (docs/nightly.md), or the steps named in STEPS
	@tools/nightly.sh $(STEPS)

format:
	@tools/format.sh

clean:
	rm -rf build
