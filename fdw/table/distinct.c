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

/*
 * The estimate of estimateHyperLogLog(), from how many registers have each value.  That function
 * calls pow() for each of the 4096, which took 20 us for a cell; the sum of these powers of two is
 * exact in any order, so the result is the same.
 */
static double
estimate(const int *with_value)
{
	const double registers = WIDE_HLL_REGISTERS, hashes = 4294967296.0;
	double sum = 0, result;

	for (int v = 0; v <= WIDE_HLL_GREATEST; v++)
		sum += ldexp(with_value[v], -v);
	result = state()->alphaMM / sum;
	if (result <= 2.5 * registers && with_value[0] > 0)
		return registers * log(registers / with_value[0]);
	if (result > hashes / 30)
		return -hashes * log(1 - result / hashes);
	return result;
}

const char *
wt_distinct_decode(const uint8 *data, size_t len, int64 *count)
{
	int with_value[WIDE_HLL_GREATEST + 1] = {0};

	if (!wide_hll_valid(data, len))
		return "the bytes are no registers of a HyperLogLog";
	if (len == WIDE_HLL_REGISTERS)
		for (size_t i = 0; i < len; i++)
			with_value[data[i]]++;
	else
	{
		with_value[0] = WIDE_HLL_REGISTERS - (int) len / 3;
		for (size_t i = 2; i < len; i += 3)
			with_value[data[i]]++;
	}
	*count = (int64) rint(estimate(with_value));
	return NULL;
}
