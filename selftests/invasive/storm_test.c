// SPDX-License-Identifier: GPL-2.0
/*
 * The traps events under load: eight threads raise exceptions of all kinds while
 * signals arrive, they are preempted and migrated, and a CPU comes and goes. Nothing
 * is lost, nothing has a wrong pair; what has no room is counted.
 *
 * TRAPS_STORM is the number of exceptions in each storm, 40000 if not set.
 */
#include "invasive_fixture.h"
#include "raw.h"
#include "storm.h"

SIMPLE_FIXTURE(storm, set_up)

FIXTURE_VARIANT(storm) {
	unsigned int disturb;
};

FIXTURE_VARIANT_ADD(storm, interrupted) { INTERRUPT | PREEMPT };
FIXTURE_VARIANT_ADD(storm, migrated) { INTERRUPT | PREEMPT | MIGRATE };
FIXTURE_VARIANT_ADD(storm, hotplugged) { INTERRUPT | PREEMPT | MIGRATE | HOTPLUG };

/* Everything is recorded, in pairs that say the same. */
TEST_F_TIMEOUT(storm, pairs, TIMEOUT)
{
	bool hotplug = variant->disturb & HOTPLUG, migrate = variant->disturb & MIGRATE;
	const struct pairs *pairs;
	long count = storm_size();

	if (hotplug) {
		if (!hotplug_file() ||
		    sysconf(_SC_NPROCESSORS_ONLN) < sysconf(_SC_NPROCESSORS_CONF))
			SKIP(return, "not all CPUs are on, or the last one cannot be switched off");
		undo_later(file_write_again, hotplug_file(), "1");
	}
	ASSERT_EQ(0, pairs_prepare(2 * count));
	ASSERT_EQ(0, storm_prepare(count));
	turn_on(_metadata, "traps");
	ASSERT_EQ(0, storm_start(variant->disturb));
	ASSERT_EQ(0, storm_end());
	EXPECT_EQ(0, trace_stat("overrun"));
	EXPECT_EQ(0, trace_stat("dropped events"));
	EXPECT_EQ(hotplug, hotplugs > 0);
	EXPECT_LT(1, disturbed(INTERRUPT));
	EXPECT_LT(1, disturbed(PREEMPT));
	EXPECT_EQ(migrate, disturbed(MIGRATE) > 1);

	pairs = pairs_read();
	ASSERT_TRUE(!!pairs);
	pairs_compare();
	EXPECT_EQ(0, pairs->errors);
	EXPECT_LE(2 * count, pairs->records);
	TH_LOG("%lu records; %lu exits say PREEMPTED, %lu MIGRATED", pairs->records,
	       pairs->preempted, pairs->migrated);
	TH_LOG("interrupted %lu times, preempted %lu, migrated %lu, a CPU switched %lu",
	       disturbed(INTERRUPT), disturbed(PREEMPT), disturbed(MIGRATE), disturbed(HOTPLUG));
	if (kernel_is_preemptible())
		EXPECT_LT(0, pairs->preempted);
	if (kernel_is_preemptible() && migrate && sysconf(_SC_NPROCESSORS_ONLN) > 1)
		EXPECT_LT(0, pairs->migrated);
}

SIMPLE_FIXTURE(overrun, set_up)

/* Only the storm's threads, and no NMIs */
static void filter_by_thread(struct __test_metadata *_metadata)
{
	char filter[THREADS * 32] = "", no_nmi[THREADS * 32 + 32];
	size_t length = 0;

	for (int i = 0; i < THREADS; i++)
		length += snprintf(filter + length, sizeof(filter) - length, "%scommon_pid == %d",
				   i ? " || " : "", storm_threads[i].tid);
	snprintf(no_nmi, sizeof(no_nmi), "vector != %d && (%s)", VECTOR_NMI, filter);
	ASSERT_EQ(0, trace_write("events/traps/page_fault_entry/filter", filter));
	ASSERT_EQ(0, trace_write("events/traps/page_fault_exit/filter", filter));
	ASSERT_EQ(0, trace_write("events/traps/trap_entry/filter", no_nmi));
	ASSERT_EQ(0, trace_write("events/traps/trap_exit/filter", no_nmi));
}

/* What has no room is counted, and told to who reads the rest. */
TEST_F_TIMEOUT(overrun, counted, TIMEOUT)
{
	unsigned long entries, read = 0;
	struct raw_record record;
	struct raw *raw;
	long lost;

	ASSERT_EQ(0, storm_prepare(storm_size() / 2));
	ASSERT_EQ(0, trace_write("buffer_size_kb", "16"));
	filter_by_thread(_metadata);
	turn_on(_metadata, "traps");
	ASSERT_EQ(0, storm_start(0));
	ASSERT_EQ(0, storm_end());

	entries = trace_stat("entries");
	lost = trace_stat("overrun");
	EXPECT_EQ(0, trace_stat("dropped events"));
	EXPECT_LT(0, lost);
	EXPECT_EQ(2 * storm_sum(), entries + lost);

	raw = raw_open();
	ASSERT_TRUE(!!raw);
	while (raw_next(raw, &record))
		read++;
	EXPECT_FALSE(raw_failed(raw));
	EXPECT_EQ(entries, read);
	/* A page without room for the number tells only that there are some. */
	EXPECT_LT(0, raw_missed(raw));
	EXPECT_GE(lost, raw_missed(raw));
	raw_close(raw);
}

TEST_HARNESS_MAIN
