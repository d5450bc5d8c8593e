# widetable: a column-family storage engine inside PostgreSQL.
#
#   make && make install            build and install (PG_CONFIG, DESTDIR as in PGXS)
#   make installcheck               regression tests against a running server
#   make check                      everything on a private cluster (./test/check)
#   make demo                       the demo (./test/demo)
#   make check-engine               engine unit tests only
#   make check-sanitize             engine unit tests under address and undefined sanitizers
#   make check-clang                build with clang and its warnings
#   make check-clients              programs and libraries that read and write wide tables (./test/clients)

EXTENSION = widetable
MODULE_big = widetable
DATA = sql/widetable--1.0.sql
DOCS = README.md

# The directory of this file, with a slash at the end: the checkout, also when
# the build is somewhere else (make -f /path/of/checkout/Makefile).
TOP := $(dir $(lastword $(MAKEFILE_LIST)))
THIS := $(lastword $(MAKEFILE_LIST))

# every source of the rooms (engine/*/, fdw/*/) and those above them
SOURCES := $(sort $(foreach d,engine fdw,$(wildcard $(TOP)$d/*.c $(TOP)$d/*/*.c)))
OBJS = $(patsubst $(TOP)%.c,%.o,$(SOURCES))
# includes are written from the top of the checkout: "engine/wide.h"
PG_CPPFLAGS = -I$(srcdir) -D_GNU_SOURCE
PG_CFLAGS = -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
# a server built with gcc asks clang for warnings, and in its headers for attributes, that only gcc has
ifneq ($(findstring clang,$(CC)),)
PG_CFLAGS += -Wno-unknown-warning-option -Wno-ignored-attributes -Wno-ignored-optimization-argument
endif
# The compiler writes next to each object which headers it read (foo.d), see the end.
PG_CFLAGS += -MMD -MP
SHLIB_LINK = -lzstd -lxxhash -lpthread -lm
# A short statement's time goes by how much code it touches: calls inside the library
# and those of the server go straight there, and what such statements run through
# lies together, where the linker can do that (GNU ld, lld).
PG_CFLAGS += -fno-semantic-interposition -fno-plt -ffunction-sections
HOT := $(TOP)fdw/hot.ld
SHLIB_LINK += -Wl,-Bsymbolic-functions
ifneq ($(shell echo 'int f(void); int f(void) { return 0; }' | $(CC) -x c -shared -fPIC -o /dev/null -Wl,-T,$(HOT) - 2>/dev/null && echo yes),)
SHLIB_LINK += -Wl,-T,$(HOT)
endif

REGRESS = $(shell cat $(CURDIR)/sql/schedule 2>/dev/null)
REGRESS_OPTS = --inputdir=. --load-extension=widetable

# the objects of files that have gone, too
EXTRA_CLEAN = $(foreach d,engine fdw,$(wildcard $(foreach e,o d bc,$d/*.$e $d/*/*.$e)))

PG_CONFIG ?= pg_config

# PGXS has a target "check" that only says no; ours stand apart from it
OWN_TARGETS = check demo check-engine check-sanitize check-clang check-clients
ifneq ($(filter $(OWN_TARGETS),$(MAKECMDGOALS)),)

check:
	./test/check
demo:
	./test/demo
check-engine:
	$(MAKE) -C test/engine check
check-sanitize:
	$(MAKE) -C test/engine SAN=address,undefined check
check-clients:
	./test/clients
check-clang:
	$(MAKE) -C test/engine CC=clang BUILD=build-clang check
.PHONY: $(OWN_TARGETS)

else

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# The engine's symbols stay inside the library: without that a function of the
# server with the same name would be called instead.  (What fdw/ exports begins
# with wt; before 16 PostgreSQL finds its entry points only when all are visible.)
engine/%.o: override CFLAGS += -fvisibility=hidden
# declarations after statements are the style of engine/ and of C11
engine/%.o fdw/%.o: override CFLAGS := $(filter-out -Wdeclaration-after-statement,$(CFLAGS))

$(MODULE_big).so: $(HOT)
# other flags, other objects
$(OBJS): $(THIS)
# A header that has changed rebuilds the objects that have read it; bitcode goes with its object.
$(OBJS:.o=.bc): %.bc: %.o
-include $(OBJS:.o=.d)
# a build outside the checkout needs the directories
$(shell mkdir -p $(sort $(dir $(OBJS))))

endif
