/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The modules that tests load: where they are, and those that force a fault, which are
 * loaded for one test and unloaded by it.
 */
#ifndef _SELFTESTS_HELPER_MODULE_H
#define _SELFTESTS_HELPER_MODULE_H

#include <stdbool.h>

/**
 * helper_open() - open the file of a module
 * @name: its name
 *
 * The file is looked for in the program's folder, in its folder modules/, where kselftest
 * installs what a kernel tree has built, and in /uobjscope/modules, where the lab has it.
 *
 * Return: a descriptor for finit_module(), or -1 with errno set.
 */
int helper_open(const char *name);

/**
 * helper_load() - load a module that helper_open() finds
 * @name: its name
 * @parameters: "PARAMETER=VALUE ...", empty for none
 *
 * Return: 0, ENOENT if there is no such file, or the errno of finit_module(), which
 * is written as a diagnostic.  A module that is loaded already is EEXIST.
 */
int helper_load(const char *name, const char *parameters);

/**
 * helper_unload() - unload it
 * @name: its name
 *
 * Return: 0 or an errno.
 */
int helper_unload(const char *name);

/**
 * helper_number() - read a parameter of a module that is loaded
 * @name: the module
 * @parameter: the parameter
 *
 * Return: its value, or -1 with errno set.
 */
long helper_number(const char *name, const char *parameter);

#endif /* _SELFTESTS_HELPER_MODULE_H */
