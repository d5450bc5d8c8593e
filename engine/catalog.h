/*
 * catalog.h - what catalog.c and delta.c share: the operations of a change and
 * the parts of their encoding.  Private to the two.
 */
#ifndef WIDE_CATALOG_H
#define WIDE_CATALOG_H

#include "db.h"

enum op_kind
{
	OP_CREATE_TABLE = 1, OP_RENAME_TABLE, OP_DROP_TABLE, OP_BIND, OP_UNBIND,
	OP_CREATE_FAMILY, OP_ALTER_FAMILY, OP_DROP_FAMILY, OP_REPLACE_FAMILY
};

typedef struct catalog_op
{
	uint64_t	number;			/* the batch's operation number */
	uint8_t		kind;
	bool		last;			/* UNBIND: no binding was left, as the batch sees it */
	uint32_t	table;
	uint32_t	family;
	uint32_t	arg;			/* space, object or new family id */
	int64_t		now;
	char		name[WIDE_MAX_NAME + 1];
	wide_family_options opt;
} catalog_op;

#define OPTIONS_MAX	(13 * VARINT_MAX)
#define OP_MAX		(4 * VARINT_MAX + WIDE_MAX_NAME + OPTIONS_MAX)

/* catalog.c */
extern uint8_t *catalog_put_op(uint8_t *p, const catalog_op *op);	/* at most OP_MAX bytes */
extern wide_status catalog_check_options(const wide_family_options *o);
/* Does the change have to be remembered? */
extern bool catalog_floor_needed(const wide_family_options *old, const wide_family_options *new);
extern int	catalog_floors_used(const family_floor *floors);
/* under LOCK_CATALOG or LOCK_SET */
extern table_slot *catalog_table_slot(wide_db *db, wide_table_id id);

#endif							/* WIDE_CATALOG_H */
