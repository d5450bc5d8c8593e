/*
 * base.h - what every engine file may use: status text, integers, the os
 * table with its faults and kill points, the internal key.
 *
 * Layer order: wide.h < base.h < shm.h < { file.h, log } < tree.h < db.h.
 * A file includes the header of its own layer, which includes the lower ones.
 */
#ifndef WIDE_BASE_H
#define WIDE_BASE_H

#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include "wide.h"

/* --------------------------------------------------------------- status */

/* Records the text for wide_error_text() and returns st: "return wide_fail(WIDE_IO, ...)". */
extern wide_status wide_fail(wide_status st, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));

/* Failures are rare: their code lies apart (cold), so that what a statement runs through stays short. */
#define TRY(expr) do { wide_status try_st_ = (expr); if (__builtin_expect(try_st_ != WIDE_OK, 0)) return try_st_; } while (0)
/* in functions with one exit: "wide_status st; ... done: free(); return st;" */
#define TRY_GOTO(expr) do { if (__builtin_expect((st = (expr)) != WIDE_OK, 0)) goto done; } while (0)

/* -------------------------------------------------------------- integers */

static inline uint32_t get_u32be(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline uint64_t get_u64be(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
static inline void put_u32be(uint8_t *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline void put_u64be(uint8_t *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }
static inline uint16_t get_u16le(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return v; }
static inline uint32_t get_u32le(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline uint64_t get_u64le(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static inline void put_u16le(uint8_t *p, uint16_t v) { memcpy(p, &v, 2); }
static inline void put_u32le(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void put_u64le(uint8_t *p, uint64_t v) { memcpy(p, &v, 8); }
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files are little-endian and are read without conversion; add conversions for this machine"
#endif

#define VARINT_MAX 10
extern uint8_t *varint_put_long(uint8_t *p, uint64_t v);
extern const uint8_t *varint_get_long(const uint8_t *p, const uint8_t *end, uint64_t *v);
/* LEB128; returns the byte after what was written. */
static inline uint8_t *
varint_put(uint8_t *p, uint64_t v)
{
	if (v >= 0x80)
		return varint_put_long(p, v);
	*p = (uint8_t) v;
	return p + 1;
}
/* Returns the byte after the number, or NULL when it does not end before end or is longer than 10 bytes. */
static inline const uint8_t *
varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	if (p >= end || *p >= 0x80)
		return varint_get_long(p, end, v);
	*v = *p;
	return p + 1;
}
static inline uint64_t zigzag(int64_t v) { return ((uint64_t) v << 1) ^ (uint64_t) (v >> 63); }
static inline int64_t unzigzag(uint64_t v) { return (int64_t) (v >> 1) ^ -(int64_t) (v & 1); }

/* A growing byte buffer in private memory.  Zero-filled is empty. */
typedef struct buffer
{
	uint8_t    *data;
	size_t		len;
	size_t		cap;
} buffer;
extern wide_status buffer_grow(buffer *b, size_t more);
extern void buffer_free(buffer *b);
/* room for more bytes after len; WIDE_NOMEM */
static inline wide_status
buffer_reserve(buffer *b, size_t more)
{
	return b->cap - b->len >= more && b->data != NULL ? WIDE_OK : buffer_grow(b, more);
}
static inline wide_status
buffer_append(buffer *b, const void *p, size_t n)
{
	TRY(buffer_reserve(b, n));
	if (n > 0)
		memcpy(b->data + b->len, p, n);
	b->len += n;
	return WIDE_OK;
}

/*
 * Zeroed memory for what each short scan makes and frees; NULL: there is none.
 * Pieces of up to 4 KB are kept for the next one, a few of each size.  n has to
 * be the same when it is freed.
 */
extern void *spare_alloc(size_t n);
extern void spare_free(void *p, size_t n);
/* Tools that find errors with memory are to see each piece made and freed. */
#if defined(__SANITIZE_ADDRESS__)
#define SPARE_OFF 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPARE_OFF 1
#endif
#endif
#ifndef SPARE_OFF
#define SPARE_OFF 0
#endif

/* xxh3-64 of the bytes with a seed (so that equal bytes in different places differ). */
extern uint64_t wide_hash(const void *p, size_t n, uint64_t seed);

/* -------------------------------------------------------------------- os */

/*
 * Every system call on files goes through this table.  All functions return
 * 0 or more on success and -errno on failure.  Paths are as given by the
 * caller.  The table is const for the real system; os_faulty() wraps it.
 */
typedef struct wide_os wide_os;
struct wide_os
{
	int			(*open) (wide_os *os, const char *path, int flags);	/* O_RDONLY | O_RDWR | O_CREAT | O_EXCL | O_TRUNC; mode 0600, O_CLOEXEC */
	int			(*close) (wide_os *os, int fd);
	int64_t		(*pread) (wide_os *os, int fd, void *buf, size_t n, uint64_t off);	/* loops; short only at the end of file */
	/* the same if all of it is in the system's cache, else -EAGAIN; where the system does not tell, the same */
	int64_t		(*pread_now) (wide_os *os, int fd, void *buf, size_t n, uint64_t off);
	void		(*will_read) (wide_os *os, int fd, uint64_t off, uint64_t n);	/* soon: a hint */
	int64_t		(*pwrite) (wide_os *os, int fd, const void *buf, size_t n, uint64_t off);	/* loops; all or -errno */
	int			(*sync) (wide_os *os, int fd);	/* fdatasync (which covers the size) */
	int64_t		(*size) (wide_os *os, int fd);
	int			(*truncate) (wide_os *os, int fd, uint64_t size);
	int			(*unlink) (wide_os *os, const char *path);
	int			(*rename) (wide_os *os, const char *from, const char *to);
	int			(*mkdir) (wide_os *os, const char *path);	/* 0700 */
	int			(*syncdir) (wide_os *os, const char *path);
	/* calls fn for each name except . and .. ; stops when fn returns nonzero */
	int			(*list) (wide_os *os, const char *path, int (*fn) (void *arg, const char *name), void *arg);
};

extern wide_os *os_real(void);

/*
 * The status for a failed call of the table (error = -errno as returned or
 * errno), with a text that names what was done to which path: WIDE_FULL for a
 * full disk, WIDE_NOMEM, else WIDE_IO.
 */
extern wide_status os_fail(int64_t error, const char *what, const char *path);

/*
 * A wrapper for tests around the real system, under a directory of its own.
 * It counts the calls that change something and can
 *   - fail:  the n-th call (and optionally all later ones) returns -EIO or -ENOSPC;
 *   - crash: at the n-th call everything later returns -EIO and
 *            os_faulty_crash() then rewrites the directory as a power failure
 *            would leave it: data not synced and directory entries not synced
 *            are lost or kept, chosen by seed for each (also torn writes).
 */
typedef struct os_fault_plan
{
	uint64_t	at;				/* 1-based call number; 0 = never */
	int			error;			/* errno to return, 0 = crash */
	bool		sticky;			/* fail all later ones too */
} os_fault_plan;
extern wide_os *os_faulty(const char *root, const os_fault_plan *plan);
extern void os_faulty_plan(wide_os *os, const os_fault_plan *plan);	/* another one from now on */
extern uint64_t os_faulty_calls(wide_os *os);	/* changing calls so far */
extern bool os_faulty_crashed(wide_os *os);
extern int	os_faulty_crash(wide_os *os, uint64_t seed);	/* apply the crash to the directory */
extern void os_faulty_free(wide_os *os);

/*
 * A named point in the commit, flush, compaction and recovery paths.  Does
 * nothing unless the environment variable WIDE_KILL_POINT is "name" or
 * "name:n": then the process kills itself with SIGKILL the n-th time it gets
 * there; or os_on_kill_point was set (tests: pause, switch process, count).
 * One relaxed load when unused.
 */
extern void kill_point(const char *name);
extern void os_on_kill_point(void (*fn) (void *arg, const char *name), void *arg);

/* Sequence numbers from first to last, both included. */
typedef struct seq_range
{
	uint64_t	first, last;
} seq_range;

/* ------------------------------------------------------------------- key */

/*
 * The internal key.  Its order is that of one memcmp over
 *
 *     row        00 -> 00 FF, then 00 01
 *     qualifier  00 -> 00 FF, then 00 01       (family-wide deletes: 00 00
 *                                               instead: sorts first in the row)
 *     ~ts        8 bytes, big-endian, of ~(ts ^ 1<<63): newest first
 *     ~(seq<<8 | type)  8 bytes, big-endian: newest first
 *
 * In memory and in blocks the first two (the "ukey", prefix-free) are kept as
 * bytes and the last two as integers, which compares equally (key_compare)
 * and lets blocks store timestamps and sequence numbers as small deltas.
 */
enum entry_type
{
	ENTRY_PUT = 0,
	ENTRY_DELETE_VERSION = 1,
	ENTRY_DELETE_COLUMN = 2,
	ENTRY_DELETE_FAMILY = 3,	/* ukey = row + 00 00 */
	ENTRY_DELETE_FAMILY_VERSION = 4 /* ukey = row + 00 00 */
};

#define SEQ_MAX	(((uint64_t) 1 << 56) - 1)

typedef struct entry
{
	const uint8_t *ukey;
	uint32_t	klen;			/* bytes of ukey */
	uint32_t	rowlen;			/* of these the encoded row with its terminator */
	int64_t		ts;
	uint64_t	seq;
	uint8_t		type;			/* enum entry_type */
	uint32_t	vlen;
	int64_t		ttl_us;			/* 0 = none; of a delete without timestamp: when it was committed */
	const uint8_t *value;
} entry;

static inline bool entry_is_put(const entry *e) { return e->type == ENTRY_PUT; }
static inline bool entry_is_family_delete(const entry *e) { return e->type >= ENTRY_DELETE_FAMILY; }
/* A delete without a timestamp: its ttl_us is the engine timestamp of its commit (provisional in a batch). */
static inline bool entry_is_untimed(const entry *e) { return e->type != ENTRY_PUT && e->ts == WIDE_TS_MAX; }
/* From which time on readers of an earlier time regard the delete (keep_deleted). */
static inline int64_t entry_delete_time(const entry *e) { return entry_is_untimed(e) && e->ttl_us > 0 ? e->ttl_us : e->ts; }

/* How many of the first n bytes are the same in both. */
static inline uint32_t
bytes_shared(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	uint32_t	i = 0;

	while (i + 8 <= n)
	{
		uint64_t	x = get_u64le(a + i) ^ get_u64le(b + i);

		if (x != 0)
			return i + (uint32_t) __builtin_ctzll(x) / 8;
		i += 8;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* <0, 0, >0.  A ukey that is a proper prefix of another sorts before it. */
static inline int
ukey_compare(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	size_t		n = alen < blen ? alen : blen;
	int			c = memcmp(a, b, n);

	return c != 0 ? c : (alen > blen) - (alen < blen);
}

/* Full order: ukey up, ts down, seq down, type down. */
static inline int
key_compare(const entry *a, const entry *b)
{
	int			c = ukey_compare(a->ukey, a->klen, b->ukey, b->klen);

	if (c != 0)
		return c;
	if (a->ts != b->ts)
		return a->ts > b->ts ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq > b->seq ? -1 : 1;
	return (int) b->type - (int) a->type;
}

/* Worst-case bytes of the encoded forms. */
#define KEY_ROW_MAX(n)	(2 * (size_t) (n) + 2)
#define KEY_UKEY_MAX	(2 * (size_t) WIDE_MAX_ROW + 2 * (size_t) WIDE_MAX_QUALIFIER + 4)

/* Write the escaped bytes and the terminator; return the byte after. */
extern uint8_t *key_put_part(uint8_t *p, const uint8_t *raw, size_t n);
/* Append row + qualifier to a buffer (set to it: b->len is reset first). */
extern wide_status key_make(buffer *b, wide_bytes row, wide_bytes qualifier);
/* Append row + 00 00. */
extern wide_status key_make_family(buffer *b, wide_bytes row);
/* Row only, with terminator: sorts before every key of the row. */
extern wide_status key_make_row(buffer *b, wide_bytes row);
/* Row with last byte 02: sorts after every key of the row and before the next row. */
extern wide_status key_make_row_end(buffer *b, wide_bytes row);
/* Length of the first part with its terminator, 0 when the bytes are not a key. */
extern uint32_t key_row_length(const uint8_t *ukey, size_t klen);
/* true when ukey is exactly row part + (qualifier part or 00 00); for verify and fuzz */
extern bool key_valid(const uint8_t *ukey, size_t klen);
/*
 * Decode one encoded part (with its terminator) of n bytes.  When it holds no
 * escape the result points into p (zero copy), else into b (appended at
 * b->len, which moves on; reserve before so that earlier results stay).
 */
extern wide_status key_decode_part(const uint8_t *p, size_t n, buffer *b, wide_bytes *out);
/* Bytes the decoded form of an encoded part of n bytes has at most. */
#define KEY_DECODED_MAX(n) (n)

#endif							/* WIDE_BASE_H */
