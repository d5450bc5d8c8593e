/* level.c - target sizes of the levels of a leveled family */
#include "engine/compaction/level.h"

uint64_t
level_target(int level)
{
	uint64_t target = level_bytes;

	for (int l = 1; l < level; l++)
		target *= 10;
	return target;
}
