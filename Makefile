# The front door. "make" tells what there is.

# The kernel: a directory in patches/.
KERNEL ?= 7.3
export KERNEL

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

# The quick ones first.
CHECKS := shell headers apply checkpatch drift kselftest boottime demo bisect

.PHONY: help
help:
	@echo 'Traps: every x86 exception and page fault in ftrace'
	@echo
	@echo '  make demo                build and boot the patched kernel, trace a real program'
	@echo '  make demo CMD="..."      trace a command of yours'
	@echo '  make check               all checks; also what CI runs'
	@echo '  make check-NAME          one of: $(CHECKS)'
	@echo
	@echo '  make apply LINUX=DIR     apply the queue to a kernel tree of yours'
	@echo '  make vm                  a shell in the patched guest'
	@echo '  make kernel              only build the guest kernel'
	@echo '  make patches             regenerate the patches made of files in this repository'
	@echo
	@echo '  make clean               remove what was built; the kernel source stays'
	@echo '  make distclean           remove build/'
	@echo
	@echo 'Needs Debian 12 and, for missing packages, root. KERNEL=$(KERNEL) is the default.'

.PHONY: setup source kernel
setup:
	@tools/setup
source: setup
	@tools/kernel/fetch $(KERNEL)
	@tools/kernel/patch $(KERNEL)
kernel: source
	@tools/kernel/build $(KERNEL) x86_64-guest bzImage vmlinux modules

.PHONY: demo vm
demo: export CMD := $(CMD)
demo: kernel
	@if [ -n "$$CMD" ]; then tools/demo/run sh -c "$$CMD"; else tools/demo/run; fi
vm: kernel
	@tools/vm/run -i

.PHONY: check $(CHECKS:%=check-%)
check: kernel
	@ci/run $(CHECKS)
check-kselftest check-boottime check-demo: kernel
$(CHECKS:%=check-%): source
	@ci/run $(@:check-%=%)

.PHONY: apply patches
apply:
	@[ -n "$(LINUX)" ] || { echo 'apply: which tree? make apply LINUX=/path/to/linux' >&2; exit 1; }
	@tools/kernel/patch $(KERNEL) --tree "$(LINUX)"
patches: source
	@tools/kernel/regenerate $(KERNEL)
	@tools/kernel/patch $(KERNEL)

.PHONY: clean distclean
clean:
	rm -rf build/tmp build/ci-* build/demo build/vm build/log build/*/x86_64-* build/*/kselftest
distclean:
	rm -rf build
