/*
 * hbase.h - public interface and manual of the client of Apache HBase.
 *
 * The client speaks HBase's own RPC to any cluster from 2.5 on.  It needs no ZooKeeper, no gateway
 * and no Java: every master and every region server can say where the rest of the cluster is.  It
 * knows nothing of PostgreSQL; its host (the program that it is part of) gives it callbacks.
 *
 * RULES
 *
 *  - A client is used by one thread, and by one process: after a fork the child makes its own.
 *  - No function longjmps, and no callback may.  A function that can fail returns an hb_status;
 *    hb_client_error() describes the last failure.
 *  - Waiting is done by host->wait only.  When that returns -1, the function returns
 *    HB_INTERRUPTED at once; connections on which an answer is due are closed, since it may still
 *    come.  The client stays usable.  Exceptions, which block: names of hosts are looked up with
 *    getaddrinfo, and the library of Kerberos asks for tickets.
 *  - A call that fails is repeated until it succeeds, cannot succeed, or options.timeout_ms is
 * over.
 *    Reads and puts are simply repeated; increments, appends and checks carry a nonce by which the
 *    servers recognise a repetition.
 *  - Keys, qualifiers and values are any bytes.  A key has 1 to 32767 bytes.
 *  - Timestamps are milliseconds since 1970-01-01 UTC, as HBase has them.
 *  - A table is named "table" or "namespace:table".
 *
 * LIFE OF A SCAN
 *
 *     hb_scan_open(client, &spec, &scan)
 *     while ((st = hb_scan_next(scan, &row)) == HB_OK) ...     row: valid until the next call
 *     hb_scan_close(scan)
 */
#ifndef HBASE_H
#define HBASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---------------------------------------------------------------- status */

typedef enum hb_status
{
	HB_OK = 0,
	HB_END,			/* no more rows */
	HB_INTERRUPTED, /* host->wait returned -1 */
	HB_NOMEM,
	HB_CONNECT,	  /* no node of the cluster answers */
	HB_LOST,	  /* the connection or the region was lost again and again until the timeout */
	HB_TIMEOUT,	  /* no answer within the timeout */
	HB_NOTABLE,	  /* the table does not exist */
	HB_NOFAMILY,  /* the table has no such family */
	HB_DISABLED,  /* the table is disabled */
	HB_EXISTS,	  /* the table exists */
	HB_DENIED,	  /* access denied */
	HB_AUTH,	  /* authentication failed: no ticket, or the server refuses it, or demands one */
	HB_BUSY,	  /* overload or quota, until the timeout */
	HB_NOTNUMBER, /* increment of a cell that is not 8 bytes long */
	HB_TOOLARGE,  /* a request, cell or answer is beyond a limit */
	HB_INVALID,	  /* an argument is wrong */
	HB_PROTOCOL,  /* the server's bytes are not what the protocol says */
	HB_REMOTE	  /* another exception of the server */
} hb_status;

/* Returns the name of the status, "HB_OK". */
extern const char *hb_status_name(hb_status status);

/* The last failure.  Texts are cut where they are too long, and end with a zero byte. */
typedef struct hb_error
{
	hb_status status;
	char server[280];	  /* "host:port"; empty: no server was involved */
	char java_class[160]; /* the exception of the server, or empty */
	char message[512];	  /* the first line of its message, or empty */
	char text[640];		  /* one line about the failure */
} hb_error;

/* ----------------------------------------------------------------- bytes */

typedef struct hb_bytes
{
	const uint8_t *data;
	size_t len;
} hb_bytes;

#define HB_MAX_ROW	  32767
#define HB_MAX_FAMILY 255

/* ------------------------------------------------------------------ host */

/* A socket to wait for. */
typedef struct hb_wait
{
	int fd;
	bool readable; /* wait until it can be read; an error or end of file counts */
	bool writable;
} hb_wait;

typedef enum hb_level
{
	HB_LEVEL_DEBUG,
	HB_LEVEL_WARNING
} hb_level;

