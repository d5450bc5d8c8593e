/* reclaim.h - how much of a family's files is garbage */
#ifndef WIDE_RECLAIM_H
#define WIDE_RECLAIM_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* Sums over the files of a family.  Zero-filled is empty. */
typedef struct reclaim_tally
{
	uint64_t bytes[SET_LEVELS], deletes[SET_LEVELS], rows[SET_LEVELS];

	/* level 0 */
	uint32_t nfiles0;
	uint64_t largest0, largest0_rows; /* bytes and rows of its largest file */

	/* time to live */
	double expired;				   /* bytes that have expired, estimated */
	double most_expired;		   /* those of the file that has most of them */
	const file_meta *expired_file; /* that file; NULL: none */
} reclaim_tally;

/* Adds a file.  settled: entries up to this seq can be dropped; expired bytes count only in files
 * that have nothing newer. */
extern void reclaim_add(reclaim_tally *s, const file_meta *f, const wide_family_options *o,
						const family_floor *floors, int64_t now, uint64_t settled);

/* Returns the level to merge into the next one to reclaim space; -1: none. */
extern int reclaim_level(const reclaim_tally *s);

/* Returns the file to rewrite because much of it has expired; NULL: none. */
extern const file_meta *reclaim_expired_file(const reclaim_tally *s);

#endif /* WIDE_RECLAIM_H */
