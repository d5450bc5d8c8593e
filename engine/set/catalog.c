/*
 * catalog.c - tables, families and bindings: the committed state, how a change is
 * applied, its form in the log and in the manifest.
 *
 * The committed catalog is three arrays in the segment.  A transaction's changes are
 * a list of operations (catalog_delta.c).  At commit the list is encoded into the
 * log record and applied; replay applies the same bytes.
 *
 * Invariants:
 *  - Family ids are never reused: files and cells of a dropped family are recognised
 *    by their id alone.
 *  - Changes are applied in order of seq.  So a dump contains all changes up to
 *    catalog.seq, and replay skips what the manifest has.
 *
 * Locking: writers hold LOCK_SET and LOCK_CATALOG, so that either suffices to
 * read.  Nothing is allocated under them.
 *
 * Encoded change: varint kind, then by kind (names: varint length, bytes;
 * options: see put_options)
 *     1 CREATE_TABLE   table space name      5 UNBIND          table object
 *     2 RENAME_TABLE   table name            6 CREATE_FAMILY   family table name options
 *     3 DROP_TABLE     table                 7 ALTER_FAMILY    family options zigzag(now)
 *     4 BIND           table object          8 DROP_FAMILY     family
 *                                            9 REPLACE_FAMILY  family new-id
 * Dump: varint 3, seq, next_table, next_family; count of tables, each id space
 * seq name; count of families, each id table seq name options and eight floors
 * (seq versions min_versions zigzag(expired_before) zigzag(now) keep_deleted);
 * count of bindings, each table object.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "engine/set/catalog.h"
#include "engine/base/buffer.h"
#include "engine/base/status.h"
#include "engine/base/varint.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/family.h"
#include "engine/set/file_set.h"

#define DUMP_FORMAT 3
#define TABLE_MAX	(4 * VARINT_MAX + WIDE_MAX_NAME)
#define FLOORS_MAX	(FAMILY_FLOORS * 6 * VARINT_MAX)
#define FAMILY_MAX	(4 * VARINT_MAX + WIDE_MAX_FAMILY + OPTIONS_MAX + FLOORS_MAX)

/* -------------------------------------------- encoding: names and options */

static uint8_t *
put_name(uint8_t *p, const char *name)
{
	size_t n = strlen(name);

	p = varint_put(p, n);
	memcpy(p, name, n);
	return p + n;
}

static uint8_t *
put_options(uint8_t *p, const wide_family_options *o)
{
	p = varint_put(p, (uint64_t) o->versions);
	p = varint_put(p, (uint64_t) o->min_versions);
	p = varint_put(p, zigzag(o->ttl_us));
	p = varint_put(p, o->block_size);
	p = varint_put(p, o->bloom_prefix);
	p = varint_put(p, o->bloom);
	p = varint_put(p, o->compression);
	p = varint_put(p, zigzag(o->compression_level));
	p = varint_put(p, o->keep_deleted);
	p = varint_put(p, o->in_memory);
	p = varint_put(p, o->compaction);
	return varint_put(p, zigzag(o->window_us));
}

/* Encoded bytes that are read; p becomes NULL at the first value that is invalid. */
typedef struct reader
{
	const uint8_t *p;
	const uint8_t *end;
} reader;

static uint64_t
get_number(reader *r)
{
	uint64_t v = 0;

	if (r->p != NULL)
		r->p = varint_get(r->p, r->end, &v);
	return r->p != NULL ? v : 0;
}

static uint32_t
get_id(reader *r)
{
	uint64_t v = get_number(r);

	if (v > UINT32_MAX)
		r->p = NULL;
	return (uint32_t) v;
}

static void
get_name(reader *r, char *name, size_t max)
{
	uint64_t n = get_number(r);

	name[0] = 0;
	if (r->p == NULL || n > max || n > (uint64_t) (r->end - r->p))
	{
		r->p = NULL;
		return;
	}
	memcpy(name, r->p, n);
	name[n] = 0;
	r->p += n;
}