/* Callbacks of the host.  No callback may longjmp. */
typedef struct hb_host
{
	void *ctx;
	/*
	 * Waits until one of n sockets is ready, at most timeout_ms milliseconds.  n may be 0.
	 * Returns: > 0 when one is ready, 0 when time is over, -1 if the client must give up.  May
	 * return > 0 without a reason.
	 */
	int (*wait)(void *ctx, const hb_wait *sockets, int n, int timeout_ms);
	/* As malloc, realloc (p may be NULL) and free (p may be NULL); NULL means out of memory. */
	void *(*alloc)(void *ctx, size_t size);
	void *(*realloc)(void *ctx, void *p, size_t size);
	void (*free)(void *ctx, void *p);
	/* Returns microseconds of a clock that does not go back. */
	int64_t (*now_us)(void *ctx);
	/* Takes a message for the log.  May be NULL. */
	void (*report)(void *ctx, hb_level level, const char *text);
} hb_host;

/* ---------------------------------------------------------------- client */

typedef struct hb_client hb_client;

/* What is done with messages after the authentication, as hbase.rpc.protection has it. */
typedef enum hb_protection
{
	HB_PROTECTION_ANY = 0,			  /* the strongest that the server offers */
	HB_PROTECTION_AUTHENTICATION = 1, /* nothing */
	HB_PROTECTION_INTEGRITY = 2,	  /* changes are detected */
	HB_PROTECTION_PRIVACY = 4		  /* they are encrypted, too */
} hb_protection;

/*
 * Authentication by Kerberos (SASL, GSSAPI).  Server and client prove who they are; a server that
 * does not authenticate its clients is refused.
 */
typedef struct hb_kerberos
{
	const char *service;   /* of the servers' principals service/host@REALM; "hbase" */
	const char *principal; /* the client's; the first of the keytab, or the cache's */
	const char *keytab;	   /* tickets are got with it, and kept in memory of this client; or: */
	const char *cache;	   /* tickets are taken from it; neither: the process's own credentials */
	hb_protection protection;
} hb_kerberos;

/* Zero or NULL: the default. */
typedef struct hb_options
{
	const char *nodes;			 /* "host:port,host:port": masters or region servers; required */
	const char *user;			 /* the name that servers believe; "root"; not with Kerberos */
	const hb_kerberos *kerberos; /* NULL: no authentication (SIMPLE) */
	int timeout_ms;				 /* a whole operation with its repetitions; 60000 */
	int call_timeout_ms;		 /* one call, before another server is tried; timeout_ms / 3 */
	int connect_timeout_ms;		 /* how long no node may answer before HB_CONNECT; 5000 */
	size_t max_response;		 /* the largest answer that is read, in bytes; 256 MB */
	size_t max_request;			 /* of a write to one server, in bytes of cells; 2 MB */
	int max_rows;				 /* of a write or get to one server; 5000 */
} hb_options;

/*
 * Makes a client; nothing is sent.  The options and the host are copied, not what host->ctx points
 * to.
 * Errors: HB_NOMEM; HB_INVALID if nodes is not a list of host:port.
 */
extern hb_status hb_client_new(const hb_options *options, const hb_host *host, hb_client **client);

/* Returns true if the client was built with Kerberos.  Else its use fails with HB_AUTH. */
extern bool hb_client_has_kerberos(void);

/* Returns the name under which the servers know the client; with Kerberos the principal, which is
 * empty before the first authentication. */
extern const char *hb_client_user(const hb_client *client);

/* Closes all connections and frees the client; its scans must have been closed.  NULL is
 * allowed. */
extern void hb_client_free(hb_client *client);

/* Closes the connections that wait for no answer. */
extern void hb_client_close_idle(hb_client *client);

/* Sets options.timeout_ms for the operations that follow. */
extern void hb_client_set_timeout(hb_client *client, int timeout_ms);

/* Returns the last failure of this client; never NULL.  Valid until the next call. */
extern const hb_error *hb_client_error(const hb_client *client);

/* --------------------------------------------------------------- regions */

/* A region of a table.  Its rows are those from start on, before end. */
typedef struct hb_region
{
	hb_bytes start;		 /* empty: from the table's first row */
	hb_bytes end;		 /* empty: to its last row */
	hb_bytes name;		 /* in the form of hbase:meta */
	const char *encoded; /* the name of its directory: 32 characters */
	const char *host;	 /* "" while no server has it */
	int port;
} hb_region;

/*
 * Calls each() for each region of the table, in order of keys, until it returns false.  The
 * region is valid in the call only.
 * refresh: ask hbase:meta also if the regions are known.
 * Errors: HB_NOTABLE and those of connections.
 */
