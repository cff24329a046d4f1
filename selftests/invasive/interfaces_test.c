// SPDX-License-Identifier: GPL-2.0
/*
 * What ftrace can do with an event, it can do with the traps events: filters on
 * every field, triggers, histograms, synthetic events, event probes, instances,
 * process lists, pipes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "invasive_fixture.h"
#include "memory.h"
#include "raw.h"

#define NAME		"traps_interfaces"

/* --- What the child raises, as often as no library does by chance */

#define WRITES		8
#define SEGV_READS	3
#define SELECTORS	5
#define SELECTOR	0xfffb		/* beyond the GDT; the error code is without RPL */

/* In the parent, so that filters know the addresses. */
static char *pages, *absent;

/* Remains so when others map memory. */
static char *map_inaccessible(void)
{
	char *map = map_untouched();

	return map && !mprotect(map, ROUNDS * PAGE, PROT_NONE) ? map : NULL;
}

static void raise_some(struct report *report, int round)
{
	char *page = pages + round * WRITES * PAGE;

	for (int i = 0; i < WRITES; i++)
		raise_write(page + i * PAGE + 8);
	raise_resume = raise_read_resume;
	for (int i = 0; i < SEGV_READS; i++)
		raise_read(absent);
	raise_resume = raise_es_resume;
	for (int i = 0; i < SELECTORS; i++)
		raise_es(SELECTOR);
	raise_resume = NULL;
	raise_bp();
}

/* A child whose work raises that. */
static void start_some(struct __test_metadata *_metadata, struct child *child, work_t work)
{
	pages = map_anonymous(ROUNDS * WRITES);
	absent = map_inaccessible();
	ASSERT_TRUE(pages && absent);
	stay_on_cpu(_metadata, sched_getcpu());
	start(_metadata, child, work);
}

FIXTURE(interfaces) {
	struct child child;
	char pid[32];			/* a filter */
};

FIXTURE_SETUP(interfaces)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	start_some(_metadata, &self->child, raise_some);
	snprintf(self->pid, sizeof(self->pid), "common_pid == %d", self->child.pid);
}

FIXTURE_TEARDOWN_PARENT(interfaces)
{
	tear_down(_metadata);
	EXPECT_NE(0, access(TRACEFS "events/synthetic/" NAME "_latency", F_OK));
	EXPECT_NE(0, access(TRACEFS "events/" NAME, F_OK));
}

static void write_ok(struct __test_metadata *_metadata, const char *file, const char *text)
{
	ASSERT_EQ(0, trace_write(file, text)) {
		TH_LOG("%s > %s", text, file);
	}
}

/* For the child only; @trigger may have a filter of its own. Returns 0 or an error. */
static int set_trigger(const char *pid, const char *event, const char *trigger)
{
	char file[64], text[256];

	snprintf(file, sizeof(file), "events/traps/%s/trigger", event);
	snprintf(text, sizeof(text), "%s %s %s", trigger,
		 strstr(trigger, " if ") ? "&&" : "if", pid);
	return trace_write(file, text);
}

/* How many lines of the file have that text? -1: it cannot be read. */
static int count_lines(const char *file, const char *part)
{
	char *text = trace_read(file), *rest = text, *line;
	int count = text ? 0 : -1;

	while (rest && (line = strsep(&rest, "\n")))
		if (strstr(line, part))
			count++;
	free(text);
	return count;
}

/*
 * Tables name what is only known at run time: %1$lx is the ip of the writes, %2$lx
 * of the reads, %3$lx of #GP, %4$lx the first page and %5$lx the first write.
 */
#define FILL(text, format) \
	snprintf(text, sizeof(text), format, (unsigned long)raise_write_ip, \
		 (unsigned long)raise_read_ip, (unsigned long)raise_es_ip, \
		 (unsigned long)pages, (unsigned long)(pages + WRITES * PAGE + 8))

/* --- Filters */

