/*
 * catalog_delta.c - a transaction's changes to tables, families and bindings.
 *
 * Look-ups apply the list of operations to the committed state, so that rewinding a
 * batch cuts the list and nothing else.
 *
 * Invariant: what catalog_delta_encode has reserved (names, room in the arrays, floors)
 * stays reserved in catalog.pending until the delta is freed; a process that exits
 * frees its batches, and with them their deltas.
 *
 * Locking: LOCK_CATALOG for look-ups; nothing is allocated under it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "engine/set/catalog_delta.h"
#include "engine/base/array.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/hash.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/catalog.h"
#include "engine/set/family.h"

#define NAME_SEED 0x6e616d65ull

static catalog_delta *live_deltas;
static uint32_t delta_serial;

/* --------------------------------------------------------------- look-ups */

bool
catalog_delta_table(wide_db *db, const catalog_delta *d, wide_table_id id, wide_table *t)
{
	table_slot *ts = catalog_table_slot(db, id);

	if (ts != NULL)
		*t = ts->t;
	return catalog_delta_table_from(d, id, ts != NULL, t);
}

bool
catalog_delta_table_from(const catalog_delta *d, wide_table_id id, bool exists, wide_table *t)
{
	for (int i = 0; d != NULL && i < d->n; i++)
	{
		const catalog_op *op = &d->ops[i];

		if (op->table != id)
			continue;
		if (op->kind == OP_CREATE_TABLE)
		{
			*t = (wide_table) {.id = id, .space = op->arg};
			exists = true;
		}
		if (op->kind == OP_CREATE_TABLE || op->kind == OP_RENAME_TABLE)
			memcpy(t->name, op->name, sizeof t->name);
		if (op->kind == OP_DROP_TABLE || (op->kind == OP_UNBIND && op->last))
			exists = false;
	}
	return exists;
}

bool
catalog_delta_family(wide_db *db, const catalog_delta *d, wide_family_id id, wide_family *f)
{
	family_slot *fs = family_find(db, id);
	bool exists = fs != NULL;
	wide_family old = {0};
	wide_table t;

	if (exists)
		*f = fs->f;
	for (int i = 0; d != NULL && i < d->n; i++)
	{
		const catalog_op *op = &d->ops[i];

		if (op->kind == OP_REPLACE_FAMILY && op->arg == id)
		{
			/* a replaced family has a lower id, so the recursion ends */
			catalog_delta before = *d;

			before.n = i;
			exists = catalog_delta_family(db, &before, op->family, &old);
			*f = old;
			f->id = id;
		}
		if (op->family != id || op->kind < OP_CREATE_FAMILY)
			continue;
		if (op->kind == OP_CREATE_FAMILY)
		{
			*f = (wide_family) {.id = id, .table = op->table};
			memcpy(f->name, op->name, sizeof f->name);
			exists = true;
		}
		if (op->kind == OP_CREATE_FAMILY || op->kind == OP_ALTER_FAMILY)
			f->opt = op->opt;
		if (op->kind == OP_DROP_FAMILY || op->kind == OP_REPLACE_FAMILY)
			exists = false;
	}
	return exists && (d == NULL || catalog_delta_table(db, d, f->table, &t));
}

bool
catalog_delta_binding(wide_db *db, const catalog_delta *d, wide_table_id table, uint32_t object)
{
	binding_slot *b = layout_bindings(db);
	bool bound = false;

	for (uint32_t i = 0; i < db->seg->catalog.nbindings && !bound; i++)
		bound = b[i].table == table && b[i].object == object;
	for (int i = 0; d != NULL && i < d->n; i++)
		if (d->ops[i].table == table && d->ops[i].arg == object &&
			(d->ops[i].kind == OP_BIND || d->ops[i].kind == OP_UNBIND))
			bound = d->ops[i].kind == OP_BIND;
	return bound;
}

/* Families in the order of their ids, of which the first `max` that were found are kept. */
typedef struct family_list
{
	wide_family *out;
	int n, max;
} family_list;

/* Adds the family if it exists and is of the table. */
static void
add_family(wide_db *db, const catalog_delta *d, wide_table_id table, wide_family_id id,
		   family_list *l)
{
	wide_family f;
	int at;

	if (!catalog_delta_family(db, d, id, &f) || f.table != table || l->n++ >= l->max)
		return;
	for (at = l->n - 1; at > 0 && l->out[at - 1].id > f.id; at--)
		l->out[at] = l->out[at - 1];
	l->out[at] = f;
}