wide_status
catalog_check_options(const wide_family_options *o)
{
	if (o->versions < 1 || o->min_versions < 0 || o->min_versions > o->versions)
		return status_fail(WIDE_INVALID,
						   "versions must be at least 1 and min_versions between 0 and versions");
	if (o->ttl_us < 0)
		return status_fail(WIDE_INVALID, "ttl must not be negative");
	if (o->block_size < 1024 || o->block_size > 1024 * 1024)
		return status_fail(WIDE_INVALID, "block_size must be between 1 KiB and 1 MiB");
	if (o->bloom > WIDE_BLOOM_PREFIX || (o->bloom == WIDE_BLOOM_PREFIX && o->bloom_prefix == 0))
		return status_fail(WIDE_INVALID, "unknown kind of Bloom filter, or a prefix of length 0");
	if (o->compression > WIDE_COMPRESS_ZSTD || o->compaction > WIDE_COMPACT_WINDOW)
		return status_fail(WIDE_INVALID, "unknown kind of compression or compaction");
	if (o->compaction == WIDE_COMPACT_WINDOW && o->window_us <= 0)
		return status_fail(WIDE_INVALID, "the window of a windowed family must be positive");
	return WIDE_OK;
}

static void
get_options(reader *r, wide_family_options *o)
{
	uint64_t v[12];

	for (int i = 0; i < 12; i++)
		v[i] = get_number(r);
	memset(o, 0, sizeof *o);
	if (r->p == NULL || v[0] > INT32_MAX || v[1] > INT32_MAX || v[3] > UINT32_MAX ||
		v[4] > UINT16_MAX)
	{
		r->p = NULL;
		return;
	}
	o->versions = (int32_t) v[0];
	o->min_versions = (int32_t) v[1];
	o->ttl_us = unzigzag(v[2]);
	o->block_size = (uint32_t) v[3];
	o->bloom_prefix = (uint16_t) v[4];
	o->bloom = (uint8_t) v[5];
	o->compression = (uint8_t) v[6];
	o->compression_level = (int8_t) unzigzag(v[7]);
	o->keep_deleted = (uint8_t) v[8];
	o->in_memory = (uint8_t) v[9];
	o->compaction = (uint8_t) v[10];
	o->window_us = unzigzag(v[11]);
	if (catalog_check_options(o) != WIDE_OK)
		r->p = NULL;
}

/* --------------------------------------------------------------- look-ups */

table_slot *
catalog_table_slot(wide_db *db, wide_table_id id)
{
	table_slot *t = layout_tables(db);

	for (uint32_t i = 0; i < db->seg->catalog.ntables; i++)
		if (t[i].t.id == id)
			return &t[i];
	return NULL;
}

bool
catalog_family(wide_db *db, wide_family_id id, wide_family *f, family_floor *floors)
{
	family_slot *fs;

	if (segment_lock(db, LOCK_CATALOG) != WIDE_OK)
		return false;
	fs = family_find(db, id);
	if (fs != NULL)
	{
		*f = fs->f;
		if (floors != NULL)
			memcpy(floors, fs->floors, sizeof fs->floors);
	}
	segment_unlock(db, LOCK_CATALOG);
	return fs != NULL;
}

/* -------------------------------------------------- encoding: operations */

uint8_t *
catalog_put_op(uint8_t *p, const catalog_op *op)
{
	p = varint_put(p, op->kind);
	p = varint_put(p, op->kind >= OP_CREATE_FAMILY ? op->family : op->table);
	if (op->kind == OP_CREATE_FAMILY)
		p = varint_put(p, op->table);
	if (op->kind == OP_CREATE_TABLE || op->kind == OP_BIND || op->kind == OP_UNBIND ||
		op->kind == OP_REPLACE_FAMILY)
		p = varint_put(p, op->arg);
	if (op->kind == OP_CREATE_TABLE || op->kind == OP_RENAME_TABLE || op->kind == OP_CREATE_FAMILY)
		p = put_name(p, op->name);
	if (op->kind == OP_CREATE_FAMILY || op->kind == OP_ALTER_FAMILY)
		p = put_options(p, &op->opt);
	if (op->kind == OP_ALTER_FAMILY)
		p = varint_put(p, zigzag(op->now));
	return p;
}

