/*
 * tunable.h - constants that the unit tests change.
 *
 *     TUNABLE(int, spill_fan, 16);
 *
 * in the header of spill.c is a constant in the library, which the compiler
 * folds.  With -DWIDE_TESTING, which test/engine/Makefile alone sets, it is a
 * variable, so that a test can have merges of three files instead of sixteen.
 *
 * For sizes and thresholds, and for a switch between two ways that must give the
 * same answers.  It is not for state that only a test looks at, nor for a
 * function that only a test calls: the library must not have these.  A test that
 * needs them includes the .c file, reads the structs of the room's headers, or
 * goes through a function of test/host.
 */
#ifndef WIDE_TUNABLE_H
#define WIDE_TUNABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef WIDE_TESTING
/* weak: each file that includes the header defines it, and the linker takes one of them */
#define TUNABLE(type, name, value) __attribute__((weak)) type name = value
#else
#define TUNABLE(type, name, value) __attribute__((unused)) static const type name = value
#endif

#endif /* WIDE_TUNABLE_H */
