# SPDX-License-Identifier: MIT
# A few words for people; the build itself is meson's.
#
#   make            build/tracefuse
#   make demo       a first look, on a recording that comes along
#   make check      everything that is tested; ends with "N passed, N failed, N skipped"
#   make bench      one table of measurements
#   make stress     programs that die, fork, jump and are interrupted, 25 times as often as check
#   make soak       a server under load for SOAK_SECONDS (600): does it keep its size?
#   make judges     lua, sqlite, redis and zstd with all of their own tests under function tracers
#   make servers    postgres, nginx and haproxy with all functions traced, RUNS times each (5)
#   make fuzz       the fuzzers, FUZZ_SECONDS each (300)
#   make install    below PREFIX (/usr/local), DESTDIR before it
#   make uninstall
#   make deb        Debian packages, in build/deb
#   make deb-check  makes, installs, uses and removes them in an overlay of this machine (as root)

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= 2
FUZZ_SECONDS ?= 300
SOAK_SECONDS ?= 600
RUNS ?= 5

BUILD = build/meson

all: build/tracefuse

# ninja knows what is to be done; make only has to ask it every time.
build/tracefuse: $(BUILD)/build.ninja FORCE
	ninja -C $(BUILD) -j $(JOBS) all-programs
	@ln -sf meson/src/cli/tracefuse build/tracefuse

$(BUILD)/build.ninja:
	@tools/install-packages build
	@mkdir -p build
	meson setup $(BUILD) --prefix $(PREFIX) --buildtype=debugoptimized

demo: build/tracefuse
	@examples/demo.sh

check:
	@tools/install-packages check
	@tools/build-judges lua sqlite zstd || true
	@tools/fetch-kernel || true
	@tests/run --jobs $(JOBS)

bench: build/tracefuse
	@tools/install-packages bench
	@tools/build-judges lua sqlite || true
	@bench/run

stress:
	@tools/install-packages check
	@tests/run --only long --jobs $(JOBS)

soak: build/tracefuse
	@tools/install-packages check
	@ninja -C $(BUILD) -j $(JOBS) tests/stress/crowd
	@tests/stress/soak build/tracefuse $(BUILD)/tests/stress/crowd $(SOAK_SECONDS)

judges: build/tracefuse
	@tools/install-packages check
	@tools/build-judges
	@tests/e2e/judges build/tracefuse all

servers: build/tracefuse
	@tools/install-packages check
	@tests/e2e/servers build/tracefuse $(RUNS)

fuzz:
	@tools/install-packages check
	@tests/run --only fuzz --fuzz-seconds $(FUZZ_SECONDS) --jobs $(JOBS)

install: build/tracefuse
	meson configure $(BUILD) -Dprefix=$(PREFIX)
	ninja -C $(BUILD) -j $(JOBS) all-programs
	DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild --only-changed

uninstall:
	@if [ -n "$(DESTDIR)" ]; then tools/uninstall $(BUILD) "$(DESTDIR)"; \
	else tools/uninstall $(BUILD); fi

clean:
	rm -rf build

FORCE:

.PHONY: deb deb-check all demo check bench stress soak judges servers fuzz install uninstall clean \
	FORCE

# The sources are copied, so that nothing but build/ changes.
deb:
	@tools/make-deb

deb-check:
	@tools/check-deb
