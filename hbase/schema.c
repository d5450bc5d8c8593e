/* schema.c - tables and families as messages, and back */
#include "hbase/schema.h"
#include "hbase/table_name.h"

/* ---- to messages ---- */

static bool
make_attributes(hb_arena *a, const hb_attribute *from, int n, Hbp__BytesBytesPair ***to)
{
	Hbp__BytesBytesPair *pairs = hb_arena_alloc(a, (size_t) n * sizeof *pairs);

	*to = hb_arena_alloc(a, (size_t) n * sizeof **to);
	if (pairs == NULL || *to == NULL)
		return false;
	for (int i = 0; i < n; i++)
	{
		hbp__bytes_bytes_pair__init(&pairs[i]);
		pairs[i].first = hb_pb(hb_text(from[i].key));
		pairs[i].second = hb_pb(hb_text(from[i].value));
		(*to)[i] = &pairs[i];
	}
	return true;
}

static bool
make_configuration(hb_arena *a, const hb_attribute *from, int n, Hbp__NameBytesPair ***to)
{
	Hbp__NameBytesPair *pairs = hb_arena_alloc(a, (size_t) n * sizeof *pairs);

	*to = hb_arena_alloc(a, (size_t) n * sizeof **to);
	if (pairs == NULL || *to == NULL)
		return false;
	for (int i = 0; i < n; i++)
	{
		hbp__name_bytes_pair__init(&pairs[i]);
		pairs[i].name = hb_pb(hb_text(from[i].key));
		pairs[i].has_value = 1;
		pairs[i].value = hb_pb(hb_text(from[i].value));
		(*to)[i] = &pairs[i];
	}
	return true;
}

Hbp__ColumnFamilySchema *
hb_schema_of_family(hb_client *client, const hb_family *family)
{
	hb_arena *a = &client->request;
	Hbp__ColumnFamilySchema *m = hb_arena_alloc(a, sizeof *m);

	if (m == NULL)
		return NULL;
	hbp__column_family_schema__init(m);
	m->name = hb_pb(hb_text(family->name));
	m->n_attributes = (size_t) family->n_attributes;
	m->n_configuration = (size_t) family->n_configuration;
	if (!make_attributes(a, family->attributes, family->n_attributes, &m->attributes) ||
		!make_configuration(a, family->configuration, family->n_configuration, &m->configuration))
		return NULL;
	return m;
}

Hbp__TableSchema *
hb_schema_of_table(hb_client *client, const hb_table *table)
{
	hb_arena *a = &client->request;
	Hbp__TableSchema *m = hb_arena_alloc(a, sizeof *m);
	Hbp__TableName *name = hb_arena_alloc(a, sizeof *name);

	if (m == NULL || name == NULL)
		return NULL;
	hbp__table_schema__init(m);
	hb_table_name_parse(table->name, name);
	m->table_name = name;
	m->n_attributes = (size_t) table->n_attributes;
	m->n_configuration = (size_t) table->n_configuration;
	m->n_column_families = (size_t) table->n_families;
	m->column_families = hb_arena_alloc(a, m->n_column_families * sizeof *m->column_families);
	if (m->column_families == NULL ||
		!make_attributes(a, table->attributes, table->n_attributes, &m->attributes) ||
		!make_configuration(a, table->configuration, table->n_configuration, &m->configuration))
		return NULL;
	for (int i = 0; i < table->n_families; i++)
	{
		m->column_families[i] = hb_schema_of_family(client, &table->families[i]);
		if (m->column_families[i] == NULL)
			return NULL;
	}
	return m;
}

static bool
set_attribute(hb_arena *a, Hbp__ColumnFamilySchema *f, Hbp__BytesBytesPair *pair)
{
	Hbp__BytesBytesPair **more;

	for (size_t i = 0; i < f->n_attributes; i++)
	{
		if (hb_memory_equal(hb_from_pb(f->attributes[i]->first), hb_from_pb(pair->first)))
		{
			f->attributes[i] = pair;
			return true;
		}
	}
	more = hb_arena_alloc(a, (f->n_attributes + 1) * sizeof *more);
	if (more == NULL)
		return false;
	if (f->n_attributes > 0)
		memcpy(more, f->attributes, f->n_attributes * sizeof *more);
	more[f->n_attributes++] = pair;
	f->attributes = more;
	return true;
}

