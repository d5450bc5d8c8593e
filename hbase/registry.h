/* registry.h - where the active master and hbase:meta are, as any node of the cluster says */
#ifndef HB_REGISTRY_H
#define HB_REGISTRY_H

#include "hbase/rpc.h"

/*
 * Make sure that client->meta and client->master are known.
 * Errors: HB_CONNECT if no node answers, HB_LOST if none knows; their cure is another try.
 */
extern hb_status hb_registry_meta(hb_client *client);
extern hb_status hb_registry_master(hb_client *client);

#endif /* HB_REGISTRY_H */
