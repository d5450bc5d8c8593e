/*
 * distinct.c
 *		Counts of distinct values: encoding "hll".
 *
 * PostgreSQL's HyperLogLog (lib/hyperloglog.h) says which register a hash sets, and estimates the
 * count from all of them.  With 4096 registers the standard error is 1.04 / 64 = 1.6 %.
 */
#include "postgres.h"

#include "fdw/table/distinct.h"

#include <math.h>

#include "common/hashfn.h"
#include "lib/hyperloglog.h"
#include "utils/memutils.h"

#include "engine/wide.h"

/* One state for all values of the session; its registers are zero between two uses. */
static hyperLogLogState *
state(void)
{
	static hyperLogLogState s;
	MemoryContext old;

	if (s.hashesArr != NULL)
		return &s;
	old = MemoryContextSwitchTo(TopMemoryContext);
	initHyperLogLog(&s, WIDE_HLL_BITS);
	MemoryContextSwitchTo(old);
	return &s;
}

void
wt_distinct_encode(const void *value, int len, StringInfo out)
{
	hyperLogLogState *s = state();
	uint32 hash = hash_bytes(value, len), i = hash >> (32 - WIDE_HLL_BITS);

	char bytes[3] = {(char) (i >> 8), (char) (i & 255)};

	addHyperLogLog(s, hash);
	bytes[2] = (char) s->hashesArr[i];
	/* before anything can fail */
	s->hashesArr[i] = 0;
	appendBinaryStringInfo(out, bytes, sizeof(bytes));
}

const char *
wt_distinct_decode(const uint8 *data, size_t len, int64 *count)
{
	hyperLogLogState *s = state();
	bool valid = len == WIDE_HLL_REGISTERS || len % 3 == 0;

	if (len == WIDE_HLL_REGISTERS)
		memcpy(s->hashesArr, data, len);
	else
		for (const uint8 *p = data; valid && p < data + len; p += 3)
		{
			uint32 i = (uint32) p[0] << 8 | p[1];

			valid = i < WIDE_HLL_REGISTERS;
			if (valid)
				s->hashesArr[i] = Max(s->hashesArr[i], p[2]);
		}
	for (int i = 0; valid && i < WIDE_HLL_REGISTERS; i++)
		valid = s->hashesArr[i] <= WIDE_HLL_GREATEST;
	if (valid)
		*count = (int64) rint(estimateHyperLogLog(s));
	memset(s->hashesArr, 0, WIDE_HLL_REGISTERS);
	return valid ? NULL : "the bytes are no registers of a HyperLogLog";
}
