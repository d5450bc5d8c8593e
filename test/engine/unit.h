/*
 * unit.h - cmocka, 1 or 2.
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* 2 asks for the sign in the name, and warns about the old one */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range(value, low, high) assert_uint_in_range(value, low, high)
#endif

#endif
