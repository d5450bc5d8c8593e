/*
 * key_text.h
 *		Row keys in messages.
 */
#ifndef WT_KEY_TEXT_H
#define WT_KEY_TEXT_H

#include "engine/wide.h"
#include "fdw/table/types.h"

/* SQL literals of the key for messages and EXPLAIN: (c1, 2024-01-01 00:00:00+00) */
extern char *wt_key_text(WtTable *t, wide_bytes key);

#endif /* WT_KEY_TEXT_H */
