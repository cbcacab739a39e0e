# All tasks of developers and CI; each target works from a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
COMPILED := $(VENV)/.compiled
WIDE := $(VENV)/.compiled-wide
TEST := $(BIN)/python -m pytest -n auto --dist loadfile
LONG := $(TEST) -m long --durations=20 --durations-min=30
SLOW := canonical reduction renamings random_systems hidden_refusals hidden_state first_tier goal equal_values levels
QUICK := tests/test_examples.py tests/election tests/statemachines tests/transcripts tests/spec/scenarios tests/spec/language \
	$(filter-out $(patsubst %,\%_%.py,$(SLOW)) tests/spec/checking/local/% tests/spec/checking/spark/%, \
		$(wildcard tests/spec/checking/test_*.py tests/spec/checking/*/test_*.py)) \
	$(addprefix tests/spec/,checking/local/test_masks.py checking/local/test_recording.py \
		test_diagrams.py atlas/test_catalogue.py atlas/test_loading.py cli/test_progress.py)
# If the environment forbids bytecode, each of the hundred processes that tests start compiles every module again.
unexport PYTHONDONTWRITEBYTECODE

PARTS := long-kafka long-instances long-engines long-reliability long-spark long-systems long-zookeeper long-mutants long-pictures

# Each dependency's use, tested once: README's commands, the wheel, Spark's jobs, a resumed run.
CLAIMED := tests/test_packaging.py tests/test_tutorial.py::test_document_examples_hold \
	$(addprefix tests/spec/,checking/spark/test_engine.py::test_jobs_agree_with_the_reference checking/spark/test_resume.py::test_a_killed_run_is_resumed \
	checking/traces/test_itf.py checking/graph/test_state_space.py checking/traces/test_tabular.py testing/test_machine.py reports what_if/test_live_zookeeper.py)

.DEFAULT_GOAL := help
.PHONY: help check quick test lowest newest lint long long-sequences long-large long-mutation kafka bench dist diagrams docs clean $(PARTS)

help:  ## list these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-16s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Error: Python 3.11 or later is needed, this is " + sys.version.split()[0])'
	@echo 'Installing into $(VENV): a minute or two.'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

check: $(STAMP)  ## explore the controller election on each engine, then show two bugs of Kafka
	@$(BIN)/python -m spec.cli.demonstration

# Compile the kernels once, so that parallel test workers do not each compile them.
$(COMPILED): $(STAMP) $(wildcard spec/checking/local/*.py)
	$(BIN)/python -m tests.compiling
	@touch $@

# Compile the kernels for states of more than four words.
$(WIDE): $(COMPILED)
	$(BIN)/python -m tests.compiling --wide
	@touch $@

quick: $(COMPILED)  ## the tests for every change, in a minute: no server, no Spark, no installation
	$(TEST) -m 'not long and not spark' $(QUICK)

test: $(COMPILED)  ## all tests but the long ones: every engine, a real ZooKeeper, a real Spark
	$(TEST) -m 'not long'

# Each uses its own environment. numba's cache is in it too: beside the source, it would replace the cache of another
# version. Deprecation warnings of old versions fail no test here.
lowest: RESOLUTION = lowest-direct
lowest:  ## test with the oldest versions that pyproject.toml allows: README's commands, Spark's jobs, a resumed run; minutes (PYTHON=python3.12 selects a Python)
newest: RESOLUTION = highest
newest:  ## the same with the newest versions; for a Python other than make test's: make newest PYTHON=python3.13
lowest newest:
	$(PYTHON) -m venv --clear $(VENV)-$@
	$(VENV)-$@/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(VENV)-$@/bin/uv pip install --quiet --python $(VENV)-$@/bin/python --resolution $(RESOLUTION) --editable '.[dev]'
	NUMBA_CACHE_DIR=$(abspath $(VENV)-$@)/numba $(VENV)-$@/bin/python -m pytest -W default -m 'not long' $(CLAIMED)

long: $(WIDE)  ## all long tests, about an hour: every instance, but only one or two large ones of each system on the reference engine and on Spark
	$(LONG)

$(PARTS): $(COMPILED)
	$(LONG) $(PART)

long-instances long-systems: $(WIDE)
long-instances:  ## part of long: pinned instances and anomalies
long-instances: PART = tests/spec/atlas/test_instances.py tests/spec/checking/spark/test_instances.py tests/spec/atlas/test_anomalies.py

long-engines:  ## part of long: the reference and the local engine, with 20,000 random systems and 10,000 with folds (SYSTEMS_SEED=7 FOLDS_SEED=7 repeats a run), and killed runs
long-engines: PART = $(filter-out %/spark %.py,$(wildcard tests/spec/checking/*)) $(wildcard tests/spec/checking/test_*.py)

long-reliability:  ## part of long: runs interrupted at random moments
long-reliability: PART = tests/reliability

long-spark:  ## part of long: Spark, with every toy system run as jobs and a cluster that loses a machine
long-spark: PART = $(filter-out %_instances.py,$(wildcard tests/spec/checking/spark/test_*.py))

long-systems:  ## part of long: whole systems, simulations and scenarios, the gallery, benchmarks, and the tutorial from an installed wheel
long-systems: PART = tests/spec/systems tests/spec/parts tests/spec/scenarios tests/statemachines tests/spec/what_if tests/gallery \
	tests/test_benchmarks.py tests/test_examples.py tests/test_packaging.py

long-kafka:  ## part of long: Kafka's own classes, with every kind of reachable step of two brokers and long sequences of commands
long-kafka: PART = tests/kafka
long long-kafka: export CONTROL_SEQUENCES = 20000

long-sequences: $(COMPILED)  ## beyond long, hours: 100,000 sequences of commands and of events beside Kafka, 10,000 of requests, a million operations beside ZooKeeper
	DATA_PLANE_CASES=10000 CONTROL_SEQUENCES=100000 EVENT_SEQUENCES=100000 RECEIVER_SEQUENCES=10000 ZOOKEEPER_OPERATIONS=1000000 $(LONG) \
		tests/kafka/test_state_machines_beside.py tests/kafka/test_controller_beside.py tests/kafka/test_idle_controller_beside.py tests/kafka/test_receiving_broker.py tests/kafka/test_data_plane_beside.py \
		tests/zookeeper

long-large: $(WIDE)  ## beyond long, an hour: all large instances on the reference engine and on Spark
	LARGE_INSTANCES=all $(LONG) tests/spec/atlas/test_instances.py tests/spec/checking/spark/test_instances.py

long-mutation: $(COMPILED)  ## change 100 random places of election/ and statemachines/ one by one, and list the tests that notice (SEED=7 repeats a run, MUTANTS=20 tries fewer)
	$(BIN)/python -m tests.random_mutants --size $(or $(MUTANTS),100) $(addprefix --seed=,$(SEED))

long-zookeeper:  ## part of long: 200,000 operations beside a real ZooKeeper, and kazoo's own tests on the one in memory
long-zookeeper: PART = tests/zookeeper tests/spec/testing

long-mutants:  ## part of long: mutants, which are systems broken on purpose
long-mutants: PART = $(wildcard tests/*/test_mutants.py tests/*/*/*/test_mutants.py) tests/election/test_replica_placement.py

long-pictures:  ## part of long: diagrams of each generation, the documents, the site, and the command in hostile environments
long-pictures: PART = $(wildcard tests/spec/test_*.py) tests/spec/cli tests/spec/language tests/spec/atlas/test_loading.py \
	tests/test_tutorial.py tests/test_documents.py tests/test_site.py

kafka: $(COMPILED)  ## compare Kafka's own classes with the specification, in full for the newest release; minutes
	$(TEST) tests/kafka

bench: $(STAMP)  ## compare the engines with hand-written searches, SPIN and Stateright, and measure scaling and first starts; minutes
	$(BIN)/python -m benchmarks.compare kip-320 3-2-2-2
	$(BIN)/python -m benchmarks.compare kip-320 3-3-3-2 --without reference --without spark
	$(BIN)/python -m benchmarks.compare two-phase-commit 8 --without reference
	$(BIN)/python -m benchmarks.scaling
	$(BIN)/python -m benchmarks.start

lint: $(STAMP)  ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

dist: $(STAMP)  ## build the wheel and the sdist in dist/, and test each in an empty environment of each installed Python; minutes
	rm -rf dist
	$(BIN)/python -m build --quiet --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	DIST=$(abspath dist) $(BIN)/python -m pytest -m 'not long' tests/test_packaging.py

diagrams: $(STAMP)  ## redraw diagrams/ from the tables and from an exploration of the controller
	$(BIN)/python -m spec.diagrams diagrams

docs: $(COMPILED)  ## build the documentation site in build/docs, check its links and explore each anomaly; two minutes
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --conf-dir docs --doctree-dir build/doctrees . build/docs
	@echo "The site begins at build/docs/docs/index.html"

clean:  ## remove everything the other targets made
	rm -rf $(VENV) docs/reference/*/ $(VENV)-lowest $(VENV)-newest .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache *.egg-info build dist
