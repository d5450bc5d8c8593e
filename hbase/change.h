/* change.h - the changes of a row as messages and a cell block */
#ifndef HB_CHANGE_H
#define HB_CHANGE_H

#include "hbase/proto/data.pb-c.h"
#include "hbase/state.h"

typedef enum hb_mutate_type
{
	HB_MUTATE_APPEND = 0,
	HB_MUTATE_INCREMENT = 1,
	HB_MUTATE_PUT = 2,
	HB_MUTATE_DELETE = 3
} hb_mutate_type;

/* Errors: HB_INVALID if HBase cannot take it.  counters: increments and appends are allowed. */
extern hb_status hb_change_check(hb_client *client, const hb_mutation *row, bool counters);

/* Returns the number of messages that the changes become. */
extern int hb_change_count(const hb_mutation *row);

/* Returns the bytes that the changes take in a cell block. */
extern size_t hb_change_size(const hb_mutation *row);

/*
 * Fills in hb_change_count() messages, in client->request, and appends their cells to
 * client->cells.
 * Errors: HB_NOMEM.
 */
extern hb_status hb_change_messages(hb_client *client, const hb_mutation *row,
									Hbp__MutationProto *messages);

#endif /* HB_CHANGE_H */
