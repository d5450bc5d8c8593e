/* admin.c - tables, their families and regions, the cluster; declared in hbase.h */
#include <stdio.h>
#include "hbase/master.h"
#include "hbase/region.h"
#include "hbase/schema.h"
#include "hbase/table_name.h"

/* What GetClusterStatus is asked for. */
enum status_option
{
	OPTION_VERSION = 0,
	OPTION_CLUSTER_ID = 1,
	OPTION_LIVE_SERVERS = 2
};

static hb_status
no_memory(hb_client *client)
{
	return hb_status_fail(client, HB_NOMEM, "out of memory");
}

/* ---- what there is ---- */

hb_status
hb_admin_list(hb_client *client, const char *name_space, bool (*each)(void *ctx, const char *table),
			  void *ctx)
{
	Hbp__GetTableNamesRequest req = HBP__GET_TABLE_NAMES_REQUEST__INIT;
	Hbp__GetTableNamesResponse *response;

	if (name_space != NULL)
	{
		req.has_namespace_ = 1;
		req.namespace_ = hb_pb(hb_text(name_space));
	}
	HB_TRY(hb_master_call(client, "GetTableNames", &req.base,
						  &hbp__get_table_names_response__descriptor, &response));
	for (size_t i = 0; i < response->n_table_names; i++)
	{
		const Hbp__TableName *name = response->table_names[i];
		const char *text;

		if (name_space != NULL &&
			!hb_memory_equal(hb_from_pb(name->namespace_), hb_text(name_space)))
			continue;
		text = hb_table_name_text(&client->answer, name);
		if (text == NULL)
			return no_memory(client);
		if (!each(ctx, text))
			break;
	}
	return HB_OK;
}

/* Asks for the table's schema, in client->answer. */
static hb_status
schema_of(hb_client *client, const char *table, Hbp__TableSchema **schema)
{
	Hbp__GetTableDescriptorsRequest req = HBP__GET_TABLE_DESCRIPTORS_REQUEST__INIT;
	Hbp__GetTableDescriptorsResponse *response;
	Hbp__TableName name;
	Hbp__TableName *names[] = {&name};

	hb_table_name_parse(table, &name);
	req.table_names = names;
	req.n_table_names = 1;
	HB_TRY(hb_master_call(client, "GetTableDescriptors", &req.base,
						  &hbp__get_table_descriptors_response__descriptor, &response));
	if (response->n_table_schema != 1)
		return hb_status_fail(client, HB_NOTABLE, "table \"%s\" does not exist", table);
	*schema = response->table_schema[0];
	return HB_OK;
}

hb_status
hb_admin_describe(hb_client *client, const char *table,
				  void (*each)(void *ctx, const hb_table *table), void *ctx)
{
	Hbp__TableSchema *schema;
	const hb_table *t;

	HB_TRY(schema_of(client, table, &schema));
	t = hb_schema_to_table(client, schema);
	if (t == NULL)
		return no_memory(client);
	each(ctx, t);
	return HB_OK;
}

hb_status
hb_admin_is_enabled(hb_client *client, const char *table, bool *enabled)
{
	hb_table_entry *t;
	hb_retry retry;

	hb_region_forget(client, table);
	hb_rpc_begin(client, &retry);
	while (hb_region_table(client, table, &t) != HB_OK)
		HB_TRY(hb_region_retry(client, &retry, table));
	*enabled = t->state == HB_TABLE_ENABLED || t->state == HB_TABLE_ENABLING;
	return HB_OK;
}

/* ---- tables ---- */

hb_status
hb_admin_create(hb_client *client, const hb_table *table, const hb_bytes *split_keys,
				int n_split_keys)
{
	Hbp__CreateTableRequest req = HBP__CREATE_TABLE_REQUEST__INIT;

	hb_arena_reset(&client->request);
	req.table_schema = hb_schema_of_table(client, table);
	req.split_keys = hb_arena_alloc(&client->request,
									((size_t) n_split_keys + 1) * sizeof *req.split_keys);
	if (req.table_schema == NULL || req.split_keys == NULL)
		return no_memory(client);
	for (int i = 0; i < n_split_keys; i++)
		req.split_keys[i] = hb_pb(split_keys[i]);
	req.n_split_keys = (size_t) n_split_keys;
	req.has_nonce_group = req.has_nonce = 1;
	req.nonce_group = client->nonce_group;
	req.nonce = hb_master_nonce(client);
	hb_region_forget(client, table->name);
	return hb_master_procedure(client, "CreateTable", &req.base);
}

