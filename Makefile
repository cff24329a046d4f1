# The front door. "make" tells what there is.

# The kernel: a directory in patches/.
KERNEL ?= 7.3
export KERNEL

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

# The quick ones first; what follows a "-" is the check's argument.
MACHINES := x86_64-qemu x86_64-bochs i386-qemu i386-bochs
CHECKS := shell headers apply checkpatch drift callsites rebase mails badinput \
	$(MACHINES:%=kselftest-%) kselftest-x86_64-qemu-mce kselftest-x86_64-qemu-oops \
	$(MACHINES:%=doublefault-%) \
	coverage formats boottime bench \
	trapstat collector tracecmd \
	demo kernelshark gate-build-entry sanitizers
# What does not fit into the time of "make check". Most build their own kernels.
LONG_CHECKS := bisect debug-kasan debug-kcsan nofunction storm crash killed upstream \
	bench-size tracers chrome lttng systemtap deb
# What has to hold before the series is posted, without what is in those two.
GATES = $(filter-out $(1) $(1:%=gate-%),$(addprefix gate-,$(shell ci/gate --list)))
# Some are about no kernel, or about pages or mails of 7.3: ci/README.md.
ifneq ($(KERNEL),7.3)
CHECKS := $(filter-out shell badinput mails bench coverage,$(CHECKS))
LONG_CHECKS := $(filter bisect nofunction systemtap debug-% storm crash killed,$(LONG_CHECKS))
GATES =
endif
# Those of both that run in the guest of "make kernel".
GUEST_CHECKS := $(filter bench boottime formats demo kernelshark storm killed \
	trapstat collector tracecmd tracers chrome lttng \
	%-x86_64-qemu %-x86_64-bochs %-mce %-oops,$(CHECKS) $(LONG_CHECKS))

.PHONY: help
help:
	@echo 'Traps: every x86 exception and page fault in ftrace'
	@echo
	@echo '  make demo                build and boot the patched kernel, trace a real program'
	@echo '  make demo CMD="..."      trace a command of yours'
	@echo '  make check               all checks; also what CI runs'
	@echo '  make check-all           these and the long ones: debug kernels, upstream suites, a storm'
	@echo '  make check-NAME          one of them: ci/README.md'
	@echo
	@echo '  make apply LINUX=DIR     apply the queue to a kernel tree of yours'
	@echo '  make rebase KERNEL_SOURCE=NEW   try the queue on a newer tree, tarball or package'
	@echo '  make lkml                the queue as mails in build/lkml; SERIES=NAME: one series; DRY_RUN=1: only show them'
	@echo '  make gates               what has to hold before they are sent: tools/gates/README.md'
	@echo '  make gate-NAME           one of the gates'
	@echo '  make deb                 Debian packages for a real machine: tools/deb/README.md'
	@echo
	@echo '  make vm                  a shell in the patched guest'
	@echo '  make kernel              only build the guest kernel'
	@echo '  make bench               measure what the events cost, write Documentation/performance.md'
	@echo '  make patches             regenerate the patches made of files in this repository'
	@echo '  make coverage            regenerate Documentation/coverage.md from the logs of the checks'
	@echo
	@echo '  make clean               remove what was built; the kernel source stays'
	@echo '  make distclean           remove build/'
	@echo
	@echo 'Needs Debian 12 and, for missing packages, root. KERNEL=$(KERNEL), or 6.12: patches/.'

.PHONY: setup source kernel kernel-i386
setup:
	@tools/setup
source: setup
	@tools/kernel/fetch $(KERNEL)
	@tools/kernel/patch $(KERNEL)
kernel: source
	@tools/kernel/build $(KERNEL) x86_64-guest
kernel-i386: source
	@tools/kernel/build $(KERNEL) i386-guest

.PHONY: of-7.3
of-7.3:
	@[ $(KERNEL) = 7.3 ] || { echo 'the pages and the mails are about 7.3, not $(KERNEL)' >&2; exit 1; }

.PHONY: demo vm
demo: export CMD := $(CMD)
demo: kernel
	@if [ -n "$$CMD" ]; then tools/demo/run sh -c "$$CMD"; else tools/demo/run; fi
vm: kernel
	@tools/vm/run -i

.PHONY: deb
deb: source
	@tools/deb/build $(if $(CONFIG),-c "$(CONFIG)") $(if $(MODULES),-m "$(MODULES)") $(if $(DEBUG),-d) $(KERNEL)

.PHONY: bench
bench: of-7.3 kernel
	@tools/bench/all $(KERNEL)

.PHONY: check check-all $(CHECKS:%=check-%) $(LONG_CHECKS:%=check-%)
check: kernel kernel-i386
	@ci/run $(CHECKS)
check-all: kernel kernel-i386
	@ci/run $(CHECKS) $(LONG_CHECKS) $(call GATES,$(CHECKS) $(LONG_CHECKS))
$(GUEST_CHECKS:%=check-%): kernel
$(filter check-%-i386-qemu check-%-i386-bochs,$(CHECKS:%=check-%)): kernel-i386
$(CHECKS:%=check-%) $(LONG_CHECKS:%=check-%): source
	@ci/run $(@:check-%=%)

.PHONY: coverage
coverage: of-7.3 source
	@tools/coverage/report

.PHONY: apply patches
apply:
	@[ -n "$(LINUX)" ] || { echo 'apply: which tree? make apply LINUX=/path/to/linux' >&2; exit 1; }
	@tools/kernel/patch $(KERNEL) --tree "$(LINUX)"
patches: source
	@tools/kernel/regenerate $(KERNEL)
	@tools/kernel/patch $(KERNEL)

.PHONY: rebase lkml gates setup-gates
rebase:
	@[ -n "$(KERNEL_SOURCE)" ] || { echo 'rebase: onto what? make rebase KERNEL_SOURCE=/path/to/tree, .tar.xz or .deb' >&2; exit 1; }
	@tools/kernel/rebase $(KERNEL) "$(KERNEL_SOURCE)"
lkml: of-7.3 source
	@tools/lkml/export $(KERNEL) $(if $(DRY_RUN),--dry-run) $(SERIES)
setup-gates: source
	@tools/setup gates
gates: of-7.3 kernel setup-gates
	@ci/run $(call GATES)
check-all: setup-gates
gate-%: setup-gates
	@ci/run $@
gate-formats gate-histogram: kernel

.PHONY: clean distclean
clean:
	rm -rf build/tmp build/ci-* build/bench build/demo build/vm build/log build/*/x86_64-* build/*/i386-* build/*/gate-* build/lkml build/rebase build/*/kselftest build/*/lttng build/lttng build/*/systemtap build/systemtap build/*/upstream build/bochs* build/busybox-* build/deb* build/*/deb*
distclean:
	rm -rf build