int
catalog_delta_families(wide_db *db, const catalog_delta *d, wide_table_id id, wide_family *out,
					   int max)
{
	family_list l = {out, 0, max};

	for (const family_slot *fs = family_of_table(db, id, NULL); fs != NULL;
		 fs = family_of_table(db, id, fs))
		add_family(db, d, id, fs->f.id, &l);
	for (int i = 0; d != NULL && i < d->n; i++)
	{
		const catalog_op *op = &d->ops[i];
		wide_family_id fid = op->kind == OP_CREATE_FAMILY	 ? op->family
							 : op->kind == OP_REPLACE_FAMILY ? op->arg
															 : 0;

		if (fid != 0 && family_find(db, fid) == NULL)
			add_family(db, d, id, fid, &l);
	}
	return l.n;
}

int
catalog_delta_bindings(wide_db *db, const catalog_delta *d, wide_table_id id, uint32_t *out,
					   int max)
{
	binding_slot *b = layout_bindings(db);
	uint32_t nshared = db->seg->catalog.nbindings;
	int n = 0;

	for (uint32_t i = 0; i < nshared; i++)
		if (b[i].table == id && catalog_delta_binding(db, d, id, b[i].object) && n++ < max)
			out[n - 1] = b[i].object;
	for (int i = 0; d != NULL && i < d->n; i++)
	{
		bool seen = false;

		if (d->ops[i].kind != OP_BIND || d->ops[i].table != id ||
			!catalog_delta_binding(db, d, id, d->ops[i].arg))
			continue;
		for (uint32_t k = 0; k < nshared && !seen; k++)
			seen = b[k].table == id && b[k].object == d->ops[i].arg;
		for (int k = 0; k < i && !seen; k++)
			seen = d->ops[k].kind == OP_BIND && d->ops[k].table == id &&
				   d->ops[k].arg == d->ops[i].arg;
		if (!seen && n++ < max)
			out[n - 1] = d->ops[i].arg;
	}
	return n;
}

bool
catalog_delta_table_full(wide_db *db, const catalog_delta *d, wide_table_id id, wide_table *t)
{
	if (!catalog_delta_table(db, d, id, t))
		return false;
	t->nfamilies = (uint32_t) catalog_delta_families(db, d, id, NULL, 0);
	t->nbindings = (uint32_t) catalog_delta_bindings(db, d, id, NULL, 0);
	return true;
}

bool
catalog_delta_table_named(wide_db *db, const catalog_delta *d, uint32_t space, const char *name,
						  wide_table *t)
{
	table_slot *ts = layout_tables(db);

	for (uint32_t i = 0; i < db->seg->catalog.ntables; i++)
		if (ts[i].t.id != 0 && ts[i].t.space == space && strcmp(ts[i].t.name, name) == 0 &&
			catalog_delta_table(db, d, ts[i].t.id, t) && strcmp(t->name, name) == 0)
			return true;
	for (int i = 0; d != NULL && i < d->n; i++)
		if ((d->ops[i].kind == OP_CREATE_TABLE || d->ops[i].kind == OP_RENAME_TABLE) &&
			strcmp(d->ops[i].name, name) == 0 && catalog_delta_table(db, d, d->ops[i].table, t) &&
			t->space == space && strcmp(t->name, name) == 0)
			return true;
	return false;
}

bool
catalog_delta_family_any(wide_db *db, wide_family_id id, wide_family *f)
{
	bool found = false;

	if (segment_lock(db, LOCK_CATALOG) != WIDE_OK)
		return false;
	found = catalog_delta_family(db, NULL, id, f);
	for (const catalog_delta *d = live_deltas; d != NULL && !found; d = d->next)
		found = d->db == db && catalog_delta_family(db, d, id, f);
	segment_unlock(db, LOCK_CATALOG);
	return found;
}

/* --------------------------------------------------------------- the list */

catalog_delta *
catalog_delta_new(wide_db *db)
{
	catalog_delta *d = calloc(1, sizeof *d);

	if (d == NULL)
		return NULL;
	d->db = db;
	d->serial = ++delta_serial;
	d->next = live_deltas;
	live_deltas = d;
	return d;
}

/* Returns true if the entry of catalog.pending belongs to the delta. */
static bool
pending_of(const catalog_pending *p, const catalog_delta *d)
{
	return p->pid == (uint32_t) getpid() && p->serial == d->serial;
}

/* Returns how many times other deltas have reserved the name or the change of a family.  Under
 * LOCK_CATALOG. */
static int
pending_others(const catalog_delta *d, uint64_t item)
{
	const catalog_pending *p = d->db->seg->catalog.pending;
	int n = 0;

	for (int i = 0; i < CATALOG_PENDING; i++)
		for (uint32_t k = 0; p[i].pid != 0 && !pending_of(&p[i], d) && k < p[i].nitems; k++)
			n += p[i].items[k] == item;
	return n;
}