static bool
get_op(reader *r, catalog_op *op)
{
	memset(op, 0, sizeof *op);
	op->kind = (uint8_t) get_number(r);
	if (op->kind < OP_CREATE_TABLE || op->kind > OP_REPLACE_FAMILY)
		return false;
	*(op->kind >= OP_CREATE_FAMILY ? &op->family : &op->table) = get_id(r);
	if (op->kind == OP_CREATE_FAMILY)
		op->table = get_id(r);
	if (op->kind == OP_CREATE_TABLE || op->kind == OP_BIND || op->kind == OP_UNBIND ||
		op->kind == OP_REPLACE_FAMILY)
		op->arg = get_id(r);
	if (op->kind == OP_CREATE_TABLE || op->kind == OP_RENAME_TABLE)
		get_name(r, op->name, WIDE_MAX_NAME);
	if (op->kind == OP_CREATE_FAMILY)
		get_name(r, op->name, WIDE_MAX_FAMILY);
	if (op->kind == OP_CREATE_FAMILY || op->kind == OP_ALTER_FAMILY)
		get_options(r, &op->opt);
	if (op->kind == OP_ALTER_FAMILY)
		op->now = unzigzag(get_number(r));
	return r->p != NULL;
}

/* ------------------------------------------------------------------ apply */

/* Raises the counter of ids above one that is in use. */
static void
raise_counter(_Atomic uint32_t *counter, uint32_t used)
{
	uint32_t next = atomic_load(counter);

	while (next <= used && !atomic_compare_exchange_weak(counter, &next, used + 1))
		;
}

/* A slot for a new table, family or binding; NULL if the array is full. */
static table_slot *
table_slot_new(wide_db *db)
{
	catalog_state *c = &db->seg->catalog;
	table_slot *t = layout_tables(db);

	for (uint32_t i = 0; i < c->ntables; i++)
		if (t[i].t.id == 0)
			return &t[i];
	return c->ntables < db->seg->config.max_tables ? &t[c->ntables++] : NULL;
}

static family_slot *
family_slot_new(wide_db *db)
{
	catalog_state *c = &db->seg->catalog;
	family_slot *f = layout_families(db);

	for (uint32_t i = 0; i < c->nfamilies; i++)
		if (f[i].f.id == 0)
			return &f[i];
	return c->nfamilies < db->seg->max_families ? &f[c->nfamilies++] : NULL;
}

static binding_slot *
binding_slot_new(wide_db *db)
{
	catalog_state *c = &db->seg->catalog;
	binding_slot *b = layout_bindings(db);

	for (uint32_t i = 0; i < c->nbindings; i++)
		if (b[i].table == 0)
			return &b[i];
	return c->nbindings < db->seg->max_bindings ? &b[c->nbindings++] : NULL;
}

/* Drops the family's files and frees the slot.  files_version stays, because private copies of
 * lists compare it even when the slot has been reused. */
static void
family_clear(wide_db *db, family_slot *fs)
{
	uint64_t version;

	file_set_drop_family(db, fs);
	version = atomic_load(&fs->files_version);
	memset(fs, 0, sizeof *fs);
	atomic_store(&fs->files_version, version);
}

/* Frees the table's slot, and those of its families and bindings. */
static void
table_clear(wide_db *db, table_slot *ts)
{
	catalog_state *c = &db->seg->catalog;
	wide_table_id id = ts->t.id;

	for (uint32_t i = 0; i < c->nfamilies; i++)
		if (layout_families(db)[i].f.id != 0 && layout_families(db)[i].f.table == id)
			family_clear(db, &layout_families(db)[i]);
	for (uint32_t i = 0; i < c->nbindings; i++)
		if (layout_bindings(db)[i].table == id)
			memset(&layout_bindings(db)[i], 0, sizeof(binding_slot));
	memset(ts, 0, sizeof *ts);
}

/* Returns true if something that has expired under the old options could be alive under the new. */
static bool
less_expires(const wide_family_options *old, const wide_family_options *new)
{
	return old->ttl_us > 0 &&
		   (new->ttl_us == 0 || new->ttl_us > old->ttl_us || new->min_versions > old->min_versions);
}

