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
