// SPDX-License-Identifier: GPL-2.0
/* options - the command line, see trapstat(8) */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "trapstat.h"

struct options options = {
	.buckets = LOG2,
	.top = 10,
	.entries = 65536,
	.buffer_kb = 4096,
	.interval = 1,
};

static const char usage[] =
	"usage: trapstat [-alstv] [options] [interval [count]]\n"
	"       trapstat [-alstv] [options] -c command [argument ...]\n"
	"       trapstat report [-alstv] [-w faults] [-n rows] [--json] [--lines] file ...\n"
	"       trapstat report --chrome [--lines] file ... >trace.json\n"
	"\n"
	"  -v  exceptions by vector and CPU (default)  -p PID,...  only these processes\n"
	"  -l  latencies                               -c          run a command, only it\n"
	"  -t  tasks                                   -o FILE     record with trace-cmd, too\n"
	"  -a  pages that faulted                      -m KB       its buffer per CPU (4096)\n"
	"  -s  where from                              -n ROWS     of -t, -a, -s, -w (10)\n"
	"  -b NS  -l in steps of NS, not powers of 2   -S ENTRIES  of a histogram (65536)\n"
	"  --json  a line of JSON for each report      -u          -o records stacks, too\n"
	"  --lines  -s, -w with source lines           -h          this\n"
	"  report -w FAULTS  so many of the longest page faults; tasks by time in page faults\n";

static unsigned long number(const char *what, const char *text, unsigned long min,
			    unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < min || value > max)
		bad_usage("%s: %s is not a number from %lu to %lu", what, text, min, max);
	return value;
}

static void parse_pids(char *list)
{
	char *pid;

	for (pid = strtok(list, ","); pid; pid = strtok(NULL, ",")) {
		if (options.nr_pids == MAX_PIDS)
			bad_usage("-p: more than %d processes", MAX_PIDS);
		options.pids[options.nr_pids++] = number("-p", pid, 1, INT_MAX);
	}
	if (!options.nr_pids)
		bad_usage("-p: which process?");
}

static void parse_interval(int nr, char **args)
{
	char *end;

	if (nr > 2)
		bad_usage("%s: unexpected; a command goes after -c", args[2]);
	if (nr > 0) {
		options.interval = strtod(args[0], &end);
		if (end == args[0] || *end || !(options.interval >= 0.01 && options.interval <= 86400))
			bad_usage("interval: %s is not a number of seconds from 0.01 to 86400",
				  args[0]);
	}
	if (nr > 1)
		options.count = number("count", args[1], 1, ULONG_MAX);
}

void parse_options(int argc, char **argv, bool report)
{
	static const struct option names[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "chrome", no_argument, NULL, 'C' },
		{ "lines", no_argument, NULL, 'L' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const char *letters = report ? "+:alstvw:n:h" : "+:alstvb:cp:o:m:n:S:uh";
	bool command = false;
	unsigned int i;
	int letter;

	while ((letter = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		switch (letter) {
		case 'v':
			options.table[BY_CPU] = true;
			break;
		case 'l':
			options.table[LATENCY] = true;
			break;
		case 't':
			options.table[TASKS] = true;
			break;
		case 'a':
			options.table[ADDRESSES] = true;
			break;
		case 's':
			options.table[FROM] = true;
			break;
		case 'w':
			options.table[WORST] = true;
			options.worst = number("-w", optarg, 1, 10000);
			break;
		case 'b':
			options.buckets = number("-b", optarg, 2, 1000000000);
			break;
		case 'c':
			command = true;
			break;
		case 'p':
			parse_pids(optarg);
			break;
		case 'o':
			options.record = optarg;
			break;
		case 'm':
			options.buffer_kb = number("-m", optarg, 4, 16777216);
			break;
		case 'n':
			options.top = number("-n", optarg, 1, 1000000);
			break;
		case 'u':
			options.stacks = true;
			break;
		case 'S':
			options.entries = number("-S", optarg, 128, 131072);
			break;
		case 'j':
			options.json = true;
			break;
		case 'C':
			options.chrome = true;
			break;
		case 'L':
			options.lines = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		case ':':
			bad_usage("-%c needs an argument: see trapstat -h", optopt);
		default:
			if (optopt)
				bad_usage("there is no option -%c: see trapstat -h", optopt);
			bad_usage("there is no option %s: see trapstat -h", argv[optind - 1]);
		}
	}
	for (i = 0; i < TABLES && !options.table[i]; i++)
		;
	if (options.chrome && !report)
		bad_usage("--chrome: only of a report");
	if (options.chrome && (i < TABLES || options.json))
		bad_usage("--chrome: it has no tables: without -alstvw and --json");
	if (options.stacks && !options.record)
		bad_usage("-u: only with -o");
	if (options.lines && !options.table[FROM] && !options.table[WORST] && !options.chrome)
		bad_usage("--lines: only with -s%s", report ? ", -w or --chrome" : "");
	options.table[BY_CPU] |= i == TABLES;
	if (report) {
		if (optind == argc)
			bad_usage("report: which file?");
	} else if (!command) {
		parse_interval(argc - optind, argv + optind);
	} else if (optind == argc) {
		bad_usage("-c: which command?");
	} else if (options.nr_pids) {
		bad_usage("-c and -p: only one of them");
	} else {
		options.command = argv + optind;
	}
}
