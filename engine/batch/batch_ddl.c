/*
 * batch_ddl.c - tables and families as a transaction sees and changes them.
 *
 * Look-ups apply the batch's catalog delta to the committed catalog.  Changes are
 * added to the delta and become part of the batch.  Contracts are in wide.h.
 *
 * Locking: look-ups take LOCK_CATALOG and allocate nothing under it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine/wide.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/catalog.h"
#include "engine/set/catalog_delta.h"
#include "engine/set/family.h"
#include "engine/batch/batch.h"
#include "engine/batch/batch_state.h"

/* --------------------------------------------------------------- look-ups */

static const catalog_delta *
delta_of(wide_batch *b)
{
	return b != NULL ? b->delta : NULL;
}

wide_status
wide_table_by_name(wide_db *db, wide_batch *b, uint32_t space, const char *name, wide_table *out)
{
	const catalog_delta *d = delta_of(b);
	bool found;

	TRY(segment_lock(db, LOCK_CATALOG));
	found = catalog_delta_table_named(db, d, space, name, out) &&
			catalog_delta_table_full(db, d, out->id, out);
	segment_unlock(db, LOCK_CATALOG);
	return found ? WIDE_OK : status_fail(WIDE_NOTFOUND, "table \"%s\" does not exist", name);
}

wide_status
wide_table_by_binding(wide_db *db, wide_batch *b, uint32_t space, uint32_t object, wide_table *out)
{
	const catalog_delta *d = delta_of(b);
	binding_slot *s = layout_bindings(db);
	wide_table_id id = 0;
	wide_table t;

	TRY(segment_lock(db, LOCK_CATALOG));
	for (uint32_t i = 0; i < db->seg->catalog.nbindings && id == 0; i++)
		if (s[i].table != 0 && s[i].object == object &&
			catalog_delta_binding(db, d, s[i].table, object) &&
			catalog_delta_table(db, d, s[i].table, &t) && t.space == space)
			id = s[i].table;
	for (int i = 0; d != NULL && i < d->n && id == 0; i++)
		if (d->ops[i].kind == OP_BIND && d->ops[i].arg == object &&
			catalog_delta_binding(db, d, d->ops[i].table, object) &&
			catalog_delta_table(db, d, d->ops[i].table, &t) && t.space == space)
			id = d->ops[i].table;
	if (id != 0 && !catalog_delta_table_full(db, d, id, out))
		id = 0;
	segment_unlock(db, LOCK_CATALOG);
	return id != 0 ? WIDE_OK : status_fail(WIDE_NOTFOUND, "no table is bound to object %u", object);
}

wide_status
wide_table_by_id(wide_db *db, wide_batch *b, wide_table_id id, wide_table *out)
{
	const catalog_delta *d = delta_of(b);
	bool found;

	TRY(segment_lock(db, LOCK_CATALOG));
	found = catalog_delta_table_full(db, d, id, out);
	segment_unlock(db, LOCK_CATALOG);
	return found ? WIDE_OK : status_fail(WIDE_NOTFOUND, "table %u does not exist", id);
}

#define CURSOR_DELTA 0x80000000u /* the rest of the cursor is an index into the delta */

/* The committed tables come first, then those that the batch has created. */
wide_status
wide_table_next(wide_db *db, wide_batch *b, uint32_t *cursor, wide_table *out)
{
	const catalog_delta *d = delta_of(b);
	wide_status st = WIDE_END;
	bool found = false;

	while (!(*cursor & CURSOR_DELTA))
	{
		st = catalog_table_next(db, cursor, out);
		if (st == WIDE_END)
			*cursor = CURSOR_DELTA;
		else if (st != WIDE_OK || catalog_delta_table_from(d, out->id, true, out))
			return st;
	}
	TRY(segment_lock(db, LOCK_CATALOG));
	for (; d != NULL && !found && (*cursor & ~CURSOR_DELTA) < (uint32_t) d->n; ++*cursor)
	{
		const catalog_op *op = &d->ops[*cursor & ~CURSOR_DELTA];

		found = op->kind == OP_CREATE_TABLE && catalog_delta_table(db, d, op->table, out);
	}
	segment_unlock(db, LOCK_CATALOG);
	return found ? WIDE_OK : WIDE_END;
}

