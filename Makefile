# The short way in: `make run` and `make test`. CMake and Ninja do the work (CMakePresets.json).
.DEFAULT_GOAL := all
.PHONY: all setup setup-bench run test test-unit test-integration test-full test-asan test-tsan test-clang test-door-tsan \
        fuzz bench lint format dev-figures quality clean

PRESET  ?= release
VENV    := tests/.venv
PYTEST  := $(VENV)/bin/python -m pytest
FUZZ_SECONDS ?= 5

all: setup ## build/semroute
	@tools/build.sh release semroute

setup: ## Debian packages, the Python test environment and the neural model, when missing
	@tools/setup.sh

setup-bench: setup ## what measurements have beside us: nginx, HAProxy, gRPC for C++, ONNX Runtime
	@tools/setup.sh bench

run: all ## start mock upstreams and the gateway, send requests, show where they went
	@python3 tools/demo.py

test: test-unit test-integration ## everything but the sanitizers

test-unit: setup
	@tools/build.sh release all
	@ctest --test-dir build --output-on-failure --no-tests=error -j2

test-integration: all
	@$(PYTEST) tests/integration

test-full: all ## every combination behind the real Envoy, where `make test` takes each pair of settings
	@SEMROUTE_EXTPROC_FULL=1 $(PYTEST) tests/integration/test_extproc.py

test-asan test-tsan test-clang: test-%: setup ## unit tests under a sanitizer, or built by clang
	@tools/build.sh $* all
	@ctest --test-dir build/$* --output-on-failure --no-tests=error -j2

test-door-tsan: setup ## Envoy's door under load, with the thread sanitizer
	@tools/build.sh tsan semroute
	@SEMROUTE=build/tsan/semroute $(PYTEST) tests/integration/test_door_load.py

fuzz: setup ## every fuzz target for FUZZ_SECONDS over its kept corpus
	@tools/build.sh fuzz all
	@tools/fuzz.sh build/fuzz $(FUZZ_SECONDS)

bench: all setup-bench ## all measurements, with the peers that are installed; hours
	@cmake --preset release >/dev/null && tools/build.sh release bench_noop_extproc
	@for name in scan classify decide compress tokenizer start gateway extproc encoder concurrency guards paper; do build/semroute bench $$name || exit 1; done

dev-figures: all ## accuracy on the labelled development files, where they are
	@training/dev_figures.sh

quality: all ## error rates of the shipped models, written to docs/quality/; not part of `make test`
	@training/figures_all.sh $(DATA)

lint: setup ## layer order, format, static analysis at zero
	@python3 tools/lint_layers.py
	@tools/format.sh --check
	@tools/analyze.sh

format:
	@tools/format.sh

clean:
	rm -rf build
