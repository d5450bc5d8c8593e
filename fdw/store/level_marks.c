/*
 * level_marks.c
 *		Where subtransactions have begun in a list of the transaction's changes.
 */
#include "postgres.h"

#include "fdw/store/level_marks.h"

#include "utils/memutils.h"

void
wt_level_marks_note(WtLevelMarks *m, uint64 mark)
{
	int level = GetCurrentTransactionNestLevel();

	if (level <= 1 || (m->n > 0 && m->list[m->n - 1].level >= level))
		return;
	if (m->n == m->max)
	{
		int max = Max(16, m->max * 2);

		m->list = m->list == NULL ? MemoryContextAlloc(TopMemoryContext, sizeof(WtLevelMark) * max)
								  : repalloc(m->list, sizeof(WtLevelMark) * max);
		m->max = max;
	}
	m->list[m->n++] = (WtLevelMark) {level, mark};
}

bool
wt_level_marks_end(WtLevelMarks *m, SubXactEvent event, uint64 *mark)
{
	int level = GetCurrentTransactionNestLevel();
	bool changed = false;

	if (event == SUBXACT_EVENT_COMMIT_SUB && m->n > 0 && m->list[m->n - 1].level == level)
	{
		if (level - 1 <= 1 || (m->n > 1 && m->list[m->n - 2].level == level - 1))
			m->n--;
		else
			m->list[m->n - 1].level = level - 1;
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		for (; m->n > 0 && m->list[m->n - 1].level >= level; m->n--)
		{
			*mark = m->list[m->n - 1].mark;
			changed = true;
		}
	}
	return changed;
}

void
wt_level_marks_clear(WtLevelMarks *m)
{
	m->n = 0;
}
