// SPDX-License-Identifier: GPL-2.0
/*
 * screen.c - trapstat top: one table at a time, on the whole terminal
 *
 * text.c makes the table and libsmartcols its lines, without names that are not printable;
 * ncurses shows those that fit.
 */
#include <curses.h>
#include <inttypes.h>
#include <libsmartcols.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include "output.h"

#define COMPARE(x, y)	(((x) > (y)) - ((x) < (y)))
#define SIDEWAYS	8	/* columns */
#define WIDEST		30000	/* columns that ncurses can have */

static const struct view {
	int		key;
	enum table	table;
	bool		bars;
	const char	*name;
} views[] = {
	{ 'v', BY_CPU, false, "vectors" },
	{ 'l', LATENCY, false, "latencies" },
	{ 'f', OUTCOMES, false, "modes and flags" },
	{ 'd', LATENCY, true, "distribution" },
	{ 't', TASKS, false, "tasks by " },
	{ 'a', ADDRESSES, false, "pages" },
	{ 's', FROM, false, "instructions" },
};

#define VIEWS		(sizeof(views) / sizeof(*views))

static struct order {
	size_t	sorted;		/* column + 1; 0: as text.c has it */
	size_t	marked;
	bool	ascending;
	bool	hidden[MAX_CPUS + 8];
} orders[VIEWS], *order;

static const char help[] =
	"KEY            WHAT IT DOES\n"
	"v              exceptions by vector and CPU\n"
	"l              latencies, by result\n"
	"d              distribution of the latencies\n"
	"f              modes, flags, and time waiting\n"
	"t              tasks\n"
	"g              tasks by thread, process, command, user, cgroup\n"
	"a              pages that faulted\n"
	"s              instructions that raised exceptions\n"
	"space          freeze, go on\n"
	"+ -            double or halve the interval\n"
	"< >            mark another column\n"
	"Enter          sort by the marked column; again: the other way round\n"
	"x X            hide the marked column; show all columns\n"
	"arrows, PgUp, PgDn, Home, End   scroll\n"
	"Ctrl-L         draw the screen anew\n"
	"h ?            this; any other key ends it\n"
	"q              quit\n";

static const struct view *view = views;
static SCREEN *screen;			/* NULL: closed */
static WINDOW *keyboard;
static size_t nr_columns = 1;
static int nr_lines, page, first, left;	/* of the table: lines below its head, what is shown */
static bool helping, frozen;
static double since;			/* the samples read up to then lack the table */
static char *notes, *marked_name;

/* Sets which table is shown first, and what is counted for it. */
void screen_choose(void)
{
	while (view < views + VIEWS - 1 && (!options.table[view->table] || view->bars != options.bars))
		view++;
	order = &orders[view - views];
	options.table[BY_CPU] = options.table[LATENCY] = true;
	options.table[OUTCOMES] = false;	/* BPF counts them always, histograms never */
}

/* @sample: nothing is counted yet */
void screen_open(const struct sample *sample)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	struct termios modes;
	sigset_t of_terminal;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		die("top: standard input and output have to be a terminal");
	screen = newterm(NULL, stdout, stdin);
	if (!screen || !tigetstr("cup"))	/* it places the cursor */
		die("top: the terminal %s is not known, or cannot show a screen: set TERM",
		    term ?: "(none)");
	/* ncurses handles these, only while trapstat waits */
	sigemptyset(&of_terminal);
	sigaddset(&of_terminal, SIGWINCH);
	sigaddset(&of_terminal, SIGTSTP);
	sigprocmask(SIG_BLOCK, &of_terminal, NULL);
	cbreak();
	noecho();
	/* what waits for Ctrl-Q after a Ctrl-S, no signal ends */
	tcgetattr(STDIN_FILENO, &modes);
	modes.c_iflag &= ~IXON;
	tcsetattr(STDIN_FILENO, TCSANOW, &modes);
	def_prog_mode();
	curs_set(0);
	set_escdelay(25);
	if (has_colors() && !(no_color && *no_color)) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_YELLOW, -1);
	}
	keyboard = newpad(1, 1);	/* to read a key from it draws nothing */
	if (!keyboard)
		die("out of memory");
	keypad(keyboard, true);
	nodelay(keyboard, true);
	since = sample->read_at;
}