static hb_status
table_procedure(hb_client *client, const char *method, const char *table)
{
	Hbp__TableRequest req = HBP__TABLE_REQUEST__INIT;
	Hbp__TableName name;

	hb_table_name_parse(table, &name);
	req.table_name = &name;
	req.has_nonce_group = req.has_nonce = 1;
	req.nonce_group = client->nonce_group;
	req.nonce = hb_master_nonce(client);
	hb_region_forget(client, table);
	return hb_master_procedure(client, method, &req.base);
}

hb_status
hb_admin_enable(hb_client *client, const char *table)
{
	return table_procedure(client, "EnableTable", table);
}

hb_status
hb_admin_disable(hb_client *client, const char *table)
{
	return table_procedure(client, "DisableTable", table);
}

static hb_status
disable_if_enabled(hb_client *client, const char *table)
{
	bool enabled;

	HB_TRY(hb_admin_is_enabled(client, table, &enabled));
	return enabled ? hb_admin_disable(client, table) : HB_OK;
}

hb_status
hb_admin_drop(hb_client *client, const char *table)
{
	HB_TRY(disable_if_enabled(client, table));
	return table_procedure(client, "DeleteTable", table);
}

hb_status
hb_admin_truncate(hb_client *client, const char *table, bool preserve_splits)
{
	Hbp__TruncateTableRequest req = HBP__TRUNCATE_TABLE_REQUEST__INIT;
	Hbp__TableName name;

	HB_TRY(disable_if_enabled(client, table));
	hb_table_name_parse(table, &name);
	req.table_name = &name;
	req.has_preserve_splits = req.has_nonce_group = req.has_nonce = 1;
	req.preserve_splits = preserve_splits;
	req.nonce_group = client->nonce_group;
	req.nonce = hb_master_nonce(client);
	hb_region_forget(client, table);
	return hb_master_procedure(client, "truncateTable", &req.base);
}

hb_status
hb_admin_flush(hb_client *client, const char *table)
{
	Hbp__FlushTableRequest req = HBP__FLUSH_TABLE_REQUEST__INIT;
	Hbp__TableName name;
	hb_status st;

	hb_table_name_parse(table, &name);
	req.table_name = &name;
	req.has_nonce_group = req.has_nonce = 1;
	req.nonce_group = client->nonce_group;
	req.nonce = hb_master_nonce(client);
	st = hb_master_procedure(client, "FlushTable", &req.base);
	/* HBase 2.5 has no such call */
	if (st == HB_REMOTE &&
		strstr(client->failure.error.message, "UnsupportedOperationException: FlushTable") != NULL)
		st = hb_master_joint_procedure(client, "flush-table-proc", table);
	return st;
}

/* ---- families ---- */

static hb_status
family_procedure(hb_client *client, const char *method, const char *table,
				 Hbp__ColumnFamilySchema *family)
{
	Hbp__ColumnRequest req = HBP__COLUMN_REQUEST__INIT;
	Hbp__TableName name;

	if (family == NULL)
		return no_memory(client);
	hb_table_name_parse(table, &name);
	req.table_name = &name;
	req.column_families = family;
	req.has_nonce_group = req.has_nonce = 1;
	req.nonce_group = client->nonce_group;
	req.nonce = hb_master_nonce(client);
	return hb_master_procedure(client, method, &req.base);
}

hb_status
hb_admin_add_family(hb_client *client, const char *table, const hb_family *family)
{
	hb_arena_reset(&client->request);
	return family_procedure(client, "AddColumn", table, hb_schema_of_family(client, family));
}

/* Copies the family's message into client->request. */
static Hbp__ColumnFamilySchema *
copy_family(hb_client *client, const Hbp__ColumnFamilySchema *from)
{
	size_t n = protobuf_c_message_get_packed_size(&from->base);
	uint8_t *p;

	hb_arena_reset(&client->request);
	p = hb_arena_alloc(&client->request, n + 1);
	if (p == NULL)
		return NULL;
	protobuf_c_message_pack(&from->base, p);
	return (Hbp__ColumnFamilySchema *) protobuf_c_message_unpack(
		&hbp__column_family_schema__descriptor, &client->request.allocator, n, p);
}

hb_status
hb_admin_modify_family(hb_client *client, const char *table, const hb_family *family)
{
	Hbp__TableSchema *schema;

	HB_TRY(schema_of(client, table, &schema));
	for (size_t i = 0; i < schema->n_column_families; i++)
	{
		Hbp__ColumnFamilySchema *f = schema->column_families[i];

		if (!hb_memory_equal(hb_from_pb(f->name), hb_text(family->name)))
			continue;
		f = copy_family(client, f);
		if (f == NULL || !hb_schema_change(client, f, family))
			return no_memory(client);
		return family_procedure(client, "ModifyColumn", table, f);
	}
	return hb_status_fail(client, HB_NOFAMILY, "table \"%s\" has no family \"%s\"", table,
						  family->name);
}

