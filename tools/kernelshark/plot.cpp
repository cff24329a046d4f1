// SPDX-License-Identifier: GPL-2.0
/*
 * plot.cpp - draws exceptions on the graphs of CPUs and tasks
 */
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include <KsPlugins.hpp>
#include <KsPluginsGUI.hpp>

#include "plot.hpp"
#include "traps.h"

namespace {

/* An outer exception is higher. Deeper ones than nr_lanes are drawn in the last lane. */
constexpr int nr_lanes = 4;
constexpr double lane_heights[nr_lanes] = { 1.1, .68, .4, .2 };

/* KernelShark's strip, coloured by task or CPU, stays visible and clickable. */
constexpr double strip = .32;

constexpr int narrow = 3;	/* pixels: below this, a column for the slowest exception */
constexpr int framed = 6;
constexpr int arrow = 5;

/* An exception in one graph. */
struct slot {
	const struct exception	*e;
	int64_t			begin;
	int64_t			end;
	int64_t			reach;	/* the latest end of this and all earlier slots */
	int			lane;
};

using graph_slots = std::vector<slot>;

/* The exceptions of a stream, by CPU and by task, sorted by begin. */
struct plot {
	std::unordered_map<int, graph_slots> cpus, tasks;
};

void set_lanes(graph_slots &slots)
{
	int64_t reach = std::numeric_limits<int64_t>::min();
	int64_t open[nr_lanes];
	int lane;

	std::fill_n(open, nr_lanes, reach);
	for (auto &s : slots) {
		for (lane = nr_lanes - 1; lane > 0 && open[lane - 1] <= s.begin; lane--)
			;
		s.lane = lane;
		open[lane] = s.end;
		reach = std::max(reach, s.end);
		s.reach = reach;
	}
}

struct plot *make_plot(const struct traps *traps)
{
	auto plot = new struct plot;

	for (size_t i = 0; i < traps->nr_exceptions; i++) {
		const struct exception *e = &traps->exceptions[i];
		slot s = { e, e->begin, e->end, 0, 0 };

		plot->tasks[e->pid].push_back(s);
		plot->cpus[traps_record(e)->cpu].push_back(s);
		/* The handler changed its CPU: both show the exception. */
		if (e->entry && e->exit && e->entry->cpu != e->exit->cpu)
			plot->cpus[e->entry->cpu].push_back(s);
	}
	for (auto &cpu : plot->cpus)
		set_lanes(cpu.second);
	for (auto &task : plot->tasks)
		set_lanes(task.second);
	return plot;
}

KsPlot::Color color_of(const struct exception *e)
{
	unsigned int rgb = kind_color(e->kind);

	return KsPlot::Color(rgb >> 16, rgb >> 8 & 255, rgb & 255);
}

const ksplot_font *label_font()
{
	static ksplot_font font;
	static bool tried;

	if (!tried)
		ksplot_init_font(&font, 13, TT_FONT_FILE);
	tried = true;
	return ksplot_font_is_loaded(&font) ? &font : nullptr;
}

double text_width(const ksplot_font *font, const std::string &text)
{
	double width = 0;

	for (char c : text)
		width += font->cdata[c - KS_SPACE_CHAR].xadvance;
	return width;
}

class ExceptionShape : public KsPlot::PlotObject {
public:
	ExceptionShape(const slot &s, int x0, int x1, int top, int bottom)
		: _e(*s.e), _generation(traps_generation), _lane(s.lane),
		  _x0(x0), _x1(x1), _top(top), _bottom(bottom)
	{
		_color = color_of(s.e);
	}

	/* KernelShark gives a double click to the nearest shape: the innermost must win. */
	double distance(int x, int y) const override
	{
		int reach = _x1 - _x0 < narrow ? narrow : 0;

		if (x < _x0 - reach || x > _x1 + reach || y < _top || y > _bottom)
			return std::numeric_limits<double>::max();
		return (nr_lanes - _lane) / 8.;
	}

protected:
	struct exception _e;
	unsigned long _generation;
	int _lane, _x0, _x1, _top, _bottom;

