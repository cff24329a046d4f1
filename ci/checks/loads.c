// SPDX-License-Identifier: GPL-2.0
/* What gdb steps through and watches: "watched" changes 5000 times. */
static volatile int watched, other;

static void change(void)
{
	watched++;
}

int main(void)
{
	for (int i = 0; i < 5000; i++) {
		other += i;
		change();
	}
	return !other;
}
