/*
 * key_text.h
 *		Row keys in messages and EXPLAIN.
 */
#ifndef WT_KEY_TEXT_H
#define WT_KEY_TEXT_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/*
 * Returns the parts of a key as SQL literals, palloc'd: ('c1', '2024-01-01 00:00:00+00').
 * A prefix is shown with the parts that it has, a key that does not decode as hexadecimal bytes.
 */
extern char *wt_key_text(WtTable *t, wide_bytes key);

#endif /* WT_KEY_TEXT_H */
