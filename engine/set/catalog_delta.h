/*
 * catalog_delta.h - a transaction's changes to tables, families and bindings.
 *
 * A delta is a list of operations with the batch's operation numbers.  The look-ups
 * of its transaction see it; at commit it is encoded into the log record, and
 * catalog_apply applies the same bytes, as replay does.
 */
#ifndef WIDE_CATALOG_DELTA_H
#define WIDE_CATALOG_DELTA_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/set/catalog.h"

typedef struct catalog_delta catalog_delta;

struct catalog_delta
{
	wide_db *db;
	catalog_delta *next; /* of all deltas of this process */
	uint32_t serial;	 /* distinct in this process */
	bool pending;		 /* has entries in catalog.pending */
	int leave;			 /* percent of the catalog's room that it must leave */
	catalog_op *ops;
	int n;
	int cap;
};

/* Makes an empty delta; NULL without memory. */
extern catalog_delta *catalog_delta_new(wide_db *db);

/* Frees the delta and what it has reserved.  d may be NULL. */
extern void catalog_delta_free(catalog_delta *d);

/* Makes room for n more operations.  Returns: WIDE_OK or WIDE_NOMEM. */
extern wide_status catalog_delta_reserve(catalog_delta *d, int n);

/* Adds an operation, zeroed but for number and kind.  Requires: catalog_delta_reserve. */
extern catalog_op *catalog_delta_add(catalog_delta *d, uint64_t number, enum op_kind kind);

/* Removes the operations numbered mark and above. */
extern void catalog_delta_rewind(catalog_delta *d, uint64_t mark);

/*
 * Reserves names and room in the catalog, so that the delta can be applied, and
 * appends the encoded operations to out.  d may be NULL.
 * Returns: WIDE_OK; WIDE_EXISTS if another transaction has or gives one of the names;
 * WIDE_FULL; WIDE_NOMEM.
 */
extern wide_status catalog_delta_encode(catalog_delta *d, buffer *out);

/* Checks that there is room for what the delta adds, and for what it must leave.
 * Returns: WIDE_OK or WIDE_FULL. */
extern wide_status catalog_delta_check_room(const catalog_delta *d);

/* Checks that a change of a family's options, the last one in the delta, finds room among the
 * floors.  Requires: LOCK_CATALOG.  Returns: WIDE_OK or WIDE_FULL. */
extern wide_status catalog_delta_check_change(const catalog_delta *d, const catalog_op *op);

/* -------------------------------------------------------------- look-ups */

/* Finds a family that is committed or was made by any batch of this process, for its files.  Takes
 * LOCK_CATALOG. */
extern bool catalog_delta_family_any(wide_db *db, wide_family_id id, wide_family *f);

/*
 * The following apply the delta (NULL: none) to the committed state.
 * Require: LOCK_CATALOG.  Return false if there is no such object.
 */
extern bool catalog_delta_table(wide_db *db, const catalog_delta *d, wide_table_id id,
								wide_table *t);

/* the same for a committed table that is known already: exists, and *t */
extern bool catalog_delta_table_from(const catalog_delta *d, wide_table_id id, bool exists,
									 wide_table *t);

/* also sets the numbers of families and bindings */
extern bool catalog_delta_table_full(wide_db *db, const catalog_delta *d, wide_table_id id,
									 wide_table *t);
extern bool catalog_delta_table_named(wide_db *db, const catalog_delta *d, uint32_t space,
									  const char *name, wide_table *t);
extern bool catalog_delta_family(wide_db *db, const catalog_delta *d, wide_family_id id,
								 wide_family *f);
extern bool catalog_delta_binding(wide_db *db, const catalog_delta *d, wide_table_id table,
								  uint32_t object);

/* The table's families, in order of id, and the objects that are bound to it: copy at most max,
 * return the number of all.  Require: LOCK_CATALOG. */
extern int catalog_delta_families(wide_db *db, const catalog_delta *d, wide_table_id id,
								  wide_family *out, int max);
extern int catalog_delta_bindings(wide_db *db, const catalog_delta *d, wide_table_id id,
								  uint32_t *out, int max);

#endif /* WIDE_CATALOG_DELTA_H */
