/* damage.c - marks sorted files that cannot be read */
#include <stdio.h>
#include "engine/set/damage.h"
#include "engine/base/status.h"
#include "engine/shared/host.h"
#include "engine/shared/layout.h"
#include "engine/set/edit.h"

wide_status
damage_set_aside(wide_db *db, const file_meta *f)
{
	file_meta marked = *f;
	version_edit edit = {
		.add = &marked, .nadd = 1, .remove = &f->number, .nremove = 1, .memtable = -1};
	char text[700];

	if (db->host.report != NULL)
	{
		snprintf(text, sizeof text,
				 "a file of family %u is damaged and is left out of compactions: %s", f->family,
				 wide_error_text());
		db->host.report(db->host.ctx, 2, text);
	}
	damage_mark(&marked);
	return edit_apply(db, &edit);
}
