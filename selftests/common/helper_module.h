/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Modules that force a fault: loaded for one test, and unloaded by it.
 */
#ifndef _SELFTESTS_HELPER_MODULE_H
#define _SELFTESTS_HELPER_MODULE_H

#include <stdbool.h>

/**
 * helper_load() - load a module of modules/
 * @name: its name
 * @parameters: "PARAMETER=VALUE ...", empty for none
 *
 * The file is looked for in the program's folder, in its folder modules/ and in
 * /uobjscope/modules.
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