extern hb_status hb_table_regions(hb_client *client, const char *table, bool refresh,
								  bool (*each)(void *ctx, const hb_region *region), void *ctx);

/* --------------------------------------------------------------- filters */

typedef struct hb_filters hb_filters; /* memory in which filters are built */
typedef struct hb_filter hb_filter;	  /* one of them; not changed any more */

typedef enum hb_compare
{
	HB_LESS = 0,
	HB_LESS_OR_EQUAL,
	HB_EQUAL,
	HB_NOT_EQUAL,
	HB_GREATER_OR_EQUAL,
	HB_GREATER
} hb_compare;

/* How a value is compared with cells, keys or qualifiers. */
typedef enum hb_comparator_kind
{
	HB_COMPARE_BINARY,	  /* all bytes, unsigned */
	HB_COMPARE_PREFIX,	  /* as many bytes as value has */
	HB_COMPARE_LONG,	  /* both are 8 bytes, big-endian, signed */
	HB_COMPARE_NULL,	  /* EQUAL: the value is absent */
	HB_COMPARE_SUBSTRING, /* EQUAL: value is part of it; case does not count */
	HB_COMPARE_REGEX	  /* EQUAL: value is a pattern of Java's */
} hb_comparator_kind;

typedef struct hb_comparator
{
	hb_comparator_kind kind;
	hb_bytes value;
} hb_comparator;

/* A range of rows. */
typedef struct hb_range
{
	hb_bytes start; /* empty: from the first row */
	hb_bytes stop;	/* empty: to the last row */
	bool start_exclusive;
	bool stop_inclusive;
} hb_range;

/*
 * Makes a place for filters.  The client must live as long.
 * Errors: HB_NOMEM.
 *
 * The functions below return a filter that lives as long as the place, and copy what they are
 * given.  They never return NULL; when memory was short, the operation that uses the filter
 * returns HB_NOMEM.
 */
extern hb_status hb_filters_new(hb_client *client, hb_filters **filters);
extern void hb_filters_free(hb_filters *filters);

/* Rows and cells that all (or one, if any) of n filters let through. */
extern const hb_filter *hb_filter_list(hb_filters *f, bool any, const hb_filter *const *list,
									   int n);
/*
 * Rows whose column compares so with the value.
 * if_missing: also rows without this column.  all_versions: one of the versions that are read
 * will do, else the latest.  The column must be among those that are read.
 */
extern const hb_filter *hb_filter_column_value(hb_filters *f, hb_bytes family, hb_bytes qualifier,
											   hb_compare op, hb_comparator value, bool if_missing,
											   bool all_versions);
/* Rows whose key compares so. */
extern const hb_filter *hb_filter_row(hb_filters *f, hb_compare op, hb_comparator value);
/* Cells whose family, qualifier or value compares so. */
extern const hb_filter *hb_filter_family(hb_filters *f, hb_compare op, hb_comparator value);
extern const hb_filter *hb_filter_qualifier(hb_filters *f, hb_compare op, hb_comparator value);
extern const hb_filter *hb_filter_value(hb_filters *f, hb_compare op, hb_comparator value);
/* Rows whose key begins so. */
extern const hb_filter *hb_filter_prefix(hb_filters *f, hb_bytes prefix);
/* Cells whose qualifier begins so, or with one of n prefixes. */
extern const hb_filter *hb_filter_column_prefix(hb_filters *f, hb_bytes prefix);
extern const hb_filter *hb_filter_column_prefixes(hb_filters *f, const hb_bytes *prefixes, int n);
/* Cells whose qualifier is in the range; data NULL: open. */
extern const hb_filter *hb_filter_column_range(hb_filters *f, hb_bytes min, bool min_inclusive,
											   hb_bytes max, bool max_inclusive);
/* The first cell of each row. */
extern const hb_filter *hb_filter_first_key(hb_filters *f);
/* Cells without values. */
extern const hb_filter *hb_filter_key_only(hb_filters *f);
/* At most n rows of each region. */
extern const hb_filter *hb_filter_page(hb_filters *f, int64_t n);
/* Rows in one of the ranges, which are sorted and do not overlap. */
extern const hb_filter *hb_filter_ranges(hb_filters *f, const hb_range *ranges, int n);
/*
 * Rows whose key is as one of n patterns.  masks[i] is as long as patterns[i]: 0 where the byte of
 * the key must be the pattern's, 1 where any byte will do.  Bytes behind the pattern are free.
 */
