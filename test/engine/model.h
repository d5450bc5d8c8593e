/*
 * model.h - the answers that the store should give, computed the slow way.
 *
 * The model keeps every operation of every transaction and replays the
 * history of a column for each question: moment by moment, deletes, then
 * puts, then the cut to the newest versions.  It shares no code and no idea
 * with the engine: no keys, no files, no intervals, and it never drops
 * anything.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum model_type
{
	M_PUT,
	M_DELETE_VERSION,
	M_DELETE_COLUMN,
	M_DELETE_FAMILY,
	M_DELETE_FAMILY_VERSION
};

#define M_OWN INT32_MAX /* the moment of uncommitted operations */

typedef struct model_op
{
	int family, row, qual;
	enum model_type type;
	int64_t ts; /* automatic puts: provisional, then final */
	bool automatic;
	int64_t floor;
	int64_t at; /* deletes: the time of the delete, for readers of earlier times */
	int64_t ttl;
	int value;
	int moment; /* number of the commit */
	bool undone;
} model_op;

/* Options in force up to a moment. */
typedef struct model_floor
{
	int moment;
	int versions, min_versions;
	int64_t before; /* cells older than this had expired */
	int64_t now;
	bool keep_deleted;
} model_floor;

#define MODEL_FLOORS  400
#define MODEL_BATCHES 3

typedef struct model_family
{
	int versions, min_versions;
	int64_t ttl;
	bool keep_deleted;
	model_floor floors[MODEL_FLOORS];
	int nfloors;
} model_family;

typedef struct model_list
{
	model_op *ops;
	int n, cap;
	int64_t provisional; /* batches: newest one without floors */
} model_list;

typedef struct model
{
	model_family families[4];
	int nfamilies, nrows, nquals;
	model_list *cells; /* committed, indexed by family * nrows + row */
	model_list batches[MODEL_BATCHES];
	int moment; /* commits so far */
	int64_t last_ts;
	int64_t stamped; /* newest automatic timestamp assigned by a commit */
} model;

/*
 * A reader's view: commits up to this moment, where those from excluded_from
 * on count only if included; and the batch up to a mark.
 */
typedef struct model_view
{
	int moment;
	int excluded_from; /* 0: none are excluded */
	int included[8];
	int nincluded;
	const model_list *own; /* NULL: none */
	int mark;
	int64_t now, ts_min, ts_max;
} model_view;

static inline void
model_add(model_list *l, const model_op *op)
{
	if (l->n == l->cap)
	{
		l->cap = l->cap ? 2 * l->cap : 16;
		l->ops = realloc(l->ops, (size_t) l->cap * sizeof(*l->ops));
	}
	l->ops[l->n++] = *op;
}

static inline void
model_free(model *m)
{
	for (int i = 0; i < m->nfamilies * m->nrows; i++)
		free(m->cells[i].ops);
	free(m->cells);
	for (int i = 0; i < MODEL_BATCHES; i++)
		free(m->batches[i].ops);
}

static inline bool
model_hits(const model_op *d, const model_op *p)
{
	if (d->type == M_PUT || d->family != p->family || d->row != p->row)
		return false;
	if (d->type <= M_DELETE_COLUMN && d->qual != p->qual)
		return false;
	return d->type == M_DELETE_COLUMN || d->type == M_DELETE_FAMILY ? p->ts <= d->ts
																	: p->ts == d->ts;
}

/* Sets out to the net effect of a transaction's operations [0, mark), as one act. */
static inline void
model_net(const model_list *batch, int mark, model_list *out)
{
	out->n = 0;
	for (int i = 0; i < mark && i < batch->n; i++)
	{
		const model_op *p = &batch->ops[i];
		bool gone = p->undone;

		for (int j = i + 1; j < mark && j < batch->n && !gone && p->type == M_PUT; j++)
		{
			const model_op *q = &batch->ops[j];
			bool column = q->type == M_PUT && q->family == p->family && q->row == p->row &&
						  q->qual == p->qual;

			if (q->undone)
				continue;
			gone = model_hits(q, p) || (column && p->automatic && q->automatic) ||
				   (column && !p->automatic && !q->automatic && q->ts == p->ts);
		}
		if (!gone)
			model_add(out, p);
	}
}

