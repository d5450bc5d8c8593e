/* table_name.h - "namespace:table" as a message, and back */
#ifndef HB_TABLE_NAME_H
#define HB_TABLE_NAME_H

#include "hbase/proto/common.pb-c.h"
#include "hbase/arena.h"
#include "hbase/memory.h"

/* Fills in the message; it points into the name. */
extern void hb_table_name_parse(const char *table, Hbp__TableName *name);

/* Returns the name in the arena, without the namespace "default"; NULL: out of memory. */
extern const char *hb_table_name_text(hb_arena *arena, const Hbp__TableName *name);

#endif /* HB_TABLE_NAME_H */
