/*
 * source.c - what all kinds of source have in common.
 *
 * Locking: none.  The maker of a source holds a pin on its memtable or files for
 * as long as the source lives.
 */
#include <stdlib.h>
#include "engine/read/source.h"
#include "engine/base/buffer.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/base/status.h"
#include "engine/shared/cache.h"

const source_limits source_no_limits = {0};

#define PASS_STEPS 8 /* entries after which a seek is cheaper */

void
source_leave(const source *s, block_ref *ref)
{
	if (s->used != 0 && s->used == *s->turn && s->limits->keep != NULL)
		s->limits->keep(s->limits->keep_arg, ref);
	else
		cache_unpin(s->db, ref);
}

void
source_free(source *s)
{
	if (s == NULL)
		return;
	buffer_free(&s->before);
	s->ops->free(s);
}

wide_status
source_pass(source *s, const uint8_t *ukey, uint32_t klen)
{
	if (s->ops->pass != NULL)
		return s->ops->pass(s, ukey, klen);
	for (int i = 0; i < PASS_STEPS; i++)
	{
		TRY(source_next(s));
		if (s->e == NULL || ukey_compare(s->e->ukey, s->e->klen, ukey, klen) >= 0)
			return WIDE_OK;
	}
	return source_seek(s, ukey, klen, INT64_MAX, SEQ_MAX);
}

wide_status
source_row_before(source *s, const uint8_t *ukey, uint32_t klen, buffer *row)
{
	wide_status st;

	row->len = 0;
	s->e = NULL;
	/* the largest row below a higher bound is also the largest below this one, if it is below */
	if (s->before_valid && s->before_none)
		return WIDE_END;
	if (s->before_valid && ukey_compare(s->before.data, s->before.len, ukey, klen) < 0)
		return buffer_append(row, s->before.data, s->before.len);
	st = s->ops->row_before(s, ukey, klen, row);
	if (st != WIDE_OK && st != WIDE_END)
		return st;
	s->before.len = 0;
	s->before_none = st == WIDE_END;
	if (st == WIDE_OK)
		TRY(buffer_append(&s->before, row->data, row->len));
	s->before_valid = true;
	return st;
}

void
source_restart(source *s)
{
	s->before_valid = false;
	source_statistics(s);
}

void
source_statistics(source *s)
{
	if (s->ops->statistics != NULL)
		s->ops->statistics(s);
}
