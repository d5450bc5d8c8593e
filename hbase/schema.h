/* schema.h - tables and families as messages, and back */
#ifndef HB_SCHEMA_H
#define HB_SCHEMA_H

#include "hbase/proto/admin.pb-c.h"
#include "hbase/state.h"

/* Make messages in client->request.  NULL: out of memory. */
extern Hbp__TableSchema *hb_schema_of_table(hb_client *client, const hb_table *table);
extern Hbp__ColumnFamilySchema *hb_schema_of_family(hb_client *client, const hb_family *family);

/* Makes the table of a message, in client->answer.  NULL: out of memory. */
extern const hb_table *hb_schema_to_table(hb_client *client, const Hbp__TableSchema *schema);

/*
 * Sets the attributes and configuration of `change` in a family's message; others stay.  New memory
 * is in client->request.  Returns false: out of memory.
 */
extern bool hb_schema_change(hb_client *client, Hbp__ColumnFamilySchema *family,
							 const hb_family *change);

#endif /* HB_SCHEMA_H */
