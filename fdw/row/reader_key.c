/*
 * reader_key.c
 *		Keys that consist of numbers.
 *
 * The general way (wt_rowkey_decode) finds out for each part of each key what kind it is.
 */
#include "postgres.h"

#include "fdw/row/reader_key.h"

#include "fdw/row/reader_state.h"
#include "fdw/table/decode.h"
#include "fdw/table/table.h"
#include "fdw/table/type_kind.h"
#include "fdw/table/types.h"

void
wt_reader_key_note(WtRowReader *r)
{
	WtTable *t = r->t;
	int len = 0;

	/* which keys are skipped must not depend on the wanted columns */
	if (t->salt_buckets > 0 || t->bad_key_skip)
		return;
	r->numbers = palloc(sizeof(WtKeyNumber) * t->nkeys);
	for (int p = 0; p < t->nkeys; p++)
	{
		const WtColumn *c = wt_key_column(t, p);
		WtKeyNumber *n = &r->numbers[p];
		bool ordered = c->enc == WT_ENC_ORDERED;

		*n = (WtKeyNumber) {.column = c,
							.att = r->wanted[t->keys[p]] ? t->keys[p] : -1,
							.bytes = c->fixed_len,
							.integer = wt_is_integer(c->typid)};
		if ((n->bytes != 1 && n->bytes != 2 && n->bytes != 4 && n->bytes != 8) ||
			!(wt_decode_is_fixed(c) || (n->integer && (ordered || c->enc == WT_ENC_BINARY))))
			return;
		if (c->desc)
			n->flip = UINT64_MAX >> (64 - 8 * n->bytes);
		if (n->integer && ordered)
			n->flip ^= UINT64CONST(1) << (8 * n->bytes - 1);
		len += n->bytes;
	}
	r->numbers_len = len;
}
