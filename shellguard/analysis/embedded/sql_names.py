# SPDX-License-Identifier: Apache-2.0
"""What SQL may call and say: the tables of `sql.py`. What is not listed is `unknown`.

Sources: the manuals of SQLite 3.40, PostgreSQL 15, MySQL 8.4 and MariaDB 10.11, DuckDB 1.4, and runs of all four.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.replace("\n", " ").split(" ")) - {""}


DIALECTS = ("sqlite", "postgres", "mysql", "duckdb")

BEFORE_PAREN = _names("""
    all and any array as between by case cross distinct else end escape except exclude exists filter from full group
    having ilike in inner intersect is isnull join lateral left like limit materialized natural not notnull
    offset on or order outer over partition range recursive right rows select some then union using values
    when where window within xor
""")
"""Keywords that may stand before a parenthesis, where a name would be a function that is called."""

TYPES = _names("""
    bigint binary bit blob bool boolean bpchar bytea char character date datetime decimal double float
    float4 float8 int int2 int4 int8 integer interval nchar numeric nvarchar precision real signed smallint
    text time timestamp timestamptz tinyint unsigned uuid varbinary varbit varchar
""")
"""Names of types, which may have a length in parentheses. Called like functions they only convert."""

COMMON = _names("""
    abs acos ascii asin atan atan2 avg cast ceil ceiling char_length coalesce concat concat_ws convert cos
    cot count cume_dist current_date current_time current_timestamp degrees dense_rank exp extract
    first_value floor format greatest grouping group_concat hex ifnull if iif instr json_array
    json_array_length json_extract json_object lag last_value lead least left length ln log log10 log2 lower
    lpad ltrim max md5 min mod nth_value ntile nullif octet_length overlay percent_rank pi position pow
    power radians rank repeat replace reverse right round row_number rpad rtrim sign sin sqrt stddev
    stddev_pop stddev_samp string_agg substr substring sum tan time total trim trunc typeof upper var_pop
    var_samp variance version
