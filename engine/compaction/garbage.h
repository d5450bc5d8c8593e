/* garbage.h - how much of a family's files is garbage */
#ifndef WIDE_GARBAGE_H
#define WIDE_GARBAGE_H

#include "engine/wide.h"
#include "engine/shared/layout.h"

/* Zero-filled, then every settled file of a leveled family is added. */
typedef struct garbage_tally
{
	uint64_t bytes[SET_LEVELS], deletes[SET_LEVELS], rows[SET_LEVELS];
	uint32_t nfiles0;
	uint64_t largest0, largest0_rows; /* the largest file of level 0 */
	double expired;					  /* bytes, as estimated */
	double most_expired;			  /* in the file with most of them */
	const file_meta *expired_file;
} garbage_tally;

extern void garbage_add(garbage_tally *s, const file_meta *f, const wide_family_options *o,
						const family_floor *floors, int64_t now, uint64_t settled);

/* The level that is to go down for the sake of space; -1: all is well. */
extern int garbage_sink(const garbage_tally *s);

/* The file that is to be written anew because much of it has expired; NULL none. */
extern const file_meta *garbage_expired(const garbage_tally *s);

#endif /* WIDE_GARBAGE_H */