/* Removes the delta's entries from catalog.pending. */
static void
pending_release(catalog_delta *d)
{
	catalog_pending *p = d->db->seg->catalog.pending;

	if (!d->pending || segment_lock(d->db, LOCK_CATALOG) != WIDE_OK)
		return;
	for (int i = 0; i < CATALOG_PENDING; i++)
		if (pending_of(&p[i], d))
			p[i].pid = 0;
	segment_unlock(d->db, LOCK_CATALOG);
	d->pending = false;
}

void
catalog_delta_free(catalog_delta *d)
{
	if (d == NULL)
		return;
	pending_release(d);
	for (catalog_delta **link = &live_deltas; *link != NULL; link = &(*link)->next)
		if (*link == d)
		{
			*link = d->next;
			break;
		}
	free(d->ops);
	free(d);
}

void
catalog_delta_rewind(catalog_delta *d, uint64_t mark)
{
	while (d->n > 0 && d->ops[d->n - 1].number >= mark)
		d->n--;
}

wide_status
catalog_delta_reserve(catalog_delta *d, int n)
{
	while (d->n + n > d->cap)
		TRY(array_grow((void **) &d->ops, d->cap, &d->cap, sizeof *d->ops));
	return WIDE_OK;
}

catalog_op *
catalog_delta_add(catalog_delta *d, uint64_t number, enum op_kind kind)
{
	catalog_op *op = &d->ops[d->n++];

	*op = (catalog_op) {.number = number, .kind = (uint8_t) kind};
	return op;
}

/* ------------------------------------------------------------------ encode */

/* Numbers of tables, families and bindings */
typedef struct additions
{
	uint32_t n[CATALOG_ARRAYS];
} additions;

static additions
additions_of(const catalog_delta *d)
{
	additions a = {{0}};

	for (int i = 0; i < d->n; i++)
	{
		a.n[CATALOG_TABLES] += d->ops[i].kind == OP_CREATE_TABLE;
		a.n[CATALOG_FAMILIES] += d->ops[i].kind == OP_CREATE_FAMILY;
		a.n[CATALOG_BINDINGS] += d->ops[i].kind == OP_BIND;
	}
	return a;
}

/* Returns WIDE_FULL if there is no room for these, with what the delta must leave, in addition to
 * what exists and what other deltas have reserved.  Under LOCK_CATALOG. */
static wide_status
check_room(const catalog_delta *d, const additions *more)
{
	wide_db *db = d->db;
	const catalog_pending *p = db->seg->catalog.pending;
	uint32_t max[CATALOG_ARRAYS] = {db->seg->config.max_tables, db->seg->max_families,
									db->seg->max_bindings};
	additions need = *more;

	for (int i = 0; i < CATALOG_PENDING; i++)
		if (p[i].pid != 0 && !pending_of(&p[i], d))
		{
			need.n[CATALOG_TABLES] += p[i].tables;
			need.n[CATALOG_FAMILIES] += p[i].families;
			need.n[CATALOG_BINDINGS] += p[i].bindings;
		}
	for (int i = 0; i < CATALOG_ARRAYS; i++)
	{
		uint32_t left = (uint32_t) ((uint64_t) max[i] * (uint32_t) d->leave / 100);

		if (d->leave > 0 && left == 0)
			left = 1;
		if (more->n[i] > 0 && need.n[i] + left + catalog_count(db, i) > max[i])
			return status_fail(WIDE_FULL, "the catalog is full (max_tables %u)",
							   db->seg->config.max_tables);
	}
	return WIDE_OK;
}

wide_status
catalog_delta_check_room(const catalog_delta *d)
{
	additions more = additions_of(d);
	wide_status st;

	TRY(segment_lock(d->db, LOCK_CATALOG));
	st = check_room(d, &more);
	segment_unlock(d->db, LOCK_CATALOG);
	return st;
}

/*
 * If the operation gives a table the name that it has at the end of the delta: checks
 * that no other table has or is given the name; *hash is the name's, else 0.  Under
 * LOCK_CATALOG.
 */
