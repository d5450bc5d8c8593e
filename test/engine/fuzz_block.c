/*
 * fuzz_block.c - any bytes as a block.  The first bytes of the input choose a
 * target to search for, the rest is the block.  If there is a directory
 * "corpus_block", real blocks are put into it first, as a start.
 *
 *   make fuzz        with fuzz_driver.c, or with libFuzzer:
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I../.. \
 *       fuzz_block.c $(find ../../engine -name '*.c') -lzstd -lxxhash -lpthread -lm -o fuzz_block
 *   ./fuzz_block -max_total_time=300
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "engine/wide.h"
#include "engine/base/entry.h"
#include "engine/base/key.h"
#include "engine/sst/block.h"
#include "engine/sst/block_builder.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 2000

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

/* Adds the cells of a row: a regular row makes a grid, others a list. */
static void
add_row(block_builder *b, int row, bool regular)
{
	buffer key = {0};
	char name[16];

	snprintf(name, sizeof name, "row%03d", row);
	for (int q = 0; q < 4; q++)
	{
		wide_bytes rb = {(const uint8_t *) name, 6};
		wide_bytes qb = {(const uint8_t *) "abcd" + q, 1};
		entry e = {.ts = 1000 + (regular ? 0 : row * q), .seq = 7, .type = ENTRY_PUT};

		if (!regular && (row + q) % 3 == 0)
			continue;
		key_make(&key, rb, qb);
		e.ukey = key.data;
		e.klen = (uint32_t) key.len;
		e.rowlen = key_row_length(key.data, key.len);
		e.value = (const uint8_t *) "a longer value";
		e.vlen = (uint32_t) (regular ? 8 : row % 14);
		if (block_builder_add(b, &e) != WIDE_OK)
			abort();
	}
	buffer_free(&key);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct stat st;

	for (int kind = 0; stat("corpus_block", &st) == 0 && kind < 4; kind++)
	{
		block_builder *b = block_builder_new();
		wide_bytes out;
		char path[64];
		FILE *f;

		for (int row = 0; row < (kind & 2 ? 3 : 30); row++)
			add_row(b, row, kind & 1);
		if (block_builder_finish(b, false, &out) != WIDE_OK)
			abort();
		snprintf(path, sizeof path, "corpus_block/%d", kind);
		f = fopen(path, "wb");
		/* a target in front of it: "row01", and numbers */
		if (f == NULL || fwrite("\5row01\3\2", 1, 8, f) != 8 ||
			fwrite(out.data, 1, out.len, f) != out.len || fclose(f) != 0)
			abort();
		block_builder_free(b);
	}
	return 0;
}

/* From the last entry back to the first, each time before the entry found last. */
static void
backward(block_cursor *c)
{
	uint8_t key[KEY_UKEY_MAX];
	int steps = 0;

	for (wide_status st = block_last(c); st == WIDE_OK && c->valid && c->e.klen <= sizeof key;)
	{
		uint32_t klen = c->e.klen;

		if (steps++ > STEPS_MAX)
			return; /* keys may be in any order; callers of blocks check (sst_cursor.c) */
		touch(c);
		memcpy(key, c->e.ukey, klen);
		st = block_seek_before(c, key, klen);
	}
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
		backward(&c);
	}
	block_close(&c);
	return 0;
}
