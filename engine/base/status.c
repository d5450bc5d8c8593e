/* status.c - a status together with its error text */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "engine/base/status.h"

/* Belongs to the thread: the threads of the unit tests stand for processes. */
static _Thread_local char error_text[512];
static _Thread_local wide_damage error_damage; /* file 0: none */

wide_status
status_fail(wide_status st, const char *fmt, ...)
{
	char text[sizeof(error_text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(error_text, text, sizeof(text));
	error_damage.file = 0;
	return st;
}

void
status_damage(uint64_t file, uint64_t container, uint64_t offset)
{
	error_damage.file = file;
	error_damage.container = container;
	error_damage.offset = offset;
	error_damage.family = 0;
	error_damage.lo_len = error_damage.hi_len = 0;
}

/* Decodes the beginning of an encoded row into out; returns its length. */
static uint32_t
decode_row(const uint8_t *p, uint32_t n, uint8_t *out)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < n && len < WIDE_DAMAGE_KEY; i++)
	{
		out[len++] = p[i];
		if (p[i] != 0)
			continue;
		/* the terminator, or a cut escape */
		if (i + 1 == n || p[++i] != 0xff)
			return len - 1;
	}
	return len;
}

void
status_damage_range(uint64_t file, wide_family_id family, const uint8_t *lo, uint32_t lolen,
					const uint8_t *hi, uint32_t hilen)
{
	if (error_damage.file != file || file == 0 || error_damage.family != 0)
		return;
	error_damage.family = family;
	error_damage.lo_len = decode_row(lo, lolen, error_damage.lo);
	error_damage.hi_len = decode_row(hi, hilen, error_damage.hi);
}

const wide_damage *
wide_error_damage(void)
{
	return error_damage.file != 0 ? &error_damage : NULL;
}

const char *
wide_error_text(void)
{
	return error_text;
}