""")
"""Functions that only compute, in every dialect that has one of the name."""

FUNCTIONS = {
    "sqlite": _names("""
        acosh asinh atanh bm25 changes char cosh date datetime decimal_add generate_series glob highlight
        json json_each json_error_position json_group_array json_group_object json_insert json_patch
        json_pretty json_quote json_remove json_replace json_set json_tree json_type json_valid julianday
        last_insert_rowid like likelihood likely printf quote random randomblob regexp sinh snippet soundex
        sqlite_compileoption_get sqlite_compileoption_used sqlite_source_id sqlite_version strftime
        substring tanh timediff total_changes unhex unicode unixepoch unlikely zeroblob
        pragma_collation_list pragma_compile_options pragma_database_list pragma_foreign_key_list
        pragma_function_list pragma_index_info pragma_index_list pragma_index_xinfo pragma_module_list
        pragma_table_info pragma_table_list pragma_table_xinfo
    """),
    "postgres": _names("""
        age array_agg array_append array_cat array_length array_lower array_position array_remove
        array_to_json array_to_string array_upper bit_and bit_or bool_and bool_or btrim cardinality cbrt chr
        clock_timestamp col_description corr current_database current_schema current_schemas current_setting
        current_user date_bin date_part date_trunc decode div encode every factorial format_type gcd
        gen_random_uuid generate_series generate_subscripts has_column_privilege has_database_privilege
        has_schema_privilege has_table_privilege host initcap isfinite json_agg json_array_elements
        json_array_elements_text json_build_array json_build_object json_each json_each_text
        json_extract_path json_extract_path_text json_object_agg json_object_keys json_strip_nulls
        json_typeof jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length
        jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path
        jsonb_extract_path_text jsonb_object_agg jsonb_object_keys jsonb_path_query jsonb_pretty jsonb_set
        jsonb_strip_nulls jsonb_typeof justify_days justify_interval lcm localtime localtimestamp make_date
        make_interval make_time make_timestamp masklen mode now num_nonnulls num_nulls obj_description
        parse_ident percentile_cont percentile_disc pg_backend_pid pg_blocking_pids pg_client_encoding
        pg_column_size pg_conf_load_time pg_database_size pg_encoding_to_char pg_get_constraintdef
        pg_get_expr pg_get_functiondef pg_get_indexdef pg_get_ruledef pg_get_serial_sequence
        pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_indexes_size pg_is_in_recovery
        pg_postmaster_start_time pg_relation_filepath pg_relation_size pg_size_pretty pg_table_is_visible
        pg_table_size pg_tablespace_size pg_total_relation_size pg_typeof quote_ident quote_literal
        quote_nullable random regexp_count regexp_match regexp_matches regexp_replace regexp_split_to_array
        regexp_split_to_table regr_slope row row_to_json scale session_user sha256 shobj_description
        split_part starts_with statement_timestamp string_to_array string_to_table strpos timeofday to_char
        to_date to_hex to_json to_jsonb to_number to_regclass to_timestamp to_tsquery to_tsvector
        transaction_timestamp translate ts_headline ts_rank unnest user width_bucket
    """),
    "mysql": _names("""
        adddate addtime any_value bin bit_and bit_count bit_length bit_or bit_xor char charset
        character_length collation connection_id conv convert_tz crc32 curdate current_role current_user
        curtime database date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear
        elt export_set field find_in_set format_bytes found_rows from_base64 from_days from_unixtime
        get_format hour inet_aton inet_ntoa insert interval is_ipv4 isnull json_arrayagg json_contains
        json_contains_path json_depth json_keys json_length json_merge_patch json_objectagg json_overlaps
        json_pretty json_quote json_search json_set json_type json_unquote json_valid json_value last_day
        lcase locate localtime localtimestamp make_set makedate maketime microsecond mid minute month
        monthname now oct ord period_add period_diff quarter quote rand regexp_instr regexp_like
        regexp_replace regexp_substr row_count schema sec_to_time second session_user sha sha1 sha2 soundex
        space std str_to_date strcmp subdate substring_index subtime sysdate system_user time_format
        time_to_sec timediff timestampadd timestampdiff to_base64 to_days to_seconds truncate ucase unhex
        unix_timestamp user utc_date utc_time utc_timestamp uuid uuid_short values week weekday weekofyear
        weight_string year yearweek
    """),
    "duckdb": _names("""
        age any_value approx_count_distinct approx_quantile arg_max arg_min array_agg array_extract
        array_length array_slice array_to_string arbitrary bar bit_and bit_or bit_xor bool_and bool_or
        cardinality chr columns contains corr current_database current_schema date_add date_diff date_part
        date_sub date_trunc datediff datepart datetrunc day dayname dayofweek dayofyear duckdb_columns
        duckdb_constraints duckdb_databases duckdb_extensions duckdb_functions duckdb_indexes duckdb_schemas
        duckdb_settings duckdb_tables duckdb_types duckdb_views element_at ends_with entropy enum_range
        epoch epoch_ms first flatten format_bytes generate_series glob hash histogram hour isfinite isnan
        json_array_length json_extract_path json_extract_string json_group_array json_keys json_structure
        json_type json_valid kurtosis last last_day levenshtein list list_aggregate list_append list_concat
        list_contains list_distinct list_filter list_sort list_sum list_transform list_value listagg mad
        make_date make_timestamp map map_entries map_extract map_keys map_values median minute mode month
        monthname now parquet_file_metadata parquet_metadata parquet_schema pragma_table_info prefix printf
        quantile quantile_cont quantile_disc quarter random range read_blob read_csv read_csv_auto read_json
        read_json_auto read_json_objects read_ndjson read_ndjson_auto read_ndjson_objects read_parquet
        read_text regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace
        regexp_split_to_array row second sem sha256 skewness sniff_csv split split_part starts_with
        str_split strftime string_split strip_accents strlen strptime struct_extract struct_pack suffix
        summary to_days to_json to_timestamp today try_cast unnest uuid week weekday year yearweek
    """),
}
"""Functions that only compute and read what the database holds, by dialect."""

FILES = {
    "sqlite": _names("readfile"),
    "postgres": _names("pg_ls_dir pg_ls_logdir pg_ls_waldir pg_read_binary_file pg_read_file pg_stat_file"),
    "mysql": _names("load_file"),
    "duckdb": _names("getenv"),
}
"""Functions that read files beyond the database, with the rights of the server: marked as sensitive."""

WAITING = {
    "sqlite": _names(""),
    "postgres": _names("pg_sleep"),
    "mysql": _names("sleep"),
    "duckdb": _names(""),
}
"""Functions that pause."""

WRITING = {
    "sqlite": {"writefile": "writes", "load_extension": "executes", "edit": "executes"},
    "postgres": {
        **dict.fromkeys(
            (
                *(
                    "lo_export",
                    "lo_import",
                    "lo_create",
                    "lo_unlink",
                    "lo_put",
                    "lo_from_bytea",
                    "nextval",
                    "setval",
                ),
                *(
                    "pg_terminate_backend",
                    "pg_cancel_backend",
                    "pg_reload_conf",
                    "pg_rotate_logfile",
                    "pg_switch_wal",
                ),
                *(
                    "pg_stat_reset",
                    "pg_notify",
                    "pg_create_restore_point",
                    "pg_logical_emit_message",
                    "txid_current",
                ),
            ),
            "writes",
        ),
        **dict.fromkeys(("dblink_exec", "dblink", "query_to_xml", "pg_file_write"), "executes"),
    },
    "mysql": {
        "sys_exec": "executes",
        "sys_eval": "executes",
        "get_lock": "writes",
        "setval": "writes",
        "nextval": "writes",
    },
    "duckdb": {"nextval": "writes", "query": "executes", "query_table": "executes"},
}
"""Functions that are known to write or to run something."""

QUERY_WORDS = _names("delete dumpfile insert into lock merge outfile procedure replace share update")
"""Words with which a query writes: a part of WITH, `into`, `for update`, `lock in share mode`."""

WRITE_WORDS = _names("""
    alter analyze attach call checkpoint cluster copy create delete detach do drop dumpfile execute export
    grant import insert install into load lock merge outfile prepare procedure refresh reindex replace reset
    revoke set share truncate unlock update upsert vacuum