/* Also called on errors, and more than once */
void screen_close(void)
{
	SCREEN *old = screen;

	screen = NULL;
	if (!old)
		return;
	write_begins();
	endwin();
	write_ends();
	delwin(keyboard);
	delscreen(old);
}

/* Shown the next time that the screen is drawn. Returns whether there is a screen. */
bool screen_note(const char *format, va_list args)
{
	char *text, *longer;

	if (!screen)
		return false;
	if (vasprintf(&text, format, args) < 0)
		die("out of memory");
	longer = print_string("%s%s%s", notes ?: "", notes ? "; " : "", text);
	free(notes);
	free(text);
	notes = longer;
	return true;
}

bool screen_frozen(void)
{
	return frozen;
}

/* As it is shown: 1.0us is 1000. */
static double value_of(const char *text)
{
	char *unit;
	double value = strtod(text, &unit);

	return value * (*unit == 's' ? 1e9 : *unit == 'm' ? 1e6 : *unit == 'u' ? 1e3 : 1);
}

static int compare_cells(struct libscols_cell *a, struct libscols_cell *b, void *number)
{
	const char *x = scols_cell_get_data(a) ?: "", *y = scols_cell_get_data(b) ?: "";
	int ret = number ? COMPARE(value_of(x), value_of(y)) : strcmp(x, y);

	return order->ascending ? ret : -ret;
}

/* Sort, hide and mark columns. The marked name is blotted out with @ to find it again. */
static void arrange(struct libscols_table *table)
{
	struct libscols_column *column;
	struct libscols_cell *head;
	size_t i;
	int flags;

	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	nr_columns = scols_table_get_ncols(table);
	/* Keys may have come while another table was shown. */
	order->marked %= nr_columns;
	if (!memchr(order->hidden, false, nr_columns))
		order->hidden[order->marked] = false;
	for (i = 0; i < nr_columns; i++) {
		column = scols_table_get_column(table, i);
		head = scols_column_get_header(column);
		flags = scols_column_get_flags(column);
		if (order->hidden[i])
			scols_column_set_flags(column, flags | SCOLS_FL_HIDDEN);
		if (order->sorted == i + 1) {
			scols_column_set_cmpfunc(column, compare_cells,
						 flags & SCOLS_FL_RIGHT ? column : NULL);
			scols_sort_table(table, column);
			scols_cell_refer_data(head, print_string("%s%c", scols_cell_get_data(head),
								 order->ascending ? '+' : '-'));
		}
		if (order->marked == i) {
			free(marked_name);
			marked_name = print_string("%s", scols_cell_get_data(head));
			scols_cell_refer_data(head, memset(print_string("%s", marked_name), '@',
							   strlen(marked_name)));
		}
	}
}

static void print_table(const struct sample *sample, FILE *to)
{
	bool tables[TABLES] = { }, counted = sample->read_at > since;

	if (helping) {
		fputs(help, to);
	} else if (view->table == OUTCOMES && sample->no_flags) {
		fputs("Histograms do not know modes, flags and waiting.", to);
	} else {
		tables[view->table] = !view->bars;
		if (counted || view->table < TASKS)
			print_tables(sample, tables, view->bars, to, arrange);
		if (!ftell(to))
			fputs(counted ? "No exceptions in this interval." : "Counting ...", to);
	}
}

