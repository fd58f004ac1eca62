# Every target does its own set-up; Python (3.11 or newer), git and make are all it takes.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.SUFFIXES:
# Tests start some thousand processes. Where bytecode may not be written, each of them compiles what it imports anew.
unexport PYTHONDONTWRITEBYTECODE

UV_VERSION := 0.13.8
# An uv on PATH serves; else one is installed into a virtual environment of our own.
UV := $(or $(shell command -v uv),.tools/bin/uv)
RUN := $(UV) run --frozen
# A whole toolchain comes with the tests' packages: nobody has to install Go, and everybody has the same.
GO := $(RUN) go

# Tools that judge what we make, built from pinned modules. The stamp beside a binary bears its version.
define real_tool
.tools/real/$(1)-$(2).stamp: | .venv/.ready
	GOBIN=$$(CURDIR)/.tools/real $(GO) install $(3)@$(2)
	@touch $$@
REAL_TOOLS += .tools/real/$(1)-$(2).stamp
endef
# name, version, Go package
$(eval $(call real_tool,sops,v3.13.3,github.com/getsops/sops/v3/cmd/sops))
$(eval $(call real_tool,age,v1.3.2,filippo.io/age/cmd/age))
$(eval $(call real_tool,age-keygen,v1.3.2,filippo.io/age/cmd/age-keygen))
$(eval $(call real_tool,kustomize,v5.8.2,sigs.k8s.io/kustomize/kustomize/v5))
$(eval $(call real_tool,actionlint,v1.7.12,github.com/rhysd/actionlint/cmd/actionlint))
$(eval $(call real_tool,containerd,v2.2.9,github.com/containerd/containerd/v2/cmd/containerd))

# Programs of ours around the libraries by which nodes read what we render, with the flags of tests/apiserver: what
# both are made of is compiled once.
JUDGES := $(patsubst %,.tools/real/%-judge,ignition hosts images kubelet promql)
.tools/real/%-judge: tests/judges/%/main.go tests/judges/%/go.mod tests/judges/%/go.sum | .venv/.ready
	CGO_ENABLED=0 $(GO) -C tests/judges/$* build -mod=readonly -buildvcs=false -trimpath -ldflags "-s -w" -o $(CURDIR)/$@ .

# Operating System Manager itself, which not every module proxy has: make test-osm and make bench ask it, nothing else.
OSM := .tools/real/osm-controller
$(OSM): tests/judges/osm/go.mod tests/judges/osm/go.sum | .venv/.ready
	CGO_ENABLED=0 $(GO) -C tests/judges/osm build -mod=readonly -buildvcs=false -trimpath -ldflags "-s -w" \
	  -o $(CURDIR)/$@ k8c.io/operating-system-manager/cmd/osm-controller

# The flags of each kubelet that is supported, from its own flag set. The programs themselves are large and not kept.
KUBELET_FLAGS := $(patsubst tests/judges/kubelet-flags/%.mod,.tools/real/kubelet-flags-%.json,$(wildcard tests/judges/kubelet-flags/1.*.mod))
.tools/real/kubelet-flags-%.json: tests/judges/kubelet-flags/main.go tests/judges/kubelet-flags/%.mod tests/judges/kubelet-flags/%.sum | .venv/.ready
	@mkdir -p $(@D)
	CGO_ENABLED=0 $(GO) -C tests/judges/kubelet-flags run -modfile=$*.mod -buildvcs=false -trimpath -ldflags "-s -w" . > $@

SCRIPTS := .ci/run .ci/image overlays/demo/run.sh $(wildcard .github/actions/*.sh .github/actions/*/*.sh)

# Tests of one room alone: make test ROOM=render
ROOM ?=
# What OSM itself produced from its own released profiles; CONTRIBUTING.md says where it comes from.
CONFORMANCE := $(abspath ../shared/conformance)
# The tests that load a cluster on which OSM has run.
RECORDED = $(shell grep -rlE "after_osm|adopted" tests --include="test_*.py")

.PHONY: setup hooks docs reference demo test test-all test-conformance test-osm test-pythons coverage fuzz lint format bench profile boot boot-arm64 image dist clean

setup: .venv/.ready

.tools/bin/uv:
	@echo "Setting up uv $(UV_VERSION) in .tools, once." >&2
	python3 -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check "uv==$(UV_VERSION)"

.venv/.ready: pyproject.toml uv.lock | $(filter .tools/bin/uv,$(UV))
	@echo "Setting up Python packages in .venv, once for each change of uv.lock: this takes up to a minute." >&2
	$(UV) sync --frozen --quiet
	@touch $@

hooks: setup ## Check each commit with the parts of make lint that concern it.
	$(RUN) pre-commit install

demo: setup ## Render, plan and commit the demo fleet into a fresh repo, then change it and show that plan.
	@$(RUN) overlays/demo/run.sh

test: setup ## The test suite, or with ROOM=NAME the tests of one room. Needs nothing outside of the repository.
	$(RUN) pytest -n 2 --dist worksteal -m "not oracle and not exhaustive and not conformance and not boot" $(if $(ROOM),tests/$(ROOM))

test-all: setup oracle $(REAL_TOOLS) $(JUDGES) $(KUBELET_FLAGS) ## What `make test` leaves out: comparisons with Go's own libraries and with the real tools, which are built first, and every fault at every request.
	$(RUN) python -m tests.judges.debian
	$(RUN) python -m tests.judges.sarif
	$(RUN) python -m tests.judges.browser
	$(RUN) python -m tests.image.base
	$(RUN) python -m tests.machines.store
	$(RUN) pytest -n 2 --dist worksteal -m "(oracle or exhaustive) and not conformance and not boot"