extern const hb_filter *hb_filter_fuzzy(hb_filters *f, const hb_bytes *patterns,
										const hb_bytes *masks, int n);

/* Makes the serialized message `Filter`, which lives as long as the filter.  Errors: HB_NOMEM. */
extern hb_status hb_filter_serialized(hb_filters *f, const hb_filter *filter, hb_bytes *message);

/* ----------------------------------------------------------------- reads */

/* Types of cells.  Only raw scans return others than puts. */
typedef enum hb_cell_type
{
	HB_CELL_PUT = 4,
	HB_CELL_DELETE = 8,					/* of one version */
	HB_CELL_DELETE_FAMILY_VERSION = 10, /* of all cells of a family with this timestamp */
	HB_CELL_DELETE_COLUMN = 12,			/* of the versions up to this timestamp */
	HB_CELL_DELETE_FAMILY = 14			/* of all cells of a family up to this timestamp */
} hb_cell_type;

typedef struct hb_cell
{
	hb_bytes family;
	hb_bytes qualifier;
	hb_bytes value;
	int64_t timestamp; /* milliseconds */
	uint8_t type;	   /* hb_cell_type */
} hb_cell;

/* A row: its cells in order of family, qualifier (unsigned bytes), and timestamp, newest first. */
typedef struct hb_row
{
	hb_bytes key;
	const hb_cell *cells;
	int n_cells; /* 0, in results of gets: there is no such row */
} hb_row;

/* A family that is read: wholly if n_qualifiers is 0, else these columns. */
typedef struct hb_columns
{
	hb_bytes family;
	const hb_bytes *qualifiers;
	int n_qualifiers;
} hb_columns;

/* What is read of a row. */
typedef struct hb_read
{
	const char *table;
	const hb_columns *families; /* NULL: all families */
	int n_families;
	int max_versions; /* of each column; 0: 1 */
	int family_cells; /* at most so many cells of each family of a row, the first ones; 0: all */
	bool time_range;  /* only timestamps with min_time <= t < max_time */
	int64_t min_time;
	int64_t max_time;
	const hb_filter *filter; /* or NULL */
	bool no_cache;			 /* do not keep the blocks in the servers' cache */
} hb_read;

typedef struct hb_scan_spec
{
	hb_read read;
	/*
	 * Ranges of rows; none: all rows.  Several are sorted and do not overlap.  start is the lower
	 * end also when reversed is set.
	 */
	const hb_range *ranges;
	int n_ranges;
	const hb_range
		*within;		   /* only rows in this range, too: a region, for parallel scans; or NULL */
	bool reversed;		   /* from the highest key to the lowest, ranges as well */
	bool raw;			   /* delete markers and what they hide, too */
	int64_t limit;		   /* at most so many rows; 0: all */
	int rows_per_call;	   /* 0: 10000 */
	size_t bytes_per_call; /* about; 0: 2 MB */
	bool no_read_ahead;	   /* do not ask for more before it is needed; else the first call asks for
							* 1000 rows at most */
} hb_scan_spec;

typedef struct hb_scan hb_scan;

typedef struct hb_scan_stats
{
	int64_t calls;	 /* answers of servers */
	int64_t rows;	 /* handed out */
	int64_t cells;	 /* of these rows */
	int64_t bytes;	 /* of answers */
	int64_t regions; /* scanners opened */
	int64_t retries; /* of these, opened again after a failure */
} hb_scan_stats;

/*
 * Makes a scan; nothing is sent before the first hb_scan_next.  The spec and all that it points to
 * are copied, but for the filter, which must live as long as the scan.
 * Errors: HB_NOMEM, HB_INVALID.
 */
extern hb_status hb_scan_open(hb_client *client, const hb_scan_spec *spec, hb_scan **scan);

/*
 * Returns the next row.  It lives until the next call on this scan.  No row comes twice or is left
 * out when regions move, split or merge, or servers end.  A row is read as of one moment as long
 * as it fits into one answer; rows are not of one moment together.
 * Errors: HB_END behind the last row; HB_NOTABLE, HB_NOFAMILY, HB_DISABLED, those of connections.
 * After an error other than HB_END the scan can be continued or closed.
 */