	void fill(std::initializer_list<ksplot_point> points, const KsPlot::Color &color) const
	{
		ksplot_draw_polygon(points.begin(), points.size(), color.color_c_ptr(), 1);
	}

private:
	void _doubleClick() const override
	{
		if (_generation == traps_generation)
			plot_mark(_e);
	}
};

class ExceptionBox : public ExceptionShape {
public:
	using ExceptionShape::ExceptionShape;

private:
	void _draw(const KsPlot::Color &color, float) const override
	{
		fill({ { _x0, _top }, { _x0, _bottom }, { _x1, _bottom }, { _x1, _top } }, color);
		if (_x1 - _x0 >= framed)
			draw_frame(color);
		if (_e.slow)
			draw_flag();
		draw_label();
	}

	void draw_frame(const KsPlot::Color &color) const
	{
		const ksplot_point points[] = {
			{ _x0, _top }, { _x0, _bottom }, { _x1, _bottom }, { _x1, _top }
		};
		KsPlot::Color dark(color.r() * .6, color.g() * .6, color.b() * .6);

		ksplot_draw_polygon_contour(points, 4, dark.color_c_ptr(), 1);
	}

	void draw_flag() const
	{
		int x = (_x0 + _x1) / 2;

		fill({ { x - arrow, _top - arrow - 1 }, { x, _top - 1 },
		       { x + arrow, _top - arrow - 1 } }, KsPlot::Color(255, 0, 0));
	}

	void draw_label() const
	{
		const ksplot_font *font = label_font();
		char name[KIND_NAME_SIZE], names[FLAGS_NAME_SIZE];
		std::string text, flags, duration;

		if (!font || _lane > 1)
			return;
		text = kind_name(_e.kind, name);
		flags = _e.flags ? std::string(" ") + flags_name(_e.flags, names) : "";
		duration = "  " + plot_duration(_e.duration);
		for (const auto &label : { text + flags + duration, text + duration, text }) {
			if (text_width(font, label) + 6 > _x1 - _x0)
				continue;
			ksplot_print_text(font, nullptr, _x0 + 3, _top + 12, label.c_str());
			break;
		}
	}
};

/* The known end of an exception, with an arrow towards the unknown one. */
class ExceptionMark : public ExceptionShape {
public:
	using ExceptionShape::ExceptionShape;

private:
	void _draw(const KsPlot::Color &color, float) const override
	{
		int tip = _e.exit ? -arrow : arrow;

		fill({ { _x0, _top }, { _x0, _bottom }, { _x0 + 2, _bottom }, { _x0 + 2, _top } }, color);
		fill({ { _x0 + 1, _top }, { _x0 + 1, _top + 2 * arrow },
		       { _x0 + 1 + 2 * tip, _top + arrow } }, color);
	}
};

/* Makes shapes of the slots of one graph that are in its range. */
class Drawing {
public:
	Drawing(KsCppArgV *argv, int64_t shift)
		: _graph(*argv->_graph), _histo(*argv->_histo), _shift(shift),
		  _columns(nr_lanes, std::vector<const slot *>(_graph.size()))
	{
		_bottom = _graph.base() - _graph.height() * strip;
	}

	void add(const graph_slots &slots)
	{
		int64_t min = _histo.min - _shift, max = _histo.max - _shift;
		auto first = std::partition_point(slots.begin(), slots.end(),
						  [=](const slot &s) { return s.reach < min; });

		for (auto s = first; s != slots.end() && s->begin <= max; ++s) {
			if (s->end >= min && traps_visible(s->e))
				add(*s);
		}
		for (auto &lane : _columns) {
			for (auto s : lane) {
				if (s)
					add_box(*s, x_of(s->begin), x_of(s->begin) + 2);
			}
		}
	}

