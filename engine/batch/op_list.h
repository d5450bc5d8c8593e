/* op_list.h - the list of a batch's operations in memory, and merging it with spilled runs */
#ifndef WIDE_OP_LIST_H
#define WIDE_OP_LIST_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/shared/layout.h"
#include "engine/set/memtable.h"
#include "engine/batch/op_undone.h"

/* Some operations in memory: nodes one after the other; those before `linked` are in the skip
 * list. */
typedef struct op_list
{
	uint8_t *base;
	uint64_t capacity;
	memtable table;
	memtable_handle m;
	memtable_hint hint;
	uint64_t start, end, linked; /* offsets */
	uint64_t touched;			 /* where it has ended before it was emptied */
	uint64_t first_op;			 /* of the first node */
	uint64_t linked_op;			 /* of the first node that is not linked; UINT64_MAX: all are */
	uint64_t nodes;
	uint64_t rows; /* how often another row or family than that of the node before has come */
	int users;	   /* sources that read it */
	bool retired;  /* not the batch's any more: goes with its last user */
} op_list;

extern wide_status op_list_new(op_list **out);
extern void op_list_retire(op_list *l); /* free, now or by its last user */
extern void op_list_leave(op_list *l);
extern void op_list_reset(op_list *l); /* empty it; nobody reads it */

/* All operations below the mark are in the skip list. */
extern void op_list_link(op_list *l, uint64_t mark);

/* Nodes of one family and row: in ascending order and one behind the other in memory, or listed
 * in op_sorted.flat. */
typedef struct op_unit
{
	uint64_t prefix, more; /* bytes of family and row */
	uint32_t ref;		   /* the first node, or index in flat */
	uint32_t n;			   /* nodes; UNIT_FLAT: in flat */
} op_unit;

#define UNIT_FLAT ((uint32_t) 1 << 31)

/* What sorting takes, beside the list itself: units twice, and references to nodes that do not
 * come in order. */
static inline uint64_t
op_sort_bytes(uint64_t nodes, uint64_t rows)
{
	return rows * 2 * sizeof(op_unit) + nodes * 2 * sizeof(uint32_t);
}

typedef struct op_sorted
{
	op_unit *units;
	uint32_t nunits;
	uint32_t *flat;
	uint32_t nflat, flat_cap;
} op_sorted;

/* The living operations of the list (NULL: none) in order of (family, key). */
extern wide_status op_list_sort(op_list *l, const op_undone *undone, op_sorted *s);
extern void op_list_sorted_free(op_sorted *s);

/* The node that tells the unit's row. */
static inline uint32_t
op_list_unit_node(const op_sorted *s, const op_unit *u)
{
	return u->n & UNIT_FLAT ? s->flat[u->ref] : u->ref;
}

static inline int
op_list_entry_order(wide_family_id af, const entry *a, wide_family_id bf, const entry *b)
{
	return af != bf ? (af < bf ? -1 : 1) : key_compare(a, b);
}

extern wide_status op_list_no_memory(void);

#endif /* WIDE_OP_LIST_H */