/*
 * There is room, because catalog_delta.c has reserved it, except sometimes in replay:
 * a compaction had made the room, but the manifest does not say so yet.  The floors
 * that the compaction had made void are the oldest ones.
 */
static void
floor_add(family_floor *f, const wide_family_options *o, uint64_t seq, int64_t now, bool expiry)
{
	int n = catalog_floors_used(f);

	if (n == FAMILY_FLOORS)
	{
		memmove(&f[0], &f[1], (FAMILY_FLOORS - 1) * sizeof *f);
		n--;
	}
	f[n].seq = seq;
	f[n].versions = o->versions;
	f[n].min_versions = o->min_versions;
	f[n].keep_deleted = o->keep_deleted != 0;
	f[n].now = now;
	f[n].expired_before = expiry && now > INT64_MIN + o->ttl_us ? now - o->ttl_us : INT64_MIN;
}

/*
 * With the floor, nothing that was invisible under the old options comes back under
 * the new ones.  A smaller number of versions needs a floor as well: the versions that
 * the larger number kept alive were alive until the change, whether a compaction has
 * run or not.
 */
void
catalog_floor(family_floor *floors, const wide_family_options *old, const wide_family_options *new,
			  uint64_t seq, int64_t now)
{
	if (catalog_floor_needed(old, new))
		floor_add(floors, old, seq - 1, now, less_expires(old, new));
}

bool
catalog_floor_needed(const wide_family_options *old, const wide_family_options *new)
{
	return new->versions != old->versions || less_expires(old, new) ||
		   (new->keep_deleted && !old->keep_deleted);
}

int
catalog_floors_used(const family_floor *floors)
{
	int n = 0;

	while (n < FAMILY_FLOORS && floors[n].seq != 0)
		n++;
	return n;
}

wide_status
catalog_retire(wide_db *db, wide_family_id id, uint64_t settled)
{
	family_slot *fs;
	int n = 0;

	TRY(segment_lock(db, LOCK_SET));
	if (segment_lock(db, LOCK_CATALOG) != WIDE_OK)
	{
		segment_unlock(db, LOCK_SET);
		return segment_check(db);
	}
	fs = family_find(db, id);
	while (fs != NULL && n < FAMILY_FLOORS && fs->floors[n].seq != 0 && fs->floors[n].seq < settled)
		n++;
	if (n > 0)
	{
		memmove(&fs->floors[0], &fs->floors[n],
				(size_t) (FAMILY_FLOORS - n) * sizeof(family_floor));
		memset(&fs->floors[FAMILY_FLOORS - n], 0, (size_t) n * sizeof(family_floor));
		db->seg->set.catalog_dirty = 1;
	}
	segment_unlock(db, LOCK_CATALOG);
	segment_unlock(db, LOCK_SET);
	return WIDE_OK;
}

/* Applies a change to a table or its bindings.  Returns false if there is no room. */
static bool
apply_table(wide_db *db, const catalog_op *op, uint64_t seq)
{
	table_slot *ts = op->table != 0 ? catalog_table_slot(db, op->table) : NULL;
	binding_slot *b = layout_bindings(db);
	binding_slot *found = NULL;
	uint32_t left = 0;

	if (ts != NULL && ts->seq > seq)
		return true; /* replay: the dump has a later change */
	if (op->kind == OP_CREATE_TABLE)
	{
		raise_counter(&db->seg->catalog.next_table, op->table);
		if (ts == NULL && (ts = table_slot_new(db)) == NULL)
			return false;
		memset(ts, 0, sizeof *ts);
		ts->t.id = op->table;
		ts->t.space = op->arg;
	}
	if (ts == NULL)
		return true;
	ts->seq = seq;
	if (op->kind == OP_CREATE_TABLE || op->kind == OP_RENAME_TABLE)
		memcpy(ts->t.name, op->name, sizeof ts->t.name);
	if (op->kind == OP_DROP_TABLE)
		table_clear(db, ts);
	if (op->kind != OP_BIND && op->kind != OP_UNBIND)
		return true;
	for (uint32_t i = 0; i < db->seg->catalog.nbindings; i++)
	{
		if (b[i].table == op->table && b[i].object == op->arg)
			found = &b[i];
		left += b[i].table == op->table;
	}
	if (op->kind == OP_UNBIND)
	{
		if (found != NULL)
			memset(found, 0, sizeof *found);
		if (left == (found != NULL))
			table_clear(db, ts);
		return true;
	}
	if (found == NULL && (found = binding_slot_new(db)) == NULL)
		return false;
	found->table = op->table;
	found->object = op->arg;
	return true;
}

