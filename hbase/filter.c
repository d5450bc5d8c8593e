/* filter.c - filters as messages */
#include "hbase/filter.h"
#include "hbase/proto/filter.pb-c.h"

#define PACKAGE "org.apache.hadoop.hbase.filter."

struct hb_filters
{
	hb_client *client;
	hb_arena arena;
};

static const hb_filter failed_filter = {HBP__FILTER__INIT, true};

hb_status
hb_filters_new(hb_client *client, hb_filters **filters)
{
	hb_filters *f = client->host.alloc(client->host.ctx, sizeof *f);

	*filters = f;
	if (f == NULL)
		return hb_status_fail(client, HB_NOMEM, "out of memory");
	f->client = client;
	hb_arena_init(&f->arena, &client->host);
	return HB_OK;
}

void
hb_filters_free(hb_filters *filters)
{
	hb_client *client;

	if (filters == NULL)
		return;
	client = filters->client;
	hb_arena_free(&filters->arena);
	client->host.free(client->host.ctx, filters);
}

/* ---- packing ---- */

/* Packs the message into the arena; data NULL: out of memory. */
static ProtobufCBinaryData
packed(hb_arena *a, const ProtobufCMessage *m)
{
	ProtobufCBinaryData b = {protobuf_c_message_get_packed_size(m), NULL};

	b.data = hb_arena_alloc(a, b.len + 1);
	if (b.data != NULL)
		protobuf_c_message_pack(m, b.data);
	return b;
}

/* Fills in a filter of the class, with this message.  Returns false: out of memory. */
static bool
set_filter(hb_arena *a, Hbp__Filter *f, const char *name, const ProtobufCMessage *m)
{
	hbp__filter__init(f);
	f->name = hb_pb(hb_text(name));
	f->has_serialized_filter = 1;
	f->serialized_filter = packed(a, m);
	return f->serialized_filter.data != NULL;
}

static const hb_filter *
new_filter(hb_filters *f, const char *name, const ProtobufCMessage *m)
{
	hb_filter *filter = hb_arena_alloc(&f->arena, sizeof *filter);

	if (filter == NULL || !set_filter(&f->arena, &filter->message, name, m))
		return &failed_filter;
	return filter;
}

hb_status
hb_filter_serialized(hb_filters *f, const hb_filter *filter, hb_bytes *message)
{
	ProtobufCBinaryData b;

	if (filter->failed)
		return HB_NOMEM;
	b = packed(&f->arena, &filter->message.base);
	*message = hb_from_pb(b);
	return b.data == NULL ? HB_NOMEM : HB_OK;
}

/* ---- comparators ---- */

static const char *
comparator_class(hb_comparator_kind kind)
{
	switch (kind)
	{
		case HB_COMPARE_BINARY:
			return PACKAGE "BinaryComparator";
		case HB_COMPARE_PREFIX:
			return PACKAGE "BinaryPrefixComparator";
		case HB_COMPARE_LONG:
			return PACKAGE "LongComparator";
		case HB_COMPARE_NULL:
			return PACKAGE "NullComparator";
		case HB_COMPARE_SUBSTRING:
			return PACKAGE "SubstringComparator";
		case HB_COMPARE_REGEX:
			return PACKAGE "RegexStringComparator";
	}
	return "";
}

bool
hb_filter_comparator(hb_arena *a, hb_comparator comparator, Hbp__Comparator *to)
{
	Hbp__ByteArrayComparable bytes = HBP__BYTE_ARRAY_COMPARABLE__INIT;
	Hbp__ComparableComparator comparable = HBP__COMPARABLE_COMPARATOR__INIT;
	Hbp__SubstringComparator substring = HBP__SUBSTRING_COMPARATOR__INIT;
	Hbp__RegexStringComparator regex = HBP__REGEX_STRING_COMPARATOR__INIT;
	const ProtobufCMessage *m = &comparable.base;

	hbp__comparator__init(to);
	to->name = hb_pb(hb_text(comparator_class(comparator.kind)));
	bytes.has_value = 1;
	bytes.value = substring.substr = regex.pattern = hb_pb(comparator.value);
	comparable.comparable = &bytes;
	if (comparator.kind == HB_COMPARE_SUBSTRING)
		m = &substring.base;
	else if (comparator.kind == HB_COMPARE_REGEX)
	{
		regex.pattern_flags = 32; /* DOTALL */
		regex.charset = hb_pb(hb_text("UTF-8"));
		m = &regex.base;
	}
	to->has_serialized_comparator = 1;
	if (comparator.kind == HB_COMPARE_NULL)
		to->serialized_comparator = hb_pb((hb_bytes) {(const uint8_t *) "", 0});
	else
		to->serialized_comparator = packed(a, m);
	return to->serialized_comparator.data != NULL;
}

