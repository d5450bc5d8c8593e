/* read.h - what is read of a row, as messages */
#ifndef HB_READ_H
#define HB_READ_H

#include "hbase/filter.h"

/* Copies what `from` points to, but for the filter, into the arena. */
extern hb_status hb_read_copy(hb_client *client, hb_arena *arena, const hb_read *from, hb_read *to);

/* What Get and Scan have in common, in an arena. */
typedef struct hb_read_message
{
	Hbp__Column **columns;
	size_t n_columns;
	Hbp__TimeRange *time_range; /* or NULL */
	Hbp__Filter *filter;		/* or NULL */
	uint32_t max_versions;
} hb_read_message;

/* Errors: HB_NOMEM; HB_INVALID if the names or times cannot be right. */
extern hb_status hb_read_to_message(hb_client *client, hb_arena *arena, const hb_read *read,
									hb_read_message *message);

#endif /* HB_READ_H */
