/*
 * planted.c - SQL functions with one error each, by which ./test/check sanitize makes sure that
 * the sanitizers of a server report what they are for.
 */
#include "postgres.h"

#include "fmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(planted_undefined);
PG_FUNCTION_INFO_V1(planted_overrun);

/* An overflow of signed numbers. */
Datum
planted_undefined(PG_FUNCTION_ARGS)
{
	volatile int n = PG_INT32_MAX;

	PG_RETURN_INT32(n + PG_GETARG_INT32(0));
}

/* Reads the byte behind an allocation.  The sanitizer ends the process. */
Datum
planted_overrun(PG_FUNCTION_ARGS)
{
	int32 n = PG_GETARG_INT32(0);
	volatile char *p = calloc(1, (size_t) n);
	char c = p[n];

	free((void *) p);
	PG_RETURN_INT32(c);
}