static const hb_filter *
comparing(hb_filters *f, const char *name, hb_compare op, hb_comparator value)
{
	Hbp__Comparator c;
	Hbp__CompareFilter compare = HBP__COMPARE_FILTER__INIT;
	Hbp__ComparingFilter m = HBP__COMPARING_FILTER__INIT;

	if (!hb_filter_comparator(&f->arena, value, &c))
		return &failed_filter;
	compare.compare_op = op;
	compare.comparator = &c;
	m.compare_filter = &compare;
	return new_filter(f, name, &m.base);
}

const hb_filter *
hb_filter_row(hb_filters *f, hb_compare op, hb_comparator value)
{
	return comparing(f, PACKAGE "RowFilter", op, value);
}

const hb_filter *
hb_filter_family(hb_filters *f, hb_compare op, hb_comparator value)
{
	return comparing(f, PACKAGE "FamilyFilter", op, value);
}

const hb_filter *
hb_filter_qualifier(hb_filters *f, hb_compare op, hb_comparator value)
{
	return comparing(f, PACKAGE "QualifierFilter", op, value);
}

const hb_filter *
hb_filter_value(hb_filters *f, hb_compare op, hb_comparator value)
{
	return comparing(f, PACKAGE "ValueFilter", op, value);
}

const hb_filter *
hb_filter_column_value(hb_filters *f, hb_bytes family, hb_bytes qualifier, hb_compare op,
					   hb_comparator value, bool if_missing, bool all_versions)
{
	Hbp__Comparator c;
	Hbp__SingleColumnValueFilter m = HBP__SINGLE_COLUMN_VALUE_FILTER__INIT;

	if (!hb_filter_comparator(&f->arena, value, &c))
		return &failed_filter;
	m.has_column_family = m.has_column_qualifier = 1;
	m.column_family = hb_pb(family);
	m.column_qualifier = hb_pb(qualifier);
	m.compare_op = op;
	m.comparator = &c;
	m.has_filter_if_missing = m.has_latest_version_only = 1;
	m.filter_if_missing = !if_missing;
	m.latest_version_only = !all_versions;
	return new_filter(f, PACKAGE "SingleColumnValueFilter", &m.base);
}

/* ---- lists ---- */

static bool
set_list(hb_arena *a, Hbp__Filter *to, bool any, Hbp__Filter **list, int n)
{
	Hbp__FilterList m = HBP__FILTER_LIST__INIT;

	m.operator_ = any ? 2 : 1;
	m.filters = list;
	m.n_filters = (size_t) n;
	return set_filter(a, to, PACKAGE "FilterList", &m.base);
}

const hb_filter *
hb_filter_list(hb_filters *f, bool any, const hb_filter *const *list, int n)
{
	Hbp__Filter **messages = hb_arena_alloc(&f->arena, (size_t) n * sizeof *messages);
	hb_filter *filter = hb_arena_alloc(&f->arena, sizeof *filter);

	if (messages == NULL || filter == NULL)
		return &failed_filter;
	for (int i = 0; i < n; i++)
	{
		if (list[i]->failed)
			return &failed_filter;
		messages[i] = (Hbp__Filter *) &list[i]->message;
	}
	return set_list(&f->arena, &filter->message, any, messages, n) ? filter : &failed_filter;
}

/* ---- ranges of rows ---- */

static bool
set_ranges(hb_arena *a, Hbp__Filter *to, const hb_range *ranges, int n)
{
	Hbp__RowRange *r = hb_arena_alloc(a, (size_t) n * sizeof *r);
	Hbp__RowRange **list = hb_arena_alloc(a, (size_t) n * sizeof *list);
	Hbp__MultiRowRangeFilter m = HBP__MULTI_ROW_RANGE_FILTER__INIT;

	if (r == NULL || list == NULL)
		return false;
	for (int i = 0; i < n; i++)
	{
		hbp__row_range__init(&r[i]);
		r[i].has_start_row = r[i].has_start_row_inclusive = 1;
		r[i].has_stop_row = r[i].has_stop_row_inclusive = 1;
		r[i].start_row = hb_pb(ranges[i].start);
		r[i].start_row_inclusive = !ranges[i].start_exclusive;
		r[i].stop_row = hb_pb(ranges[i].stop);
		r[i].stop_row_inclusive = ranges[i].stop_inclusive;
		list[i] = &r[i];
	}
	m.row_range_list = list;
	m.n_row_range_list = (size_t) n;
	return set_filter(a, to, PACKAGE "MultiRowRangeFilter", &m.base);
}

const hb_filter *
hb_filter_ranges(hb_filters *f, const hb_range *ranges, int n)
{
	hb_filter *filter = hb_arena_alloc(&f->arena, sizeof *filter);

	if (filter == NULL || !set_ranges(&f->arena, &filter->message, ranges, n))
		return &failed_filter;
	return filter;
}

