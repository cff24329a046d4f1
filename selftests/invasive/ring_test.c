// SPDX-License-Identifier: GPL-2.0
/*
 * The ring buffer below every event: what a task, softirqs, interrupts and NMIs record inside
 * of one another arrives whole, once, and in order, and what is missing is counted.
 *
 * Needs debugfs at /sys/kernel/debug and the module test_modules/traps_ring.ko. TRAPS_STORM
 * is the number of events of each CPU's task, 40000 if not set.
 */
#include <pthread.h>
#include <stdint.h>

#include "invasive_fixture.h"
#include "raw.h"

#define CPUS		64
#define TIMEOUT		1800		/* seconds, for a million */
#define SWEEPS		4
#define DEBUGFS		"/sys/kernel/debug/traps_ring/"

enum { TASK, SOFTIRQ, IRQ, NMI, CONTEXTS };

struct ring {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	uint32_t context, sequence;
	uint16_t fill, fill_length;
};

/* On one CPU */
struct seen {
	uint32_t last[CONTEXTS];
	unsigned long long time;
};

static struct seen seen[CPUS];
static unsigned long records, missing, torn, again, backwards;
static bool filtered;			/* only odd sequences pass */

static void set_up_ring(struct __test_metadata *_metadata)
{
	if (sysconf(_SC_NPROCESSORS_CONF) > CPUS)
		SKIP(return, "more than %d CPUs", CPUS);
	set_up_with(_metadata, "traps_ring");
}

SIMPLE_FIXTURE(ring, set_up_ring)

FIXTURE_VARIANT(ring) {
	const char *kb, *overwrite, *filter;
};

FIXTURE_VARIANT_ADD(ring, kept) { "65536", "1" };
FIXTURE_VARIANT_ADD(ring, overwritten) { "16", "1" };
FIXTURE_VARIANT_ADD(ring, dropped) { "16", "0" };
FIXTURE_VARIANT_ADD(ring, filtered) { "65536", "1", "sequence & 1" };
FIXTURE_VARIANT_ADD(ring, filtered_and_overwritten) { "16", "1", "sequence & 1" };

/* How many of the first events pass */
static uint32_t passed(uint32_t sequence)
{
	return filtered ? (sequence + 1) / 2 : sequence;
}

/* In common_flags: what an event in a context says */
#define HARDIRQ_FLAG	0x08
#define SOFTIRQ_FLAG	0x10
#define NMI_FLAG	0x40

static const uint8_t context_flags[CONTEXTS] = {
	[SOFTIRQ] = SOFTIRQ_FLAG, [IRQ] = HARDIRQ_FLAG, [NMI] = NMI_FLAG,
};

/* An interrupt and an NMI also have the flags of what they interrupt. */
static bool has_context(const struct ring *ring)
{
	uint8_t flags = ring->flags & (HARDIRQ_FLAG | SOFTIRQ_FLAG | NMI_FLAG);

	return ring->context == TASK || ring->context == SOFTIRQ ?
	       flags == context_flags[ring->context] : flags & context_flags[ring->context];
}

static bool is_whole(const struct ring *ring, size_t length)
{
	const unsigned char *fill = (const unsigned char *)ring + ring->fill;

	if (length < sizeof(*ring) || ring->context >= CONTEXTS || !has_context(ring) ||
	    ring->fill_length != ring->sequence * 7 % 151 ||
	    (filtered && ring->sequence % 2 == 0) ||
	    ring->fill != sizeof(*ring) || length < (size_t)ring->fill + ring->fill_length)
		return false;
	for (int i = 0; i < ring->fill_length; i++)
		if (fill[i] != (unsigned char)(ring->context + ring->sequence))
			return false;
	return true;
}

static void see(const struct raw_record *record)
{
	const struct ring *ring = record->data;
	struct seen *cpu = &seen[record->cpu];
	uint32_t *last;

	records++;
	backwards += record->time < cpu->time;
	cpu->time = record->time;
	if (!is_whole(ring, record->length)) {
		torn++;
		return;
	}
	last = &cpu->last[ring->context];
	if (ring->sequence <= *last)
		again++;
	else
		missing += passed(ring->sequence - 1) - passed(*last);
	*last = ring->sequence;
}