/* Takes the provisional timestamp of a new operation: it does not fall when the clock does. */
static inline int64_t
model_provisional(const model *m, model_list *batch, int64_t now, int64_t floor)
{
	int64_t ts = now > m->last_ts ? now : m->last_ts + 1;

	if (batch->n > 0 && ts < batch->provisional)
		ts = batch->provisional;
	batch->provisional = ts;
	return floor >= ts ? floor + 1 : ts;
}

/* Returns true if an automatic put of the list would meet another put of its cell at this time. */
static inline bool
model_meets(const model_list *net, int64_t ts, const model_op *only)
{
	for (int i = 0; i < net->n; i++)
	{
		const model_op *p = &net->ops[i];

		if (!p->automatic || (only != NULL && p != only))
			continue;
		for (int j = 0; j < net->n; j++)
		{
			const model_op *q = &net->ops[j];

			if (j != i && q->type == M_PUT && q->family == p->family && q->row == p->row &&
				q->qual == p->qual && q->ts == ts && !q->automatic)
				return true;
		}
	}
	return false;
}

/*
 * Commits the batch and empties it.  All automatic puts get one time, newer than all that were
 * assigned before, but those whose floor is not below it.  *stamp: that time if it was assigned
 * before the batch's puts were known; then a put alone moves on where it would meet another.
 * tick: the clock of automatic puts moves in any case.
 */
static inline void
model_commit(model *m, model_list *batch, int64_t now, const int64_t *stamp, bool tick)
{
	model_list net = {0};
	bool any = false;
	int64_t newest, ts = stamp != NULL ? *stamp : now > m->last_ts ? now : m->last_ts + 1;

	model_net(batch, batch->n, &net);
	m->moment++;
	while (stamp == NULL && model_meets(&net, ts, NULL))
		ts++;
	newest = ts;
	for (int i = 0; i < net.n; i++)
	{
		model_op *p = &net.ops[i];

		p->moment = m->moment;
		if (p->type != M_PUT && p->ts == INT64_MAX)
		{
			p->at = ts;
			any = true;
		}
		if (!p->automatic)
			continue;
		any = true;
		p->ts = p->floor >= ts ? p->floor + 1 : ts;
		while (model_meets(&net, p->ts, p))
			p->ts++;
		if (p->floor < ts && p->ts > newest)
			newest = p->ts;
	}
	for (int i = 0; i < net.n; i++)
		model_add(&m->cells[net.ops[i].family * m->nrows + net.ops[i].row], &net.ops[i]);
	if (any || stamp != NULL || tick)
		m->last_ts = newest;
	if (any)
		m->stamped = newest;
	free(net.ops);
	batch->n = 0;
}

static inline bool
model_limited(const model_view *v)
{
	return v->ts_min != 0 || v->ts_max != 0;
}

/*
 * Changes options, at a moment of its own.  Expired cells stay dead if fewer
 * would expire from now on.
 */
static inline void
model_alter(model *m, model_family *f, int64_t now, const model_family *to)
{
	model_floor *x = &f->floors[f->nfloors++];

	x->moment = m->moment++;
	x->versions = f->versions;
	x->min_versions = f->min_versions;
	x->before = f->ttl > 0 &&
						(to->ttl == 0 || to->ttl > f->ttl || to->min_versions > f->min_versions)
					? now - f->ttl
					: INT64_MIN;
	x->now = now;
	x->keep_deleted = f->keep_deleted;
	f->versions = to->versions;
	f->min_versions = to->min_versions;
	f->ttl = to->ttl;
	f->keep_deleted = to->keep_deleted;
}

/* Returns true if the family TTL hides the nth of the versions that count. */
static inline bool
model_hidden(const model_family *f, const model_view *v, const model_op *p, int nth)
{
	return f->ttl > 0 && p->ts < v->now - f->ttl && nth >= f->min_versions;
}

/* Returns the number of versions in force at a moment. */
static inline int
model_limit(const model_family *f, int moment)
{
	for (int i = 0; i < f->nfloors; i++)
		if (moment <= f->floors[i].moment)
			return f->floors[i].versions;
	return f->versions;
}

/* Applies the option changes from one moment to before another: expired cells go, then the cut. */
static inline int
model_changes(const model_family *f, int after, int upto, model_op *live, int nlive)
{
	for (int i = 0; i < f->nfloors; i++)
	{
		const model_floor *x = &f->floors[i];
		int counted = 0, kept = 0;

		if (x->moment < after || x->moment >= upto)
			continue;
		for (int k = 0; k < nlive; k++)
		{
			bool expired = live[k].ttl > 0 && live[k].ts + live[k].ttl < x->now;
			bool safe = !expired && counted++ < x->min_versions;

			if (safe || live[k].ts >= x->before)
				live[kept++] = live[k];
		}
		nlive = kept < model_limit(f, x->moment + 1) ? kept : model_limit(f, x->moment + 1);
	}
	return nlive;
}

