/* region.h - the regions of tables, as hbase:meta has them, and what is remembered of them */
#ifndef HB_REGION_H
#define HB_REGION_H

#include "hbase/proto/common.pb-c.h"
#include "hbase/rpc.h"

#define HB_META_TABLE "hbase:meta"

typedef struct hb_region_entry
{
	hb_region region;
	uint64_t id;
} hb_region_entry;

typedef enum hb_table_state
{
	HB_TABLE_ENABLED,
	HB_TABLE_DISABLED,
	HB_TABLE_DISABLING,
	HB_TABLE_ENABLING
} hb_table_state;

/* A table whose regions are known. */
typedef struct hb_table_entry
{
	struct hb_table_entry *next;
	hb_arena arena; /* all that follows is in it */
	const char *name;
	hb_region_entry *regions; /* by start */
	int n_regions;
	int cap;
	bool known;
	hb_table_state state;
} hb_table_entry;

/*
 * Makes sure that the regions of the table are known.  The entry lives until the table is
 * forgotten. Errors: HB_NOTABLE, HB_INVALID for a name that cannot be one, and those of calls.
 */
extern hb_status hb_region_table(hb_client *client, const char *table, hb_table_entry **entry);

/*
 * Finds the region with the key; with before, the one with the greatest keys that are less (key
 * empty: the last region).  The region lives until the table is forgotten.
 * Errors: HB_DISABLED; HB_LOST, with the cure of another try, while no server has the region.
 */
extern hb_status hb_region_find(hb_client *client, const char *table, hb_bytes key, bool before,
								const hb_region **region);

extern void hb_region_server(const hb_region *region, hb_server *server);

/* Forgets where the regions of the table are. */
extern void hb_region_forget(hb_client *client, const char *table);

/* hb_rpc_again, after forgetting the regions if the failure says so. */
extern hb_status hb_region_retry(hb_client *client, hb_retry *retry, const char *table);

/* Fills in the specifier. */
extern void hb_region_specify(Hbp__RegionSpecifier *specifier, hb_bytes name);

/* Frees all that is known. */
extern void hb_region_free(hb_client *client);

#endif /* HB_REGION_H */
