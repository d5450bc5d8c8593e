/*
 * bytes_text.c
 *		Bytes as readable text, and back; bytes_text.h describes the two forms.
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

/* Text stands for itself.  Other bytes: \x and two digits each; with each, \x before each byte. */
static char *
show(wide_bytes b, bool each)
{
	size_t step = each ? 1 : b.len;
	char *s, *p;

	if (wt_bytes_text_is_valid(b.data, b.len))
		return b.len == 0 ? pstrdup("") : pnstrdup((const char *) b.data, b.len);
	p = s = palloc(b.len * (each ? 4 : 2) + 3);
	for (size_t i = 0; i < b.len; i += step)
	{
		*p++ = '\\';
		*p++ = 'x';
		p += hex_encode((const char *) b.data + i, step, p);
	}
	*p = '\0';
	return s;
}

/*
 * Digits are read as bytes only if these bytes are not text, because only then are they
 * shown as digits, in lower case.  Any other text stands for itself.
 */
static void
unshow(const char *text, size_t len, bool each, StringInfo out)
{
	int start = out->len;
	size_t i = 0;

	while (i < len)
	{
		size_t at = i; /* of the digits; i moves on only behind them */
		int hi, lo;

		if (each || i == 0)
		{
			if (len - i < 2 || text[i] != '\\' || text[i + 1] != 'x')
				break;
			at += 2;
		}
		if (len - at < 2 || (hi = wt_bytes_text_hex_digit(text[at], false)) < 0 ||
			(lo = wt_bytes_text_hex_digit(text[at + 1], false)) < 0)
			break;
		appendStringInfoCharMacro(out, (char) (hi << 4 | lo));
		i = at + 2;
	}
	if (i == len && !wt_bytes_text_is_valid((uint8 *) out->data + start, out->len - start))
		return;
	out->len = start;
	appendBinaryStringInfo(out, text, (int) len);
}

char *
wt_bytes_text_show(wide_bytes b)
{
	return show(b, false);
}

void
wt_bytes_text_unshow(const char *text, size_t len, StringInfo out)
{
	unshow(text, len, false, out);
}

char *
wt_bytes_text_show_qualifier(wide_bytes b)
{
	return show(b, true);
}

void
wt_bytes_text_unshow_qualifier(const char *text, size_t len, StringInfo out)
{
	unshow(text, len, true, out);
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
	read = wt_bytes_text_unescape(shown, true, &n);
	if (wt_bytes_equal(read, n, b.data, b.len))
		return shown;
	initStringInfo(&s);
	wt_bytes_text_append_escaped(&s, shown);
	return s.data;
}

void
wt_bytes_text_append_escaped(StringInfo out, const char *text)
{
	for (const char *p = text; *p; p++)
	{
		if (*p == '\\')
			appendStringInfoCharMacro(out, '\\');
		appendStringInfoCharMacro(out, *p);
	}
}

uint8 *
wt_bytes_text_unescape(const char *s, bool lenient, uint32 *len)
{
	uint8 *out = palloc(strlen(s) + 1);
	uint32 n = 0;

	for (const char *p = s; *p; p++)
	{
		int hi, lo;

		if (*p != '\\')
			out[n++] = (uint8) *p;
		else if (p[1] == '\\')
		{
			out[n++] = '\\';
			p++;
		}
		else if (p[1] == 'x' && (hi = wt_bytes_text_hex_digit(p[2], true)) >= 0 &&
				 (lo = wt_bytes_text_hex_digit(p[3], true)) >= 0)
		{
			out[n++] = (uint8) (hi << 4 | lo);
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