/* Applies a change to a family.  Returns false if there is no room. */
static bool
apply_family(wide_db *db, const catalog_op *op, uint64_t seq)
{
	family_slot *fs = family_find(db, op->family);
	wide_family f;

	if (fs != NULL && fs->seq > seq)
		return true;
	if (op->kind == OP_CREATE_FAMILY)
	{
		raise_counter(&db->seg->catalog.next_family, op->family);
		if (catalog_table_slot(db, op->table) == NULL)
			return true;
		if (fs == NULL && (fs = family_slot_new(db)) == NULL)
			return false;
		fs->f.id = op->family;
		fs->f.table = op->table;
		memcpy(fs->f.name, op->name, sizeof fs->f.name);
		fs->f.opt = op->opt;
	}
	if (op->kind == OP_REPLACE_FAMILY)
		raise_counter(&db->seg->catalog.next_family, op->arg);
	if (fs == NULL)
		return true;
	if (op->kind == OP_ALTER_FAMILY)
	{
		/* catalog_delta_encode has left one change of options per family and batch.  A family that
		 * the same batch has made has no older entries */
		if (fs->seq != seq)
			catalog_floor(fs->floors, &fs->f.opt, &op->opt, seq, op->now);
		fs->f.opt = op->opt;
	}
	if (op->kind == OP_DROP_FAMILY || op->kind == OP_REPLACE_FAMILY)
	{
		f = fs->f;
		family_clear(db, fs);
		if (op->kind == OP_DROP_FAMILY)
			return true;
		f.id = op->arg;
		fs->f = f;
	}
	fs->seq = seq;
	return true;
}

void
catalog_apply(wide_db *db, wide_bytes encoded, uint64_t seq)
{
	catalog_state *c = &db->seg->catalog;
	reader r = {encoded.data, encoded.data + encoded.len};
	catalog_op op;
	const char *bad = NULL;

	if (encoded.len == 0 || seq <= c->restored_seq || segment_lock(db, LOCK_SET) != WIDE_OK)
		return;
	if (segment_lock(db, LOCK_CATALOG) == WIDE_OK)
	{
		while (bad == NULL && r.p < r.end)
		{
			if (!get_op(&r, &op))
				bad = "a committed change of the catalog cannot be decoded";
			else if (!(op.kind >= OP_CREATE_FAMILY ? apply_family : apply_table)(db, &op, seq))
				bad = "there is no room for a committed change of the catalog";
		}
		if (seq > c->seq)
			c->seq = seq;
		atomic_fetch_add(&c->generation, 1);
		segment_unlock(db, LOCK_CATALOG);
	}
	db->seg->set.catalog_dirty = 1;
	segment_unlock(db, LOCK_SET);
	if (bad != NULL)
		wide_poison(db, bad);
}

/* ------------------------------------------------------------------- dump */

static uint8_t *
dump_families(wide_db *db, uint8_t *p)
{
	family_slot *f = layout_families(db);
	uint32_t n = 0;

	for (uint32_t i = 0; i < db->seg->catalog.nfamilies; i++)
		n += f[i].f.id != 0;
	p = varint_put(p, n);
	for (uint32_t i = 0; i < db->seg->catalog.nfamilies; i++)
	{
		if (f[i].f.id == 0)
			continue;
		p = varint_put(p, f[i].f.id);
		p = varint_put(p, f[i].f.table);
		p = varint_put(p, f[i].seq);
		p = put_name(p, f[i].f.name);
		p = put_options(p, &f[i].f.opt);
		for (int k = 0; k < FAMILY_FLOORS; k++)
		{
			p = varint_put(p, f[i].floors[k].seq);
			p = varint_put(p, (uint32_t) f[i].floors[k].versions);
			p = varint_put(p, (uint32_t) f[i].floors[k].min_versions);
			p = varint_put(p, zigzag(f[i].floors[k].expired_before));
			p = varint_put(p, zigzag(f[i].floors[k].now));
			p = varint_put(p, f[i].floors[k].keep_deleted);
		}
	}
	return p;
}

