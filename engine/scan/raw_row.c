/*
 * raw_row.c - the history of a row as it is stored: all entries that are committed and visible to
 * new snapshots, with nothing masked or expired.  For debugging.
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

	TRY(segment_check(db));
	if (row.len == 0 || row.len > WIDE_MAX_ROW)
		return status_fail(WIDE_LIMIT, "a row key has 1 to %d bytes, not %zu", WIDE_MAX_ROW,
						   row.len);
	TRY(pin_take(db, &pin));
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
