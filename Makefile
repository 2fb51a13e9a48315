# SPDX-License-Identifier: MIT
# Forwards to meson, ninja and the scripts of tools/; nothing is built by a rule of this file.
#
#   make               build build/tally            make bench          speed beside other tools
#   make demo          count a real program         make fuzz T=elf S=60   fuzz one target, S seconds
#   make check         run every test               make format         format the C sources
#   make check-asan    the same under sanitizers    make tidy           clang-tidy
#   make docs          regenerate docs/ref          make install        PREFIX and DESTDIR are honored
#   make examples      build the programs that examples/tenants.yaml runs, from Debian's sources
#   make check-linux   boot Linux, count there      make mutate M=src/pmu  break the code, count what tests catch
#   make clean         remove every build folder
#
# V=1 shows commands; CI=true turns warnings into errors; BENCH=--quick takes a tenth of the time.
PREFIX ?= /usr/local
SUITES ?= unit contract guest cli golden lint
T ?= elf
S ?= 60
BENCH ?=
M ?=
MUTATE ?=

release = tools/build build gcc --prefix=$(PREFIX)
asan = tools/build build-asan clang-14 -Db_sanitize=address,undefined -Db_lundef=false

.DEFAULT_GOAL := build
.PHONY: build demo examples check check-asan check-clang check-linux bench fuzz mutate format tidy docs install clean

build:
	@tools/install-deps build
	@$(release)

demo:
	@tools/install-deps build check
	@$(release)
	build/tally stat -- build/guest/demo

examples:
	@tools/install-deps build check bench
	@$(release)
	@bench/workloads/build.sh bench/out lua speedtest1 bzip2

check:
	@tools/install-deps build check
	@$(release)
	@tools/run-tests build $(SUITES)

check-asan:
	@tools/install-deps build check
	@$(asan)
	@tools/run-tests build-asan $(filter-out lint,$(SUITES))

check-clang:
	@tools/install-deps build check
	@tools/build build-clang clang-14
	@tools/run-tests build-clang $(filter-out lint,$(SUITES))

# The first run builds a kernel and perf, 4 to 6 minutes on two cores, and fetches 140 MB of Debian packages. LINUX= names tests or options
# of tools/check-linux: LINUX=--offline does without the packages.
check-linux:
	@tools/install-deps build check system
	@$(release)
	@tools/check-linux $(LINUX)

bench:
	@tools/install-deps build check bench
	@$(release)
	@bench/workloads/build.sh bench/out
	@bench/workloads/large.sh bench/out/large
	@bench/run.py $(BENCH)
	@bench/large.py $(filter --quick --record,$(BENCH))
	@bench/record.py $(filter --quick --record,$(BENCH))
	@bench/record.py --memory $(filter --record,$(BENCH))
	@bench/contexts.py $(filter --record,$(BENCH))
	@bench/system.py $(filter --quick --record,$(BENCH))
	@bench/arm64.py $(filter --quick --record,$(BENCH))
	@bench/detailed.py $(filter --quick --record,$(BENCH))
	@bench/netburst.py $(filter --quick --record,$(BENCH))
	@bench/tenants.py $(filter --quick --record,$(BENCH))

fuzz:
	@tools/install-deps build check
	@tools/build build-fuzz clang-14 -Dfuzz=true -Dguests=disabled -Db_sanitize=address,undefined -Db_lundef=false
	@tools/fuzz build-fuzz $(T) $(S)

# MUTATE= passes options of tools/mutate: make mutate M=src/pmu MUTATE='--count 0'.
mutate:
	@tools/install-deps build check
	@tools/mutate $(MUTATE) $(M)

format:
	@tools/install-deps check
	@tools/format

tidy:
	@tools/install-deps build check
	@tools/build build-clang clang-14
	@tools/tidy build-clang

docs:
	@tools/install-deps build
	@$(release)
	@tools/make-docs build/tally docs/ref

install:
	@tools/install-deps build
	@$(release)
	@meson install -C build --no-rebuild

clean:
	rm -rf build build-asan build-clang build-fuzz build-mutate
