# Two commands to know: `make demo` and `make test`. Everything else is listed by `make help`.

PYTHON ?= python3
OWN_UV := $(CURDIR)/.tools/bin/uv
UV := $(shell command -v uv 2>/dev/null || echo $(OWN_UV))
BIN := .venv/bin
# Certificates of the system, as every other program here uses them (company proxies).
export UV_SYSTEM_CERTS := 1

.PHONY: help setup demo test test-all test-on slow-tests without-posix coverage stability lint requirements fuzz endurance task-faults bench bench-instructions interop interop-node hosts gateway-servers migrating everything browser-tests screenshots .browser \
	bench-host site client-under-test wheels check-wheels wheelhouse smoke check-release check-container sbom licences conformance conformance-server conformance-client conformance-gateway security security-count schema-suite openapi-apis clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

# uv comes along in an environment of its own where it is not installed; nothing is installed globally.
$(OWN_UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, as PYTHON=…"; exit 1; }
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check "uv>=0.9"

setup: $(filter $(OWN_UV),$(UV))  ## the environment, from the lock file
	@$(UV) sync --quiet --locked

demo: setup  ## serve files over HTTP and use them; KEEP=1 leaves it running
	@$(BIN)/python demo/demo.py $(if $(KEEP),--keep)

OPTIONS = --numprocesses $(or $(JOBS),auto) --dist worksteal
PYTEST = $(BIN)/python -m pytest $(OPTIONS)
REPORT = $(if $(JUNIT),--junitxml=$(JUNIT))

test: setup  ## nine tenths of the tests: all that are fast; in JOBS processes (one for each CPU)
	$(PYTEST) -m "not slow" $(REPORT)

test-all: setup  ## every test; JUNIT=FILE writes a report, as it does for make test
	$(PYTEST) $(REPORT)

OTHER = .venvs/$(subst /,-,$(PYTHON))

test-on: $(filter $(OWN_UV),$(UV))  ## every test on another Python, in an environment of its own: PYTHON=3.13 TESTS="tests/unit"
	UV_PROJECT_ENVIRONMENT=$(OTHER) $(UV) sync --quiet --locked --python $(PYTHON)
	$(OTHER)/bin/python -m pytest $(OPTIONS) $(REPORT) $(TESTS)

slow-tests: setup  ## measure every test, and write the list of the slow ones
	$(PYTEST) --junitxml=.slow-tests.xml
	@PYTHONPATH=tests $(BIN)/python -m support.tiers .slow-tests.xml
	@rm .slow-tests.xml

# An environment of its own: a line of its site-packages hides the calls of Linux from each of its processes.
SYSTEM = windows
without-posix: setup  ## the tests of docs/platforms.md, with what SYSTEM=windows or macos lacks taken away; TESTS="tests/wire -x"
	@rm -f .without-posix/$(SYSTEM)/lib/*/site-packages/00_tooltrue_without_posix.pth  # uv looks at the system as well
	@UV_PROJECT_ENVIRONMENT=.without-posix/$(SYSTEM) $(UV) sync --quiet --locked $(if $(filter windows,$(SYSTEM)),--no-install-package uvloop)
	@$(BIN)/python tests/support/without_posix.py .without-posix/$(SYSTEM) $(SYSTEM)
	.without-posix/$(SYSTEM)/bin/python -m pytest $(OPTIONS) -m "not slow" $(or $(TESTS),$$(PYTHONPATH=tests $(BIN)/python -m support.platforms $(SYSTEM))) $(REPORT)

# A test takes longer while it is traced.
coverage: setup  ## run the fast tests, and print how many branches they take; COVERAGE="tests/unit" for a part
	@rm -rf .coverage-data && mkdir .coverage-data
	$(BIN)/coverage run -m pytest $(OPTIONS) --timeout 900 -m "not slow" $(COVERAGE)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report
	@$(BIN)/coverage json --quiet -o - | $(BIN)/python tests/support/branches.py

stability: setup  ## the suite in random orders, alone and beside busy processes; STABILITY="--runs 5 --busy-runs 2"
	PYTHONPATH=tests $(BIN)/python -m support.stability $(STABILITY)

lint: setup  ## format, lint, types on Linux, macOS and Windows, import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@$(MAKE) --no-print-directory -j2 --output-sync $(TYPES)
	$(BIN)/lint-imports

# Each is one process for a minute or two, on one CPU.
TYPES = $(addprefix types-,tests linux darwin windows)
.PHONY: $(TYPES)
$(TYPES): types-%:
	$(BIN)/pyright --project $(if $(filter linux,$*),pyproject.toml,pyrightconfig.$*.json)

requirements: setup  ## the duties of the specification, with the number of tests of each
	@PYTHONPATH=tests $(BIN)/python tests/requirements/coverage.py

security: setup  ## every attack that must fail, and its harmless twin that must pass, as a table
	@PYTHONPATH=tests $(BIN)/python tests/security/table.py -qq

security-count: setup  ## count how many variants of each attack are tried, for docs/security.md
	@PYTHONPATH=tests $(BIN)/python tests/security/table.py --count
	@$(BIN)/python docs/generate.py

fuzz: setup  ## the generated cases, for long; FUZZ_EXAMPLES=10000, FUZZ="-k doors"
	$(BIN)/python -m pytest tests/properties --timeout=0 --hypothesis-profile=fuzz $(FUZZ)

endurance: setup  ## load and abuse that must not hurt a server, as figures with bounds; ENDURANCE="--only idle,gone --size 0.1"
	@PYTHONPATH=tests $(BIN)/python -m endurance.run $(ENDURANCE)

task-faults: setup  ## kill workers of a server with tasks, take their database away, and count what is lost; TASKS="--kills 200 --only kills"
	@PYTHONPATH=tests $(BIN)/python -m task_faults.run $(TASKS)

bench: setup  ## against its peers and the limit, as ratios; BENCH="--only stdio --rounds 5"
	UV=$(UV) $(BIN)/python bench/run.py $(BENCH)

bench-instructions: setup  ## instructions of a call, counted by valgrind; BENCH="--base HEAD~1" compares with a commit
	$(BIN)/python bench/instructions.py $(BENCH)

bench-host: setup  ## ten servers behind a host: the time until they are ready, and their memory; BENCH="--rounds 9"
	$(BIN)/python bench/host.py $(BENCH)

site: $(filter $(OWN_UV),$(UV))  ## the documentation as a static site, in site/; a broken link fails
	@UV_PROJECT_ENVIRONMENT=.site/environment $(UV) sync --quiet --locked --only-group site
	@.site/environment/bin/python docs/build_site.py

wheels: setup  ## wheels and source archives of the distributions, in dist/
	@$(BIN)/python -m release.archives build dist

check-wheels: wheels  ## build them once more, elsewhere; compare digests; check contents, metadata and long descriptions
	@$(BIN)/python -m release.archives check dist
	@$(BIN)/twine check --strict dist/*.whl dist/*.tar.gz
	@$(BIN)/check-wheel-contents dist/*.whl

wheelhouse: setup  ## a folder of all wheels that tooltrue[all] needs here, in dist/wheelhouse; PYTHONS="3.12 3.13"
	@$(BIN)/python -m release.wheelhouse dist/wheelhouse $(PYTHONS)

smoke: wheelhouse  ## install from that folder into empty environments, and use them; PYTHONS="3.12 3.13"
	@$(BIN)/python -m release.smoke dist/wheelhouse $(PYTHONS)

check-release: setup licences  ## lint workflows and container files
	$(BIN)/zizmor --offline --no-progress --quiet .github/workflows
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker/compose.yaml
	$(BIN)/kubernetes-validate --strict --quiet docker/kubernetes/*.yaml
	$(BIN)/hadolint docker/Dockerfile

check-container: setup  ## replay the steps of docker/Dockerfile in an empty environment, without a container
	@UV=$(UV) $(BIN)/python -m release.container

sbom: setup  ## what a release contains, with digests and licences, in dist/tooltrue.cdx.json (CycloneDX)
	@UV=$(UV) $(BIN)/python -m release.contents sbom dist/tooltrue.cdx.json

licences: setup  ## the licences of all dependencies; one that is not on release/licences.toml fails
	@UV=$(UV) $(BIN)/python -m release.contents licences

# The program is $CHROMIUM or chromium, as a package of the system: Playwright downloads none.
BROWSER = .browser/environment/bin/python
.browser: setup
	@UV_PROJECT_ENVIRONMENT=.browser/environment $(UV) sync --quiet --locked --group browser
	@npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix .browser axe-core@4.14.1

browser-tests: .browser  ## the console in Chromium: two browsers, hostile texts, other sites, accessibility; needs chromium and npm
	$(BROWSER) -m pytest $(OPTIONS) tests/browser/journeys.py tests/browser/issuer_journeys.py $(TESTS)

screenshots: .browser  ## a picture of every page of the console, in docs/console/
	PYTHONPATH=tests:. $(BROWSER) -m browser.screenshots docs/console

interop: setup  ## the official clients and Inspector against our server
	UV=$(UV) $(BIN)/python tests/interop/run.py $(INTEROP)

interop-node: setup  ## their Node parts only
	UV=$(UV) $(BIN)/python tests/interop/run.py --node-only $(INTEROP)

hosts: setup  ## other people's servers, and a hostile one, behind our host
	UV=$(UV) $(BIN)/python tests/hosts/run.py

gateway-servers: setup  ## nine servers by other people behind our gateway, two clients by others before it
	UV=$(UV) $(BIN)/python tests/hosts/gateway.py

migrating: setup  ## the code of other libraries on the migration pages, run with these libraries
	UV=$(UV) $(BIN)/python tests/migrating/run.py

everything: setup  ## serve one of everything for the official conformance suite, at PORT (3001)
	$(BIN)/tooltrue serve tests/conformance/everything.py --http 127.0.0.1:$(or $(PORT),3001)

client-under-test: setup  ## the command that the official conformance suite judges as a client
	@echo $(CURDIR)/$(BIN)/python $(CURDIR)/tests/conformance/client.py

conformance: conformance-server conformance-client  ## the official conformance suite against our server and our client

conformance-server: setup  ## its server's half; CONFORMANCE="--scenario ping --keep"
	$(BIN)/python tests/conformance/run.py $(CONFORMANCE)

conformance-client: setup  ## its client's half, one scenario at a time; CONFORMANCE="--scenario sse-retry --keep"
	$(BIN)/python tests/conformance/run_clients.py $(CONFORMANCE)

conformance-gateway: setup  ## it through a gateway, before our server and the one of TypeScript; CONFORMANCE="--before stateless"
	$(BIN)/python tests/conformance/run_gateways.py $(CONFORMANCE)

schema-suite: setup  ## the official JSON Schema test suite; SUITE=DIR for a checkout of it
	$(BIN)/python tests/schema_suite/run.py $(if $(SUITE),--suite $(SUITE))

openapi-apis: setup  ## tools of eighteen real APIs, called and judged; OPENAPI_APIS="--apis Stripe --count 2 --faults"
	UV=$(UV) PYTHONPATH=tests $(BIN)/python tests/openapi_apis/run.py $(OPENAPI_APIS)

clean:  ## remove the files that these commands have made
	rm -rf .venv .venvs .tools .bench .interop .schema-suite .openapi-apis .site .browser .without-posix site .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage-data dist