/* Lists the families of a table, or (families NULL) the objects that are bound to it. */
static int
table_list(wide_db *db, wide_batch *b, wide_table_id id, wide_family *families, uint32_t *objects,
		   int max)
{
	const catalog_delta *d = delta_of(b);
	wide_table t;
	int n = 0;

	if (segment_lock(db, LOCK_CATALOG) != WIDE_OK)
		return 0;
	if (catalog_delta_table(db, d, id, &t))
		n = families != NULL ? catalog_delta_families(db, d, id, families, max)
							 : catalog_delta_bindings(db, d, id, objects, max);
	segment_unlock(db, LOCK_CATALOG);
	return n;
}

int
wide_table_families(wide_db *db, wide_batch *b, wide_table_id id, wide_family *families, int max)
{
	return table_list(db, b, id, families, NULL, max);
}

int
wide_table_bindings(wide_db *db, wide_batch *b, wide_table_id id, uint32_t *objects, int max)
{
	return table_list(db, b, id, NULL, objects, max);
}

/* ------------------------------------------------------------- operations */

/* Makes room for n more catalog operations; *d is the batch's delta. */
static wide_status
ops_reserve(wide_batch *b, int n, catalog_delta **d)
{
	TRY(segment_check(b->db));
	*d = batch_catalog(b);
	if (*d == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	return catalog_delta_reserve(*d, n);
}

/* Returns WIDE_LIMIT unless the name of a `what` has 1 to max bytes. */
static wide_status
check_length(const char *what, const char *name, size_t max)
{
	size_t n = strlen(name);

	if (n < 1 || n > max)
		return status_fail(WIDE_LIMIT, "the name of a %s has between 1 and %zu bytes", what, max);
	return WIDE_OK;
}

/* Returns WIDE_EXISTS if the batch sees a table of that name. */
static wide_status
need_new_name(catalog_delta *d, uint32_t space, const char *name)
{
	wide_table t;
	bool found;

	TRY(check_length("table", name, WIDE_MAX_NAME));
	TRY(segment_lock(d->db, LOCK_CATALOG));
	found = catalog_delta_table_named(d->db, d, space, name, &t);
	segment_unlock(d->db, LOCK_CATALOG);
	return found ? status_fail(WIDE_EXISTS, "table \"%s\" exists already", name) : WIDE_OK;
}

/* Makes room for a change of a table, which it looks up. */
static wide_status
begin_change(wide_batch *b, wide_table_id id, wide_table *t)
{
	catalog_delta *d;

	TRY(ops_reserve(b, 1, &d));
	return wide_table_by_id(b->db, b, id, t);
}

/* Adds an operation.  Requires: ops_reserve. */
static catalog_op *
add_op(wide_batch *b, enum op_kind kind, wide_table_id table, uint32_t arg, const char *name)
{
	catalog_op *op = catalog_delta_add(b->delta, batch_next_op(b), kind);

	op->table = table;
	op->arg = arg;
	strcpy(op->name, name);
	return op;
}

wide_status
wide_batch_create_table(wide_batch *b, uint32_t space, const char *name, wide_table_id *out)
{
	catalog_delta *d;

	TRY(ops_reserve(b, 1, &d));
	TRY(need_new_name(d, space, name));
	*out = atomic_fetch_add(&d->db->seg->catalog.next_table, 1);
	add_op(b, OP_CREATE_TABLE, *out, space, name);
	return WIDE_OK;
}

wide_status
wide_batch_rename_table(wide_batch *b, wide_table_id id, const char *name)
{
	wide_table t;

	TRY(begin_change(b, id, &t));
	if (strcmp(t.name, name) == 0)
		return WIDE_OK;
	TRY(need_new_name(b->delta, t.space, name));
	add_op(b, OP_RENAME_TABLE, id, 0, name);
	return WIDE_OK;
}

wide_status
wide_batch_drop_table(wide_batch *b, wide_table_id id)
{
	wide_table t;

	TRY(begin_change(b, id, &t));
	add_op(b, OP_DROP_TABLE, id, 0, "");
	return WIDE_OK;
}

wide_status
wide_batch_bind(wide_batch *b, wide_table_id id, uint32_t object)
{
	wide_table t;

	TRY(begin_change(b, id, &t));
	add_op(b, OP_BIND, id, object, "");
	return WIDE_OK;
}

wide_status
wide_batch_unbind(wide_batch *b, wide_table_id id, uint32_t object)
{
	wide_table t;
	bool bound;

	TRY(begin_change(b, id, &t));
	TRY(segment_lock(b->db, LOCK_CATALOG));
	bound = catalog_delta_binding(b->db, b->delta, id, object);
	segment_unlock(b->db, LOCK_CATALOG);
	if (!bound)
		return status_fail(WIDE_NOTFOUND, "table %u is not bound to object %u", id, object);
	add_op(b, OP_UNBIND, id, object, "")->last = t.nbindings == 1;
	return WIDE_OK;
}

/* Lists the families of a table in *f, which the caller frees, also after a failure. */
static wide_status
list_families(wide_batch *b, const wide_table *t, wide_family **f, int *n)
{
	int max = (int) t->nfamilies + 16; /* other transactions may add some meanwhile */

	*f = malloc((size_t) max * sizeof **f);
	if (*f == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	*n = wide_table_families(b->db, b, t->id, *f, max);
	return *n <= max ? WIDE_OK : status_fail(WIDE_CONFLICT, "table %u is being changed", t->id);
}

wide_status
wide_batch_create_family(wide_batch *b, wide_table_id id, const char *name,
						 const wide_family_options *opt, wide_family_id *out)
{
	catalog_op *op;
	wide_table t;
	wide_family *f;
	int n;
	wide_status st;

	TRY(begin_change(b, id, &t));
	TRY(check_length("family", name, WIDE_MAX_FAMILY));
	TRY(family_check_options(opt));
	st = list_families(b, &t, &f, &n);
	for (int i = 0; st == WIDE_OK && i < n; i++)
		if (strcmp(f[i].name, name) == 0)
			st = status_fail(WIDE_EXISTS, "family \"%s\" exists already", name);
	free(f);
	TRY(st);
	op = add_op(b, OP_CREATE_FAMILY, id, 0, name);
	op->family = *out = atomic_fetch_add(&b->db->seg->catalog.next_family, 1);
	op->opt = *opt;
	return WIDE_OK;
}

wide_status
wide_batch_alter_family(wide_batch *b, wide_family_id id, const wide_family_options *opt)
{
	catalog_delta *d;
	catalog_op change = {.kind = OP_ALTER_FAMILY, .family = id, .opt = *opt}, *op;
	wide_family f;
	wide_status st;

	TRY(ops_reserve(b, 1, &d));
	TRY(batch_family(b, id, &f));
	TRY(family_check_options(opt));
	if (opt->merge != f.opt.merge ||
		(opt->merge != WIDE_MERGE_NONE &&
		 (opt->versions != f.opt.versions || opt->ttl_us != f.opt.ttl_us)))
		return status_fail(WIDE_INVALID, "the merge operator of a family does not change, and with "
										 "one neither do versions and ttl");
	/* the commit checks again, because other transactions may have changed the family by then */
	TRY(segment_lock(d->db, LOCK_CATALOG));
	st = catalog_delta_check_change(d, &change);
	segment_unlock(d->db, LOCK_CATALOG);
	TRY(st);
	op = add_op(b, OP_ALTER_FAMILY, 0, 0, "");
	op->family = id;
	op->opt = *opt;
	return WIDE_OK;
}

wide_status
wide_batch_drop_family(wide_batch *b, wide_family_id id)
{
	catalog_delta *d;
	wide_family f;

	TRY(ops_reserve(b, 1, &d));
	TRY(batch_family(b, id, &f));
	add_op(b, OP_DROP_FAMILY, 0, 0, "")->family = id;
	return WIDE_OK;
}

wide_status
wide_batch_truncate_table(wide_batch *b, wide_table_id id)
{
	catalog_delta *d;
	wide_table t;
	wide_family *f;
	int n;
	wide_status st;

	TRY(begin_change(b, id, &t));
	st = list_families(b, &t, &f, &n);
	if (st == WIDE_OK && n > 0 && (st = ops_reserve(b, n, &d)) == WIDE_OK)
	{
		uint64_t number = batch_next_op(b);

		for (int i = 0; i < n; i++)
		{
			catalog_op *op = catalog_delta_add(d, number, OP_REPLACE_FAMILY);

			op->family = f[i].id;
			op->arg = atomic_fetch_add(&d->db->seg->catalog.next_family, 1);
		}
	}
	free(f);
	return st;
}

wide_status
wide_batch_leave_room(wide_batch *b, int percent)
{
	catalog_delta *d;

	TRY(ops_reserve(b, 0, &d));
	if (percent > d->leave)
		d->leave = percent;
	return catalog_delta_check_room(d);
}
