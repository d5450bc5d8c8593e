/*
 * op_list.h - the operations of a batch in memory.
 *
 * A list is used by one thread at a time.
 */
#ifndef WIDE_OP_LIST_H
#define WIDE_OP_LIST_H

#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/shared/layout.h"
#include "engine/set/memtable.h"
#include "engine/batch/op_undone.h"

/* Operations as nodes of a skip list, one behind the other in memory. */
typedef struct op_list
{
	/* memory: reserved address space */
	uint8_t *base;
	uint64_t capacity; /* bytes */
	uint64_t touched;  /* offset up to which former contents have touched it */
	uint64_t writable; /* of these, the first ones can be written; the rest has no access */

	/* skip list */
	memtable table;
	memtable_handle m;
	memtable_hint hint;

	/* nodes: offsets from base */
	uint64_t start, end;
	uint64_t linked;	/* nodes before it are linked into the skip list */
	uint64_t first_op;	/* operation of the first node; UINT64_MAX: none */
	uint64_t linked_op; /* operation of the first node that is not linked; UINT64_MAX: none */
	uint64_t nodes;
	uint64_t rows; /* number of times that a node is of another row or family than the one before */

	/* lifetime */
	int users;	  /* sources and merges that read it */
	bool retired; /* its batch has left it; the last user frees it */
} op_list;

/*
 * Makes an empty list.  limit: bytes that it will have at most, unless its first node, of `first`
 * bytes, takes more; with too little address space its capacity is less.
 * Returns WIDE_NOMEM if there is no memory, or no address space for the first node.
 */
extern wide_status op_list_new(uint64_t limit, uint64_t first, op_list **out);

/* Makes the bytes up to `end` writable.  Requires: l->writable < end <= l->capacity.
 * Returns WIDE_NOMEM. */
extern wide_status op_list_grow(op_list *l, uint64_t end);

/* Frees the list (NULL: none), or leaves that to its last user. */
extern void op_list_retire(op_list *l);

/* Gives up a use of the list (NULL: none), which l->users counts. */
extern void op_list_leave(op_list *l);

/* Empties the list.  Requires: no users. */
extern void op_list_reset(op_list *l);

/* Links all operations below the mark into the skip list. */
extern void op_list_link(op_list *l, uint64_t mark);

/*
 * Nodes of one family and row: either they ascend and lie one behind the other in
 * memory, or op_sorted.flat lists them.
 */
typedef struct op_unit
{
	uint64_t prefix, more; /* bytes of family and row; see unit_prefix */
	uint32_t ref;		   /* the first node, or its index in flat */
	uint32_t n;			   /* number of nodes; with OP_UNIT_FLAT: they are in flat */
} op_unit;

#define OP_UNIT_FLAT ((uint32_t) 1 << 31)

/* The live operations of a list in order.  Zero-filled is empty. */
typedef struct op_sorted
{
	memtable_handle m; /* of the list */
	op_unit *units;
	int nunits, units_cap;
	uint32_t *flat; /* references to nodes */
	int nflat, flat_cap;
} op_sorted;

/* Returns the bytes of memory that sorting takes beside the list: units twice, and references to
 * nodes that are out of order. */
static inline uint64_t
op_sort_bytes(uint64_t nodes, uint64_t rows)
{
	return rows * 2 * sizeof(op_unit) + nodes * 2 * sizeof(uint32_t);
}

/* Sorts the live operations of the list (NULL: none) by (family, key).  Free *s also after a
 * failure.  Requires: *s is empty.  Returns: WIDE_NOMEM. */
extern wide_status op_list_sort(op_list *l, const op_undone *undone, op_sorted *s);
extern void op_list_sorted_free(op_sorted *s);

/* Returns a node of the unit, to read its family and row from. */
static inline uint32_t
op_list_unit_node(const op_sorted *s, const op_unit *u)
{
	return u->n & OP_UNIT_FLAT ? s->flat[u->ref] : u->ref;
}

/* Fails with WIDE_NOMEM. */
extern wide_status op_list_no_memory(void);

#endif /* WIDE_OP_LIST_H */
