/*
 * os_fault.c - a file system that fails and loses power.
 *
 * Wraps the real one.  For each file below the root it keeps in memory what is
 * there now (live) and what was there at the last sync (synced); for each
 * directory the creations, renames and removals since its last sync, in order.
 * A crash chooses, from a seed, for each file what of the difference reached
 * the disk, and for each directory operation whether it did, and rewrites the
 * root accordingly.
 *
 * What was there when the wrapper was made counts as synced; a file is read
 * into memory when it is first touched.  The content of a file is tied to the
 * file, not to its name, so a rename that is lost brings back the old name
 * with whatever content survived.
 *
 * A failing or crashing pwrite writes half of its bytes, as a full disk does.
 * A failed sync has synced nothing.
 *
 * Limits: one process, one thread; a directory is durable as soon as it is made
 * (stores make theirs once); paths must not contain "..".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test/host/os_fault.h"
#include "engine/base/buffer.h"
#include "engine/base/os.h"

typedef struct node
{
	buffer live;
	buffer synced;
	struct node *next; /* all nodes, for freeing */
} node;

typedef struct name
{
	char *path;
	node *file; /* NULL: no such file */
	struct name *next;
} name;

enum op_kind
{
	OP_CREATE,
	OP_RENAME,
	OP_UNLINK
};

/* A directory operation that is not synced. */
typedef struct op
{
	enum op_kind kind;
	char *from; /* OP_RENAME, OP_UNLINK */
	char *to;	/* OP_CREATE, OP_RENAME */
	node *file;
	struct op *next;
} op;

typedef struct fault_os
{
	wide_os os; /* first: the table points here */
	wide_os *real;
	char root[1024];
	os_fault_plan plan;
	uint64_t calls;
	bool crashed;
	node *nodes;
	name *names;   /* live */
	name *durable; /* as of the last directory syncs */
	op *ops, **ops_end;
	node **fds; /* by descriptor; NULL: not below the root */
	int nfds;
} fault_os;

/* Tests have no use for a wrapper that runs out of memory. */
static void *
must(void *p)
{
	if (p == NULL)
	{
		fputs("os_fault: out of memory\n", stderr);
		exit(2);
	}
	return p;
}

static void
must_append(buffer *b, const void *p, size_t n)
{
	if (buffer_append(b, p, n) != WIDE_OK)
		must(NULL);
}