/* Filters of the entry and the exit, and how many of each the first one accepts */
static const struct filter {
	const char *event;
	const char *accepts, *rejects;
	int count;
	bool exit_only;
} filters[] = {
	{ "trap",	"vector == 13", "vector == 6 || vector != 13 && vector != 3", SELECTORS },
	{ "trap",	"vector > 12", "vector > 13", SELECTORS },
	{ "trap",	"vector & 8", "vector & 16", SELECTORS },
	{ "trap",	"error_code == 0xfff8", "error_code == 0xfff9", SELECTORS },
	{ "trap",	"error_code > 0xfff7", "error_code > 0xfff8", SELECTORS },
	{ "trap",	"error_code & 0x8", "error_code & 0x7 || error_code < 0", SELECTORS },
	{ "trap",	"ip == 0x%3$lx", "ip == 0 || ip < 4096", SELECTORS },
	{ "trap",	"vector == 13 && user_mode == 1", "user_mode == 0", SELECTORS },
	{ "trap",	"vector == 13 && event_data == 0", "event_data > 0", SELECTORS },
	{ "trap",	"vector == 13 && duration > 0", "duration == 0", SELECTORS, true },
	{ "trap",	"vector == 13 && result == 14", "vector == 13 && result != 14",
	  SELECTORS, true },
	{ "trap",	"vector == 13 && flags < 32", "vector == 13 && flags & 0x1d",
	  SELECTORS, true },
	{ "page_fault",	"ip == 0x%1$lx && address >= 0x%4$lx", "address == 0x%4$lx",
	  WRITES },
	{ "page_fault",	"ip == 0x%1$lx && address > 0x%4$lx", "address == 0x%4$lx", WRITES },
	{ "page_fault",	"ip == 0x%1$lx && address & 8", "ip == 0x%1$lx && address & 4",
	  WRITES },
	{ "page_fault",	"ip == 0x%2$lx && error_code == 4", "error_code == 0xffff",
	  SEGV_READS },
	{ "page_fault",	"ip == 0x%1$lx && error_code & 2", "error_code & 8", WRITES },
	{ "page_fault",	"ip == 0x%2$lx", "ip == 0", SEGV_READS },
	{ "page_fault",	"ip == 0x%2$lx && user_mode == 1", "user_mode > 1", SEGV_READS },
	{ "page_fault",	"result == 6", "result > 14", SEGV_READS, true },
	{ "page_fault",	"result & 4", "result & 16", SEGV_READS, true },
	{ "page_fault",	"result == 6 && duration > 0",
	  "duration > 1000000000000000000", SEGV_READS, true },
};

static void run_filter(struct __test_metadata *_metadata, const struct filter *filter,
		       const char *format, int count)
{
	static const char * const sides[] = { "entry", "exit" };
	char text[256], mine[320], file[64], event[32];
	struct child child;
	struct trace trace;

	FILL(text, format);
	write_ok(_metadata, "tracing_on", "1");
	start(_metadata, &child, raise_some);
	snprintf(mine, sizeof(mine), "common_pid == %d && (%s)", child.pid, text);
	ASSERT_EQ(0, trace_truncate("trace"));
	for (int side = filter->exit_only; side < 2; side++) {
		snprintf(file, sizeof(file), "events/traps/%s_%s/filter", filter->event,
			 sides[side]);
		write_ok(_metadata, file, mine);
	}
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);
	for (int side = filter->exit_only; side < 2; side++) {
		snprintf(event, sizeof(event), "%s_%s", filter->event, sides[side]);
		EXPECT_EQ(count, trace_count(&trace, event, "*")) {
			TH_LOG("%s: %s", event, text);
		}
	}
	write_ok(_metadata, "events/traps/enable", "0");
	write_ok(_metadata, "events/traps/filter", "0");
}

TEST_F_TIMEOUT(interfaces, filters, 300)
{
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		run_filter(_metadata, &filters[i], filters[i].accepts, filters[i].count);
		run_filter(_metadata, &filters[i], filters[i].rejects, 0);
	}
}

