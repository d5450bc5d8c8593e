/*
 * fold.h - values of a family with a merge operator (wide_family_options.merge).
 *
 * There each put is an operand: it does not replace what is there but is added to it.  The value of
 * a column at one of its versions is the fold of all operands up to that version's timestamp.  An
 * operand of no bytes changes nothing; all others have FOLD_WIDTH bytes, a number in big-endian,
 * but for WIDE_MERGE_HLL and WIDE_MERGE_APPEND.
 *
 * The operators are associative and commutative (sums of doubles but for rounding, and for
 * infinities on the way), so operands may be folded in any order and in any groups.  That is what
 * lets a compaction fold those that no reader tells apart.  WIDE_MERGE_APPEND is not commutative:
 * it is in append.h, and only its versions are here.
 *
 * WIDE_MERGE_HLL: the registers of a HyperLogLog (Flajolet et al. 2007), which PostgreSQL's
 * lib/hyperloglog.c fills and counts; folding takes the greater one of each.  Stored are either all
 * of them, a byte each, or up to FOLD_SPARSE that are not zero, in ascending order: two bytes with
 * the number of the register, big-endian, and its value.
 */
#ifndef WIDE_FOLD_H
#define WIDE_FOLD_H

#include "engine/wide.h"
#include "engine/base/bytes.h"
#include "engine/base/entry.h"
#include "engine/read/append.h"

#define FOLD_WIDTH	8
#define FOLD_SPARSE 1024
#define FOLD_MOST	WIDE_HLL_REGISTERS /* bytes of a value, at most */

/* An operand, or several that are folded. */
typedef struct fold
{
	bool any;		 /* false: no bytes */
	uint64_t number; /* the bits of an int64_t or a double */

	union
	{
		uint8_t *registers;	 /* WIDE_MERGE_HLL: room for WIDE_HLL_REGISTERS, the caller's */
		const uint8_t *text; /* WIDE_MERGE_APPEND: `number` bytes, of an append_list */
	};
} fold;

/* Returns true if the bytes are a value; none are one. */
extern bool fold_valid(uint8_t kind, const uint8_t *value, size_t len);

/* Adds the bytes of an operand.  kind: wide_merge, not WIDE_MERGE_NONE or WIDE_MERGE_APPEND, here
 * and below, but for fold_valid.  Sums of integers wrap. Returns: WIDE_OK; WIDE_CORRUPT if they are
 * none. */
extern wide_status fold_take(uint8_t kind, fold *f, const uint8_t *value, uint32_t len);

/* Writes the value's bytes to p, FOLD_MOST at most; returns their number. */
extern uint32_t fold_write(uint8_t kind, const fold *f, uint8_t *p);

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
	uint8_t *registers; /* for the one version there is with WIDE_MERGE_HLL; the caller's */
} fold_column;

/*
 * Adds an operand that comes in key order: as a version of its own, or to the last one if that has
 * the same timestamp or there are `most` versions already.
 * Returns: WIDE_OK; WIDE_NOMEM; WIDE_CORRUPT, see fold_take.
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

/*
 * WIDE_MERGE_APPEND: makes the versions of the column from its operands, whose bytes are in the
 * list as long as it does not change.  There is one version, with the timestamp of the last
 * operand. apart: one for each operand, or for several where an operand has not a newer timestamp
 * than the one before it; so putting them again in the order of their timestamps gives the same
 * value. own: what the automatic operands of the reader's batch come to but for its value; they are
 * one. Returns: as append_join.
 */
extern wide_status fold_append(fold_column *c, append_list *l, bool apart, const fold_version *own);

#endif /* WIDE_FOLD_H */
