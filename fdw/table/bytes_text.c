/*
 * bytes_text.c
 *		Bytes as people see them: values and qualifiers as text, with \xHH for what is
 *		none.
 */
#include "postgres.h"

#include "fdw/table/bytes_text.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "fdw/store/bytes.h"

bool
wt_bytes_text_is_valid(const uint8 *data, size_t len)
{
	if (len == 0)
		return true;
	return memchr(data, 0, len) == NULL &&
		   pg_verify_mbstr(GetDatabaseEncoding(), (const char *) data, (int) len, true);
}

char *
wt_bytes_text_show(wide_bytes b)
{
	char *s;

	if (wt_bytes_text_is_valid(b.data, b.len))
		return b.len == 0 ? pstrdup("") : pnstrdup((const char *) b.data, b.len);
	s = palloc(b.len * 2 + 3);
	s[0] = '\\';
	s[1] = 'x';
	hex_encode((const char *) b.data, b.len, s + 2);
	s[b.len * 2 + 2] = '\0';
	return s;
}

static int
lower_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/*
 * Text stands for itself; \x… stands for bytes only where these bytes are not
 * text, because only then are they shown that way.
 */
void
wt_bytes_text_unshow(const char *text, size_t len, StringInfo out)
{
	int start = out->len;

	if (len > 2 && len % 2 == 0 && text[0] == '\\' && text[1] == 'x')
	{
		size_t i;

		for (i = 2; i < len; i += 2)
		{
			int hi = lower_hex_digit(text[i]);
			int lo = lower_hex_digit(text[i + 1]);

			if (hi < 0 || lo < 0)
				break;
			appendStringInfoCharMacro(out, (char) (hi << 4 | lo));
		}
		if (i == len && !wt_bytes_text_is_valid((uint8 *) out->data + start, out->len - start))
			return;
		out->len = start;
	}
	appendBinaryStringInfo(out, text, (int) len);
}

char *
wt_bytes_text_show_qualifier(wide_bytes b)
{
	static const char digits[] = "0123456789abcdef";
	char *s, *p;

	if (wt_bytes_text_is_valid(b.data, b.len))
		return b.len == 0 ? pstrdup("") : pnstrdup((const char *) b.data, b.len);
	p = s = palloc(b.len * 4 + 1);
	for (size_t i = 0; i < b.len; i++)
	{
		*p++ = '\\';
		*p++ = 'x';
		*p++ = digits[b.data[i] >> 4];
		*p++ = digits[b.data[i] & 15];
	}
	*p = '\0';
	return s;
}

/* Text stands for itself; \xHH for bytes only where nothing else is there and the bytes are not
 * text. */
void
wt_bytes_text_unshow_qualifier(const char *text, size_t len, StringInfo out)
{
	int start = out->len;
	size_t i;

	for (i = 0; i + 4 <= len && text[i] == '\\' && text[i + 1] == 'x'; i += 4)
	{
		int hi = lower_hex_digit(text[i + 2]);
		int lo = lower_hex_digit(text[i + 3]);

		if (hi < 0 || lo < 0)
			break;
		appendStringInfoCharMacro(out, (char) (hi << 4 | lo));
	}
	if (len > 0 && i == len &&
		!wt_bytes_text_is_valid((uint8 *) out->data + start, out->len - start))
		return;
	out->len = start;
	appendBinaryStringInfo(out, text, (int) len);
}

char *
wt_bytes_text_qualifier_argument(wide_bytes b)
{
	char *shown = wt_bytes_text_show_qualifier(b);
	StringInfoData s;
	uint32 n;
	uint8 *read;

	if (strchr(shown, '\\') == NULL)
		return shown;
	read = wt_bytes_text_unescape_argument(shown, &n);
	if (wt_bytes_equal(read, n, b.data, b.len))
		return shown;
	initStringInfo(&s);
	for (const char *p = shown; *p; p++)
	{
		if (*p == '\\')
			appendStringInfoCharMacro(&s, '\\');
		appendStringInfoCharMacro(&s, *p);
	}
	return s.data;
}

static int
hex_digit(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	if (ch >= 'A' && ch <= 'F')
		return ch - 'A' + 10;
	return -1;
}

static uint8 *
unescape(const char *s, uint32 *len, bool lenient)
{
	uint8 *out = palloc(strlen(s) + 1);
	uint32 n = 0;

	for (const char *p = s; *p; p++)
	{
		if (*p != '\\')
			out[n++] = (uint8) *p;
		else if (p[1] == '\\')
		{
			out[n++] = '\\';
			p++;
		}
		else if (p[1] == 'x' && p[2] && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0)
		{
			out[n++] = (uint8) (hex_digit(p[2]) << 4 | hex_digit(p[3]));
			p += 3;
		}
		else if (lenient)
			out[n++] = '\\';
		else
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					 errmsg("invalid escape in \"%s\"", s),
					 errhint("Write \\xHH for a byte and \\\\ for a backslash.")));
	}
	if (n > WIDE_MAX_QUALIFIER)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("qualifier is %u bytes long, the limit is %d", n, WIDE_MAX_QUALIFIER)));
	out[n] = '\0';
	*len = n;
	return out;
}

uint8 *
wt_bytes_text_unescape(const char *s, uint32 *len)
{
	return unescape(s, len, false);
}

uint8 *
wt_bytes_text_unescape_argument(const char *s, uint32 *len)
{
	return unescape(s, len, true);
}