static uint8_t *
dump_locked(wide_db *db, uint8_t *p)
{
	catalog_state *c = &db->seg->catalog;
	table_slot *t = layout_tables(db);
	binding_slot *b = layout_bindings(db);
	uint32_t n = 0;

	p = varint_put(p, DUMP_FORMAT);
	p = varint_put(p, c->seq);
	p = varint_put(p, atomic_load(&c->next_table));
	p = varint_put(p, atomic_load(&c->next_family));
	for (uint32_t i = 0; i < c->ntables; i++)
		n += t[i].t.id != 0;
	p = varint_put(p, n);
	for (uint32_t i = 0; i < c->ntables; i++)
		if (t[i].t.id != 0)
		{
			p = varint_put(p, t[i].t.id);
			p = varint_put(p, t[i].t.space);
			p = varint_put(p, t[i].seq);
			p = put_name(p, t[i].t.name);
		}
	p = dump_families(db, p);
	n = 0;
	for (uint32_t i = 0; i < c->nbindings; i++)
		n += b[i].table != 0;
	p = varint_put(p, n);
	for (uint32_t i = 0; i < c->nbindings; i++)
		if (b[i].table != 0)
		{
			p = varint_put(p, b[i].table);
			p = varint_put(p, b[i].object);
		}
	return p;
}

wide_status
catalog_dump(wide_db *db, buffer *out)
{
	catalog_state *c = &db->seg->catalog;
	bool done = false;

	while (!done)
	{
		/* the catalog may grow while no lock is held: the need is computed again under the lock */
		size_t room = out->cap - out->len, need;

		TRY(segment_lock(db, LOCK_CATALOG));
		need = (size_t) c->ntables * TABLE_MAX + (size_t) c->nfamilies * FAMILY_MAX +
			   (size_t) c->nbindings * 2 * VARINT_MAX + 8 * VARINT_MAX;
		if (need <= room)
		{
			out->len = (size_t) (dump_locked(db, out->data + out->len) - out->data);
			done = true;
		}
		segment_unlock(db, LOCK_CATALOG);
		if (!done)
			TRY(buffer_reserve(out, need + 16 * FAMILY_MAX));
	}
	return WIDE_OK;
}

static bool
restore_families(wide_db *db, reader *r)
{
	catalog_state *c = &db->seg->catalog;
	uint64_t n = get_number(r);

	if (n > db->seg->max_families)
		return false;
	for (uint64_t i = 0; i < n && r->p != NULL; i++)
	{
		family_slot *f = &layout_families(db)[i];

		f->f.id = get_id(r);
		f->f.table = get_id(r);
		f->seq = get_number(r);
		get_name(r, f->f.name, WIDE_MAX_FAMILY);
		get_options(r, &f->f.opt);
		for (int k = 0; k < FAMILY_FLOORS; k++)
		{
			f->floors[k].seq = get_number(r);
			f->floors[k].versions = (int32_t) get_id(r);
			f->floors[k].min_versions = (int32_t) get_id(r);
			f->floors[k].expired_before = unzigzag(get_number(r));
			f->floors[k].now = unzigzag(get_number(r));
			f->floors[k].keep_deleted = get_number(r) != 0;
		}
		if (f->f.id == 0 || f->f.id >= atomic_load(&c->next_family))
			return false;
		c->nfamilies++;
	}
	return r->p != NULL;
}