""")
"""Words with which a statement begins that changes something."""

PRAGMAS = {
    "sqlite": _names("""
        application_id auto_vacuum automatic_index busy_timeout cache_size cache_spill case_sensitive_like
        cell_size_check checkpoint_fullfsync collation_list compile_options data_version database_list
        defer_foreign_keys encoding foreign_key_check foreign_keys freelist_count fullfsync function_list
        hard_heap_limit ignore_check_constraints integrity_check journal_mode journal_size_limit
        legacy_alter_table locking_mode max_page_count mmap_size module_list page_count page_size
        pragma_list query_only quick_check read_uncommitted recursive_triggers reverse_unordered_selects
        schema_version secure_delete soft_heap_limit stats synchronous table_list temp_store threads
        trusted_schema user_version wal_autocheckpoint
    """),
    "duckdb": _names(
        "database_list database_size show_tables show_tables_expanded version user_agent platform"
    ),
}
"""Pragmas that only say something, when no value is given."""

PRAGMAS_OF = {
    "sqlite": _names("""
        foreign_key_check foreign_key_list index_info index_list index_xinfo integrity_check quick_check
        table_info table_list table_xinfo
    """),
    "duckdb": _names("table_info storage_info"),
}
"""Pragmas that say something about what stands in parentheses."""

FILE_SUFFIXES = (".csv", ".csv.gz", ".json", ".json.gz", ".jsonl", ".ndjson", ".parquet", ".tsv", ".tsv.gz")
"""Of files that DuckDB reads in place of a table without an extension that it might install first."""

OTHER_SUFFIXES = _names(
    "arrow arrows avro db dta duckdb feather fgb geojson gpkg ipc lance ods pbf sas7bdat sav shp"
)
OTHER_SUFFIXES |= _names("sqlite sqlite3 vortex xls xlsx xpt")
"""Names of tables that DuckDB takes for the suffix of a file which needs such an extension."""

DOT = _names("""
    .bail .changes .databases .dbinfo .dump .echo .eqp .exit .explain .fullschema .header .headers .help
    .indexes .indices .lint .mode .nullvalue .print .prompt .quit .schema .separator .sha3sum .show .stats
    .tables .timeout .timer .version .vfsinfo .vfslist .vfsname .width
""")
"""Commands of the shell of SQLite that only print or say how to print. DuckDB has those of them that it knows."""

DOT_HARM = {
    **dict.fromkeys((".shell", ".system", ".load"), "executes"),
    **dict.fromkeys(
        (
            *(
                ".archive",
                ".backup",
                ".clone",
                ".excel",
                ".import",
                ".log",
                ".once",
                ".output",
                ".restore",
                ".save",
            ),
            *(".trace", ".recover"),
        ),
        "writes",
    ),
}

BACKSLASH = _names(r"""
    \conninfo \copyright \d \da \dA \dAc \dAf \dAo \dAp \db \dc \dC \dd \dD \ddp \dE \des \det \deu \dew \df
    \dF \dFd \dFp \dFt \dg \di \dl \dL \dm \dn \do \dO \dp \drds \dRp \dRs \ds \dS \dt \dT \du \dv \dx \dX
    \dy \encoding \l \list \q \sf \sv \timing \x \z
""")
"""Commands of psql that only ask the server, with at most one plain word; `S` and `+` may stand behind."""
