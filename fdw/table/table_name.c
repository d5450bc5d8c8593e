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

static char *
join(List *parts)
{
	StringInfoData s;
	ListCell *lc;

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
	return s.data;
}

char *
wt_table_name_canonical(const char *text)
{
	return join(split(text));
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
