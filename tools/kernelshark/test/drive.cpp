// SPDX-License-Identifier: GPL-2.0
/*
 * drive.cpp - a plugin of KernelShark that operates it, for ci/checks/kernelshark
 *
 * usage: DRIVE='COMMAND;...' kernelshark ... -p drive.so
 *
 *   size WIDTH HEIGHT   of the main window
 *   menu TITLE          choose an entry of any menu
 *   window FILE         save the main window, as PNG or PPM
 *   graphs FILE         save its graphs only
 *   table FILE          write the rows of the table of exceptions
 *   kind NAME           select a row in the table of kinds
 *   open N              activate a row in the table of exceptions
 *   range BEGIN END     show this range of time, in ns
 *   click RRGGBB        double click in the graphs, where this colour is
 *   unload NAME         switch off a plugin for all streams
 *   close               close the dialog
 *   quit                close the main window, as its close button does
 */
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <QApplication>
#include <QDialog>
#include <QMenu>
#include <QMenuBar>
#include <QMainWindow>
#include <QMouseEvent>
#include <QTableWidget>
#include <QThread>
#include <QTimer>

#include <KsPlugins.hpp>

#define EXPORT extern "C" __attribute__((visibility("default")))

static QStringList commands;
static kshark_trace_histo *histo;

static void fail(const QString &what)
{
	fprintf(stderr, "drive: %s\n", what.toLocal8Bit().data());
	_Exit(1);
}

static QMainWindow *window()
{
	for (auto widget : QApplication::topLevelWidgets()) {
		if (widget->inherits("KsMainWindow"))
			return qobject_cast<QMainWindow *>(widget);
	}
	fail("no window");
	return nullptr;
}

static QDialog *dialog()
{
	for (auto widget : QApplication::topLevelWidgets()) {
		auto dialog = qobject_cast<QDialog *>(widget);

		if (dialog && dialog->isVisible() && dialog->findChild<QTableWidget *>())
			return dialog;
	}
	fail("no dialog");
	return nullptr;
}

static QTableWidget *table(const QString &name)
{
	auto table = dialog()->findChild<QTableWidget *>(name);

	if (!table)
		fail("no table " + name);
	return table;
}

static QWidget *graphs()
{
	for (auto widget : window()->findChildren<QWidget *>()) {
		if (widget->inherits("KsGLWidget") || widget->inherits("QOpenGLWidget"))
			return widget;
	}
	fail("no graphs");
	return nullptr;
}

static void menu(const QString &title)
{
	for (auto menu : window()->menuBar()->findChildren<QMenu *>()) {
		for (auto action : menu->actions()) {
			if (action->text() == title) {
				action->trigger();
				return;
			}
		}
	}
	fail("no menu entry " + title);
}

static void select(const QString &kind)
{
	auto found = table("kinds")->findItems(kind, Qt::MatchExactly);

	if (found.isEmpty())
		fail("no kind " + kind);
	table("kinds")->selectRow(found[0]->row());
}

static void write_table(const QString &file)
{
	std::ofstream out(file.toStdString());
	auto rows = table("exceptions");

	for (int row = 0; row < rows->rowCount(); row++) {
		for (int column = 0; column < rows->columnCount(); column++)
			out << rows->item(row, column)->text().toStdString() << '\t';
		out << '\n';
	}
}

static void show_range(int64_t begin, int64_t end)
{
	if (!histo)
		fail("nothing has been drawn");
	ksmodel_set_bining(histo, histo->n_bins, begin, end);
	ksmodel_fill(histo, histo->data, histo->data_size);
	graphs()->update();
}

static void double_click(const QString &color)
{
	QImage picture = graphs()->grab().toImage();
	QRgb wanted = 0xff000000 | color.toUInt(nullptr, 16);

	for (int y = 0; y < picture.height(); y++) {
		for (int x = 0; x < picture.width(); x++) {
			if (picture.pixel(x, y) != wanted)
				continue;
			QMouseEvent event(QEvent::MouseButtonDblClick, QPointF(x, y), QPointF(x, y),
					  Qt::LeftButton, Qt::LeftButton, Qt::NoModifier);
			QApplication::sendEvent(graphs(), &event);
			return;
		}
	}
	fail("no pixel " + color);
}

/* Does what KernelShark does when the user deselects a plugin in its dialog. */
static void unload(const QString &name)
{
	struct kshark_context *context = nullptr;
	struct kshark_dpi_list *plugin;

	kshark_instance(&context);
	for (int sd = 0; sd < context->n_streams; sd++) {
		struct kshark_data_stream *stream = kshark_get_data_stream(context, sd);

		for (plugin = stream->plugins; plugin; plugin = plugin->next) {
			if (name == plugin->interface->name)
				plugin->status &= ~KSHARK_PLUGIN_ENABLED;
		}
		kshark_handle_all_dpis(stream, KSHARK_PLUGIN_UPDATE);
	}
	graphs()->update();
}

static void save(const QPixmap &picture, const QString &file)
{
	if (!picture.save(file))
		fail("cannot write " + file);
}

static void run(const QString &command)
{
	QString name = command.section(' ', 0, 0), rest = command.section(' ', 1);

	if (name == "size")
		window()->resize(rest.section(' ', 0, 0).toInt(), rest.section(' ', 1, 1).toInt());
	else if (name == "menu")
		menu(rest);
	else if (name == "window")
		save(window()->grab(), rest);
	else if (name == "graphs")
		save(graphs()->grab(), rest);
	else if (name == "table")
		write_table(rest);
	else if (name == "kind")
		select(rest);
	else if (name == "open")
		emit table("exceptions")->cellActivated(rest.toInt(), 0);
	else if (name == "range")
		show_range(rest.section(' ', 0, 0).toLongLong(), rest.section(' ', 1, 1).toLongLong());
	else if (name == "click")
		double_click(rest);
	else if (name == "unload")
		unload(rest);
	else if (name == "close")
		dialog()->close();
	else if (name == "quit")
		window()->close();
	else
		fail("no command " + name);
}

static void next()
{
	/* KernelShark also handles events while it loads data; wait for its main loop. */
	if (QThread::currentThread()->loopLevel() > 0)
		run(commands.takeFirst().trimmed());
	if (!commands.isEmpty())
		QTimer::singleShot(300, next);
}

EXPORT void *KSHARK_MENU_PLUGIN_INITIALIZER(void *)
{
	commands = QString(getenv("DRIVE")).split(';');
	QTimer::singleShot(300, next);
	return nullptr;
}

static void draw(kshark_cpp_argv *argv, int, int, int)
{
	histo = KS_ARGV_TO_CPP(argv)->_histo;
}

EXPORT int KSHARK_PLOT_PLUGIN_INITIALIZER(struct kshark_data_stream *stream)
{
	kshark_register_draw_handler(stream, draw);
	return 1;
}

EXPORT int KSHARK_PLOT_PLUGIN_DEINITIALIZER(struct kshark_data_stream *stream)
{
	kshark_unregister_draw_handler(stream, draw);
	return 1;
}
