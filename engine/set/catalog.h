/*
 * catalog.h - tables, families and bindings: the committed state.
 *
 * catalog_delta.h has the changes of a transaction that is not committed.
 */
#ifndef WIDE_CATALOG_H
#define WIDE_CATALOG_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/varint.h"
#include "engine/shared/layout.h"

/* --------------------------------------------------------------- changes */

/* The numbers are part of the log's format. */
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
	uint8_t kind;	 /* enum op_kind */
	bool last;		 /* UNBIND: it left no binding, as the batch sees it */
	uint32_t table;
	uint32_t family;
	uint32_t arg; /* space, object or new family id */
	int64_t now;  /* ALTER_FAMILY: time of the change */
	char name[WIDE_MAX_NAME + 1];
	wide_family_options opt;
} catalog_op;

#define OPTIONS_MAX (13 * VARINT_MAX)
#define OP_MAX		(4 * VARINT_MAX + WIDE_MAX_NAME + OPTIONS_MAX)

/* Encodes a change; returns the end.  Requires: room for OP_MAX bytes. */
extern uint8_t *catalog_put_op(uint8_t *p, const catalog_op *op);

/*
 * Applies encoded changes.  Cannot fail for what catalog_delta_encode has checked; otherwise the
 * store is poisoned.  In replay the table of this server may be smaller: WIDE_FULL, and a part of
 * the changes may be applied; they may be applied again.  Changes that the manifest's dump has are
 * skipped.
 * early: in replay, before the batch's FINISH record; seq is the LSN of its commit record.  The
 * same changes may be applied again by another replay: that does nothing.
 * Requires: LOCK_COMMIT; called in order of seq, before the batch's files are linked.
 * Takes LOCK_SET and LOCK_CATALOG.
 */
extern wide_status catalog_apply(wide_db *db, wide_bytes encoded, uint64_t seq, bool early);

/* Returns true if encoded changes can be decoded.  Whether there is room for them is not checked.
 */
extern bool catalog_check(wide_bytes encoded);

/* ---------------------------------------------------------- the manifest */

/* Appends the whole catalog to out.  Returns: WIDE_OK, WIDE_NOMEM or WIDE_POISONED. */
extern wide_status catalog_dump(wide_db *db, buffer *out);

/* Sets the catalog to a dump; len 0: an empty catalog.
 * Requires: recovery.  Returns: WIDE_OK or WIDE_CORRUPT. */
extern wide_status catalog_restore(wide_db *db, wide_bytes dump);

/* -------------------------------------------------------------- look-ups */

/* Copies a committed family and its floors (NULL: not them).  Returns false if there is none
 * (dropped). */
extern bool catalog_family(wide_db *db, wide_family_id id, wide_family *f, family_floor *floors);

/* Returns a committed table; NULL if there is none.  Requires: LOCK_CATALOG or LOCK_SET. */
extern table_slot *catalog_table_slot(wide_db *db, wide_table_id id);

enum catalog_array
{
	CATALOG_TABLES,
	CATALOG_FAMILIES,
	CATALOG_BINDINGS,
	CATALOG_ARRAYS /* their number */
};

/* Returns the number of committed tables, families or bindings.
 * Requires: LOCK_CATALOG or LOCK_SET. */
extern uint32_t catalog_count(wide_db *db, enum catalog_array which);

/* The next committed table, without its counts.  Begin with *cursor = 0; ends with WIDE_END. */
extern wide_status catalog_table_next(wide_db *db, uint32_t *cursor, wide_table *out);

/* The id of the next committed family.  Begin with *cursor = 0; ends with WIDE_END. */
extern wide_status catalog_family_next(wide_db *db, uint32_t *cursor, wide_family_id *id);

/* --------------------------------------------------- options and floors */

/* Returns true if a change of options needs a floor: what was invisible could come back, or the
 * number of versions changes. */
extern bool catalog_floor_needed(const wide_family_options *old, const wide_family_options *new);

/* Returns the number of floors in use. */
extern int catalog_floors_used(const family_floor *floors);

/* Adds a floor, if one is needed, for a change by the batch with this seq at time now. */
extern void catalog_floor(family_floor *floors, const wide_family_options *old,
						  const wide_family_options *new, uint64_t seq, int64_t now);

/* Removes the floors of the family with a seq below settled.
 * Requires: they matter to nothing in a memtable or in the files that durable edits list. */
extern wide_status catalog_retire(wide_db *db, wide_family_id id, uint64_t settled);

#endif /* WIDE_CATALOG_H */
