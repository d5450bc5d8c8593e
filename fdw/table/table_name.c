/*
 * table_name.c
 *		Names of stored tables.
 */
#include "postgres.h"

#include "fdw/table/table_name.h"

#include "common/keywords.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

/* Returns: the parts of a name, palloc'd. */
static List *
split(const char *text)
{
	List *parts = NIL;
	const char *p = text;

	for (;;)
	{
		StringInfoData part;
		size_t n;

		initStringInfo(&part);
		if (*p == '"')
		{
			for (p++; *p && !(*p == '"' && p[1] != '"'); p++)
			{
				if (*p == '"')
					p++;
				appendStringInfoChar(&part, *p);
			}
			if (*p++ != '"')
				return list_make1(pstrdup(text));
		}
		else
		{
			n = strcspn(p, ".\"");
			appendBinaryStringInfo(&part, p, (int) n);
			p += n;
		}
		if (part.len == 0 || (*p != '\0' && *p != '.'))
			return list_make1(pstrdup(text));
		parts = lappend(parts, part.data);
		if (*p++ == '\0')
			return parts;
	}
}

/* As quote_identifier(), which obeys a setting of the session. */
static bool
is_plain(const char *part)
{
	size_t n = strspn(part, "abcdefghijklmnopqrstuvwxyz0123456789_");
	int keyword = ScanKeywordLookup(part, &ScanKeywords);

	return part[n] == '\0' && !(part[0] >= '0' && part[0] <= '9') &&
		   (keyword < 0 || ScanKeywordCategories[keyword] == UNRESERVED_KEYWORD);
}

static void
append_quoted(StringInfo s, const char *part)
{
	appendStringInfoChar(s, '"');
	for (const char *p = part; *p; p++)
	{
		if (*p == '"')
			appendStringInfoChar(s, '"');
		appendStringInfoChar(s, *p);
	}
	appendStringInfoChar(s, '"');
}

/* Frees the parts.  Returns: the canonical text, in as much memory as it needs: the caller may keep
 * it. */
static char *
join(List *parts)
{
	StringInfoData s;
	ListCell *lc;
	char *text;

	initStringInfo(&s);
	foreach(lc, parts)
	{
		const char *part = lfirst(lc);
		/* a single part may be any text, and shall look as it was written */
		bool plain = list_length(parts) == 1 ? strpbrk(part, ".\"") == NULL : is_plain(part);

		if (s.len > 0)
			appendStringInfoChar(&s, '.');
		if (plain)
			appendStringInfoString(&s, part);
		else
			append_quoted(&s, part);
	}
	list_free_deep(parts);
	text = pstrdup(s.data);
	pfree(s.data);
	return text;
}

char *
wt_table_name_canonical(const char *text)
{
	return join(split(text));
}

bool
wt_table_name_is(const char *text, const char *canonical)
{
	const char *a = text, *b = canonical;
	char *name;
	bool equal;

	/* the same but for quotes */
	for (;; a++, b++)
	{
		a += strspn(a, "\"");
		b += strspn(b, "\"");
		if (*a != *b)
			return false;
		if (*a == '\0')
			break;
	}
	name = wt_table_name_canonical(text);
	equal = strcmp(name, canonical) == 0;
	pfree(name);
	return equal;
}

char *
wt_table_name_default(const char *schema, const char *relation)
{
	return join(list_make2(pstrdup(schema), pstrdup(relation)));
}

char *
wt_table_name_first_default(const char *schema, const char *relation)
{
	return psprintf("%s.%s", schema, relation);
}

char *
wt_table_name_schema(const char *text)
{
	List *parts = split(text);

	return list_length(parts) == 2 ? linitial(parts) : NULL;
}
