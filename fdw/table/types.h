/*
 * types.h
 *		A foreign table's definition, parsed: table, columns, families.
 */
#ifndef WT_TYPES_H
#define WT_TYPES_H

#include "access/attnum.h"
#include "access/tupdesc.h"
#include "nodes/pg_list.h"

#include "engine/wide.h"

/* How a column's values are stored; encoding.c describes the bytes. */
typedef enum WtEncoding
{
	WT_ENC_TEXT,	/* text as it is */
	WT_ENC_BYTES,	/* bytea as it is */
	WT_ENC_BINARY,	/* big-endian, as HBase's Bytes.toBytes */
	WT_ENC_ORDERED, /* order-preserving */
	WT_ENC_UNSIGNED1,
	WT_ENC_UNSIGNED2,
	WT_ENC_UNSIGNED4,
	WT_ENC_UNSIGNED8,
	WT_ENC_REVERSE, /* 2^63-1 - x, big-endian */
	WT_ENC_HEX,
	WT_ENC_DECIMAL,
	WT_ENC_MD5,
	WT_ENC_SHA1,
	WT_ENC_COUNTER, /* binary, 8 bytes, may be incremented */
	WT_ENC_NESTED,	/* arrays, composites, ranges, multiranges: nested_form.c */
	WT_ENC_HLL		/* a count of distinct values: distinct.h */
} WtEncoding;

/* What a column shows. */
typedef enum WtRole
{
	WT_DROPPED, /* dropped column: always NULL */
	WT_KEY,
	WT_CELL,
	WT_MAP,			 /* a family, or its qualifiers with a prefix, as jsonb */
	WT_TIMESTAMP_OF, /* the timestamp of a cell */
	/* layout 'cells' */
	WT_CELL_FAMILY,
	WT_CELL_QUALIFIER,
	WT_CELL_TS,
	WT_CELL_VALUE,
	WT_CELL_VERSION, /* the version's number in its column, from 1 */
	WT_CELL_NO		 /* the version's number in its row, from 1 */
} WtRole;

/* What a column of a roll-up has of the rows of its group. */
typedef enum WtRollupKind
{
	WT_ROLLUP_GROUP, /* it is a key column: their group */
	WT_ROLLUP_COUNT,
	WT_ROLLUP_SUM,
	WT_ROLLUP_MIN,
	WT_ROLLUP_MAX,
	WT_ROLLUP_HLL /* how many distinct values there are */
} WtRollupKind;

/* What a column of an index has of a column of the indexed table. */
typedef enum WtSource
{
	WT_SOURCE_VALUE,
	WT_SOURCE_QUALIFIER, /* of an entry of a map, as the map shows it */
	WT_SOURCE_ENTRY		 /* the value of that entry */
} WtSource;

typedef struct WtColumn
{
	/* the SQL column */
	AttrNumber attno;
	char *name;
	Oid typid;	 /* base type of domains */
	bool nested; /* its values consist of other values (type_shape.h) */
	Oid domain;	 /* InvalidOid: the type is not a domain */
	int32 typmod;
	Oid collation;
	bool not_null;
	bool computed; /* GENERATED ALWAYS AS (expression) */
	bool identity; /* GENERATED ALWAYS AS IDENTITY */

	WtRole role;
	WtEncoding enc;

	/* the cells that it shows; of a key column with a digest: the cell with the original */
	int family;	 /* index into families; -1: none */
	uint8 *qual; /* qualifier; WT_MAP: prefix of qualifiers */
	uint32 qual_len;
	bool by_name;	  /* WT_CELL: no option names the cell; it is that of the column's name */
	int timestamp_of; /* WT_TIMESTAMP_OF: index of the column that the option names; -1: a cell */

	/* of an index: what it has of the indexed table */
	char *source;		/* its column; NULL: the table is no index */
	WtSource source_is; /* what of that column */

	/* of a roll-up: what it has of the rows of the group */
	WtRollupKind rollup;
	char *expr; /* its argument; of a key column its value; NULL: count(*) */

	/* WT_KEY */
	int part;		  /* position in the key, from 0 */
	bool desc;		  /* the bytes are inverted */
	bool stated_desc; /* option "key" says desc; encoding "reverse" makes desc its opposite */
	int fixed_len;	  /* bytes of the encoded part; 0: variable */
	int value_len;	  /* the same of the value; differs if it is nullable */
	bool optional;	  /* of an index: rows of the indexed table may have no value */
	bool nullable;	  /* such a column behind the first one: a byte in front says whether there is
					   * a value */
	bool delimited;	  /* a delimiter ends the part */
	char delimiter;	  /* '\0' keeps the order, because text does not contain it */
	bool last;		  /* last part of the key */
} WtColumn;

/* A family as the foreign table states it; options that are not stated are as the engine has
 * them. */
typedef struct WtFamily
{
	char *name;
	bool dropped;			 /* option "families" has null for it */
	bool implicit;			 /* not in option "families": named by a column, or the default */
	uint32 stated;			 /* options that are stated: WT_FAM_* */
	wide_family_options opt; /* defaults where not stated */
} WtFamily;