	/* The first shape is drawn last, so those in front come first. */
	void hand_over(KsPlot::PlotObjList *shapes)
	{
		for (int lane = nr_lanes - 1; lane >= 0; lane--) {
			for (auto shape : _shapes[lane])
				shapes->push_front(shape);
		}
	}

private:
	const KsPlot::Graph &_graph;
	const kshark_trace_histo &_histo;
	int64_t _shift;
	int _bottom;
	std::vector<std::vector<const slot *>> _columns;
	std::vector<KsPlot::PlotObject *> _shapes[nr_lanes];

	int bin_of(int64_t time) const
	{
		int64_t bin = (time + _shift - _histo.min) / std::max<int64_t>(_histo.bin_size, 1);

		return std::clamp<int64_t>(bin, 0, _graph.size() - 1);
	}

	int x_of(int64_t time) const
	{
		return _graph.bin(bin_of(time))._base.x();
	}

	int top_of(int lane) const
	{
		return _bottom - _graph.height() * lane_heights[lane];
	}

	void add(const slot &s)
	{
		int x0 = x_of(s.begin), x1 = x_of(s.end);

		if (s.begin == s.end) {
			_shapes[s.lane].push_back(new ExceptionMark(s, x0, x0 + 1, top_of(s.lane), _bottom));
		} else if (x1 - x0 >= narrow) {
			add_box(s, x0, x1);
		} else {
			const slot *&column = _columns[s.lane][bin_of(s.begin)];

			if (!column || column->e->duration < s.e->duration)
				column = &s;
		}
	}

	void add_box(const slot &s, int x0, int x1)
	{
		_shapes[s.lane].push_back(new ExceptionBox(s, x0, x1, top_of(s.lane), _bottom));
	}
};

} // namespace

void *plot_gui;

void plot_mark(const struct exception &e)
{
	const struct kshark_entry *first = e.entry ? e.entry : e.exit;

	if (!plot_gui)
		return;
	markEntryB(plot_gui, e.exit && e.exit != first ? e.exit : nullptr);
	markEntryA(plot_gui, first);
}

static kshark_trace_histo *last_histo;

void plot_show(const struct exception &e, int64_t shift)
{
	int64_t around = std::max<int64_t>(e.end - e.begin, 1000);
	kshark_trace_histo *histo = last_histo;

	if (histo && histo->n_bins > 0 && histo->data_size) {
		ksmodel_set_bining(histo, histo->n_bins, e.begin + shift - around,
				   e.end + shift + around);
		ksmodel_fill(histo, histo->data, histo->data_size);
	}
	plot_mark(e);
}

/* With three digits. */
std::string plot_duration(int64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double value = ns;
	int unit = 0;
	char text[32];

	for (; value >= 999.5 && unit < 3; unit++)
		value /= 1000;
	snprintf(text, sizeof(text), "%.*f %s", unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2,
		 value, units[unit]);
	return text;
}

void plot_draw(struct kshark_cpp_argv *argv_c, int sd, int value, int action)
{
	KsCppArgV *argv = KS_ARGV_TO_CPP(argv_c);
	struct traps *traps = traps_get(sd);

	last_histo = argv->_histo;
	traps_adopt(sd, argv->_histo->data, argv->_histo->data_size);
	if (!traps || !argv->_graph || argv->_graph->size() == 0)
		return;
	if (!traps->plot)
		traps->plot = make_plot(traps);

	auto plot = static_cast<const struct plot *>(traps->plot);
	auto &graphs = action & KSHARK_CPU_DRAW ? plot->cpus : plot->tasks;
	auto found = graphs.find(value);

	if (found == graphs.end())
		return;

	Drawing drawing(argv, traps_shift(traps));

	drawing.add(found->second);
	drawing.hand_over(argv->_shapes);
}

void plot_free(void *plot)
{
	delete static_cast<struct plot *>(plot);
}
