/*
 * type_io.h
 *		Values of any type as text, by the type's input and output functions.
 */
#ifndef WT_TYPE_IO_H
#define WT_TYPE_IO_H

#include "lib/stringinfo.h"

#include "fdw/table/types.h"

/* Appends the output text of a value of the column's type. */
extern void wt_type_io_output(const WtColumn *c, Datum value, StringInfo out);

/*
 * Returns the value of a text, which needs no NUL behind it.
 * Requires: the text is valid in the database's encoding.
 * Errors: those of the input function; errors of class "data exception" become DATA_CORRUPTED.
 */
extern Datum wt_type_io_input(const WtColumn *c, const uint8 *data, size_t len);

/* Checks the domains inside of a value of the column's type.  Errors: those of the domains. */
extern void wt_type_io_check(const WtColumn *c, Datum value);

/* Returns a value of type from (unknown: a C string) as a value of type to, by way of its text,
 * in the session's styles.  Errors: those of the input function. */
extern Datum wt_type_io_convert(Datum value, Oid from, Oid to, int32 typmod);

#endif /* WT_TYPE_IO_H */