static bool
set_configuration(hb_arena *a, Hbp__ColumnFamilySchema *f, Hbp__NameBytesPair *pair)
{
	Hbp__NameBytesPair **more;

	for (size_t i = 0; i < f->n_configuration; i++)
	{
		if (hb_memory_equal(hb_from_pb(f->configuration[i]->name), hb_from_pb(pair->name)))
		{
			f->configuration[i] = pair;
			return true;
		}
	}
	more = hb_arena_alloc(a, (f->n_configuration + 1) * sizeof *more);
	if (more == NULL)
		return false;
	if (f->n_configuration > 0)
		memcpy(more, f->configuration, f->n_configuration * sizeof *more);
	more[f->n_configuration++] = pair;
	f->configuration = more;
	return true;
}

bool
hb_schema_change(hb_client *client, Hbp__ColumnFamilySchema *family, const hb_family *change)
{
	Hbp__ColumnFamilySchema *m = hb_schema_of_family(client, change);

	if (m == NULL)
		return false;
	for (size_t i = 0; i < m->n_attributes; i++)
	{
		if (!set_attribute(&client->request, family, m->attributes[i]))
			return false;
	}
	for (size_t i = 0; i < m->n_configuration; i++)
	{
		if (!set_configuration(&client->request, family, m->configuration[i]))
			return false;
	}
	return true;
}

/* ---- and back ---- */

static const char *
to_text(hb_arena *a, ProtobufCBinaryData b)
{
	return (const char *) hb_arena_copy(a, hb_from_pb(b));
}

static const hb_attribute *
read_attributes(hb_arena *a, Hbp__BytesBytesPair **from, size_t n)
{
	hb_attribute *to = hb_arena_alloc(a, (n + 1) * sizeof *to);

	for (size_t i = 0; to != NULL && i < n; i++)
		to[i] = (hb_attribute) {to_text(a, from[i]->first), to_text(a, from[i]->second)};
	return to;
}

static const hb_attribute *
read_configuration(hb_arena *a, Hbp__NameBytesPair **from, size_t n)
{
	hb_attribute *to = hb_arena_alloc(a, (n + 1) * sizeof *to);

	for (size_t i = 0; to != NULL && i < n; i++)
		to[i] = (hb_attribute) {to_text(a, from[i]->name), to_text(a, from[i]->value)};
	return to;
}

const hb_table *
hb_schema_to_table(hb_client *client, const Hbp__TableSchema *schema)
{
	hb_arena *a = &client->answer;
	hb_table *t = hb_arena_alloc(a, sizeof *t);
	hb_family *f = hb_arena_alloc(a, (schema->n_column_families + 1) * sizeof *f);

	if (t == NULL || f == NULL)
		return NULL;
	t->name = schema->table_name == NULL ? "" : hb_table_name_text(a, schema->table_name);
	t->families = f;
	t->n_families = (int) schema->n_column_families;
	t->attributes = read_attributes(a, schema->attributes, schema->n_attributes);
	t->n_attributes = (int) schema->n_attributes;
	t->configuration = read_configuration(a, schema->configuration, schema->n_configuration);
	t->n_configuration = (int) schema->n_configuration;
	for (int i = 0; i < t->n_families; i++)
	{
		const Hbp__ColumnFamilySchema *m = schema->column_families[i];

		f[i].name = to_text(a, m->name);
		f[i].attributes = read_attributes(a, m->attributes, m->n_attributes);
		f[i].n_attributes = (int) m->n_attributes;
		f[i].configuration = read_configuration(a, m->configuration, m->n_configuration);
		f[i].n_configuration = (int) m->n_configuration;
	}
	return a->failed ? NULL : t;
}
