\echo Use "ALTER EXTENSION widetable UPDATE TO '1.1'" to load this file. \quit

-- ----------------------------------------------- the foreign-data wrapper

-- USAGE on the server lets a role make wide tables, which take memory and log from all roles: an administrator grants it.
-- Foreign tables that exist need no USAGE.
REVOKE USAGE ON FOREIGN SERVER widetable FROM PUBLIC;

-- ------------------------------------- foreign tables make engine tables

-- Commands that drop may drop the trigger on sql_drop, which then does not fire. This trigger loads the library, which
-- has a hook. For CREATE FOREIGN TABLE it says which privilege is missing and how it is granted.
DROP EVENT TRIGGER widetable_ddl_command_start;
CREATE EVENT TRIGGER widetable_ddl_command_start ON ddl_command_start
    WHEN TAG IN ('DROP EXTENSION', 'DROP SCHEMA', 'DROP OWNED', 'CREATE FOREIGN TABLE')
    EXECUTE FUNCTION @extschema@.ddl_command_start();

-- --------------------------------------------------- cells, out and in again

CREATE FUNCTION @extschema@.export_cells(rel regclass, lower bytea DEFAULT NULL, upper bytea DEFAULT NULL)
    RETURNS SETOF bytea LANGUAGE C STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wt_sql_export_cells';
CREATE FUNCTION @extschema@.import_cells(rel regclass, cells bytea)
    RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'wt_sql_import_cells';
COMMENT ON FUNCTION @extschema@.export_cells(regclass, bytea, bytea) IS
    'all versions of the cells of rows between two stored keys, as compressed chunks for import_cells';
COMMENT ON FUNCTION @extschema@.import_cells(regclass, bytea) IS
    'writes the cells of a chunk of export_cells, with their timestamps; returns their number';
