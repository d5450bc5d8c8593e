/*
 * analyze.h
 *		Sampling for ANALYZE.
 */
#ifndef WT_ANALYZE_H
#define WT_ANALYZE_H

#include "foreign/fdwapi.h"
#include "storage/block.h"

/*
 * Returns true, the function that collects sample rows, and the size in PostgreSQL's pages (the
 * FdwRoutine's AnalyzeForeignTable).
 */
extern bool wt_analyze_foreign_table(Relation relation, AcquireSampleRowsFunc *func,
									 BlockNumber *totalpages);

#endif /* WT_ANALYZE_H */