static bool
below_root(const fault_os *f, const char *path)
{
	size_t n = strlen(f->root);

	return strncmp(path, f->root, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* ------------------------------------------------------------- the model */

static name *
find_name(name *list, const char *path)
{
	while (list != NULL && strcmp(list->path, path) != 0)
		list = list->next;
	return list;
}

static void
set_name(name **list, const char *path, node *file)
{
	name *n = find_name(*list, path);

	if (n == NULL)
	{
		n = must(calloc(1, sizeof(*n)));
		n->path = must(strdup(path));
		n->next = *list;
		*list = n;
	}
	n->file = file;
}

static void
free_names(name *n)
{
	while (n != NULL)
	{
		name *next = n->next;

		free(n->path);
		free(n);
		n = next;
	}
}

static node *
new_node(fault_os *f)
{
	node *n = must(calloc(1, sizeof(*n)));

	n->next = f->nodes;
	f->nodes = n;
	return n;
}

/* The file of that name now, taken in from the disk when it was there before us; NULL: none. */
static node *
touch(fault_os *f, const char *path)
{
	name *n = find_name(f->names, path);
	node *file;
	uint8_t chunk[65536];
	int64_t got;
	int fd;

	if (n != NULL)
		return n->file;
	fd = f->real->open(f->real, path, O_RDONLY);
	if (fd < 0)
		return NULL;
	file = new_node(f);
	while ((got = f->real->pread(f->real, fd, chunk, sizeof(chunk), file->live.len)) > 0)
		must_append(&file->live, chunk, (size_t) got);
	f->real->close(f->real, fd);
	must_append(&file->synced, file->live.data, file->live.len);
	set_name(&f->names, path, file);
	set_name(&f->durable, path, file);
	return file;
}

static void
add_op(fault_os *f, enum op_kind kind, const char *from, const char *to, node *file)
{
	op *o = must(calloc(1, sizeof(*o)));

	o->kind = kind;
	o->from = from != NULL ? must(strdup(from)) : NULL;
	o->to = to != NULL ? must(strdup(to)) : NULL;
	o->file = file;
	*f->ops_end = o;
	f->ops_end = &o->next;
}

static void
apply_op(name **list, const op *o)
{
	if (o->from != NULL)
		set_name(list, o->from, NULL);
	if (o->to == NULL)
		return;
	/* one name for one file, also when a rename in the middle was lost */
	for (name *n = *list; n != NULL; n = n->next)
	{
		if (n->file == o->file)
			n->file = NULL;
	}
	set_name(list, o->to, o->file);
}

static void
free_op(op *o)
{
	free(o->from);
	free(o->to);
	free(o);
}

static void
resize(buffer *b, size_t n)
{
	if (n > b->len)
	{
		if (buffer_reserve(b, n - b->len) != WIDE_OK)
			must(NULL);
		memset(b->data + b->len, 0, n - b->len);
	}
	b->len = n;
}

/* ----------------------------------------------------------------- calls */

/* Counts a changing call; 0: go on, else what it has to return. */
static int
count(fault_os *f)
{
	if (f->crashed)
		return -EIO;
	f->calls++;
	if (f->plan.at == 0 || f->calls < f->plan.at || (f->calls > f->plan.at && !f->plan.sticky))
		return 0;
	if (f->plan.error == 0)
	{
		f->crashed = true;
		return -EIO;
	}
	return -f->plan.error;
}

static void
remember_fd(fault_os *f, int fd, node *file)
{
	if (fd >= f->nfds)
	{
		int n = fd + 64;

		f->fds = must(realloc(f->fds, (size_t) n * sizeof(*f->fds)));
		memset(f->fds + f->nfds, 0, (size_t) (n - f->nfds) * sizeof(*f->fds));
		f->nfds = n;
	}
	f->fds[fd] = file;
}

static node *
fd_node(fault_os *f, int fd)
{
	return fd >= 0 && fd < f->nfds ? f->fds[fd] : NULL;
}

static int
fault_open(wide_os *os, const char *path, int flags)
{
	fault_os *f = (fault_os *) os;
	node *file = NULL;
	bool creates = false;
	int fd;
	int r;

	if (f->crashed)
		return -EIO;
	if (below_root(f, path) && !(flags & O_DIRECTORY))
	{
		file = touch(f, path);
		creates = file == NULL && (flags & O_CREAT);
		if ((creates || (file != NULL && (flags & O_TRUNC))) && (r = count(f)) < 0)
			return r;
	}
	fd = f->real->open(f->real, path, flags);
	if (fd < 0)
		return fd;
	if (creates)
	{
		file = new_node(f);
		set_name(&f->names, path, file);
		add_op(f, OP_CREATE, NULL, path, file);
	}
	else if (file != NULL && (flags & O_TRUNC))
		file->live.len = 0;
	remember_fd(f, fd, file);
	return fd;
}

static int
fault_close(wide_os *os, int fd)
{
	fault_os *f = (fault_os *) os;

	if (fd >= 0 && fd < f->nfds)
		f->fds[fd] = NULL;
	return f->real->close(f->real, fd);
}

static int64_t
fault_pread(wide_os *os, int fd, void *buf, size_t n, uint64_t off)
{
	fault_os *f = (fault_os *) os;

	return f->crashed ? -EIO : f->real->pread(f->real, fd, buf, n, off);
}

static void
fault_will_read(wide_os *os, int fd, uint64_t off, uint64_t n)
{
	fault_os *f = (fault_os *) os;

	f->real->will_read(f->real, fd, off, n);
}

static int64_t
fault_pwrite(wide_os *os, int fd, const void *buf, size_t n, uint64_t off)
{
	fault_os *f = (fault_os *) os;
	node *file = fd_node(f, fd);
	bool was = f->crashed;
	int fail = file != NULL ? count(f) : f->crashed ? -EIO : 0;
	int64_t r;

	if (was)
		return -EIO;
	if (fail < 0)
		n /= 2;
	r = f->real->pwrite(f->real, fd, buf, n, off);
	if (file != NULL && r > 0)
	{
		if (off + (uint64_t) r > file->live.len)
			resize(&file->live, (size_t) (off + (uint64_t) r));
		memcpy(file->live.data + off, buf, (size_t) r);
	}
	return fail < 0 ? fail : r;
}

static int
fault_sync(wide_os *os, int fd)
{
	fault_os *f = (fault_os *) os;
	node *file = fd_node(f, fd);
	int r;

	if (file == NULL)
		return f->crashed ? -EIO : f->real->sync(f->real, fd);
	if ((r = count(f)) < 0)
		return r;
	/* the real disk is spared: the synced content is here */
	file->synced.len = 0;
	must_append(&file->synced, file->live.data, file->live.len);
	return 0;
}

static int64_t
fault_size(wide_os *os, int fd)
{
	fault_os *f = (fault_os *) os;

	return f->crashed ? -EIO : f->real->size(f->real, fd);
}

static int
fault_truncate(wide_os *os, int fd, uint64_t size)
{
	fault_os *f = (fault_os *) os;
	node *file = fd_node(f, fd);
	int r = file != NULL ? count(f) : f->crashed ? -EIO : 0;

	if (r < 0 || (r = f->real->truncate(f->real, fd, size)) < 0)
		return r;
	if (file != NULL)
		resize(&file->live, (size_t) size);
	return 0;
}

static int
fault_links(wide_os *os, int fd)
{
	fault_os *f = (fault_os *) os;

	return f->crashed ? -EIO : f->real->links(f->real, fd);
}

static int
fault_unlink(wide_os *os, const char *path)
{
	fault_os *f = (fault_os *) os;
	node *file;
	int r;

	if (f->crashed)
		return -EIO;
	if (!below_root(f, path))
		return f->real->unlink(f->real, path);
	if ((r = count(f)) < 0)
		return r;
	file = touch(f, path);
	if ((r = f->real->unlink(f->real, path)) < 0)
		return r;
	set_name(&f->names, path, NULL);
	add_op(f, OP_UNLINK, path, NULL, file);
	return 0;
}

static int
fault_rename(wide_os *os, const char *from, const char *to)
{
	fault_os *f = (fault_os *) os;
	node *file;
	int r;

	if (f->crashed)
		return -EIO;
	if (!below_root(f, from) || !below_root(f, to))
		return f->real->rename(f->real, from, to);
	if ((r = count(f)) < 0)
		return r;
	file = touch(f, from);
	touch(f, to);
	if ((r = f->real->rename(f->real, from, to)) < 0)
		return r;
	set_name(&f->names, from, NULL);
	set_name(&f->names, to, file);
	add_op(f, OP_RENAME, from, to, file);
	return 0;
}

static int
fault_mkdir(wide_os *os, const char *path)
{
	fault_os *f = (fault_os *) os;
	int r = below_root(f, path) ? count(f) : f->crashed ? -EIO : 0;

	return r < 0 ? r : f->real->mkdir(f->real, path);
}

static bool
in_directory(const char *path, const char *dir, size_t dirlen)
{
	return path != NULL && strncmp(path, dir, dirlen) == 0 && path[dirlen] == '/' &&
		   strchr(path + dirlen + 1, '/') == NULL;
}

static int
fault_syncdir(wide_os *os, const char *path)
{
	fault_os *f = (fault_os *) os;
	size_t n = strlen(path);
	op **p = &f->ops;
	int r;

	if (!below_root(f, path))
		return f->crashed ? -EIO : f->real->syncdir(f->real, path);
	if ((r = count(f)) < 0)
		return r;
	while (n > 1 && path[n - 1] == '/')
		n--;
	while (*p != NULL)
	{
		op *o = *p;

		if (!in_directory(o->to, path, n) && !in_directory(o->from, path, n))
		{
			p = &o->next;
			continue;
		}
		apply_op(&f->durable, o);
		*p = o->next;
		free_op(o);
	}
	f->ops_end = p;
	return 0;
}

static int
fault_list(wide_os *os, const char *path, int (*fn)(void *arg, const char *name), void *arg)
{
	fault_os *f = (fault_os *) os;

	return f->crashed ? -EIO : f->real->list(f->real, path, fn, arg);
}

wide_os *
os_faulty(const char *root, const os_fault_plan *plan)
{
	static const wide_os table = {fault_open,	 fault_close,  fault_pread,	 fault_will_read,
								  fault_pwrite,	 fault_sync,   fault_size,	 fault_truncate,
								  fault_links,	 fault_unlink, fault_rename, fault_mkdir,
								  fault_syncdir, fault_list};
	fault_os *f = must(calloc(1, sizeof(*f)));

	f->os = table;
	f->real = os_real();
	snprintf(f->root, sizeof(f->root), "%s", root);
	if (plan != NULL)
		f->plan = *plan;
	f->ops_end = &f->ops;
	return &f->os;
}

void
os_faulty_plan(wide_os *os, const os_fault_plan *plan)
{
	((fault_os *) os)->plan = *plan;
}

uint64_t
os_faulty_calls(wide_os *os)
{
	return ((fault_os *) os)->calls;
}

bool
os_faulty_crashed(wide_os *os)
{
	return ((fault_os *) os)->crashed;
}

void
os_faulty_free(wide_os *os)
{
	fault_os *f = (fault_os *) os;

	if (f == NULL)
		return;
	free_names(f->names);
	free_names(f->durable);
	while (f->ops != NULL)
	{
		op *o = f->ops;

		f->ops = o->next;
		free_op(o);
	}
	while (f->nodes != NULL)
	{
		node *n = f->nodes;

		f->nodes = n->next;
		buffer_free(&n->live);
		buffer_free(&n->synced);
		free(n);
	}
	free(f->fds);
	free(f);
}

/* ------------------------------------------------------------- the crash */

static uint64_t
next_random(uint64_t *s)
{
	uint64_t z = (*s += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint64_t
below(uint64_t *s, uint64_t n)
{
	return n > 0 ? next_random(s) % n : 0;
}

/*
 * What is on the disk of a file that was changed and not synced:
 *   0 nothing new, 1 everything, 2 the new bytes up to some point and the old
 *   ones behind, 3 the new size, but zeros for the new bytes behind some
 *   point (the size reached the disk and the data did not), 4 a mixture of
 *   old and new sectors.
 */
static void
survivor(const node *n, uint64_t *seed, buffer *out)
{
	const buffer *old = &n->synced;
	const buffer *new = &n->live;
	size_t both = old->len < new->len ? old->len : new->len;
	uint64_t mode = below(seed, 5);
	size_t from = 0;
	size_t cut;

	out->len = 0;
	if (mode == 0)
		must_append(out, old->data, old->len);
	if (mode == 1)
		must_append(out, new->data, new->len);
	if (mode < 2)
		return;
	/* bytes that did not change cannot be torn; mostly this is where an append began */
	while (from < both && old->data[from] == new->data[from])
		from++;
	if (mode == 4)
	{
		must_append(out, new->data, new->len);
		for (size_t s = from / 512 * 512; s < new->len; s += 512)
		{
			size_t len = new->len - s < 512 ? new->len - s : 512;
			size_t kept = s < old->len ? (old->len - s < len ? old->len - s : len) : 0;

			if (below(seed, 2) == 0)
				continue;
			if (kept > 0)
				memcpy(out->data + s, old->data + s, kept);
			memset(out->data + s + kept, 0, len - kept);
		}
		return;
	}
	cut = from + (size_t) below(seed, new->len - from + 1);
	must_append(out, new->data, cut);
	if (cut < old->len)
		must_append(out, old->data + cut, old->len - cut);
	if (mode == 3 && out->len < new->len)
		resize(out, new->len);
}

static int
write_file(wide_os *real, const char *path, const buffer *b)
{
	int fd = real->open(real, path, O_RDWR | O_CREAT | O_TRUNC);
	int64_t r;

	if (fd < 0)
		return fd;
	r = real->pwrite(real, fd, b->data, b->len, 0);
	real->close(real, fd);
	return r < 0 ? (int) r : 0;
}

int
os_faulty_crash(wide_os *os, uint64_t seed)
{
	fault_os *f = (fault_os *) os;
	/* most often each operation has its own luck, sometimes all have the same */
	uint64_t luck = below(&seed, 4);
	buffer b = {0};
	int r = 0;

	f->crashed = true;
	/*
	 * In order, each kept or lost.  A rename that is kept while the creation
	 * under the old name was lost makes the file appear under the new name.
	 */
	for (op *o = f->ops; o != NULL; o = o->next)
	{
		bool keep = luck == 0 || (luck > 1 && below(&seed, 2) == 0);

		if (keep)
			apply_op(&f->durable, o);
	}
	for (node *n = f->nodes; n != NULL; n = n->next)
	{
		if (n->live.len != n->synced.len ||
			(n->live.len > 0 && memcmp(n->live.data, n->synced.data, n->live.len) != 0))
		{
			survivor(n, &seed, &b);
			n->live.len = 0;
			must_append(&n->live, b.data, b.len);
		}
	}
	for (name *n = f->names; n != NULL; n = n->next)
	{
		int u = n->file != NULL ? f->real->unlink(f->real, n->path) : 0;

		if (u < 0 && u != -ENOENT)
			r = u;
	}
	for (name *n = f->durable; n != NULL; n = n->next)
	{
		int w = n->file != NULL ? write_file(f->real, n->path, &n->file->live) : 0;

		if (w < 0)
			r = w;
	}
	buffer_free(&b);
	return r;
}
