# "make" tells what there is.

# The kernel: a directory in patches/.
KERNEL ?= 7.3
export KERNEL

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

.PHONY: help
help:
	@echo 'Traps: every exception and page fault in ftrace'
	@echo
	@echo '  make demo                build and boot the patched kernel, trace a real program'
	@echo '  make demo CMD="..."      trace a command of yours'
	@echo '  make demo ARCH=arm64     the same in an arm64 guest'
	@echo '  make check               the checks that CI runs'
	@echo '  make check ARCH=arm64    the checks in an arm64 guest'
	@echo '  make check-all           all checks: also gates, debug kernels, upstream suites, a storm'
	@echo '  make check-all CONTINUE=1       without those that have passed with the same files'
	@echo '  make check-NAME          one of them'
	@echo '  make checks              list them, with the time that each took here'
	@echo
	@echo '  make apply LINUX=DIR     apply the queue to a kernel tree of yours'
	@echo '  make rebase KERNEL_SOURCE=NEW   try the queue on a newer tree, tarball or package'
	@echo '  make lkml                the queue as mails in build/lkml; SERIES=FOLDER: one series; DRY_RUN=1: only show them'
	@echo '  make gates               the checks that have to pass before the mails are sent'
	@echo '  make deb                 Debian packages for a real machine: ci/deb/README.md'
	@echo '  make deb-tools           Debian packages of the tools'
	@echo '  make dist                a tarball of the last commit'
	@echo
	@echo '  make vm                  a shell in the patched guest'
	@echo '  make kernel              only build the kernel of the checks, which demo and vm take, too'
	@echo '  make setup               install what the tools need to be built; setup-PURPOSE: ci/setup'
	@echo '  make bench               measure what the events cost, write it where it is quoted'
	@echo '  make patches             regenerate the patches made of files in this repository'
	@echo '  make coverage            regenerate Documentation/coverage.md from the logs of the checks'
	@echo '  make mutants SINCE=REV   small defects of what has changed: do the tests notice? Without SINCE, all; can be interrupted'
	@echo
	@echo '  make clean               remove what was built; the kernel source stays'
	@echo '  make distclean           remove build/'
	@echo
	@echo 'Needs Debian 12 and, for missing packages, root. KERNEL=$(KERNEL), or 6.12: patches/.'

.NOTPARALLEL:
.PHONY: setup source kernel kernel-i386 kernel-arm64
setup: setup-tools
# A purpose of ci/setup.
setup-%:
	@ci/setup $*
setup-gates: source
source: setup-demo
	@ci/kernel/fetch $(KERNEL)
	@ci/kernel/patch $(KERNEL)
kernel: setup-check source
	@ci/kernel/build $(KERNEL) x86_64-guest
kernel-i386: setup-check source
	@ci/kernel/build $(KERNEL) i386-guest
kernel-arm64: setup-check setup-arm64 source
	@ci/kernel/build $(KERNEL) arm64-guest

.PHONY: of-7.3
of-7.3:
	@[ $(KERNEL) = 7.3 ] || { echo 'the pages and the mails are about 7.3, not $(KERNEL)' >&2; exit 1; }

.PHONY: demo vm kernel-demo
# The kernel of the demo's guest: that of the checks where it is built, or else a small one.
$(if $(filter-out arm64 x86_64,$(ARCH)),$(error ARCH=$(ARCH): it is arm64, or not given))
machine := $(if $(filter arm64,$(ARCH)),arm64,x86_64)
guest := $(machine)-$(if $(wildcard build/$(KERNEL)/$(machine)-guest/vmlinux),guest,demo)
large := kernel$(if $(filter arm64,$(ARCH)),-arm64)
guest-kernel := $(if $(filter %-demo,$(guest)),kernel-demo,$(large))
kernel-demo: $(if $(filter arm64,$(ARCH)),setup-arm64) source
	@ci/kernel/build $(KERNEL) $(machine)-demo
demo: export CMD := $(CMD)
demo: $(guest-kernel)
	@if [ -n "$$CMD" ]; then ci/demo/run -k $(guest) sh -c "$$CMD"; else ci/demo/run -k $(guest); fi
vm: $(guest-kernel)
	@case $(guest) in *-demo) echo "The demo's small kernel: no function tracer, probes, BPF, modules, network, disks. 'make $(large)' builds one with them." ;; esac
	@ci/vm/run -k $(guest) -i

.PHONY: dist deb deb-tools
dist:
	@ci/dist
deb-tools: setup-tools setup-debhelper
	@ci/deb-tools/build
deb: setup-deb source
	@ci/deb/build $(if $(CONFIG),-c "$(CONFIG)") $(if $(MODULES),-m "$(MODULES)") $(if $(DEBUG),-d) $(KERNEL)

.PHONY: bench
bench: of-7.3 kernel kernel-arm64
	@ci/bench/all $(KERNEL)

.PHONY: check check-all gates checks
check check-all gates:
	@ci/run $@$(if $(filter check-arm64,$@-$(ARCH)),-arm64)
check-%:
	@ci/run $*
checks:
	@ci/run --list

.PHONY: coverage mutants
coverage: of-7.3 setup-check source
	@ci/coverage/report
mutants: of-7.3 kernel
	@ci/mutants/run

.PHONY: apply patches
apply:
	@[ -n "$(LINUX)" ] || { echo 'apply: which tree? make apply LINUX=/path/to/linux' >&2; exit 1; }
	@ci/kernel/patch $(KERNEL) --tree "$(LINUX)"
patches: source
	@ci/kernel/regenerate
	@ci/kernel/patch $(KERNEL)

.PHONY: rebase lkml
rebase:
	@[ -n "$(KERNEL_SOURCE)" ] || { echo 'rebase: onto what? make rebase KERNEL_SOURCE=/path/to/tree, .tar.xz or .deb' >&2; exit 1; }
	@ci/kernel/rebase $(KERNEL) "$(KERNEL_SOURCE)"
lkml: of-7.3 source
	@ci/kernel/mails $(KERNEL) $(if $(DRY_RUN),--dry-run) $(SERIES)

.PHONY: clean distclean
# Downloads and unpacked sources stay.
clean:
	@[ ! -d build ] || find build -mindepth 2 -maxdepth 2 ! -path 'build/apt/*' \
		! -path 'build/*/linux' ! -path 'build/*/pristine' -exec rm -rf {} +
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name apt '(' -type f -o -empty ')' -delete
distclean:
	rm -rf build
