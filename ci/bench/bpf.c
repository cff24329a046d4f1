// SPDX-License-Identifier: GPL-2.0
/*
 * bpf - run a command with the smallest useful BPF program attached: it counts
 *
 * usage: bpf tp SYSTEM/EVENT CMD [ARG...]
 *        bpf raw_tp|tp_btf EVENT CMD [ARG...]
 *        bpf fentry|fexit FUNCTION CMD [ARG...]
 *
 * The same program for each way to attach it, so that the ways can be compared.
 * Fails if the program was never called.  For one CPU.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <err.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static const struct way {
	const char *name;
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
} ways[] = {
	{ "tp",		BPF_PROG_TYPE_TRACEPOINT,	0 },
	{ "raw_tp",	BPF_PROG_TYPE_RAW_TRACEPOINT,	0 },
	{ "tp_btf",	BPF_PROG_TYPE_TRACING,		BPF_TRACE_RAW_TP },
	{ "fentry",	BPF_PROG_TYPE_TRACING,		BPF_TRACE_FENTRY },
	{ "fexit",	BPF_PROG_TYPE_TRACING,		BPF_TRACE_FEXIT },
};

static int load(const struct way *way, const char *name, int map)
{
	const struct bpf_insn insns[] = {
		/* u32 key = 0; */
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4 },
		/* u64 *count = bpf_map_lookup_elem(map, &key); */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
		{ },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		/* if (count) */
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 3 },
		/* (*count)++; */
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = 1 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_1 },
		/* return 0; */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = way->attach);
	int prog;

	if (way->type == BPF_PROG_TYPE_TRACING) {
		int id = libbpf_find_vmlinux_btf_id(name, way->attach);

		if (id < 0)
			errx(1, "%s: not in the kernel's BTF", name);
		opts.attach_btf_id = id;
	}
	prog = bpf_prog_load(way->type, "count", "GPL", insns, ARRAY_SIZE(insns), &opts);
	if (prog < 0)
		err(1, "%s %s: cannot load", way->name, name);
	return prog;
}

static int open_event(const char *name)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
	};
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &attr.config) != 1)
		err(1, "%s", path);
	fclose(f);
	return syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

static void attach(const struct way *way, const char *name, int prog)
{
	int fd;

	if (way->type == BPF_PROG_TYPE_TRACEPOINT) {
		fd = open_event(name);
		if (fd >= 0 && (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) ||
				ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)))
			fd = -1;
	} else {
		fd = bpf_raw_tracepoint_open(way->attach ? NULL : name, prog);
	}
	if (fd < 0)
		err(1, "%s %s: cannot attach", way->name, name);
}

static const struct way *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	errx(1, "no way to attach: %s", name);
}

int main(int argc, char **argv)
{
	const struct way *way;
	__u64 count = 0;
	__u32 key = 0;
	int map, status;

	if (argc < 4)
		errx(1, "usage: bpf tp|raw_tp|tp_btf|fentry|fexit NAME CMD [ARG...]");
	way = find(argv[1]);
	map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "count", sizeof(key), sizeof(count), 1, NULL);
	if (map < 0)
		err(1, "map");
	attach(way, argv[2], load(way, argv[2], map));

	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		execvp(argv[3], argv + 3);
		err(127, "%s", argv[3]);
	}
	wait(&status);
	if (bpf_map_lookup_elem(map, &key, &count) || !count)
		errx(1, "%s %s was never called", argv[1], argv[2]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
