/*
 * fuzz_block.c - any bytes as a block.  The first bytes of the input choose a
 * target to search for, the rest is the block.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I../.. \
 *       fuzz_block.c $(find ../../engine -name '*.c') -lzstd -lxxhash -lpthread -lm -o fuzz_block
 *   ./fuzz_block -max_total_time=300
 */
#include <stdlib.h>
#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/sst/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void
touch(const block_cursor *c)
{
	if (!c->valid)
		return;
	for (uint32_t i = 0; i < c->e.klen; i++)
		sink += c->e.ukey[i];
	for (uint32_t i = 0; i < c->e.vlen; i++)
		sink += c->e.value[i];
	if (c->e.rowlen > c->e.klen || c->e.type > ENTRY_DELETE_FAMILY_VERSION || c->e.seq > SEQ_MAX)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	block_cursor c = {0};
	uint32_t klen;
	uint32_t len;
	const uint8_t *block;

	if (size < 8)
		return 0;
	klen = data[0] % 7;
	block = data + 8;
	len = (uint32_t) (size - 8);
	if (block_open(&c, block, len) == WIDE_OK)
	{
		for (wide_status st = block_first(&c); st == WIDE_OK && c.valid; st = block_next(&c))
			touch(&c);
		(void) block_check(&c);
		if (block_seek_entry(&c, data[7]) == WIDE_OK)
			touch(&c);
		if (block_seek_row(&c, data[6]) == WIDE_OK)
			touch(&c);
		if (block_last(&c) == WIDE_OK)
			touch(&c);
		if (block_seek(&c, data + 1, klen, (int8_t) data[6], data[7]) == WIDE_OK)
			touch(&c);
		if (block_seek_before(&c, data + 1, klen) == WIDE_OK)
			touch(&c);
	}
	block_close(&c);
	return 0;
}