/* --- Histograms */

static const struct {
	const char *event;
	const char *trigger;		/* without its filter */
	const char *line;		/* one of the lines, with the same arguments */
} histograms[] = {
	{ "trap_entry", "keys=vector", "{ vector:         13 } hitcount:          5" },
	{ "trap_entry", "keys=error_code.hex",
	  "{ error_code: fff8 } hitcount:          5" },
	{ "trap_entry", "keys=ip.hex", "{ ip: %3$lx } hitcount:          5" },
	{ "trap_entry", "keys=user_mode",
	  "{ user_mode:          1 } hitcount:          6" },
	{ "trap_exit", "keys=vector:vals=duration:sort=vector.descending",
	  "{ vector:         13 } hitcount:          5  duration: " },
	{ "trap_exit", "keys=vector,error_code.hex",
	  "{ vector:         13, error_code: fff8 } hitcount:          5" },
	{ "trap_exit", "keys=ip.sym", "{ ip: [%3$lx]" },
	{ "trap_exit", "keys=user_mode,duration.log2",
	  "{ user_mode:          1, duration: ~ 2^" },
	{ "page_fault_entry", "keys=address.hex", "{ address: %5$lx } hitcount:          1" },
	{ "page_fault_entry", "keys=ip.sym-offset", "{ ip: [%1$lx]" },
	{ "page_fault_entry", "keys=error_code:sort=error_code",
	  "{ error_code:          6 } hitcount:" },
	{ "page_fault_entry", "keys=user_mode,ip.hex",
	  "{ user_mode:          1, ip: %2$lx } hitcount:          3" },
	{ "page_fault_exit", "keys=address.hex,result",
	  "{ address: %5$lx, result:          0 } hitcount:          1" },
	{ "page_fault_exit", "keys=result:vals=hitcount,duration:sort=hitcount.descending",
	  "{ result:          6 } hitcount:          3  duration: " },
	{ "page_fault_exit", "keys=ip.hex,error_code.hex",
	  "{ ip: %2$lx, error_code: 4 } hitcount:          3" },
	{ "page_fault_exit", "keys=user_mode", "{ user_mode:          1 } hitcount: " },
	{ "page_fault_exit", "keys=duration.buckets=1000000,result",
	  ", result:          6 } hitcount: " },
	{ "page_fault_exit", "keys=common_pid.execname", "{ common_pid: interfaces_test" },
};

/* A field that is not there is refused, with the reason. */
TEST_F(interfaces, bad_filter)
{
	char *text;

	EXPECT_EQ(-EINVAL, trace_write("events/traps/page_fault_exit/filter", "vector == 14"));
	text = trace_read("events/traps/page_fault_exit/filter");
	ASSERT_TRUE(!!text);
	EXPECT_TRUE(!!strstr(text, "parse_error: Field not found")) {
		TH_LOG("%s", text);
	}
}

TEST_F(interfaces, histograms)
{
	char trigger[128], file[64], line[128];

	for (size_t i = 0; i < ARRAY_SIZE(histograms); i++) {
		snprintf(trigger, sizeof(trigger), "hist:%s", histograms[i].trigger);
		ASSERT_EQ(0, set_trigger(self->pid, histograms[i].event, trigger)) {
			TH_LOG("%s: %s", histograms[i].event, trigger);
		}
	}
	ASSERT_EQ(0, child_go(&self->child));
	for (size_t i = 0; i < ARRAY_SIZE(histograms); i++) {
		snprintf(file, sizeof(file), "events/traps/%s/hist", histograms[i].event);
		FILL(line, histograms[i].line);
		EXPECT_LE(1, count_lines(file, line)) {
			TH_LOG("%s: no line %s of %s", histograms[i].event, line,
			       histograms[i].trigger);
		}
	}
}

/* --- Triggers */

