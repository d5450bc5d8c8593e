/*
 * fold.h - values of a family with a merge operator (wide_family_options.merge).
 *
 * There each put is an operand: it does not replace what is there but is added to it.  The value of
 * a column at one of its versions is the fold of all operands up to that version's timestamp.  An
 * operand of no bytes changes nothing; all others have FOLD_WIDTH bytes, a number in big-endian.
 *
 * The operators are associative and commutative (sums of doubles but for rounding, and for
 * infinities on the way), so operands may be folded in any order and in any groups.  That is what
 * lets a compaction fold those that no reader tells apart.
 */
#ifndef WIDE_FOLD_H
#define WIDE_FOLD_H

#include "engine/wide.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"

#define FOLD_WIDTH 8

/* An operand, or several that are folded. */
typedef struct fold
{
	uint64_t number; /* the bits of an int64_t or a double */
	bool any;		 /* false: no bytes */
} fold;

/* Returns the fold of both.  kind: wide_merge, not WIDE_MERGE_NONE.  Sums of integers wrap. */
extern fold fold_both(uint8_t kind, fold a, fold b);

/* Reads the value of a put.  Returns: WIDE_OK; WIDE_CORRUPT if it has another length. */
extern wide_status fold_read(const entry *e, fold *out);

/* Writes the value's bytes, FOLD_WIDTH or none, to p; returns their number. */
static inline uint32_t
fold_write(const fold *f, uint8_t *p)
{
	uint64_t bits = __builtin_bswap64(f->number);

	memcpy(p, &bits, FOLD_WIDTH);
	return f->any ? FOLD_WIDTH : 0;
}

/* The versions of a column: its operands, folded where they are not told apart. */
typedef struct fold_version
{
	int64_t ts;
	uint64_t seq;	  /* of its newest operand */
	int64_t floor_ts; /* these two are the scan's: see wide_cell */
	bool provisional;
	fold value;
} fold_version;

typedef struct fold_column
{
	fold_version *v; /* newest timestamp first */
	int n, cap;
} fold_column;

/*
 * Adds an operand that comes in key order: as a version of its own, or to the last one if that has
 * the same timestamp or there are `most` versions already.
 * Returns: WIDE_OK; WIDE_NOMEM; WIDE_CORRUPT, see fold_read.
 */
extern wide_status fold_add(fold_column *c, uint8_t kind, int32_t most, const entry *e);

/*
 * Puts a version before all others, whose timestamps it exceeds: what the commit of the reader's
 * batch will make of its automatic operands.  most: as above.  Returns: WIDE_OK or WIDE_NOMEM.
 */
extern wide_status fold_add_own(fold_column *c, uint8_t kind, int32_t most,
								const fold_version *own);

/* Makes the value of each version the fold of all up to its timestamp. */
extern void fold_sum_up(fold_column *c, uint8_t kind);

#endif /* WIDE_FOLD_H */
