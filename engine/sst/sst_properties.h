/* sst_properties.h - what a sorted file says about itself: its meta block */
#ifndef WIDE_SST_PROPERTIES_H
#define WIDE_SST_PROPERTIES_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/shared/layout.h"

typedef struct sst_properties
{
	file_meta meta;		 /* bytes and global_seq are 0 */
	bool global;		 /* all entries have one sequence number, which only file_meta has */
	bool family_deletes; /* there are family-wide deletes */
	/* options of the family at the time of writing */
	bool in_memory;
	uint8_t bloom; /* wide_bloom */
	uint16_t bloom_prefix;
	uint32_t block_size;
} sst_properties;

/* Appends the meta block.  Errors: WIDE_NOMEM. */
extern wide_status sst_properties_put(buffer *b, const sst_properties *p);

/* Decodes a meta block.  Returns false if it is malformed. */
extern bool sst_properties_get(const uint8_t *data, size_t len, sst_properties *p);

#endif /* WIDE_SST_PROPERTIES_H */
