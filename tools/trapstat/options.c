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

#define METRICS_ENTRIES	2048

struct options options = {
	.top = 10,
	.entries = 65536,
	.buffer_kb = 4096,
};

const char * const group_names[GROUPS] = {
	[THREAD] = "thread", [COMMAND] = "command", [PROCESS] = "process",
	[USER] = "user", [CGROUP] = "cgroup",
};

static const char usage[] =
	"usage: trapstat [-adflstv] [options] [interval [count]]\n"
	"       trapstat [-adflstv] [options] -c command [argument ...]\n"
	"       trapstat top [-a|-d|-f|-l|-s|-t|-v] [-CegnpS] [--lines] [--no-bpf] [interval]\n"
	"       trapstat --openmetrics FILE [-g cgroup] [options] [interval [count]]\n"
	"       trapstat serve [-g cgroup] [options] [address:port]\n"
	"       trapstat report [-adflstv] [-g group] [-n rows] [-w faults] [--json] [--lines] file ...\n"
	"       trapstat report --perfetto [--lines] file ... >trace.pftrace\n"
	"\n"
	"  -v  exceptions by vector and CPU (default)  -p PID,...     only these processes, their children\n"
	"  -l  latencies, by result                    -c             run a command, only it\n"
	"  -d  distribution of the latencies           -i SECONDS     with -c: print meanwhile, too\n"
	"  -f  modes, flags, and time waiting          -e VECTOR,...  only these: #PF,13,mm_fault\n"
	"  -t  tasks                                   -C CPU,...     only these: 0-3,8\n"
	"  -a  pages that faulted                      -g GROUP       -t by thread (default), process,\n"
	"  -s  where from                                             command, user or cgroup\n"
	"  -n ROWS  of -t, -a, -s, -w (10)             -S ENTRIES     that -t, -a, -s keep (65536)\n"
	"  --json   a line of JSON for each report     -o FILE        record with trace-cmd, too\n"
	"  --total  at the end, the sum                -m KB          its buffer per CPU (4096)\n"
	"  --no-bpf count by histogram triggers        -u             -o records stacks, too\n"
	"  --lines  -s, -w with source lines           -h, --help, --version\n"
	"  report -w FAULTS  so many of the longest page faults; tasks by time in page faults\n";

unsigned long number(const char *what, const char *text, unsigned long min, unsigned long max)
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

static double seconds(const char *what, const char *text)
{
	double value;
	char *end;

	value = strtod(text, &end);
	if (end == text || *end || !(value >= 0.01 && value <= 86400))
		bad_usage("%s: %s is not a number of seconds from 0.01 to 86400", what, text);
	return value;
}

static void parse_cpus(char *list)
{
	unsigned long first, last;
	char *range, *dash;

	for (range = strtok(list, ","); range; range = strtok(NULL, ",")) {
		dash = strchr(range, '-');
		if (dash)
			*dash = '\0';
		first = number("-C", range, 0, MAX_CPUS - 1);
		last = dash ? number("-C", dash + 1, first, MAX_CPUS - 1) : first;
		memset(options.cpus + first, true, last - first + 1);
		options.some_cpus = true;
	}
	if (!options.some_cpus)
		bad_usage("-C: which CPU?");
}

static enum group parse_group(const char *name, bool report)
{
	unsigned int i;

	for (i = 0; i < GROUPS && strcmp(name, group_names[i]); i++)
		;
	if (i == GROUPS)
		bad_usage("-g: %s is not thread, process, command, user or cgroup", name);
	if (report && i != THREAD && i != COMMAND)
		bad_usage("-g %s: not of a report, a recording only has threads and commands", name);
	return i;
}

static void parse_interval(int nr, char **args)
{
	if (options.screen && nr > 1)
		bad_usage("%s: unexpected, top only has an interval", args[1]);
	if (nr > 2)
		bad_usage("%s: unexpected; a command goes after -c", args[2]);
	options.interval = nr > 0 ? seconds("interval", args[0]) : options.openmetrics ? 15 : 1;
	if (nr > 1)
		options.count = number("count", args[1], 1, ULONG_MAX);
}

/* Prometheus gets all that is counted since the start, and cgroups if asked. */
static void check_metrics(const char *given)
{
	const char *letter = options.serve ? "jTO" : "acdflmnostuvijT";

	for (; *letter; letter++) {
		if (given[(unsigned char)*letter])
			bad_usage("%s: only with -e, -C, -g, -p, -S and --no-bpf",
				  options.serve ? "serve" : "--openmetrics");
	}
	if (given['g'] && options.group != CGROUP)
		bad_usage("-g: %s: by cgroup only", options.serve ? "serve" : "--openmetrics");
	options.metrics = true;
	options.table[LATENCY] = true;
	options.table[TASKS] = given['g'];
	if (!given['S'])
		options.entries = METRICS_ENTRIES;
}

