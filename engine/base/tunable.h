/*
 * tunable.h - constants that the unit tests change.
 *
 *     TUNABLE(int, spill_fan, 16);
 *
 * in engine/batch/spill.h is a constant in the library, which the compiler folds.
 * With -DWIDE_TESTING, which only test/engine/Makefile sets, it is a variable, so
 * that a test can merge three files instead of sixteen.
 *
 * It is for sizes and thresholds, and for a switch between two ways that must give
 * the same results.  It is not for state that only tests read: the library contains
 * neither that nor functions that only tests call.  A test that needs them includes
 * the .c file, reads the structs of headers, or uses a function of test/host.
 */
#ifndef WIDE_TUNABLE_H
#define WIDE_TUNABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef WIDE_TESTING
/* weak: each file that includes the header defines it, and the linker takes one definition */
#define TUNABLE(type, name, value) __attribute__((weak)) type name = value
#else
#define TUNABLE(type, name, value) __attribute__((unused)) static const type name = value
#endif

#endif /* WIDE_TUNABLE_H */