static wide_status
check_name(wide_db *db, const catalog_delta *d, const catalog_op *op, uint64_t *hash)
{
	table_slot *ts = layout_tables(db);
	wide_table t, other;
	uint8_t key[4 + WIDE_MAX_NAME];

	*hash = 0;
	if ((op->kind != OP_CREATE_TABLE && op->kind != OP_RENAME_TABLE) ||
		!catalog_delta_table(db, d, op->table, &t) || strcmp(t.name, op->name) != 0)
		return WIDE_OK;
	for (uint32_t i = 0; i < db->seg->catalog.ntables; i++)
		if (ts[i].t.id != 0 && ts[i].t.id != t.id && ts[i].t.space == t.space &&
			strcmp(ts[i].t.name, t.name) == 0 && catalog_delta_table(db, d, ts[i].t.id, &other) &&
			strcmp(other.name, t.name) == 0)
			return status_fail(WIDE_EXISTS, "table \"%s\" exists already", t.name);
	put_u32le(key, t.space);
	memcpy(key + 4, t.name, strlen(t.name));
	*hash = hash_xxh3(key, 4 + strlen(t.name), NAME_SEED) | UINT64_C(1) << 63;
	if (pending_others(d, *hash) > 0)
		return status_fail(WIDE_EXISTS, "table \"%s\" is being created by another transaction",
						   t.name);
	return WIDE_OK;
}

/* Returns true if a later operation replaces this change of a family's options. */
static bool
altered_later(const catalog_delta *d, int i)
{
	for (int k = i + 1; k < d->n; k++)
		if (d->ops[k].kind == OP_ALTER_FAMILY && d->ops[k].family == d->ops[i].family)
			return true;
	return false;
}

/* A change that needs no floor now may need one after the changes that others have reserved. */
wide_status
catalog_delta_check_change(const catalog_delta *d, const catalog_op *op)
{
	wide_db *db = d->db;
	family_slot *fs = family_find(db, op->family);
	table_slot *ts;
	int used, others = pending_others(d, op->family);

	if (fs == NULL)
		return WIDE_OK;
	used = catalog_floors_used(fs->floors);
	if (others == 0 && !catalog_floor_needed(&fs->f.opt, &op->opt))
		used--;
	ts = catalog_table_slot(db, fs->f.table);
	if (used + others >= FAMILY_FLOORS)
		return status_fail(WIDE_FULL,
						   "family \"%s\" of table \"%s\": %d changes of its options are "
						   "remembered, there is no room for one more",
						   fs->f.name, ts != NULL ? ts->t.name : "", used + others);
	return WIDE_OK;
}

/* Takes a free entry of catalog.pending; NULL if there is none.  Under LOCK_CATALOG. */
static catalog_pending *
pending_new(catalog_delta *d)
{
	catalog_pending *p = d->db->seg->catalog.pending;

	for (int i = 0; i < CATALOG_PENDING; i++)
		if (p[i].pid == 0)
		{
			p[i] = (catalog_pending) {.pid = (uint32_t) getpid(), .serial = d->serial};
			return &p[i];
		}
	return NULL;
}

/* Checks and reserves what applying the delta needs.  Under LOCK_CATALOG. */
static wide_status
pending_reserve(catalog_delta *d)
{
	wide_db *db = d->db;
	catalog_pending *p;
	additions more = additions_of(d);

	TRY(check_room(d, &more));
	if ((p = pending_new(d)) == NULL)
		return status_fail(WIDE_FULL, "too many transactions change the catalog");
	d->pending = true;
	p->tables = more.n[CATALOG_TABLES];
	p->families = more.n[CATALOG_FAMILIES];
	p->bindings = more.n[CATALOG_BINDINGS];
	for (int i = 0; i < d->n; i++)
	{
		const catalog_op *op = &d->ops[i];
		bool change = op->kind == OP_ALTER_FAMILY && family_find(db, op->family) != NULL &&
					  !altered_later(d, i);
		uint64_t item;

		TRY(check_name(db, d, op, &item));
		if (change)
		{
			TRY(catalog_delta_check_change(d, op));
			item = op->family;
		}
		if (item == 0)
			continue;
		if (p->nitems == CATALOG_PENDING_ITEMS && (p = pending_new(d)) == NULL)
			return status_fail(WIDE_FULL,
							   "too many tables are created or changed in one transaction");
		p->items[p->nitems++] = item;
	}
	return WIDE_OK;
}

wide_status
catalog_delta_encode(catalog_delta *d, buffer *out)
{
	wide_status st;

	if (d == NULL || d->n == 0)
		return WIDE_OK;
	pending_release(d);
	TRY(buffer_reserve(out, (size_t) d->n * OP_MAX));
	TRY(segment_lock(d->db, LOCK_CATALOG));
	st = pending_reserve(d);
	segment_unlock(d->db, LOCK_CATALOG);
	if (st != WIDE_OK)
	{
		pending_release(d);
		return st;
	}
	for (int i = 0; i < d->n; i++)
	{
		/* a batch is one point in time: only the last change of a family's options counts */
		if (d->ops[i].kind == OP_ALTER_FAMILY && altered_later(d, i))
			continue;
		d->ops[i].now = host_now(d->db);
		out->len = (size_t) (catalog_put_op(out->data + out->len, &d->ops[i]) - out->data);
	}
	return WIDE_OK;
}