/* Reads a dump behind its format.  Returns false if it is invalid or does not fit. */
static bool
restore(wide_db *db, reader *r)
{
	catalog_state *c = &db->seg->catalog;
	uint64_t n;

	c->seq = c->restored_seq = get_number(r);
	atomic_store(&c->next_table, get_id(r));
	atomic_store(&c->next_family, get_id(r));
	n = get_number(r);
	if (n > db->seg->config.max_tables)
		return false;
	for (uint64_t i = 0; i < n && r->p != NULL; i++)
	{
		table_slot *t = &layout_tables(db)[i];

		t->t.id = get_id(r);
		t->t.space = get_id(r);
		t->seq = get_number(r);
		get_name(r, t->t.name, WIDE_MAX_NAME);
		if (t->t.id == 0 || t->t.id >= atomic_load(&c->next_table))
			return false;
		c->ntables++;
	}
	if (r->p == NULL || !restore_families(db, r))
		return false;
	n = get_number(r);
	if (n > db->seg->max_bindings)
		return false;
	for (uint64_t i = 0; i < n && r->p != NULL; i++)
	{
		layout_bindings(db)[i].table = get_id(r);
		layout_bindings(db)[i].object = get_id(r);
		c->nbindings++;
	}
	return r->p != NULL && r->p == r->end;
}

wide_status
catalog_restore(wide_db *db, wide_bytes dump)
{
	catalog_state *c = &db->seg->catalog;
	reader r = {dump.data, dump.data + dump.len};
	uint64_t format;

	memset(layout_tables(db), 0, db->seg->config.max_tables * sizeof(table_slot));
	memset((void *) layout_families(db), 0, db->seg->max_families * sizeof(family_slot));
	memset(layout_bindings(db), 0, db->seg->max_bindings * sizeof(binding_slot));
	memset(c->pending, 0, sizeof c->pending);
	c->ntables = c->nfamilies = c->nbindings = 0;
	c->seq = c->restored_seq = 0;
	atomic_store(&c->next_table, 1);
	atomic_store(&c->next_family, 1);
	atomic_fetch_add(&c->generation, 1);
	if (dump.len == 0)
		return WIDE_OK;
	format = get_number(&r);
	if (r.p != NULL && format != DUMP_FORMAT)
		return status_fail(
			WIDE_CORRUPT,
			"the store's catalog has format %llu, this version of widetable reads format %d only",
			(unsigned long long) format, DUMP_FORMAT);
	if (!restore(db, &r))
		return status_fail(WIDE_CORRUPT,
						   "the manifest's catalog is damaged or does not fit into this segment");
	return WIDE_OK;
}

void
wide_family_defaults(wide_family_options *o)
{
	memset(o, 0, sizeof(*o));
	o->versions = 1;
	o->block_size = 16384;
	o->bloom = WIDE_BLOOM_ROW;
	o->compression = WIDE_COMPRESS_ZSTD;
	o->compression_level = 1;
	o->compaction = WIDE_COMPACT_LEVELED;
}

wide_status
catalog_family_ids(wide_db *db, wide_family_id only, wide_family_id **out, int *n)
{
	uint32_t max = db->seg->max_families;
	wide_family_id *ids = malloc((max + 1) * sizeof *ids);
	wide_status st;

	*n = 0;
	*out = ids;
	if (ids == NULL)
		return status_fail(WIDE_NOMEM, "out of memory");
	st = segment_lock(db, LOCK_CATALOG);
	if (st != WIDE_OK)
		return st;
	for (uint32_t i = 0; i < db->seg->catalog.nfamilies; i++)
		if (layout_families(db)[i].f.id != 0 && (only == 0 || layout_families(db)[i].f.id == only))
			ids[(*n)++] = layout_families(db)[i].f.id;
	segment_unlock(db, LOCK_CATALOG);
	return WIDE_OK;
}

wide_status
wide_table_next(wide_db *db, uint32_t *cursor, wide_table *out)
{
	table_slot *t = layout_tables(db);
	bool found = false;

	TRY(segment_lock(db, LOCK_CATALOG));
	while (!found && *cursor < db->seg->catalog.ntables)
	{
		*out = t[(*cursor)++].t;
		found = out->id != 0;
	}
	segment_unlock(db, LOCK_CATALOG);
	return found ? WIDE_OK : WIDE_END;
}

uint64_t
wide_catalog_generation(wide_db *db)
{
	return atomic_load(&db->seg->catalog.generation);
}
