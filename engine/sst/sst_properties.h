/* sst_properties.h - the properties that a sorted file stores about itself */
#ifndef WIDE_SST_PROPERTIES_H
#define WIDE_SST_PROPERTIES_H

#include "engine/wide.h"
#include "engine/base/buffer.h"
#include "engine/shared/layout.h"

/* The meta block. */
typedef struct sst_properties
{
	file_meta meta; /* bytes and global_seq are 0 */
	bool global;
	bool in_memory;
	bool family_deletes; /* there are some */
	uint8_t bloom;		 /* wide_bloom */
	uint16_t bloom_prefix;
	uint32_t block_size;
} sst_properties;

extern wide_status sst_properties_put(buffer *b, const sst_properties *p);
extern bool sst_properties_get(const uint8_t *data, size_t len, sst_properties *p);

#endif /* WIDE_SST_PROPERTIES_H */