test-conformance: setup oracle ## Comparisons with data outside of the repository, then all tests of a cluster on which OSM has run with OSM's own. Fails where the data are missing.
	$(RUN) pytest -n 2 --dist worksteal -m "conformance and not boot and not osm"
	OSM_RECORDING=$(CONFORMANCE)/cluster $(RUN) pytest -n 2 --dist worksteal \
	  -m "not oracle and not exhaustive and not conformance and not boot" $(RECORDED)

test-osm: setup $(OSM) ## Operating System Manager writes for a fleet on an API server, and a plan finds nothing of it to change.
	$(RUN) pytest -m osm tests/judges

# The pure middle, which tests of its own should reach wholly (docs/explanation/architecture.md, Laws).
PURE := gocompat gotemplate shell model render plan lint/rules downloads report
QUICK := -m "not oracle and not exhaustive and not conformance and not boot" $(PURE:%=tests/%)

coverage: setup ## Which lines and branches of the pure rooms the tests of these rooms reach. Fails below the floor in pyproject.toml.
	$(RUN) pytest -n 2 --dist worksteal $(QUICK) $(subst /,.,$(PURE:%=--cov=osm_gitops.%)) --cov-report=term-missing:skip-covered \
	  $(if $(GITHUB_STEP_SUMMARY),--cov-report=markdown-append:$(GITHUB_STEP_SUMMARY))

PYTHONS := 3.11 3.12 3.13 3.14
test-pythons: $(PYTHONS:%=test-python-%) ## The tests of the pure rooms on every Python that is supported, which uv finds or fetches.
test-python-%: $(filter .tools/bin/uv,$(UV))
	UV_PROJECT_ENVIRONMENT=.tools/python-$* $(RUN) --python $* pytest -n 2 --dist worksteal $(QUICK)

.PHONY: oracle
oracle: setup # Go's own libraries, as a filter that tests ask.
	$(GO) -C tests/oracle build -o ../../.tools/oracle .

# Seconds; and a seed to repeat a run.
FUZZ_SECONDS ?= 60
FUZZ_SEED ?=
fuzz: oracle ## Random templates, rendered by Go and by us, until FUZZ_SECONDS are over.
	$(RUN) python -m tests.oracle_tests $(FUZZ_SECONDS) $(FUZZ_SEED)

# The hooks of .pre-commit-config.yaml run these one by one.
LINTS := lint-style lint-format lint-types lint-layers lint-shell
.PHONY: $(LINTS)
lint: $(LINTS) ## Style, types, layers, shell scripts.

lint-style: setup
	$(RUN) ruff check

lint-format: setup
	$(RUN) ruff format --check

lint-types: setup
	$(RUN) mypy

lint-layers: setup
	$(RUN) lint-imports

lint-shell: setup
	$(RUN) shellcheck --external-sources --source-path=SCRIPTDIR $(SCRIPTS)

format: setup ## Put the code into the house's style.
	$(RUN) ruff check --fix
	$(RUN) ruff format

reference: setup ## Write the generated parts of docs/reference: commands, settings, keys, rules, JSON.
	$(RUN) python -m tests.tools.write_reference

# An environment of its own: the site needs neither the package nor the tests.
docs: $(filter .tools/bin/uv,$(UV)) ## The documents as a site, in site/. Fails for broken links and anchors, and for pages that the navigation lacks.
	UV_PROJECT_ENVIRONMENT=.tools/docs NO_MKDOCS_2_WARNING=1 $(RUN) --only-group docs mkdocs build --quiet --strict

bench: setup ## The measures of docs/explanation/performance.md, of OSM's released profiles in $(CONFORMANCE), and OSM beside ours.
	-$(MAKE) $(OSM)
	$(RUN) python -m tests.bench

profile: setup ## Where the time of runs goes, room by room, for docs/explanation/performance.md.
	$(RUN) python -m tests.bench.profile

boot: setup ## Boot machines from what `apply` writes to an API server. Needs root on Linux; the first run builds for a quarter of an hour.
	$(RUN) pytest -m "boot and not arm64$(if $(wildcard $(CONFORMANCE)),, and not conformance)" tests/machines

boot-arm64: setup ## Boot a machine of arm64, whose processor is emulated. The first run builds for half an hour.
	$(RUN) pytest -m arm64 tests/machines

image: ## The container image, with docker, podman or buildah. BASE=… builds on another base.
	@BUILDER="$(BUILDER)" BUILD_OPTIONS="$(BUILD_OPTIONS)" IMAGE="$(IMAGE)" BASE="$(BASE)" .ci/image

# The same commit gives the same bytes: the time is that of the commit, and hatchling comes from the lock file.
dist: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
dist: setup ## The files of a release: wheel, source archive, SBOM (CycloneDX) and their checksums.
	rm -rf dist
	$(UV) build --quiet --no-create-gitignore --no-build-isolation --out-dir dist \
	  --python "$$($(RUN) python -c 'import sys; print(sys.executable)')"
	set -o pipefail; $(UV) export --quiet --frozen --no-dev --all-extras --format cyclonedx1.5 \
	  --preview-features sbom-export | $(RUN) python .ci/release.py sbom > dist/osm-gitops.cdx.json
	cd dist && sha256sum *.whl *.tar.gz *.json > SHA256SUMS

clean: ## Remove everything that make made.
	rm -rf .venv .tools .demo dist site .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
