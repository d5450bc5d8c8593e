/*
 * raw_row.c - what is stored of a row, with nothing masked or expired: all entries that are
 * committed and visible to new snapshots, for debugging; and whether there are any, also those that
 * are not visible yet.  A row of which there are none is new to everybody.
 *
 * Locking: none; the pin protects what is read.
 */
#include <stdatomic.h>
#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/layout.h"
#include "engine/shared/segment.h"
#include "engine/set/pin.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/scan/scan_sources.h"

/* Checks the row's key, and pins what is read. */
static wide_status
begin(wide_db *db, wide_bytes row, version_pin *pin)
{
	TRY(segment_check(db));
	if (row.len == 0 || row.len > WIDE_MAX_ROW)
		return status_fail(WIDE_LIMIT, "a row key has 1 to %d bytes, not %zu", WIDE_MAX_ROW,
						   row.len);
	return pin_take(db, pin);
}

wide_status
wide_raw_row(wide_db *db, wide_family_id family, wide_bytes row, wide_raw_fn fn, void *arg)
{
	buffer key = {0}, qual = {0};
	uint64_t visible = atomic_load(&db->seg->commit.visible_seq);
	merge *m = NULL;
	source *none;
	bool incomplete;
	version_pin pin;
	const entry *e;
	wide_status st;

	TRY(begin(db, row, &pin));
	TRY_GOTO(key_make_row(&key, row));
	TRY_GOTO(scan_sources_merge(db, &pin, family, visible, INT64_MIN, NULL, NULL, 0, &m, &none,
								&incomplete));
	TRY_GOTO(merge_seek(m, key.data, (uint32_t) key.len, INT64_MAX, SEQ_MAX));
	while ((e = merge_entry(m)) != NULL && e->rowlen == key.len &&
		   memcmp(e->ukey, key.data, key.len) == 0)
	{
		wide_raw_cell c = {.family = family,
						   .ts = e->ts,
						   .seq = e->seq,
						   .type = e->type,
						   .value = {e->value, e->vlen}};

		if (e->seq <= visible)
		{
			qual.len = 0;
			if (!entry_is_family_delete(e))
				TRY_GOTO(key_decode_part(e->ukey + e->rowlen, e->klen - e->rowlen, &qual,
										 &c.qualifier));
			TRY_GOTO(fn(arg, &c));
		}
		TRY_GOTO(merge_next(m));
	}
	st = WIDE_OK;
done:
	merge_free(m);
	pin_drop(db, &pin);
	buffer_free(&key);
	buffer_free(&qual);
	return st;
}

/* Sets *untouched to false if the family has an entry of the row. */
static wide_status
look(wide_db *db, const version_pin *pin, wide_family_id family, const buffer *key, bool *untouched)
{
	const source_limits limits = {.row = key->data, .rowlen = (uint32_t) key->len};
	merge *m;
	source *none;
	const entry *e;
	bool incomplete;
	wide_status st;

	TRY(scan_sources_merge(db, pin, family, UINT64_MAX, INT64_MIN, NULL, NULL, 0, &m, &none,
						   &incomplete));
	merge_limits(m, &limits);
	TRY_GOTO(merge_seek(m, key->data, (uint32_t) key->len, INT64_MAX, SEQ_MAX));
	e = merge_entry(m);
	*untouched = e == NULL || e->rowlen != key->len || memcmp(e->ukey, key->data, key->len) != 0;
done:
	merge_free(m);
	return st;
}

wide_status
wide_row_untouched(wide_db *db, const wide_family_id *families, int n, wide_bytes row,
				   bool *untouched)
{
	buffer key = {0};
	version_pin pin;
	wide_status st;

	*untouched = true;
	TRY(begin(db, row, &pin));
	TRY_GOTO(key_make_row(&key, row));
	for (int i = 0; i < n && *untouched; i++)
		TRY_GOTO(look(db, &pin, families[i], &key, untouched));
	st = WIDE_OK;
done:
	pin_drop(db, &pin);
	buffer_free(&key);
	return st;
}