extern hb_status hb_scan_next(hb_scan *scan, hb_row *row);

/*
 * Begins again, with other ranges (n_ranges 0: all rows) within another range.  ranges NULL: with
 * those that it has, and within is not looked at.  The limit counts from the beginning.
 * Errors: HB_NOMEM, HB_INVALID.
 */
extern hb_status hb_scan_restart(hb_scan *scan, const hb_range *ranges, int n_ranges,
								 const hb_range *within);

extern const hb_scan_stats *hb_scan_statistics(const hb_scan *scan);

/* Ends the scan; NULL is allowed.  A server that still has a scanner is told so without waiting
 * for its answer. */
extern void hb_scan_close(hb_scan *scan);

/* Rows that a get or row operation returned. */
typedef struct hb_rows
{
	int n;
	hb_row *rows;
} hb_rows;

/*
 * Reads n rows by their keys, from all servers at once.  rows->rows[i] belongs to keys[i]; keys
 * may come more than once and in any order.  A key that is not there has no cells.
 * The caller releases *rows with hb_rows_free.
 * Errors: as hb_scan_next, but for HB_END.
 */
extern hb_status hb_get_many(hb_client *client, const hb_read *read, const hb_bytes *keys, int n,
							 hb_rows **rows);

/* NULL is allowed. */
extern void hb_rows_free(hb_client *client, hb_rows *rows);

/* ---------------------------------------------------------------- writes */

#define HB_TS_LATEST INT64_MAX /* the server's clock; of a delete: all up to then */

typedef enum hb_change_kind
{
	HB_PUT,
	HB_DELETE_VERSION,		  /* the version with the timestamp; HB_TS_LATEST: the latest one */
	HB_DELETE_COLUMN,		  /* all versions up to the timestamp */
	HB_DELETE_FAMILY,		  /* all cells of the family up to the timestamp; no qualifier */
	HB_DELETE_FAMILY_VERSION, /* all cells of the family with the timestamp; no qualifier */
	HB_INCREMENT,			  /* value: the amount, 8 bytes big-endian; in row operations only */
	HB_APPEND				  /* value: what is put behind; in row operations only */
} hb_change_kind;

typedef struct hb_change
{
	hb_change_kind kind;
	hb_bytes family;
	hb_bytes qualifier;
	hb_bytes value;
	int64_t timestamp; /* milliseconds, or HB_TS_LATEST */
	int64_t ttl_ms;	   /* of a put; 0: the family's */
} hb_change;

/* The changes of one row.  They are made together, or not at all. */
typedef struct hb_mutation
{
	hb_bytes key;
	const hb_change *changes;
	int n_changes;
} hb_mutation;

typedef struct hb_mutate_result
{
	int64_t written;	/* rows that servers have acknowledged */
	int64_t failed_row; /* index of the row that failed; -1: none, or not one row's fault */
} hb_mutate_result;

/*
 * Writes n rows, each of them atomically, to all servers at once.
 * Requires: no key twice.
 * A delete and a put of one cell in one row: the delete wins, whatever the order, unless its
 * timestamp is below the put's.
 * Stops at the first failure that repetition does not cure.  result (may be NULL) says how many
 * rows had been written; it may be any of them.  A row that was sent without an answer may have
 * been written without being counted.
 * Errors: HB_INVALID, HB_NOFAMILY, HB_TOOLARGE, as hb_get_many.
 */
extern hb_status hb_mutate(hb_client *client, const char *table, const hb_mutation *rows, int64_t n,
						   hb_mutate_result *result);

/* -------------------------------------------------------- row operations */

/* A condition on one column of a row. */
typedef struct hb_condition
{
	hb_bytes family;
	hb_bytes qualifier;
	hb_compare op;		 /* "column op value": HB_LESS: the column is less than the value */
	hb_comparator value; /* HB_COMPARE_NULL with HB_EQUAL: absent, or empty */
	bool time_range;	 /* only cells with min_time <= t < max_time */
	int64_t min_time;
	int64_t max_time;
	const hb_filter *filter; /* if set: instead of the column, a row that it lets through */
} hb_condition;

/*
 * Makes the changes of a row, of any kind, atomically and exactly once.  *rows (may be NULL) gets
 * one row: the new cells of increments and appends.  The caller releases it with hb_rows_free.
 * Errors: HB_NOTNUMBER for an increment of something else, and those of hb_mutate.
 */
