/* SPDX-License-Identifier: GPL-2.0 */
/*
 * plot.hpp - the functions of the graphs that the table uses
 */
#ifndef PLOT_HPP
#define PLOT_HPP

#include <string>
#include "traps.h"

/* Set KernelShark's markers: A where @e begins, B where it ends. */
void plot_mark(const struct exception &e);

/* Show @e with its surroundings, and mark it. */
void plot_show(const struct exception &e, int64_t shift);

std::string plot_duration(int64_t ns);

extern void *plot_gui;	/* KernelShark's main window */

#endif
