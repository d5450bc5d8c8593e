/*
 * index_build.h
 *		Makes the entries of all rows, and compares them with the rows.
 */
#ifndef WT_INDEX_BUILD_H
#define WT_INDEX_BUILD_H

#include "fdw/derived/index.h"

/*
 * Empties the index, and puts the entries of all rows of the newest state, in the transaction's
 * batch.
 * Requires: the indexed table is locked against writers.
 * Errors: UNIQUE_VIOLATION, if two rows have the same values; those of wt_entry_make.
 */
extern void wt_index_build(const WtIndex *x);

/* Called for each difference between an index and its table: key of the row or the entry. */
typedef void (*WtIndexProblem)(void *arg, const WtIndex *x, const char *problem);

/* Compares the index with its table, as the active snapshot sees both. */
extern void wt_index_build_verify(const WtIndex *x, WtIndexProblem report, void *arg);

#endif /* WT_INDEX_BUILD_H */