/* An option that would have no effect is more likely an error. */
static void check_use(const char *given, bool report, bool command)
{
	const bool *table = options.table;
	bool keys = options.screen || table[TASKS] || table[ADDRESSES] || table[FROM];
	const struct { char letter; bool used; const char *only; } uses[] = {
		{ 'S', keys, options.metrics ? "-g cgroup" : "-t, -a or -s" },
		{ 'n', keys || table[WORST], report ? "-t, -a, -s or -w" : "-t, -a or -s" },
		{ 'g', options.screen || table[TASKS], "-t" },
		{ 'm', options.record, "-o" },
		{ 'u', options.record, "-o" },
		{ 'i', command, "-c" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
		if (given[(unsigned char)uses[i].letter] && !uses[i].used)
			bad_usage("-%c: only with %s", uses[i].letter, uses[i].only);
	}
	if (options.perfetto && !report)
		bad_usage("--perfetto: only of a report");
	if (options.lines && !table[FROM] && !table[WORST] && !options.perfetto && !options.screen)
		bad_usage("--lines: only with -s%s", report ? ", -w or --perfetto" : "");
	if (options.no_bpf && report)
		bad_usage("--no-bpf: not of a report");
	if (options.total && (command || report))
		bad_usage("--total: only with an interval");
}

static void check_screen(const char *given)
{
	unsigned int i, nr = 0;

	for (i = 0; i < TABLES; i++)
		nr += options.table[i];
	if (nr > 1)
		bad_usage("top: one table at a time");
	if (options.json || options.openmetrics || options.total)
		bad_usage("top: without --json, --openmetrics and --total");
	if (!given['n'])
		options.top = 1000;
}

static void need(bool built, const char *what, const char *packages)
{
	if (!built)
		die("%s: trapstat was built without it; to build it in, install %s", what, packages);
}

void parse_options(int argc, char **argv, bool report)
{
	static const struct option names[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "perfetto", no_argument, NULL, 'P' },
		{ "lines", no_argument, NULL, 'L' },
		{ "total", no_argument, NULL, 'T' },
		{ "no-bpf", no_argument, NULL, 'B' },
		{ "openmetrics", required_argument, NULL, 'O' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const char *letters = report ? "+:adflstvg:w:n:h" : options.serve ? "+:e:C:g:p:S:h" :
			      options.screen ? "+:adflstve:C:g:p:n:S:h" :
					       "+:adflstvce:C:g:i:p:o:m:n:S:uh";
	char given[128] = { };
	bool command = false;
	unsigned int i;
	const char *word;
	int letter;

	while (word = argv[optind], (letter = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		given[letter & 127] = 1;
		switch (letter) {
		case 'v':
			options.table[BY_CPU] = true;
			break;
		case 'd':
			options.bars = true;
			/* fall through */
		case 'l':
			options.table[LATENCY] = true;
			break;
		case 'f':
			options.table[OUTCOMES] = true;
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
		case 'c':
			command = true;
			break;
		case 'i':
			options.interval = seconds("-i", optarg);
			break;
		case 'p':
			parse_pids(optarg);
			break;
		case 'e':
			options.vector_list = optarg;
			break;
		case 'C':
			parse_cpus(optarg);
			break;
		case 'g':
			options.group = parse_group(optarg, report);
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
		case 'P':
			need(export_main, "--perfetto",
			     "libprotobuf-c-dev, protobuf-compiler and protobuf-c-compiler");
			options.perfetto = true;
			break;
		case 'T':
			options.total = true;
			break;
		case 'B':
			options.no_bpf = true;
			break;
		case 'O':
			options.openmetrics = optarg;
			break;
		case 'V':
			puts("trapstat " VERSION);
			output_flush();
			exit(0);
		case 'L':
			options.lines = true;
			break;
		case 'h':
			fputs(usage, stdout);
			output_flush();
			exit(0);
		case ':':
			if (strncmp(word, "--", 2))
				bad_usage("-%c needs an argument: see trapstat -h", optopt);
			bad_usage("%s needs an argument: see trapstat -h", word);
		default:
			if (strncmp(word, "--", 2))
				bad_usage("there is no option -%c: see trapstat -h", optopt);
			bad_usage("there is no option %s: see trapstat -h", word);
		}
	}
	need(!options.screen || screen_open, "top", "libncurses-dev");
	need(!options.serve || serve_start, "serve", "libmicrohttpd-dev");
	for (i = 0; i < TABLES && !options.table[i]; i++)
		;
	if (options.perfetto && (i < TABLES || options.json))
		bad_usage("--perfetto: it has no tables: without -adflstvw and --json");
	if (options.openmetrics && report)
		bad_usage("--openmetrics: not of a report");
	if (options.screen)
		check_screen(given);
	else if (options.serve || options.openmetrics)
		check_metrics(given);
	check_use(given, report, command);
	options.table[BY_CPU] |= i == TABLES && !options.metrics;
	if (report) {
		if (optind == argc)
			bad_usage("report: which file?");
	} else if (options.serve) {
		if (argc - optind > 1)
			bad_usage("serve: %s: unexpected", argv[optind + 1]);
		if (optind < argc)
			options.serve = argv[optind];
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