/* Turns tracing off at the first SIGSEGV: the last record is that fault. */
TEST_F(interfaces, traceoff)
{
	ASSERT_EQ(0, set_trigger(self->pid, "page_fault_exit", "traceoff if result == 6"));
	turn_on(_metadata, "traps");
	child_go(&self->child);		/* cannot write its mark */
	EXPECT_FALSE(trace_is_on("tracing_on"));
	EXPECT_EQ(1, count_lines("trace", " result=SIGSEGV "));
	EXPECT_EQ(0, count_lines("trace", " vector=#GP "));
	write_ok(_metadata, "events/traps/page_fault_exit/trigger", "!traceoff");
}

/* Takes a snapshot at the first SIGSEGV, which is not in the buffer any more. */
TEST_F(interfaces, snapshot)
{
	if (set_trigger(self->pid, "page_fault_exit", "snapshot:1 if result == 6"))
		SKIP(return, "no snapshot trigger");
	turn_on(_metadata, "traps");
	ASSERT_EQ(0, child_go(&self->child));
	EXPECT_LE(WRITES, count_lines("snapshot", " result=MINOR "));
	EXPECT_EQ(SEGV_READS, count_lines("trace", " result=SIGSEGV ") +
			      count_lines("snapshot", " result=SIGSEGV "));
	EXPECT_EQ(SELECTORS, count_lines("trace", "trap_exit: vector=#GP "));
	EXPECT_EQ(0, count_lines("snapshot", " vector=#GP "));
	write_ok(_metadata, "events/traps/page_fault_exit/trigger", "!snapshot");
}

/* A kernel stack with each #GP, and none with the others. */
TEST_F(interfaces, stacktrace)
{
	ASSERT_EQ(0, set_trigger(self->pid, "trap_entry", "stacktrace if vector == 13"));
	turn_on(_metadata, "traps");
	ASSERT_EQ(0, child_go(&self->child));
	EXPECT_EQ(SELECTORS, count_lines("trace", "<stack trace>"));
	EXPECT_EQ(SELECTORS, count_lines("trace", " => exc_general_protection"));
	write_ok(_metadata, "events/traps/trap_entry/trigger", "!stacktrace");
}

/* The first SIGSEGV enables trap_entry. */
TEST_F(interfaces, enable_event)
{
	ASSERT_EQ(0, set_trigger(self->pid, "page_fault_exit",
				 "enable_event:traps:trap_entry if result == 6"));
	EXPECT_EQ(0, count_lines("trace", "trap_entry"));
	ASSERT_EQ(0, child_go(&self->child));
	EXPECT_EQ(SELECTORS, count_lines("trace", "trap_entry: vector=#GP "));
	EXPECT_EQ(0, count_lines("trace", "page_fault_"));
	write_ok(_metadata, "events/traps/page_fault_exit/trigger",
		 "!enable_event:traps:trap_entry");
}

/* --- Synthetic events and event probes */

/* If it was made. */
static int remove_event(const char *path, const char *text)
{
	file_write(path, text);
	return 0;
}

static int empty(const char *file, const char *unused)
{
	return trace_truncate(file);
}

#define LATENCY	"trace(" NAME "_latency,$lat,$dur,$vec)"

