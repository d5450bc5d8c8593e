/* registry.c - where the active master and hbase:meta are, as any node of the cluster says */
#include "hbase/proto/admin.pb-c.h"
#include "hbase/registry.h"

#define NODE_US ((int64_t) 3000000) /* that one node may take */

static hb_status
ask_node(hb_client *client, const hb_server *node, const char *method,
		 const ProtobufCMessageDescriptor *type, void *message)
{
	Hbp__Nothing nothing = HBP__NOTHING__INIT;
	int64_t deadline = client->deadline_us;
	int64_t soon = hb_now(client) + NODE_US;
	hb_call call = {0};
	hb_status st;

	if (client->deadline_us > soon)
		client->deadline_us = soon;
	st = hb_rpc_call(client, &call, node, HB_RPC_REGISTRY, method, &nothing.base, type, message);
	client->deadline_us = deadline;
	hb_rpc_free(client, &call);
	return st;
}

/* Returns true if it makes no sense to ask again. */
static bool
is_final(hb_status st)
{
	return st == HB_PROTOCOL || st == HB_DENIED;
}

/* Asks one node after the other, beginning with the one that answered last. */
static hb_status
ask(hb_client *client, const char *method, const ProtobufCMessageDescriptor *type, void *message)
{
	hb_failure first = {0};

	for (int i = 0; i < client->n_nodes; i++)
	{
		int node = (client->good_node + i) % client->n_nodes;
		hb_status st = ask_node(client, &client->nodes[node], method, type, message);

		if (st == HB_OK)
		{
			client->good_node = node;
			return HB_OK;
		}
		/* the credentials are the same for all, and a KDC that is away takes its time */
		if (st == HB_INTERRUPTED || st == HB_NOMEM || st == HB_AUTH)
			return st;
		/* that a node was down matters less than why another one has refused */
		if (i == 0 || (is_final(st) && !is_final(first.error.status)))
			first = client->failure;
	}
	client->failure = first;
	if (first.error.java_class[0] == 0 && !is_final(first.error.status))
		client->failure.error.status = HB_CONNECT;
	client->failure.cure = is_final(first.error.status) ? HB_CURE_NONE : HB_CURE_RELOCATE;
	return client->failure.error.status;
}

/* Copies the name of a server.  Returns false if there is none. */
static bool
take_server(hb_server *to, const Hbp__ServerName *from)
{
	if (from == NULL || !from->has_port || from->port == 0 || from->port > 65535 ||
		from->host_name.len == 0 || from->host_name.len >= sizeof to->host ||
		memchr(from->host_name.data, 0, from->host_name.len) != NULL)
		return false;
	memcpy(to->host, from->host_name.data, from->host_name.len);
	to->host[from->host_name.len] = 0;
	to->port = (int) from->port;
	return true;
}

static hb_status
unknown(hb_client *client, const char *what)
{
	hb_status_set(&client->failure, HB_LOST, HB_CURE_RELOCATE, NULL,
				  "no node of the cluster knows where %s is", what);
	return HB_LOST;
}

hb_status
hb_registry_meta(hb_client *client)
{
	Hbp__GetMetaRegionLocationsResponse *r;

	if (client->meta.host[0] != 0)
		return HB_OK;
	HB_TRY(ask(client, "GetMetaRegionLocations",
			   &hbp__get_meta_region_locations_response__descriptor, &r));
	for (size_t i = 0; i < r->n_meta_locations; i++)
	{
		const Hbp__RegionLocation *l = r->meta_locations[i];

		if ((!l->region_info->has_replica_id || l->region_info->replica_id == 0) &&
			take_server(&client->meta, l->server_name))
			return HB_OK;
	}
	return unknown(client, "hbase:meta");
}

hb_status
hb_registry_master(hb_client *client)
{
	Hbp__GetActiveMasterResponse *r;

	if (client->master.host[0] != 0)
		return HB_OK;
	HB_TRY(ask(client, "GetActiveMaster", &hbp__get_active_master_response__descriptor, &r));
	return take_server(&client->master, r->server_name) ? HB_OK : unknown(client, "the master");
}
