/*
 * salvage_copy.h
 *		Copies what can be read of a damaged table into an empty one.
 */
#ifndef WT_SALVAGE_COPY_H
#define WT_SALVAGE_COPY_H

#include "nodes/execnodes.h"

#include "fdw/func/call.h"

/*
 * Copies the cells of `from` that can be read into `to`, in the transaction, and adds to the result
 * of salvage() a row for each range that cannot, and one for each family.
 * Requires: the calls lock both tables; from->e is set.
 * Errors: 55000 if `to` has rows, or is on the same stored table, or builds keys in another way;
 * 42704 if it lacks a family.
 */
extern void wt_salvage_copy(WtCall *from, WtCall *to, ReturnSetInfo *rsinfo);

#endif /* WT_SALVAGE_COPY_H */
