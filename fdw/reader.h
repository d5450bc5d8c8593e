/*
 * reader.h
 *		The row reader's inside, for reader.c and the executor's scans.
 */
#ifndef WT_READER_H
#define WT_READER_H

#include "pushdown.h"

#include "lib/binaryheap.h"
#include "utils/jsonb.h"

/* An attribute that a cell fills; several may share a cell. */
typedef struct WtTarget
{
	int			att;			/* index into columns */
	const WtColumn *column;		/* how to decode */
	struct WtTarget *next;
} WtTarget;

/* A qualifier that columns of the table map. */
typedef struct WtMappedCell
{
	wide_bytes	qual;
	WtTarget	   *targets;		/* of the attributes wanted; NULL: only left out of maps */
} WtMappedCell;

/* One entry of the scan specification's families. */
typedef struct WtReadFamily
{
	int			family;			/* index into the table's families, -1: not stated there */
	char	   *name;			/* layout cells */
	int			nmapped;
	WtMappedCell *mapped;			/* sorted by qualifier; WANT_COLUMNS: in step with quals */
	int			nmaps;
	int		   *maps;			/* attributes: maps of this family */
} WtReadFamily;

struct WtRowReader
{
	WtTable    *t;
	bool	   *wanted;			/* by attribute */
	bool	   *need_part;		/* by key part */
	Datum	   *part_values;
	bool	   *part_nulls;
	uint64		bad_keys;		/* rows left out by on_bad_key 'skip' */
	int			nfamilies;
	WtReadFamily *families;		/* in step with the specification's */
	JsonbParseState **maps;		/* by attribute, while a row is put together */
	MemoryContext cxt;			/* where copies of keys live */
	wide_bytes	at;				/* key of the row last returned, until the next call */
	bool		unsure;			/* of the row last returned the engine could not tell its predicates; key is set */
	bool		track;			/* for locking: fill in the next three */
	StringInfoData key;			/* of the row last returned */
	uint32		print;			/* a hash of its cells */
	int			own;			/* of them, cells of this transaction */
	int64	   *floors;			/* see WtScanState; NULL: not wanted */
	const bool *bare;
	/* layout cells: the part of the row that is being shown */
	wide_row	row;
	int			next_cell;
	int64		row_before;		/* cells of the row before this part */
	WtScan	   *row_scan;		/* NULL: none */
	const wide_cell *cell;		/* last returned */
};

/* The engine scans behind a reader: one, or several that are merged by key. */
typedef struct WtSource
{
	int			n;
	WtScan	  **scans;
	bool		merge;
	bool		reverse;
	wide_row   *heads;			/* merge: the next row of each */
	binaryheap *heap;			/* of those that have one */
	int			last;			/* scan whose row was handed out; -1 none */
	bool		started;
} WtSource;

/* Layout cells: the tests and their arguments decide what is read; else none. */
extern WtRowReader *wt_reader_make(WtTable *t, WtEngine *e, const bool *columns, int strict_family,
								   const WtTest *tests, int ntests, const WtArg *args, wide_scan_spec *spec);
/* The entry of a family in the specification, which is made when there is none. */
extern int	wt_reader_family(WtRowReader *r, wide_scan_spec *spec, wide_family_id id);
/* One more, for predicates alone, whether or not there is one. */
extern int	wt_reader_add(WtRowReader *r, wide_scan_spec *spec, wide_family_id id);
/* Several scans, of salt buckets, in the order of keys without their salt; s->n and s->reverse are set. */
extern void wt_source_merge(WtSource *s);
/* The next row's first part, and the scan that has its others. */
extern bool wt_source_next(WtSource *s, wide_row *row, WtScan **from);
/* As wt_row_next, from several engine scans. */
extern bool wt_reader_next(WtRowReader *r, WtSource *s, Datum *values, bool *nulls, uint64_t *max_seq);
extern wide_bytes wt_reader_qual(const WtRowReader *r, const wide_cell *cell);

#endif							/* WT_READER_H */
