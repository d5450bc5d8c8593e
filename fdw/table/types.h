/*
 * types.h
 *		A foreign table's definition, parsed.
 */
#ifndef WT_TYPES_H
#define WT_TYPES_H

#include "access/attnum.h"
#include "access/tupdesc.h"
#include "nodes/pg_list.h"

#include "engine/wide.h"

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
	WT_ENC_COUNTER /* binary, 8 bytes, may be incremented */
} WtEncoding;

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
	WT_CELL_VERSION,
	WT_CELL_NO /* the version's number in its row */
} WtRole;

typedef struct WtColumn
{
	WtRole role;
	AttrNumber attno;
	char *name;
	Oid typid;	/* base type of domains */
	Oid domain; /* the domain, InvalidOid: none */
	int32 typmod;
	Oid collation;
	bool not_null;
	WtEncoding enc;
	int family;	 /* index into families; -1 none */
	uint8 *qual; /* CELL, TIMESTAMP_OF: qualifier; MAP: prefix */
	uint32 qual_len;
	bool by_name; /* CELL: no option says which cell, the column's name and the first family do */
	/* TIMESTAMP_OF: index of the SQL column that the option names, -1 when it names a cell */
	int timestamp_of;
	/* KEY */
	int part;		  /* position in the key, 0-based */
	bool desc;		  /* bytes are inverted */
	bool stated_desc; /* option key says desc; encoding "reverse" turns desc around */
	int fixed_len;	  /* bytes of the encoded part, 0 = variable */
	bool delimited;	  /* joined to what follows by this byte: */
	char delimiter;	  /* may be 00, which no text contains: order is kept then */
	bool last;		  /* nothing follows it in the key */
} WtColumn;

/* A family as the foreign table states it; what is not stated is as the engine has it. */
typedef struct WtFamily
{
	char *name;
	bool dropped;			 /* "name": null */
	bool implicit;			 /* not in option families: named by a column, or the default d */
	uint32 stated;			 /* bit set of WT_FAM_* */
	wide_family_options opt; /* defaults where not stated */
} WtFamily;

#define WT_FAM_VERSIONS		0x0001
#define WT_FAM_MIN_VERSIONS 0x0002
#define WT_FAM_TTL			0x0004
#define WT_FAM_KEEP_DELETED 0x0008
#define WT_FAM_BLOOM		0x0010
#define WT_FAM_BLOCK_SIZE	0x0020
#define WT_FAM_COMPRESSION	0x0040
#define WT_FAM_IN_MEMORY	0x0080
#define WT_FAM_COMPACTION	0x0100

#define WT_MAX_FAMILIES 64 /* of one table */

typedef struct WtTable
{
	Oid relid;
	uint64 serial;	  /* another number for each parsed definition, so that caches notice */
	char *table_name; /* the option, or schema.relation */
	bool name_given;  /* the option was there */
	bool cells_layout;
	int natts; /* columns[natts], by attno - 1 */
	WtColumn *columns;
	/* indexes of all columns, those with cells by family and qualifier; by wt_table alone */
	int *order;
	int nkeys;
	bool key_given; /* option key was there */
	int *keys;		/* indexes into columns, in key order */
	int nfamilies;
	WtFamily *families; /* [0] is the first family; dropped ones are not here */
	int ndropped;
	char **dropped;	  /* names stated as null */
	int salt_buckets; /* 0 = none */
	bool existence_projected;
	bool insert_error;
	bool bad_key_skip;
	bool updatable;
	bool truncatable;
	int batch_size;
	double startup_cost;
	double tuple_cost;
} WtTable;

/* What a foreign table's definition says, wherever it was read. */
typedef struct WtDefinition
{
	Oid relid;
	const char *name;
	const char *schema;
	TupleDesc desc; /* attributes only */
	List *server_options;
	List *options;
	List **column_options; /* by attno - 1 */
} WtDefinition;

static inline WtColumn *
wt_key_column(WtTable *t, int part)
{
	return &t->columns[t->keys[part]];
}

#endif /* WT_TYPES_H */
