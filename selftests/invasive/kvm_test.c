// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of a KVM guest: the page faults of the host are recorded, those of the
 * guest are not exceptions of the host.
 *
 * Needs a CPU with SVM or VMX.
 */
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "invasive_fixture.h"
#include "memory.h"

/* mov %al,(%bx); hlt: in real mode, at address 0 */
static const char code[] = { 0x88, 0x07, 0xf4 };

static int vcpu = -1;
static struct kvm_run *run;

/* A virtual machine of one CPU, a page of code and a page for each round */
static char *make_machine(void)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int machine = ioctl(kvm, KVM_CREATE_VM, 0);
	int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	char *memory = map_anonymous(ROUNDS + 1);
	const struct kvm_userspace_memory_region region = {
		.memory_size	= (ROUNDS + 1) * PAGE,
		.userspace_addr	= (unsigned long)memory,
	};
	struct kvm_sregs sregs;

	if (kvm < 0 || machine < 0 || !memory)
		return NULL;
	memcpy(memory, code, sizeof(code));
	vcpu = ioctl(machine, KVM_CREATE_VCPU, 0);
	run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	if (ioctl(machine, KVM_SET_USER_MEMORY_REGION, &region) || run == MAP_FAILED ||
	    ioctl(vcpu, KVM_GET_SREGS, &sregs))
		return NULL;
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	return ioctl(vcpu, KVM_SET_SREGS, &sregs) ? NULL : memory + PAGE;
}

static void run_guest(struct report *report, int round)
{
	struct kvm_regs regs = { .rflags = 2, .rbx = (round + 1) * PAGE, .rax = 'x' };
	char *page = page_of_round(report, round, make_machine);

	if (page)
		report->error = ioctl(vcpu, KVM_SET_REGS, &regs) || ioctl(vcpu, KVM_RUN, 0) ||
				run->exit_reason != KVM_EXIT_HLT;
}

SIMPLE_FIXTURE(kvm, set_up)

TEST_F(kvm, guest_memory)
{
	struct child child;
	struct trace trace;

	start_or_skip(_metadata, &child, run_guest, "no KVM");
	if (_metadata->exit_code)
		return;
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);
	EXPECT_EQ(0, child.report->error);
	EXPECT_EQ(child.report->minflt, trace_count(&trace, "*_fault*", "* result=MINOR"));
	EXPECT_EQ(child.report->majflt, trace_count(&trace, "*_fault*", "* result=MAJOR"));
	EXPECT_EQ(1, trace_count(&trace, "mm_fault", "address=0x%lx fault_flags=WRITE* mm_id=* curr=1 result=MINOR",
				 child.report->address));
}

TEST_HARNESS_MAIN
