/* catalog_delta.h - a transaction's changes to the catalog */
#ifndef WIDE_CATALOG_DELTA_H
#define WIDE_CATALOG_DELTA_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/set/catalog.h"

/*
 * Changes of a transaction to tables and families: recorded in order with the
 * batch's operation number, visible to its own look-ups, encoded into the log
 * record, applied under LOCK_CATALOG at commit and at replay.
 */
typedef struct catalog_delta catalog_delta;

struct catalog_delta
{
	wide_db *db;
	catalog_delta *next; /* all live ones of this process */
	uint32_t serial;
	bool promised; /* has entries in catalog.pending */
	catalog_op *ops;
	int n;
	int cap;
};

extern catalog_delta *catalog_delta_new(wide_db *db);
extern void catalog_delta_free(catalog_delta *d);
/* forget operations numbered >= mark */
extern void catalog_delta_rewind(catalog_delta *d, uint64_t mark);
extern bool catalog_delta_empty(const catalog_delta *d);

/* Checks that it can be applied (names unique, room in the arrays: reserved) and encodes it. */
extern wide_status catalog_delta_encode(catalog_delta *d, buffer *out);

/* For bulk files: a family that is committed or was made by an unfinished batch of this process. */
extern bool catalog_delta_family_any(wide_db *db, wide_family_id id, wide_family *f);

/* The list runs over the committed state; all of these under LOCK_CATALOG, d may be NULL
 * (committed state only). */
extern bool catalog_delta_table(wide_db *db, const catalog_delta *d, wide_table_id id,
								wide_table *t);
/* with the numbers of families and bindings */
extern bool catalog_delta_table_full(wide_db *db, const catalog_delta *d, wide_table_id id,
									 wide_table *t);
extern bool catalog_delta_table_named(wide_db *db, const catalog_delta *d, uint32_t space,
									  const char *name, wide_table *t);
extern bool catalog_delta_family(wide_db *db, const catalog_delta *d, wide_family_id id,
								 wide_family *f);
extern bool catalog_delta_binding(wide_db *db, const catalog_delta *d, wide_table_id table,
								  uint32_t object);
/* Families of a table in order of id; at most max are copied; returns the number. */
extern int catalog_delta_families(wide_db *db, const catalog_delta *d, wide_table_id id,
								  wide_family *out, int max);
extern int catalog_delta_bindings(wide_db *db, const catalog_delta *d, wide_table_id id,
								  uint32_t *out, int max);
extern wide_status catalog_delta_check_changes(const catalog_delta *d, const catalog_op *op,
											   wide_family_id *promised);

/* Room for n more operations. */
extern wide_status catalog_delta_reserve(catalog_delta *d, int n);
/* The next operation, zeroed but for number and kind; catalog_delta_reserve has made room. */
extern catalog_op *catalog_delta_add(catalog_delta *d, uint64_t number, enum op_kind kind);

#endif /* WIDE_CATALOG_DELTA_H */