/* What is above the table */
static void print_head(const struct sample *sample, FILE *to)
{
	const struct lines *lines = &sample->lines[view->table];
	double ran = 0, waited = 0, nr = 0, percent = sample->seconds * 1e7;
	bool tables[TABLES] = { };
	const struct outcome *o;

	for (o = sample->outcomes.outcome; o < sample->outcomes.outcome + sample->outcomes.nr; o++) {
		if (o->vector == VECTOR_NONE)
			continue;
		nr += o->count;
		ran += o->ran;
		waited += o->waited;
	}
	print_source(sample, to);
	print_time(sample, to);
	fprintf(to, " %.0f exceptions/s, %.1f %%%s", nr / sample->seconds, ran / percent,
		sample->no_flags ? "run+wait" : "run");
	if (!sample->no_flags)
		fprintf(to, ", %.1f %%wait", waited / percent);
	fprintf(to, "\n%s%s%s, every %g s; h: help, q: quit\n", frozen ? "FROZEN: " : "",
		view->name, view->table == TASKS ? group_names[options.group] : "",
		options.interval);
	tables[view->table] = true;
	note_incomplete(sample, tables);
	if (lines->others)
		note("%" PRIu64 " exceptions of %" PRIu64 " lines were left out", lines->others,
		     lines->nr_others);
	if (notes) {
		put_safe(notes, to);
		fputc('\n', to);
	}
}

/* What @print prints; to be freed */
static char *text_by(void (*print)(const struct sample *sample, FILE *to),
		     const struct sample *sample)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		die("out of memory");
	print(sample, to);
	if (fclose(to))
		die("out of memory");
	return text;
}

static const char *next_line(const char *text)
{
	text = strchrnul(text, '\n');
	return text + (*text == '\n');
}

static int line_length(const char *text)
{
	size_t len = strcspn(text, "\n");

	return len < WIDEST ? len : WIDEST;
}

static int count_lines(const char *text, int *longest)
{
	int nr, len;

	for (nr = 0; *text; nr++, text = next_line(text)) {
		len = line_length(text);
		*longest = len > *longest ? len : *longest;
	}
	return nr;
}

static void draw_line(WINDOW *pad, int row, const char *text, attr_t attributes)
{
	wattrset(pad, attributes);
	mvwaddnstr(pad, row, 0, text, line_length(text));
}

/* Whatever is longer than the terminal's lines is on the pad, too. */
static void draw(const struct sample *sample)
{
	char *head = text_by(print_head, sample), *body = text_by(print_table, sample);
	size_t mark = strcspn(body, "@\n"), marked = 0;
	int head_width = 0, width = 0, i, top = count_lines(head, &head_width);
	const char *text;
	WINDOW *pad;

	nr_lines = count_lines(body, &width) - 1;
	page = LINES > top + 1 ? LINES - top - 1 : 1;
	if (first + page > nr_lines)
		first = nr_lines > page ? nr_lines - page : 0;
	if (left + COLS > width)
		left = width > COLS ? width - COLS : 0;
	width = width > COLS ? width : COLS;
	pad = newpad(top + 1 + page, (width > head_width ? width : head_width) + 1);
	if (!pad)
		die("out of memory");
	for (i = 0, text = head; *text; i++, text = next_line(text))
		draw_line(pad, i, text, i == 0 ? A_BOLD :
			  i == 3 || (i == 2 && frozen) ? COLOR_PAIR(1) : A_NORMAL);
	if (body[mark] == '@') {
		marked = strlen(marked_name);
		memcpy(body + mark, marked_name, marked);
	}
	draw_line(pad, top, body, A_BOLD);
	mvwchgat(pad, top, mark, marked, A_BOLD | A_REVERSE, 0, NULL);
	text = next_line(body);
	for (i = 0; *text && i < first + page; i++, text = next_line(text)) {
		if (i >= first)
			draw_line(pad, top + 1 + i - first, text, A_NORMAL);
	}
	pnoutrefresh(pad, 0, 0, 0, 0, top < LINES ? top - 1 : LINES - 1, COLS - 1);
	pnoutrefresh(pad, top, left, top, 0, LINES - 1, COLS - 1);
	write_begins();
	doupdate();
	write_ends();
	delwin(pad);
	free(head);
	free(body);
	free(notes);
	notes = NULL;
}

static void move_mark(int step)
{
	size_t at = order->marked, n;

	for (n = 0; n < nr_columns; n++) {
		at = (at + nr_columns + step) % nr_columns;
		if (!order->hidden[at])
			break;
	}
	order->marked = at;
}

static void hide_marked(void)
{
	size_t at = order->marked;

	order->hidden[at] = true;
	move_mark(1);
	order->hidden[at] = order->marked != at;	/* the last one stays */
}