static inline bool
model_regards(const model_family *f, const model_view *v, const model_op *d)
{
	if (!f->keep_deleted || !model_limited(v) || v->ts_max == INT64_MAX ||
		(d->ts == INT64_MAX ? d->at : d->ts) < v->ts_max)
		return true;
	/* a delete from before keep_deleted still counts */
	for (int i = 0; i < f->nfloors; i++)
		if (d->moment <= f->floors[i].moment && !f->floors[i].keep_deleted)
			return true;
	return false;
}

/* Applies one moment of a column: acts[0..n) change the living versions. */
static inline int
model_moment(const model_family *f, const model_view *v, int qual, const model_op *acts, int n,
			 model_op *live, int nlive)
{
	int moment = acts[0].moment;
	int kept = 0;

	for (int i = 0; i < nlive; i++)
	{
		bool dead = false;

		for (int j = 0; j < n && !dead; j++)
			dead = model_hits(&acts[j], &live[i]) && model_regards(f, v, &acts[j]);
		if (!dead)
			live[kept++] = live[i];
	}
	nlive = kept;
	for (int i = 0; i < n; i++)
	{
		int at = 0;

		if (acts[i].type != M_PUT || acts[i].qual != qual)
			continue;
		if (model_hidden(f, v, &acts[i], 0))
			continue;
		while (at < nlive && live[at].ts > acts[i].ts)
			at++;
		if (at == nlive || live[at].ts != acts[i].ts)
		{
			memmove(live + at + 1, live + at, (size_t) (nlive - at) * sizeof(*live));
			nlive++;
		}
		live[at] = acts[i];
	}
	return nlive < model_limit(f, moment) ? nlive : model_limit(f, moment);
}

/* Returns the versions of a column that the view shows, newest first; at most max. */
static inline int
model_column(const model *m, const model_view *v, int family, int row, int qual, int max,
			 model_op *out)
{
	const model_family *f = &m->families[family];
	const model_list *l = &m->cells[family * m->nrows + row];
	model_list net = {0};
	model_op *live;
	int nlive = 0, n = 0, counted = 0, at = 0;

	if (v->own != NULL)
	{
		int kept = 0;

		model_net(v->own, v->mark, &net);
		/* keep only this row; where an automatic put meets an explicit one, the later one shows */
		for (int i = 0; i < net.n; i++)
			if (net.ops[i].family == family && net.ops[i].row == row)
			{
				net.ops[kept] = net.ops[i];
				net.ops[kept++].moment = M_OWN;
			}
		net.n = kept;
	}
	live = malloc(((size_t) l->n + (size_t) net.n + 1) * sizeof(*live));
	for (int i = 0; i < l->n;)
	{
		int end = i;
		bool skip = l->ops[i].moment > v->moment;

		while (end < l->n && l->ops[end].moment == l->ops[i].moment)
			end++;
		if (v->excluded_from != 0 && l->ops[i].moment >= v->excluded_from)
		{
			bool in = false;

			for (int k = 0; k < v->nincluded; k++)
				in |= v->included[k] == l->ops[i].moment;
			skip |= !in;
		}
		if (!skip)
		{
			nlive = model_changes(f, at, l->ops[i].moment, live, nlive);
			at = l->ops[i].moment;
			nlive = model_moment(f, v, qual, l->ops + i, end - i, live, nlive);
		}
		i = end;
	}
	/* option changes are not part of a snapshot: later ones apply as well */
	nlive = model_changes(f, at, M_OWN, live, nlive);
	if (net.n > 0)
		nlive = model_moment(f, v, qual, net.ops, net.n, live, nlive);
	if (max > f->versions)
		max = f->versions;
	for (int i = 0; i < nlive && n < max; i++)
	{
		if (live[i].ttl > 0 && live[i].ts + live[i].ttl < v->now)
			continue;
		if (model_hidden(f, v, &live[i], counted++))
			continue;
		if (model_limited(v) &&
			(live[i].ts < v->ts_min || (v->ts_max != INT64_MAX && live[i].ts >= v->ts_max)))
			continue;
		out[n++] = live[i];
	}
	free(live);
	free(net.ops);
	return n;
}

#endif /* MODEL_H */
