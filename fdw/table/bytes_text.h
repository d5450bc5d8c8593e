/*
 * bytes_text.h
 *		Bytes as people see them: text, \xHH.
 */
#ifndef WT_BYTES_TEXT_H
#define WT_BYTES_TEXT_H

#include "lib/stringinfo.h"

#include "engine/wide.h"

/* Valid text of the database's encoding without NUL? */
extern bool wt_bytes_text_is_valid(const uint8 *data, size_t len);

/* What people see of a value: the text it is, or \x and hexadecimal digits. */
extern char *wt_bytes_text_show(wide_bytes b);
/* Appends the bytes that wt_bytes_text_show would show as this text. */
extern void wt_bytes_text_unshow(const char *text, size_t len, StringInfo out);

/* The same for qualifiers: the text it is, or each byte as \xHH, as option "column" and
 * arguments of functions have it. */
extern char *wt_bytes_text_show_qualifier(wide_bytes b);
extern void wt_bytes_text_unshow_qualifier(const char *text, size_t len, StringInfo out);

/* As wt_bytes_text_show_qualifier; text that would not be read as itself by functions has its
 * backslashes doubled. */
extern char *wt_bytes_text_qualifier_argument(wide_bytes b);

/* Unescapes \xHH and \\ of option values. */
extern uint8 *wt_bytes_text_unescape(const char *s, uint32 *len);
/* The same for arguments of functions: a backslash before anything else stands for itself. */
extern uint8 *wt_bytes_text_unescape_argument(const char *s, uint32 *len);

#endif /* WT_BYTES_TEXT_H */
