// SPDX-License-Identifier: GPL-2.0
/*
 * table.cpp - the menu entry "Tools/Slowest exceptions": legend and table
 */
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include <QDialog>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTableWidget>
#include <QVBoxLayout>

#include <KsPlugins.hpp>

#include "plot.hpp"
#include "traps.h"

/* KsMainWindow.hpp is not installed. The plugin needs only this part of it. */
class KsMainWindow {
public:
	void addPluginMenu(QString place, pluginActionFunc func);
};

namespace {

constexpr size_t max_rows = 1000;

QString from_c(char *text)
{
	QString string = text ? text : "";

	free(text);
	return string;
}

QTableWidget *make_table(const char *name, const QStringList &titles)
{
	auto table = new QTableWidget(0, titles.size());

	table->setObjectName(name);
	table->setHorizontalHeaderLabels(titles);
	table->horizontalHeader()->setStretchLastSection(true);
	table->verticalHeader()->hide();
	table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
	table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
	table->setEditTriggers(QAbstractItemView::NoEditTriggers);
	table->setSelectionBehavior(QAbstractItemView::SelectRows);
	table->setSelectionMode(QAbstractItemView::SingleSelection);
	table->setWordWrap(false);
	return table;
}

/* @number: align the text to the right. */
void set_cell(QTableWidget *table, int row, int column, const QString &text, bool number = false)
{
	auto item = new QTableWidgetItem(text);

	if (number)
		item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
	table->setItem(row, column, item);
}

void set_kind(QTableWidget *table, int row, int column, uint32_t kind)
{
	char name[KIND_NAME_SIZE];
	QPixmap square(12, 12);

	square.fill(QColor(kind_color(kind)));
	set_cell(table, row, column, kind_name(kind, name));
	table->item(row, column)->setIcon(square);
}

QString duration_text(int64_t duration)
{
	return duration < 0 ? QString("no exit") : QString::fromStdString(plot_duration(duration));
}

std::vector<int> streams()
{
	struct kshark_context *context = nullptr;

	if (!kshark_instance(&context) || !context->n_streams)
		return {};
	std::unique_ptr<int, void (*)(void *)> ids(kshark_all_streams(context), free);
	return ids ? std::vector<int>(ids.get(), ids.get() + context->n_streams) : std::vector<int>();
}

class Table : public QDialog {
public:
	Table()
	{
		auto layout = new QVBoxLayout(this);
		auto splitter = new QSplitter(Qt::Vertical);

		_kinds = make_table("kinds", { "Exception", "Count", "Slowest", "Total" });
		_rows = make_table("exceptions", { "Duration", "Exception", "Task", "CPU",
						 "Begin", "Trace", "Record" });
		splitter->addWidget(_kinds);
		splitter->addWidget(_rows);
		splitter->setStretchFactor(1, 2);
		layout->addWidget(splitter);
		layout->addWidget(&_note);
		setWindowTitle("Slowest exceptions");
		resize(900, 620);
		/* KernelShark ends when its main window is closed, even if this one is open. */
		setAttribute(Qt::WA_QuitOnClose, false);

		connect(_kinds, &QTableWidget::itemSelectionChanged, [this] { fill_rows(); });
		connect(_rows, &QTableWidget::cellActivated, [this](int row, int) { activate(row); });
	}

	void refresh()
	{
		_generation = traps_generation;
		collect();
		fill_kinds();
	}

private:
	struct row {
		int			sd;
		const struct exception	*e;
	};
	struct sum {
		size_t	count = 0;
		int64_t	slowest = -1;
		int64_t	total = 0;
	};

	QTableWidget *_kinds, *_rows;
	QLabel _note;
	unsigned long _generation = 0;
	std::vector<row> _all, _shown;
	std::vector<uint32_t> _order;	/* the kinds, in the order of their table */