hb_status
hb_admin_drop_family(hb_client *client, const char *table, const char *family)
{
	Hbp__DeleteColumnRequest req = HBP__DELETE_COLUMN_REQUEST__INIT;
	Hbp__TableName name;

	hb_table_name_parse(table, &name);
	req.table_name = &name;
	req.column_name = hb_pb(hb_text(family));
	req.has_nonce_group = req.has_nonce = 1;
	req.nonce_group = client->nonce_group;
	req.nonce = hb_master_nonce(client);
	return hb_master_procedure(client, "DeleteColumn", &req.base);
}

/* ---- regions ---- */

/* Asks one region for a compaction. */
static hb_status
compact_region(hb_client *client, const hb_region *region, bool major)
{
	Hbp__CompactRegionRequest req = HBP__COMPACT_REGION_REQUEST__INIT;
	Hbp__RegionSpecifier specifier;
	Hbp__Nothing *nothing;
	hb_server server;
	hb_call call = {0};
	hb_status st;

	hb_region_server(region, &server);
	hb_region_specify(&specifier, region->name);
	req.region = &specifier;
	req.has_major = 1;
	req.major = major;
	st = hb_rpc_call(client, &call, &server, HB_RPC_ADMIN, "CompactRegion", &req.base,
					 &hbp__nothing__descriptor, &nothing);
	hb_rpc_free(client, &call);
	return st;
}

/* Copies a key to memory that lasts while regions are forgotten. */
static hb_status
copy_key(hb_client *client, hb_buffer *to, hb_bytes key)
{
	HB_TRY_MEMORY(client, hb_memory_set(&client->host, to, key));
	return HB_OK;
}

static hb_status
compact_all(hb_client *client, const char *table, bool major, hb_buffer *at)
{
	hb_retry retry;

	hb_rpc_begin(client, &retry);
	for (;;)
	{
		const hb_region *region;
		hb_status st = hb_region_find(client, table, hb_memory_bytes(at), false, &region);

		if (st == HB_OK)
			st = compact_region(client, region, major);
		if (st != HB_OK)
		{
			HB_TRY(hb_region_retry(client, &retry, table));
			continue;
		}
		if (region->end.len == 0)
			return HB_OK;
		HB_TRY(copy_key(client, at, region->end));
		hb_rpc_progress(client, &retry);
	}
}

hb_status
hb_admin_compact(hb_client *client, const char *table, bool major)
{
	hb_buffer at = {0};
	hb_status st = compact_all(client, table, major, &at);

	hb_memory_free(&client->host, &at);
	return st;
}

/* Finds the region with the key, as hbase:meta has it now. */
static hb_status
find_now(hb_client *client, const char *table, hb_bytes key, const hb_region **region)
{
	hb_retry retry;

	hb_region_forget(client, table);
	hb_rpc_begin(client, &retry);
	while (hb_region_find(client, table, key, false, region) != HB_OK)
		HB_TRY(hb_region_retry(client, &retry, table));
	return HB_OK;
}

/* Reads the number in a region's name: "table,start,NUMBER.encoded." */
static uint64_t
region_id(const hb_region *region)
{
	const uint8_t *p = region->name.data + region->name.len;
	uint64_t id = 0;

	while (p > region->name.data && p[-1] != ',')
		p--;
	for (; p < region->name.data + region->name.len && *p >= '0' && *p <= '9'; p++)
		id = id * 10 + (uint64_t) (*p - '0');
	return id;
}

hb_status
hb_admin_split(hb_client *client, const char *table, hb_bytes key)
{
	Hbp__SplitTableRegionRequest req = HBP__SPLIT_TABLE_REGION_REQUEST__INIT;
	Hbp__RegionInfo info = HBP__REGION_INFO__INIT;
	Hbp__TableName name;
	const hb_region *region;

	HB_TRY(find_now(client, table, key, &region));
	hb_table_name_parse(table, &name);
	info.region_id = region_id(region);
	info.table_name = &name;
	info.has_start_key = info.has_end_key = 1;
	info.start_key = hb_pb(region->start);
	info.end_key = hb_pb(region->end);
	info.has_offline = info.has_split = info.has_replica_id = 1;
	req.region_info = &info;
	req.has_split_row = 1;
	req.split_row = hb_pb(key);
	req.has_nonce_group = req.has_nonce = 1;
	req.nonce_group = client->nonce_group;
	req.nonce = hb_master_nonce(client);
	return hb_master_procedure(client, "SplitRegion", &req.base);
}

