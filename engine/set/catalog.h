/* catalog.h - tables, families and bindings: the committed state */
#ifndef WIDE_CATALOG_H
#define WIDE_CATALOG_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/varint.h"
#include "engine/shared/layout.h"

/*
 * Apply encoded changes; cannot fail for what encode has checked.  Takes LOCK_SET
 * and LOCK_CATALOG.  Call it under LOCK_COMMIT, in order of seq, before the
 * batch's files are linked.  Idempotent: changes the manifest's dump has are skipped.
 */
extern void catalog_apply(wide_db *db, wide_bytes encoded, uint64_t seq);

/* The whole catalog, for the manifest. */
extern wide_status catalog_dump(wide_db *db, buffer *out);
extern wide_status catalog_restore(wide_db *db, wide_bytes dump); /* len 0: an empty catalog */

/* A copy of a committed family's slot head; false when it does not exist (dropped). */
extern bool catalog_family(wide_db *db, wide_family_id id, wide_family *f, family_floor *floors);

/* Note in floors what was in force before a change of options by the batch with this seq, where
 * that matters. */
extern void catalog_floor(family_floor *floors, const wide_family_options *old,
						  const wide_family_options *new, uint64_t seq, int64_t now);

/*
 * Forget the floors of the family with a seq below settled: the files that
 * listed edits name have nothing that they matter to, and no memtable has.
 */
extern wide_status catalog_retire(wide_db *db, wide_family_id id, uint64_t settled);

enum op_kind
{
	OP_CREATE_TABLE = 1,
	OP_RENAME_TABLE,
	OP_DROP_TABLE,
	OP_BIND,
	OP_UNBIND,
	OP_CREATE_FAMILY,
	OP_ALTER_FAMILY,
	OP_DROP_FAMILY,
	OP_REPLACE_FAMILY
};

typedef struct catalog_op
{
	uint64_t number; /* the batch's operation number */
	uint8_t kind;
	bool last; /* UNBIND: no binding was left, as the batch sees it */
	uint32_t table;
	uint32_t family;
	uint32_t arg; /* space, object or new family id */
	int64_t now;
	char name[WIDE_MAX_NAME + 1];
	wide_family_options opt;
} catalog_op;

#define OPTIONS_MAX (13 * VARINT_MAX)
#define OP_MAX		(4 * VARINT_MAX + WIDE_MAX_NAME + OPTIONS_MAX)

/* catalog.c */
extern uint8_t *catalog_put_op(uint8_t *p, const catalog_op *op); /* at most OP_MAX bytes */
extern wide_status catalog_check_options(const wide_family_options *o);

/* Does the change have to be remembered? */
extern bool catalog_floor_needed(const wide_family_options *old, const wide_family_options *new);
extern int catalog_floors_used(const family_floor *floors);

/* under LOCK_CATALOG or LOCK_SET */
extern table_slot *catalog_table_slot(wide_db *db, wide_table_id id);

/* Ids of all committed families, or of this one (only != 0); *out is malloced. */
extern wide_status catalog_family_ids(wide_db *db, wide_family_id only, wide_family_id **out,
									  int *n);

#endif /* WIDE_CATALOG_H */
