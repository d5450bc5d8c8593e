/*
 * untouched.c - whether the store has anything of a row.
 *
 * All entries count, also those that a snapshot does not see: what is committed later than it, what
 * is deleted or has expired, and deletes.  So a row of which nothing is found is new to everybody.
 *
 * Locking: none; the pin protects what is read.
 */
#include <string.h>
#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/segment.h"
#include "engine/set/pin.h"
#include "engine/read/merge.h"
#include "engine/read/source.h"
#include "engine/scan/scan_sources.h"

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
	TRY(segment_check(db));
	if (row.len == 0 || row.len > WIDE_MAX_ROW)
		return status_fail(WIDE_LIMIT, "a row key has 1 to %d bytes, not %zu", WIDE_MAX_ROW,
						   row.len);
	TRY(pin_take(db, &pin));
	TRY_GOTO(key_make_row(&key, row));
	for (int i = 0; i < n && *untouched; i++)
		TRY_GOTO(look(db, &pin, families[i], &key, untouched));
	st = WIDE_OK;
done:
	pin_drop(db, &pin);
	buffer_free(&key);
	return st;
}