/* A synthetic event of entry and exit has the latency; the duration is less. */
TEST_F(interfaces, synthetic)
{
	unsigned long long latency, duration;
	char *text, *rest, *line, *found;
	int count = 0;

	undo_later(remove_event, TRACEFS "synthetic_events", "!" NAME "_latency");
	/* The trigger of the exits, which needs that of the entries, goes first. */
	undo_later(trace_remove, trace_instance, "");
	undo_later(empty, "events/traps/trap_entry/trigger", "");
	undo_later(empty, "events/traps/trap_exit/trigger", "");
	if (file_write(TRACEFS "synthetic_events",
		       NAME "_latency u64 latency; u64 duration; u32 vector"))
		SKIP(return, "no synthetic events");
	ASSERT_EQ(0, set_trigger(self->pid, "trap_entry",
				 "hist:keys=common_pid:ts0=common_timestamp"));
	ASSERT_EQ(0, set_trigger(self->pid, "trap_exit",
				 "hist:keys=common_pid:lat=common_timestamp-$ts0,dur=duration,"
				 "vec=vector:onmatch(traps.trap_entry)." LATENCY));
	turn_on(_metadata, "synthetic/" NAME "_latency");
	ASSERT_EQ(0, child_go(&self->child));

	text = trace_read("trace");
	for (rest = text; rest && (line = strsep(&rest, "\n")); ) {
		found = strstr(line, NAME "_latency: latency=");
		if (!found || !strstr(found, "vector=13"))
			continue;
		ASSERT_EQ(2, sscanf(found, NAME "_latency: latency=%llu duration=%llu",
				    &latency, &duration));
		EXPECT_LT(0, duration);
		EXPECT_GE(latency, duration);
		count++;
	}
	free(text);
	EXPECT_EQ(SELECTORS, count);
}

/* A snapshot at each new longest duration, which the histogram tells. */
TEST_F(interfaces, onmax)
{
	undo_later(empty, "events/traps/page_fault_exit/trigger", "");
	if (set_trigger(self->pid, "page_fault_exit",
			"hist:keys=common_pid:d=duration:onmax($d).snapshot()"))
		SKIP(return, "no snapshot action");
	turn_on(_metadata, "traps");
	ASSERT_EQ(0, child_go(&self->child));
	EXPECT_EQ(1, count_lines("events/traps/page_fault_exit/hist",
				 "Snapshot taken (see tracing/snapshot)"));
	EXPECT_LE(1, count_lines("snapshot", "page_fault_exit: "));
}

/* An event probe sees the fields of the event that it is on. */
TEST_F(interfaces, event_probe)
{
	char text[96];

	snprintf(text, sizeof(text), "e:" NAME "/probe traps/page_fault_exit %s",
		 "addr=$address:x64 res=$result:u32");
	undo_later(remove_event, TRACEFS "dynamic_events", "-:" NAME "/probe");
	undo_later(trace_remove, trace_instance, "");
	if (file_write(TRACEFS "dynamic_events", text))
		SKIP(return, "no event probes");
	turn_on(_metadata, NAME "/probe");
	ASSERT_EQ(0, child_go(&self->child));
	snprintf(text, sizeof(text), "addr=0x%lx res=0",
		 (unsigned long)(pages + WRITES * PAGE + 8));
	EXPECT_EQ(1, count_lines("trace", text));
	snprintf(text, sizeof(text), "addr=0x%lx res=6", (unsigned long)absent);
	EXPECT_EQ(SEGV_READS, count_lines("trace", text));
}

/* --- Instances and processes */

/* Two instances, each with its own filter. */
TEST_F(interfaces, instances)
{
	ASSERT_EQ(0, other_create());
	write_ok(_metadata, "events/traps/trap_exit/filter", "vector == 13");
	write_ok(_metadata, OTHER "events/traps/trap_exit/filter", "vector == 3");
	turn_on(_metadata, "traps/trap_exit");
	write_ok(_metadata, OTHER "events/traps/trap_exit/enable", "1");
	ASSERT_EQ(0, child_go(&self->child));
	EXPECT_EQ(SELECTORS, count_lines("trace", " vector=#GP "));
	EXPECT_EQ(0, count_lines("trace", " vector=#BP "));
	EXPECT_EQ(0, count_lines(OTHER "trace", " vector=#GP "));
	EXPECT_EQ(1, count_lines(OTHER "trace", " vector=#BP "));
}

static void raise_forked(struct report *report, int round)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		raise_some(report, round);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		report->failed = true;
	raise_bp();
}

SIMPLE_FIXTURE(processes, set_up)

FIXTURE_VARIANT(processes) {
	const char *file;
	bool fork;
	bool other;			/* this process raises a #BP, too */
	int bp, gp;
};