static void sort_by_marked(void)
{
	if (order->sorted == order->marked + 1)
		order->ascending = !order->ascending;
	else
		order->ascending = false;
	order->sorted = order->marked + 1;
}

/* Only the table that is shown is counted, of those that cost more: by task, page and ip. */
static enum screen_act count_anew(const struct sample *sample)
{
	options.table[TASKS] = options.table[ADDRESSES] = options.table[FROM] = false;
	if (view->table >= TASKS) {
		options.table[view->table] = true;
		since = sample->read_at;
		frozen = false;
	}
	return SCREEN_RESTART;
}

static bool is_useless(enum table table)
{
	const char *why = table_unknown(table) ?: table_empty(table);

	if (why)
		note("%s", why);
	return why;
}

static enum screen_act change_view(const struct view *new, const struct sample *sample)
{
	const bool *counted = options.table;
	bool same;

	if (is_useless(new->table))
		return SCREEN_GO_ON;
	view = new;
	order = &orders[view - views];
	first = left = 0;
	same = view->table < TASKS ? !counted[TASKS] && !counted[ADDRESSES] && !counted[FROM] :
				     counted[view->table];
	return same ? SCREEN_GO_ON : count_anew(sample);
}

static enum screen_act change_group(const struct sample *sample)
{
	if (view->table != TASKS)
		return SCREEN_GO_ON;
	do {
		options.group = (options.group + 1) % GROUPS;
	} while ((sample->no_flags && options.group != THREAD && options.group != COMMAND) ||
		 is_useless(TASKS));
	memset(order, 0, sizeof(*order));	/* other columns */
	return count_anew(sample);
}

/* Returns whether it is a key for this. */
static bool scroll_by(int key)
{
	switch (key) {
	case KEY_UP:
		first -= first > 0;
		return true;
	case KEY_DOWN:
		first++;
		return true;
	case KEY_PPAGE:
		first = first > page ? first - page : 0;
		return true;
	case KEY_NPAGE:
		first += page;
		return true;
	case KEY_HOME:
		first = left = 0;
		return true;
	case KEY_END:
		first = nr_lines;
		return true;
	case KEY_LEFT:
		left = left > SIDEWAYS ? left - SIDEWAYS : 0;
		return true;
	case KEY_RIGHT:
		left += SIDEWAYS;
		return true;
	case KEY_RESIZE:
		return true;
	}
	return false;
}

static enum screen_act press(int key, const struct sample *sample)
{
	size_t i;

	if (scroll_by(key))
		return SCREEN_GO_ON;
	if (helping || key == 'h' || key == '?') {
		helping = !helping;
		first = left = 0;
		return SCREEN_GO_ON;
	}
	for (i = 0; i < VIEWS; i++) {
		if (key == views[i].key)
			return change_view(&views[i], sample);
	}
	switch (key) {
	case 'q':
		return SCREEN_QUIT;
	case 'g':
		return change_group(sample);
	case ' ':
		frozen = !frozen;
		break;
	case '+':
		options.interval = options.interval < 43200 ? options.interval * 2 : 86400;
		break;
	case '-':
		options.interval = options.interval > 0.02 ? options.interval / 2 : 0.01;
		break;
	case '<':
	case '>':
		move_mark(key == '>' ? 1 : -1);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		sort_by_marked();
		break;
	case 'x':
		hide_marked();
		break;
	case 'X':
		memset(order->hidden, 0, sizeof(order->hidden));
		break;
	case 'L' & 31:
		clearok(curscr, true);
		break;
	}
	return SCREEN_GO_ON;
}

/* Do what the keys say that have been pressed; draw. */
enum screen_act screen_keys(const struct sample *sample)
{
	enum screen_act act = SCREEN_GO_ON, next;
	int key;

	while ((key = wgetch(keyboard)) != ERR) {
		next = press(key, sample);
		if (next == SCREEN_QUIT)
			return next;
		act = next == SCREEN_RESTART ? next : act;
	}
	draw(sample);
	return act;
}
