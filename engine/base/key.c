/*
 * key.c - the escaped, prefix-free form of rows and qualifiers.
 *
 * A part (a row or a qualifier) is its bytes with 00 written as 00 FF, followed by
 * the terminator 00 01.  So inside a part only FF and 01 follow a 00.  00 00 in
 * place of a qualifier marks the family-wide deletes of a row and sorts before
 * every qualifier.  00 02 in place of a row's terminator sorts after every key of
 * the row.  Text contains no 00, so a text key is stored and decoded unchanged.
 */
#include <string.h>
#include "engine/base/key.h"
#include "engine/base/buffer.h"
#include "engine/base/bytes.h"
#include "engine/base/status.h"

uint8_t *
key_put_part(uint8_t *p, const uint8_t *raw, size_t n)
{
	const uint8_t *end = n > 0 ? raw + n : raw;

	while (end - raw >= 8)
	{
		uint64_t x = get_u64le(raw), zero = bytes_zero(x);
		size_t run = zero == 0 ? 8 : (size_t) __builtin_ctzll(zero) / 8;

		put_u64le(p, x);
		p += run;
		raw += run;
		if (zero == 0)
			continue;
		*p++ = 0x00;
		*p++ = 0xff;
		raw++;
	}
	while (raw < end)
	{
		uint8_t c = *raw++;

		*p++ = c;
		if (c == 0x00)
			*p++ = 0xff;
	}
	*p++ = 0x00;
	*p++ = 0x01;
	return p;
}

wide_status
key_make(buffer *b, wide_bytes row, wide_bytes qualifier)
{
	uint8_t *p;

	b->len = 0;
	TRY(buffer_reserve(b, KEY_ROW_MAX(row.len) + KEY_ROW_MAX(qualifier.len)));
	p = key_put_part(b->data, row.data, row.len);
	p = key_put_part(p, qualifier.data, qualifier.len);
	b->len = (size_t) (p - b->data);
	return WIDE_OK;
}

wide_status
key_make_family(buffer *b, wide_bytes row)
{
	TRY(key_make_row(b, row));
	return buffer_append(b, "\0\0", 2);
}

wide_status
key_make_row(buffer *b, wide_bytes row)
{
	b->len = 0;
	TRY(buffer_reserve(b, KEY_ROW_MAX(row.len)));
	b->len = (size_t) (key_put_part(b->data, row.data, row.len) - b->data);
	return WIDE_OK;
}

/* Returns the first byte that is zero, or end. */
static inline const uint8_t *
first_zero(const uint8_t *p, const uint8_t *end)
{
	for (; end - p >= 8; p += 8)
	{
		uint64_t zero = bytes_zero(get_u64le(p));

		if (zero != 0)
			return p + __builtin_ctzll(zero) / 8;
	}
	while (p < end && *p != 0)
		p++;
	return p;
}

/* Returns the length of the part at p with its terminator, or 0 if the n bytes do not begin with a
 * part.  *escapes is the number of 00 FF in it. */
static size_t
part_length(const uint8_t *p, size_t n, size_t *escapes)
{
	const uint8_t *at = p;
	const uint8_t *end = p + n;

	*escapes = 0;
	while (at < end)
	{
		const uint8_t *zero = first_zero(at, end);

		if (zero + 1 >= end)
			return 0;
		if (zero[1] == 0x01)
			return (size_t) (zero + 2 - p);
		if (zero[1] != 0xff)
			return 0;
		++*escapes;
		at = zero + 2;
	}
	return 0;
}

uint32_t
key_row_length(const uint8_t *ukey, size_t klen)
{
	size_t escapes;

	return (uint32_t) part_length(ukey, klen, &escapes);
}

bool
key_valid(const uint8_t *ukey, size_t klen)
{
	size_t escapes;
	size_t rowlen = part_length(ukey, klen, &escapes);
	size_t rest = klen - rowlen;

	if (rowlen < 3 || rowlen - 2 - escapes > WIDE_MAX_ROW)
		return false;
	if (rest == 2 && ukey[rowlen] == 0x00 && ukey[rowlen + 1] == 0x00)
		return true;
	return rest > 0 && part_length(ukey + rowlen, rest, &escapes) == rest &&
		   rest - 2 - escapes <= WIDE_MAX_QUALIFIER;
}

wide_status
key_decode_part(const uint8_t *p, size_t n, buffer *b, wide_bytes *out)
{
	size_t escapes;
	const uint8_t *end;
	uint8_t *to;

	if (n == 0 || part_length(p, n, &escapes) != n)
		return status_fail(WIDE_CORRUPT, "malformed key part of %zu bytes", n);
	if (escapes == 0)
	{
		out->data = p;
		out->len = n - 2;
		return WIDE_OK;
	}
	TRY(buffer_reserve(b, KEY_DECODED_MAX(n)));
	to = b->data + b->len;
	out->data = to;
	end = p + n - 2;
	while (p < end)
	{
		const uint8_t *zero = first_zero(p, end);
		size_t run = (size_t) (zero - p) + (zero < end);

		memcpy(to, p, run);
		to += run;
		p += zero < end ? run + 1 : run;
	}
	out->len = (size_t) (to - out->data);
	b->len += out->len;
	return WIDE_OK;
}