/* Asks for the live servers, and the version and id of the cluster if that is wanted.  Sets
 * *status, which lives until the operation ends. */
static hb_status
cluster_status(hb_client *client, bool version, const Hbp__ClusterStatus **status)
{
	Hbp__GetClusterStatusRequest req = HBP__GET_CLUSTER_STATUS_REQUEST__INIT;
	Hbp__GetClusterStatusResponse *response;
	uint32_t options[] = {OPTION_LIVE_SERVERS, OPTION_VERSION, OPTION_CLUSTER_ID};

	req.options = options;
	req.n_options = version ? 3 : 1;
	HB_TRY(hb_master_call(client, "GetClusterStatus", &req.base,
						  &hbp__get_cluster_status_response__descriptor, &response));
	*status = response->cluster_status;
	return HB_OK;
}

/* Finds the full name of a region server, with the moment of its start. */
static hb_status
full_name(hb_client *client, const char *host, int port, Hbp__ServerName **server)
{
	const Hbp__ClusterStatus *cluster;

	HB_TRY(cluster_status(client, false, &cluster));
	for (size_t i = 0; i < cluster->n_live_servers; i++)
	{
		*server = cluster->live_servers[i]->server;
		if ((*server)->port == (uint32_t) port &&
			hb_memory_equal(hb_from_pb((*server)->host_name), hb_text(host)))
			return HB_OK;
	}
	return hb_status_fail(client, HB_INVALID, "there is no region server %s:%d", host, port);
}

hb_status
hb_admin_move(hb_client *client, const char *table, hb_bytes key, const char *host, int port)
{
	Hbp__MoveRegionRequest req = HBP__MOVE_REGION_REQUEST__INIT;
	Hbp__RegionSpecifier specifier;
	Hbp__ServerName to = HBP__SERVER_NAME__INIT;
	Hbp__ServerName *server = NULL;
	Hbp__Nothing *nothing;
	const hb_region *region;

	if (host != NULL)
	{
		HB_TRY(full_name(client, host, port, &server));
		to.host_name = hb_pb(hb_text(host));
		to.has_port = to.has_start_code = 1;
		to.port = server->port;
		to.start_code = server->start_code;
		req.dest_server_name = &to;
	}
	HB_TRY(find_now(client, table, key, &region));
	hb_region_specify(&specifier, hb_text(region->encoded));
	specifier.type = 2;
	req.region = &specifier;
	return hb_master_call(client, "MoveRegion", &req.base, &hbp__nothing__descriptor, &nothing);
}

/* ---- the cluster ---- */

/* Returns true if the name of a region begins with "table,". */
static bool
is_of_table(hb_bytes name, const char *table)
{
	size_t n = strlen(table);

	return name.len > n && memcmp(name.data, table, n) == 0 && name.data[n] == ',';
}

hb_status
hb_admin_sizes(hb_client *client, const char *table,
			   bool (*each)(void *ctx, const hb_region_size *size), void *ctx)
{
	const Hbp__ClusterStatus *cluster;

	HB_TRY(cluster_status(client, false, &cluster));
	for (size_t i = 0; i < cluster->n_live_servers; i++)
	{
		const Hbp__ServerLoad *load = cluster->live_servers[i]->server_load;

		for (size_t k = 0; k < load->n_region_loads; k++)
		{
			const Hbp__RegionLoad *r = load->region_loads[k];
			hb_region_size size = {hb_from_pb(r->region_specifier->value), r->storefile_size_mb,
								   r->mem_store_size_mb, (int) r->storefiles};

			if (is_of_table(size.name, table) && !each(ctx, &size))
				return HB_OK;
		}
	}
	return HB_OK;
}

hb_status
hb_admin_cluster(hb_client *client, hb_cluster *cluster)
{
	const Hbp__ClusterStatus *s;

	HB_TRY(cluster_status(client, true, &s));
	memset(cluster, 0, sizeof *cluster);
	if (s->cluster_id != NULL)
		hb_status_text(cluster->id, sizeof cluster->id, hb_from_pb(s->cluster_id->cluster_id));
	if (s->hbase_version != NULL)
		hb_status_text(cluster->version, sizeof cluster->version,
					   hb_from_pb(s->hbase_version->version));
	cluster->servers = (int) s->n_live_servers;
	return HB_OK;
}