	void collect()
	{
		_all.clear();
		for (int sd : streams()) {
			struct traps *traps = traps_get(sd);

			for (size_t i = 0; traps && i < traps->nr_exceptions; i++) {
				const struct exception *e = &traps->exceptions[i];

				if (traps_visible(e))
					_all.push_back({ sd, e });
			}
		}
		std::stable_sort(_all.begin(), _all.end(), [](const row &a, const row &b) {
			return a.e->duration > b.e->duration;
		});
	}

	/* The first line stands for all kinds. */
	void fill_kinds()
	{
		std::map<uint32_t, sum> sums;
		int line = 1;

		for (auto &row : _all) {
			sum &s = sums[row.e->kind];

			s.count++;
			s.slowest = std::max(s.slowest, row.e->duration);
			s.total += std::max<int64_t>(row.e->duration, 0);
		}
		_order.clear();
		for (auto &s : sums)
			_order.push_back(s.first);

		_kinds->clearSelection();
		_kinds->setRowCount(sums.size() + 1);
		set_cell(_kinds, 0, 0, "All");
		set_cell(_kinds, 0, 1, QString::number(_all.size()), true);
		set_cell(_kinds, 0, 2, _all.empty() ? "" : duration_text(_all[0].e->duration), true);
		set_cell(_kinds, 0, 3, "");
		for (auto &s : sums) {
			set_kind(_kinds, line, 0, s.first);
			set_cell(_kinds, line, 1, QString::number(s.second.count), true);
			set_cell(_kinds, line, 2, duration_text(s.second.slowest), true);
			set_cell(_kinds, line, 3, duration_text(s.second.total), true);
			line++;
		}
		_kinds->resizeColumnsToContents();
		_kinds->selectRow(0);
	}

	void fill_rows()
	{
		int line = _kinds->currentRow(), at = 0;
		size_t found = 0;

		if (_generation != traps_generation)
			return;
		_shown.clear();
		for (auto &row : _all) {
			if (line > 0 && row.e->kind != _order[line - 1])
				continue;
			if (found++ < max_rows)
				_shown.push_back(row);
		}
		_rows->setRowCount(_shown.size());
		for (auto &row : _shown)
			fill_row(at++, row);
		_rows->setColumnHidden(5, streams().size() < 2);
		_rows->resizeColumnsToContents();
		_note.setText(_all.empty() ?
			      "No visible events of traps: record with trace-cmd record -e traps" :
			      QString("%1 of %2 exceptions, slowest first. Double click: show and mark it.")
			      .arg(_shown.size()).arg(found));
	}

	void fill_row(int line, const row &row)
	{
		const struct exception *e = row.e;
		const struct kshark_entry *record = traps_record(e);
		int64_t begin = e->begin + traps_shift(traps_get(row.sd));

		set_cell(_rows, line, 0, duration_text(e->duration), true);
		set_kind(_rows, line, 1, e->kind);
		set_cell(_rows, line, 2, from_c(kshark_comm_from_pid(row.sd, e->pid)) +
			 "-" + QString::number(e->pid));
		set_cell(_rows, line, 3, QString::number(record->cpu), true);
		set_cell(_rows, line, 4, QString::number(begin / 1e9, 'f', 6), true);
		set_cell(_rows, line, 5, QString::number(row.sd), true);
		set_cell(_rows, line, 6, from_c(kshark_get_info(record)));
	}

	void activate(int line)
	{
		/* The data was loaded again, and the pointers are no longer valid. */
		if (_generation != traps_generation) {
			refresh();
			return;
		}
		plot_show(*_shown[line].e, traps_shift(traps_get(_shown[line].sd)));
	}
};

Table *table;

void show_table(KsMainWindow *)
{
	table->refresh();
	table->show();
	table->raise();
}

} // namespace

/* KernelShark deletes the dialog before it unloads its plugins. */
extern "C" EXPORT void *KSHARK_MENU_PLUGIN_INITIALIZER(void *gui)
{
	plot_gui = gui;
	if (!table) {
		table = new Table;
		static_cast<KsMainWindow *>(gui)->addPluginMenu("Tools/Slowest exceptions", show_table);
	}
	return table;
}
