/*
 * type_io.h
 *		A type's text, by its input and output functions.
 */
#ifndef WT_TYPE_IO_H
#define WT_TYPE_IO_H

#include "lib/stringinfo.h"

#include "fdw/table/types.h"

extern void wt_type_io_output(const WtColumn *c, Datum value, StringInfo out);
/* The text must be valid in the database's encoding already. */
extern Datum wt_type_io_input(const WtColumn *c, const uint8 *data, size_t len);

#endif /* WT_TYPE_IO_H */