/* Bits of options, in the order of the names in family_option.c */
#define WT_FAM_VERSIONS		0x0001
#define WT_FAM_MIN_VERSIONS 0x0002
#define WT_FAM_TTL			0x0004
#define WT_FAM_KEEP_DELETED 0x0008
#define WT_FAM_BLOOM		0x0010
#define WT_FAM_BLOCK_SIZE	0x0020
#define WT_FAM_COMPRESSION	0x0040
#define WT_FAM_IN_MEMORY	0x0080
#define WT_FAM_COMPACTION	0x0100
#define WT_FAM_MERGE		0x0200

#define WT_MAX_FAMILIES 64 /* of one table */

/* What protects messages behind an authentication by Kerberos. */
typedef enum WtProtection
{
	WT_PROTECT_ANY, /* the strongest that is offered */
	WT_PROTECT_NOTHING,
	WT_PROTECT_INTEGRITY,
	WT_PROTECT_PRIVACY
} WtProtection;

/* Whether other tables follow from the rows of a table: known from its first change on. */
typedef enum WtDerived
{
	WT_DERIVED_UNKNOWN,
	WT_DERIVED_NONE,
	WT_DERIVED_SOME
} WtDerived;

/* Where the tables of a server are that other engines store: options of the server. */
typedef struct WtPlace
{
	char *nodes; /* "host:port,host:port"; NULL: not given */
	char *name_space;
	int timeout_ms;		 /* of one operation, with all attempts */
	int fetch_rows;		 /* of one answer to a scan */
	int fetch_bytes;	 /* the same */
	int write_buffer_kb; /* of a transaction's changes, which wait for its commit */
	bool immediate; /* atomic operations on rows in transaction blocks, which cannot be undone */
	bool kerberos;	/* authentication by it; the servers believe a name otherwise */
	char service[NAMEDATALEN]; /* of the servers' principals; empty: "hbase" */
	WtProtection protection;
} WtPlace;

struct WtEngine;

typedef struct WtTable
{
	Oid relid;
	Oid owner;
	Oid server;
	const struct WtEngine *engine; /* of the server (engine.h); NULL: the embedded one */
	WtPlace place;				   /* for other engines */
	uint64 serial;				   /* different for each parsed definition; caches compare it */

	/* the stored table */
	char *table_name; /* option table_name, or schema.relation; canonical, see table_name.h */
	bool name_given;  /* the option is there */

	/* columns */
	bool cells_layout;
	int natts;
	WtColumn *columns; /* by attno - 1 */
	int *order;		   /* indexes of all columns, by family and qualifier; NULL unless made by
						* wt_table */

	/* key */
	int nkeys;
	int *keys;		  /* indexes into columns, in key order */
	bool key_given;	  /* option "key" is there */
	int salt_buckets; /* 0: not salted */

	/* tables that other engines make */
	char *split_at;		 /* option split_at, see split_option.h; NULL: not given */
	bool versions_given; /* option versions is there */
	bool versions_exact; /* its value: deletes and versions are as in the embedded engine */

	/* indexes */
	char *index_of; /* option index_of: the indexed table; NULL: the table is no index */
	Oid source;		/* of an index or a roll-up: the table that it is of */
	int declared;	/* how many parts option key states; the others are appended */
	bool unique;	/* no two rows have the same values in these */
	bool build_online;
	char *progress;	 /* of what is being built (online_build.h), of an index the key up to which it
					  * is, in hexadecimal; NULL: it is complete */
	char *failed;	 /* the SQLSTATE with which that ended; NULL: it goes on */
	bool cell_ttl;	 /* of an index: cells of its columns may have a time to live of their own */
	bool immutable;	 /* rows are written once: of the table or of what is derived from it */
	char *rollup_of; /* option rollup_of: the table whose rows are counted; NULL: no roll-up */
	char *timezone;	 /* of a roll-up's expressions; NULL: not stated */
	bool follow_ttl; /* of a roll-up: rows that expire count no longer */
	WtDerived derived;
	uint64 derived_at; /* wt_table_invalidations() when that was found out */

	/* families */
	int nfamilies;
	WtFamily *families; /* without dropped ones; the first is that of columns that name none */
	int ndropped;
	char **dropped; /* names of dropped families */

	/* rows without other cells (marker.h) */
	bool marker_off;  /* option marker is off */
	bool marker;	  /* they get a marker */
	int marker_taken; /* index of the column that shows the marker's place; -1: none */

	/* other options */
	bool existence_projected;
	bool insert_error;
	bool bad_key_skip;
	bool updatable;
	bool truncatable;
	int batch_size;
	double startup_cost;
	double tuple_cost;
} WtTable;

/* A foreign table's definition before it is parsed, from the catalogs or from a statement. */
typedef struct WtDefinition
{
	Oid relid;
	Oid owner;
	Oid server;
	const char *name;
	const char *schema;
	TupleDesc desc; /* only its attributes are used */
	List *server_options;
	List *options;
	List **column_options; /* by attno - 1 */
	Oid source;			   /* the table that option index_of or rollup_of names; invalid: none */
	WtTable *indexed;	   /* the same, of an index only: others do not parse it */
} WtDefinition;

/* Returns true for an index or a roll-up: its rows follow from those of another table. */
static inline bool
wt_is_derived(const WtTable *t)
{
	return t->index_of != NULL || t->rollup_of != NULL;
}

static inline WtColumn *
wt_key_column(WtTable *t, int part)
{
	return &t->columns[t->keys[part]];
}

#endif /* WT_TYPES_H */