extern hb_status hb_row_change(hb_client *client, const char *table, const hb_mutation *row,
							   hb_rows **rows);

/*
 * Makes the changes if the condition is true, atomically and exactly once.
 * Sets *matched to what the condition was.
 */
extern hb_status hb_check_and_mutate(hb_client *client, const char *table,
									 const hb_condition *condition, const hb_mutation *row,
									 bool *matched, hb_rows **rows);

/* ----------------------------------------------------------------- admin */

typedef struct hb_attribute
{
	const char *key;
	const char *value;
} hb_attribute;

/* A family with HBase's own names of attributes: "VERSIONS", "TTL" (seconds), "BLOOMFILTER". */
typedef struct hb_family
{
	const char *name;
	const hb_attribute *attributes;
	int n_attributes;
	const hb_attribute *configuration; /* as "hbase.hstore.engine.class" */
	int n_configuration;
} hb_family;

typedef struct hb_table
{
	const char *name;
	const hb_family *families;
	int n_families;
	const hb_attribute *attributes;
	int n_attributes;
	const hb_attribute *configuration;
	int n_configuration;
} hb_table;

/*
 * Calls each() with each table of the namespace (NULL: of all) until it returns false.  System
 * tables are left out.
 */
extern hb_status hb_admin_list(hb_client *client, const char *name_space,
							   bool (*each)(void *ctx, const char *table), void *ctx);

/* Calls each() once with the table, which is valid in the call only.  Errors: HB_NOTABLE. */
extern hb_status hb_admin_describe(hb_client *client, const char *table,
								   void (*each)(void *ctx, const hb_table *table), void *ctx);

/* Sets *enabled.  Errors: HB_NOTABLE. */
extern hb_status hb_admin_is_enabled(hb_client *client, const char *table, bool *enabled);

/*
 * These return when the cluster has done it, or HB_TIMEOUT.
 * Errors: HB_EXISTS, HB_NOTABLE, HB_NOFAMILY, HB_DISABLED, HB_DENIED, HB_REMOTE.
 */
extern hb_status hb_admin_create(hb_client *client, const hb_table *table,
								 const hb_bytes *split_keys, int n_split_keys);
extern hb_status hb_admin_add_family(hb_client *client, const char *table, const hb_family *family);
/* The family gets the attributes that are given; the others keep their values. */
extern hb_status hb_admin_modify_family(hb_client *client, const char *table,
										const hb_family *family);
extern hb_status hb_admin_drop_family(hb_client *client, const char *table, const char *family);
extern hb_status hb_admin_enable(hb_client *client, const char *table);
extern hb_status hb_admin_disable(hb_client *client, const char *table);
/* An enabled table is disabled for it, and enabled afterwards. */
extern hb_status hb_admin_truncate(hb_client *client, const char *table, bool preserve_splits);
/* An enabled table is disabled first. */
extern hb_status hb_admin_drop(hb_client *client, const char *table);
extern hb_status hb_admin_flush(hb_client *client, const char *table);
/* Asks each region for a compaction; returns before it is done. */
extern hb_status hb_admin_compact(hb_client *client, const char *table, bool major);
/* Splits the region that has the key, there. */
extern hb_status hb_admin_split(hb_client *client, const char *table, hb_bytes key);
/* Moves the region that has the key; NULL: to any server.  Returns before it is done. */
extern hb_status hb_admin_move(hb_client *client, const char *table, hb_bytes key, const char *host,
							   int port);

typedef struct hb_region_size
{
	hb_bytes name;	  /* as in hb_region */
	int64_t store_mb; /* files */
	int64_t memstore_mb;
	int store_files;
} hb_region_size;

/* Calls each() with each region of the table that a server reports, in no order, until it returns
 * false.  The sizes are some seconds old. */
extern hb_status hb_admin_sizes(hb_client *client, const char *table,
								bool (*each)(void *ctx, const hb_region_size *size), void *ctx);

typedef struct hb_cluster
{
	char id[64];
	char version[64];
	int servers; /* region servers that live */
} hb_cluster;

extern hb_status hb_admin_cluster(hb_client *client, hb_cluster *cluster);

#endif /* HBASE_H */
