/*
 * bytes_text.h
 *		Bytes as readable text: what is not text of the database's encoding is shown with \xHH.
 *
 * A value that is not text is shown as bytea is: \x and the digits of all its bytes.  A
 * qualifier that is not text is shown with \xHH for each byte, the form that option "column"
 * and the arguments of functions take.  Results are palloc'd in CurrentMemoryContext.
 */
#ifndef WT_BYTES_TEXT_H
#define WT_BYTES_TEXT_H

#include "lib/stringinfo.h"

#include "engine/wide.h"

/* Returns true if the bytes are valid text of the database's encoding without a NUL. */
extern bool wt_bytes_text_is_valid(const uint8 *data, size_t len);

/* Returns the value of a hexadecimal digit, -1 for other characters; upper: A to F are digits. */
static inline int
wt_bytes_text_hex_digit(char ch, bool upper)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	if (upper && ch >= 'A' && ch <= 'F')
		return ch - 'A' + 10;
	return -1;
}

/* Returns a value as text; NUL-terminated. */
extern char *wt_bytes_text_show(wide_bytes b);

/* The inverse: appends the bytes that wt_bytes_text_show shows as this text. */
extern void wt_bytes_text_unshow(const char *text, size_t len, StringInfo out);

/* The same two for qualifiers. */
extern char *wt_bytes_text_show_qualifier(wide_bytes b);
extern void wt_bytes_text_unshow_qualifier(const char *text, size_t len, StringInfo out);

/* Returns text that wt_bytes_text_unescape reads as this qualifier: as
 * wt_bytes_text_show_qualifier, with backslashes doubled where it takes that. */
extern char *wt_bytes_text_qualifier_argument(wide_bytes b);

/*
 * Reads \xHH and \\ in an option's value.  lenient: in an argument of a function, where a
 * backslash before anything else is itself.
 * Returns: the bytes, with a NUL behind them that *len does not count.
 * Errors: FDW_INVALID_ATTRIBUTE_VALUE for another escape unless lenient,
 * PROGRAM_LIMIT_EXCEEDED above WIDE_MAX_QUALIFIER bytes.
 */
extern uint8 *wt_bytes_text_unescape(const char *s, bool lenient, uint32 *len);

/* Appends text of which wt_bytes_text_unescape makes this one: with backslashes doubled. */
extern void wt_bytes_text_append_escaped(StringInfo out, const char *text);

#endif /* WT_BYTES_TEXT_H */