Hbp__Filter *
hb_filter_in_ranges(hb_arena *arena, const hb_range *ranges, int n, const Hbp__Filter *and_filter)
{
	Hbp__Filter *f = hb_arena_alloc(arena, 2 * sizeof *f);
	Hbp__Filter *list[] = {f, (Hbp__Filter *) and_filter};

	if (f == NULL || !set_ranges(arena, f, ranges, n))
		return NULL;
	if (and_filter == NULL)
		return f;
	return set_list(arena, f + 1, false, list, 2) ? f + 1 : NULL;
}

/* ---- the others ---- */

static const hb_filter *
prefix_filter(hb_filters *f, const char *name, hb_bytes prefix)
{
	Hbp__PrefixFilter m = HBP__PREFIX_FILTER__INIT;

	m.prefix = hb_pb(prefix);
	return new_filter(f, name, &m.base);
}

const hb_filter *
hb_filter_prefix(hb_filters *f, hb_bytes prefix)
{
	return prefix_filter(f, PACKAGE "PrefixFilter", prefix);
}

const hb_filter *
hb_filter_column_prefix(hb_filters *f, hb_bytes prefix)
{
	return prefix_filter(f, PACKAGE "ColumnPrefixFilter", prefix);
}

const hb_filter *
hb_filter_column_prefixes(hb_filters *f, const hb_bytes *prefixes, int n)
{
	ProtobufCBinaryData *list = hb_arena_alloc(&f->arena, (size_t) n * sizeof *list);
	Hbp__MultipleColumnPrefixFilter m = HBP__MULTIPLE_COLUMN_PREFIX_FILTER__INIT;

	if (list == NULL)
		return &failed_filter;
	for (int i = 0; i < n; i++)
		list[i] = hb_pb(prefixes[i]);
	m.sorted_prefixes = list;
	m.n_sorted_prefixes = (size_t) n;
	return new_filter(f, PACKAGE "MultipleColumnPrefixFilter", &m.base);
}

const hb_filter *
hb_filter_column_range(hb_filters *f, hb_bytes min, bool min_inclusive, hb_bytes max,
					   bool max_inclusive)
{
	Hbp__ColumnRangeFilter m = HBP__COLUMN_RANGE_FILTER__INIT;

	m.has_min_column = min.data != NULL;
	m.min_column = hb_pb(min);
	m.has_max_column = max.data != NULL;
	m.max_column = hb_pb(max);
	m.has_min_column_inclusive = m.has_max_column_inclusive = 1;
	m.min_column_inclusive = min_inclusive;
	m.max_column_inclusive = max_inclusive;
	return new_filter(f, PACKAGE "ColumnRangeFilter", &m.base);
}

const hb_filter *
hb_filter_first_key(hb_filters *f)
{
	hb_filter *filter = hb_arena_alloc(&f->arena, sizeof *filter);

	if (filter == NULL)
		return &failed_filter;
	hbp__filter__init(&filter->message);
	filter->message.name = hb_pb(hb_text(PACKAGE "FirstKeyOnlyFilter"));
	filter->message.has_serialized_filter = 1;
	return filter;
}

const hb_filter *
hb_filter_key_only(hb_filters *f)
{
	Hbp__KeyOnlyFilter m = HBP__KEY_ONLY_FILTER__INIT;

	m.len_as_val = 0;
	return new_filter(f, PACKAGE "KeyOnlyFilter", &m.base);
}

const hb_filter *
hb_filter_page(hb_filters *f, int64_t n)
{
	Hbp__PageFilter m = HBP__PAGE_FILTER__INIT;

	m.page_size = n;
	return new_filter(f, PACKAGE "PageFilter", &m.base);
}

const hb_filter *
hb_filter_fuzzy(hb_filters *f, const hb_bytes *patterns, const hb_bytes *masks, int n)
{
	Hbp__BytesBytesPair *pairs = hb_arena_alloc(&f->arena, (size_t) n * sizeof *pairs);
	Hbp__BytesBytesPair **list = hb_arena_alloc(&f->arena, (size_t) n * sizeof *list);
	Hbp__FuzzyRowFilter m = HBP__FUZZY_ROW_FILTER__INIT;

	if (pairs == NULL || list == NULL)
		return &failed_filter;
	for (int i = 0; i < n; i++)
	{
		hbp__bytes_bytes_pair__init(&pairs[i]);
		pairs[i].first = hb_pb(patterns[i]);
		pairs[i].second = hb_pb(masks[i]);
		list[i] = &pairs[i];
	}
	m.fuzzy_keys_data = list;
	m.n_fuzzy_keys_data = (size_t) n;
	return new_filter(f, PACKAGE "FuzzyRowFilter", &m.base);
}