static void see_all(struct raw *raw)
{
	struct raw_record record;

	while (raw_next(raw, &record))
		see(&record);
}

/* Nobody records any more: what is missing at the end, and how many there were of a context */
static bool count(unsigned long sums[CONTEXTS])
{
	char *text = file_read(DEBUGFS "recorded"), *next = text;

	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		char *line = next ? strsep(&next, "\n") : NULL;
		uint32_t n[CONTEXTS];

		if (!line || sscanf(line, "%u %u %u %u", &n[0], &n[1], &n[2], &n[3]) != CONTEXTS)
			return false;
		for (int context = 0; context < CONTEXTS; context++) {
			sums[context] += n[context];
			missing += passed(n[context]) - passed(seen[cpu].last[context]);
		}
	}
	free(text);
	return true;
}

static int failed, working;

static void *storm(void *cpu)
{
	const char *size = getenv("TRAPS_STORM");
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((long)cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) ||
	    file_write(DEBUGFS "storm", size ?: "40000"))
		__atomic_fetch_add(&failed, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&working, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static struct raw *begin(struct __test_metadata *_metadata, const char *filter)
{
	struct raw *raw;

	filtered = filter;
	if (filter)
		EXPECT_EQ(0, trace_write("events/traps_ring/ring/filter", filter));
	turn_on(_metadata, "traps_ring");
	raw = raw_open();
	EXPECT_TRUE(!!raw);
	return raw;
}

static void expect_all(struct __test_metadata *_metadata, struct raw *raw)
{
	unsigned long sums[CONTEXTS] = {};
	long lost;

	EXPECT_FALSE(raw_failed(raw));
	ASSERT_TRUE(count(sums));
	lost = trace_stat("overrun") + trace_stat("dropped events") + trace_stat("commit overrun");
	TH_LOG("recorded %lu %lu %lu %lu: read %lu, lost %ld", sums[TASK], sums[SOFTIRQ], sums[IRQ],
	       sums[NMI], records, lost);
	EXPECT_EQ(0, torn);
	EXPECT_EQ(0, again);
	EXPECT_EQ(0, backwards);
	EXPECT_EQ(lost, missing);
	EXPECT_LT(0, sums[NMI] + sums[IRQ]);
	raw_close(raw);
}

/* A reader consumes meanwhile. */
TEST_F_TIMEOUT(ring, storm, TIMEOUT)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[CPUS];
	struct raw *raw;

	ASSERT_EQ(0, trace_write("buffer_size_kb", variant->kb));
	ASSERT_EQ(0, trace_write("options/overwrite", variant->overwrite));
	raw = begin(_metadata, variant->filter);
	working = cpus;
	for (long cpu = 0; cpu < cpus; cpu++)
		ASSERT_EQ(0, pthread_create(&threads[cpu], NULL, storm, (void *)cpu));
	while (__atomic_load_n(&working, __ATOMIC_SEQ_CST))
		see_all(raw);
	for (long cpu = 0; cpu < cpus; cpu++)
		pthread_join(threads[cpu], NULL);
	ASSERT_EQ(0, failed);
	see_all(raw);
	expect_all(_metadata, raw);
}

SIMPLE_FIXTURE(stepped, set_up_ring)

FIXTURE_VARIANT(stepped) {
	const char *filter;
};

FIXTURE_VARIANT_ADD(stepped, all) {};
FIXTURE_VARIANT_ADD(stepped, filtered) { "sequence & 1" };

/* An NMI before any instruction of a recording: both events can be read after it. */
TEST_F_TIMEOUT(stepped, step, TIMEOUT)
{
	struct raw *raw = begin(_metadata, variant->filter);
	unsigned long late = 0;
	char at[24];
	int error;

	stay_on_cpu(_metadata, sched_getcpu());
	for (int sweep = 0; sweep < SWEEPS; sweep++) {
		error = 0;
		for (long i = 1; !error; i++) {
			unsigned long before = records;

			snprintf(at, sizeof(at), "%ld", i);
			error = file_write(DEBUGFS "step", at);
			see_all(raw);
			late += !filtered && records - before != 2 - !!error;
		}
		ASSERT_EQ(-ERANGE, error);
	}
	EXPECT_EQ(0, late);
	expect_all(_metadata, raw);
}

TEST_HARNESS_MAIN