FIXTURE_VARIANT_ADD(processes, only) { "set_event_pid", .bp = 1 };
FIXTURE_VARIANT_ADD(processes, only_with_children) {
	"set_event_pid", .fork = true, .bp = 2, .gp = SELECTORS
};
FIXTURE_VARIANT_ADD(processes, all_but) {
	"set_event_notrace_pid", .bp = 1, .gp = SELECTORS
};
/* Only a process that is no child. */
FIXTURE_VARIANT_ADD(processes, all_but_children) {
	"set_event_notrace_pid", .fork = true, .other = true, .bp = 1
};

static void ignore(int signal)
{
}

/* The child raises a #BP, and forks a process that raises one and #GP. */
TEST_F(processes, forked)
{
	struct child child;
	char pid[16];

	start_some(_metadata, &child, raise_forked);
	snprintf(pid, sizeof(pid), "%d", child.pid);
	write_ok(_metadata, "options/event-fork", variant->fork ? "1" : "0");
	write_ok(_metadata, variant->file, pid);
	write_ok(_metadata, "events/traps/trap_exit/filter",
		 "vector == 3 || error_code == 0xfff8");
	turn_on(_metadata, "traps/trap_exit");
	ASSERT_EQ(0, child_go(&child));
	if (variant->other) {
		signal(SIGTRAP, ignore);
		raise_bp();
	}
	EXPECT_EQ(variant->gp, count_lines("trace", " vector=#GP "));
	EXPECT_EQ(variant->bp, count_lines("trace", " vector=#BP "));
}

/* --- Pipes */

/* A reader that waits gets the records as text. */
TEST_F(interfaces, trace_pipe)
{
	int file = trace_open("trace_pipe", O_RDONLY), got, count = 0;
	struct pollfd poll_file = { .fd = file, .events = POLLIN };
	char buffer[4096];

	ASSERT_LE(0, file);
	ASSERT_EQ(0, trace_filter(self->child.pid, "trap", "vector == 13"));
	turn_on(_metadata, "traps/trap_exit");
	ASSERT_EQ(0, trace_truncate("trace"));
	ASSERT_EQ(0, poll(&poll_file, 1, 100));
	ASSERT_EQ(0, child_go(&self->child));
	while (count < SELECTORS && poll(&poll_file, 1, 10000) == 1) {
		got = read(file, buffer, sizeof(buffer) - 1);
		ASSERT_LT(0, got);
		buffer[got] = '\0';
		for (char *at = buffer; (at = strstr(at, "trap_exit: vector=#GP ")); at++)
			count++;
	}
	EXPECT_EQ(SELECTORS, count);
	close(file);
}

/* The raw pages have the fields as they are. */
TEST_F(interfaces, trace_pipe_raw)
{
	struct raw_record record;
	struct raw *raw;
	int count = 0;

	ASSERT_EQ(0, trace_filter(self->child.pid, "trap", "vector == 13"));
	turn_on(_metadata, "traps/trap_exit");
	ASSERT_EQ(0, child_go(&self->child));
	raw = raw_open();
	ASSERT_TRUE(!!raw);
	while (raw_next(raw, &record)) {
		if (record.kind != RAW_EXIT || record.pid != self->child.pid)
			continue;
		EXPECT_EQ(self->child.cpu, record.cpu);
		EXPECT_EQ(13, record.vector);
		EXPECT_EQ(SELECTOR & ~3, record.error_code);
		EXPECT_EQ((unsigned long)raise_es_ip, record.ip);
		EXPECT_TRUE(record.user_mode);
		EXPECT_EQ(0, record.event_data);
		EXPECT_EQ(14, record.result);
		EXPECT_EQ(0, record.flags & ~PREEMPTED);
		EXPECT_LT(0, record.duration);
		EXPECT_LT(record.duration, self->child.report->time);
		count++;
	}
	EXPECT_FALSE(raw_failed(raw));
	raw_close(raw);
	EXPECT_EQ(SELECTORS, count);
}

TEST_HARNESS_MAIN
