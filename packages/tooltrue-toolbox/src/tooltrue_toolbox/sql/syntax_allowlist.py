"""The allowlist of statements: kinds of nodes, functions by name, and the functions of each engine.

A function or node that is not listed is refused, by name; so a function that an engine gains in a new version is
refused until it has been reviewed. No listed function reads a file, reaches a network, waits, writes, locks, or reveals
a setting. ``ENGINE`` holds the functions of one engine alone.
"""

from __future__ import annotations

__all__ = ["CHANGES", "DIALECTS", "ENGINE", "FUNCTIONS", "LENGTHS", "QUERIES", "TYPED"]

DIALECTS = ("sqlite", "duckdb", "postgres", "mysql")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


QUERIES = _words("""
    Add Alias Aliases Any AtTimeZone Between BitString BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr
    BitwiseRightShift BitwiseXor Boolean Bracket ByteString CharacterSet Collate Column CTE Cube DataType
    DataTypeParam Distinct Div Dot DPipe EQ Escape Except Fetch Filter From Glob Group GroupingSets GT GTE Having
    HavingMax HexString Identifier IgnoreNulls ILike In IntDiv Intersect Interval IntervalOp IntervalSpan Is Join
    JSONKeyValue JSONPath JSONPathKey JSONPathRecursive JSONPathRoot JSONPathSelector JSONPathSlice
    JSONPathSubscript JSONPathUnion JSONPathWildcard Kwarg Lambda Lateral Like Limit LimitOptions Literal LT LTE Mod
    Mul National Neg NEQ Not Null NullSafeEQ NullSafeNEQ Offset Operator Order Ordered Overlaps Paren
    PartitionByExcluding Pivot PivotAlias PivotAny Placeholder PropertyEQ Qualify RespectNulls Rollup Select
    Semicolon SimilarTo Slice Star Sub Subquery Table TableAlias TableSample Tuple Union UnpivotColumns Values Var
    Where Window WindowSpec With WithinGroup
""")
"""Nodes of a query that are not functions."""

CHANGES = _words("""
    AddConstraint Alter AlterColumn AlterRename AutoIncrementColumnConstraint CharacterSetColumnConstraint
    CheckColumnConstraint CollateColumnConstraint ColumnConstraint ColumnDef ColumnPosition CommentColumnConstraint
    ComputedColumnConstraint Constraint Create DefaultColumnConstraint Delete Drop ForeignKey
    GeneratedAsIdentityColumnConstraint Index IndexParameters Insert Merge NotNullColumnConstraint OnConflict
    OnUpdateColumnConstraint PrimaryKey PrimaryKeyColumnConstraint Reference RenameColumn Returning Schema
    TruncateTable UniqueColumnConstraint Update When Whens
""")
"""Nodes of a change, besides those of a query."""

TYPED = _words("""
    Abs Acos Acosh AddMonths And AnyValue ApproxDistinct ApproxQuantile ArgMax ArgMin Array ArrayAgg ArrayAll
    ArrayAny ArrayAppend ArrayConcat ArrayContainedBy ArrayContains ArrayContainsAll ArrayDistinct ArrayExcept
    ArrayFilter ArrayFirst ArrayIntersect ArrayLast ArrayMax ArrayMin ArrayOverlaps ArrayPosition ArrayPrepend
    ArrayRemove ArrayReverse ArraySize ArraySlice ArraySort ArraySum ArrayToString ArrayUniqueAgg Ascii Asin Asinh
    Atan Atan2 Atanh Avg BitLength BitwiseAndAgg BitwiseCount BitwiseOrAgg BitwiseXorAgg ByteLength Case Cast Cbrt
    Ceil Chr Coalesce Collate Columns Concat ConcatWs Contains Convert Corr Cos Cosh Cot Count CountIf CovarPop
    CovarSamp CumeDist CurrentDate CurrentDatetime CurrentTime CurrentTimestamp Date DateAdd DateBin DateDiff
    DateFromParts DateStrToDate DateSub Datetime DatetimeAdd DatetimeDiff DatetimeSub DatetimeTrunc DateToDateStr
    DateTrunc Day Dayname DayOfMonth DayOfWeek DayOfWeekIso DayOfYear Decode Degrees DenseRank Elt Encode EndsWith
    EqualNull EuclideanDistance Exists Exp Explode ExplodingGenerateSeries Extract Factorial First FirstValue
    Flatten Floor FromBase64 GenerateDateArray GenerateSeries GenerateTimestampArray Getbit Greatest GroupConcat
    Grouping GroupingId Hex Hour If Initcap IsInf IsNan JarowinklerSimilarity JSONArray JSONArrayAgg
    JSONArrayContains JSONBContains JSONBContainsAllTopKeys JSONBContainsAnyTopKeys JSONBContainsTopKey JSONBExists
    JSONBExtract JSONBExtractScalar JSONBObjectAgg JSONExists JSONExtract JSONExtractArray JSONExtractScalar
    JSONFormat JSONKeys JSONObject JSONObjectAgg JSONType JSONValueArray JustifyDays JustifyHours JustifyInterval
    Kurtosis Lag Last LastDay LastValue Lead Least Left Length List Ln Localtime Localtimestamp Log
    LogicalAnd LogicalOr Lower LowerHex MakeInterval Map MapFromEntries MapKeys MapSize MatchAgainst Max MD5 Median
    Min Minute Mode Month Monthname MonthsBetween NthValue Ntile Nullif NumberToStr Nvl2 Or Overlay Pad ParseJSON
    PercentileCont PercentileDisc PercentRank Pi Posexplode Pow Quantile Quarter Radians Rand Randn Rank RegexpCount
    RegexpExtract RegexpExtractAll RegexpFullMatch RegexpILike RegexpInstr RegexpLike RegexpReplace RegexpSplit
    RegexpSubstr RegrAvgx RegrAvgy RegrCount RegrIntercept RegrR2 RegrSlope RegrSxx RegrSxy RegrSyy Repeat Replace
    Reverse Right Rint Round RowNumber SafeDivide Second SHA SHA1Digest SHA2 SHA2Digest Sign Sin Sinh Skewness
    Soundex Space Split SplitPart Sqrt StartsWith Stddev StddevPop StddevSamp String StringToArray StrPosition
    StrToDate StrToTime StrToUnix Struct StructExtract Substring SubstringIndex Sum Tan Tanh Time TimeAdd TimeDiff
    TimeFromParts Timestamp TimestampAdd TimestampDiff TimestampFromParts TimestampSub TimestampTrunc TimeStrToDate
    TimeStrToTime TimeStrToUnix TimeSub TimeToStr TimeToTimeStr TimeToUnix TimeTrunc ToArray ToBase64 ToChar ToDays
    ToDouble ToMap ToNumber Transform Translate Trim Trunc Try TryCast TsOrDiToDi TsOrDsAdd TsOrDsDiff TsOrDsToDate
    TsOrDsToDateStr TsOrDsToDatetime TsOrDsToTime TsOrDsToTimestamp Typeof Unhex Unicode UnixDate UnixMicros
    UnixMillis UnixSeconds UnixToStr UnixToTime UnixToTimeStr Unnest Upper UtcDate UtcTime UtcTimestamp Uuid
    Variance VariancePop Week WeekOfYear WeekStart WidthBucket Xor Year YearOfWeek YearOfWeekIso
""")
"""Functions for which the parser has classes: standard SQL, and functions that all engines have under some name."""

FUNCTIONS = _words("""
    abs acos asin atan atan2 avg bit_length ceil ceiling char char_length character_length coalesce concat concat_ws
    cos cot count cume_dist current_date current_time current_timestamp date degrees dense_rank exp first_value
    floor greatest ifnull instr lag last_value lead least left length ln log log10 log2 lower lpad ltrim max min mod
    nth_value ntile nullif octet_length percent_rank pi pow power radians rank replace reverse right round
    row_number rpad rtrim sign sin sqrt substr substring sum tan trim trunc upper
""")

ENGINE: dict[str, frozenset[str]] = {
    "sqlite": _words("""
        acosh asinh atanh bm25 cosh datetime format glob group_concat hex highlight iif json json_array
        json_array_length json_each json_extract json_group_array json_group_object json_object json_patch
        json_quote json_tree json_type json_valid julianday last_day like likelihood likely match printf quote
        random sinh snippet soundex strftime string_agg tanh time timediff total typeof unhex unicode unixepoch
        unlikely
    """),
    "duckdb": _words("""
        age any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_min array_agg
        array_length array_sort array_to_string array_value bar base64 bin bit_and bit_count bit_or bit_xor bool_and
        bool_or cbrt century chr combine contains corr cosh count_if count_star countif covar_pop covar_samp
        date_add date_diff date_part date_sub date_trunc datediff datepart datetrunc day dayname dayofmonth
        dayofweek dayofyear decade element_at ends_with entropy epoch epoch_ms epoch_us era even factorial favg
        filter first flatten formatreadablesize from_base64 from_hex fsum gamma gcd generate_series geomean
        greatest_common_divisor group_concat hamming hash hex histogram hour isfinite isinf isnan isodow isoyear
        jaccard jaro_similarity jaro_winkler_similarity json_array json_array_length json_extract
        json_extract_string json_group_array json_group_object json_keys json_object json_type json_valid julian
        kurtosis last last_day lcm len list list_aggregate list_append list_avg list_concat
        list_contains list_count list_distinct list_element list_extract list_filter list_has list_max list_median
        list_min list_position list_reverse list_slice list_sort list_sum list_transform list_unique list_value
        list_zip mad make_date make_time make_timestamp map map_entries map_extract map_keys map_values max_by md5
        median microsecond millisecond min_by minute mode month monthname nextafter now ord position prefix
        product quantile quantile_cont quantile_disc quarter random range regexp_escape regexp_extract
        regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array regr_intercept
        regr_slope row second sem sha256 skewness split split_part starts_with stddev stddev_pop stddev_samp
        strftime string_agg string_split strip_accents strlen strpos strptime struct_extract struct_pack suffix
        time_bucket timezone to_base to_base64 to_days to_hours to_minutes to_months to_seconds to_timestamp
        to_weeks to_years translate try_strptime typeof unicode union_value unnest uuid var_pop var_samp variance
        week weekday weekofyear year yearweek
    """),
    "postgres": _words("""
        age array_agg array_append array_cat array_dims array_length array_lower array_ndims array_position
        array_positions array_prepend array_remove array_replace array_to_json array_to_string array_upper ascii
        bit_and bit_or bool_and bool_or btrim cardinality cbrt chr clock_timestamp corr covar_pop covar_samp
        date_bin date_part date_trunc decode div encode every factorial gcd gen_random_uuid generate_series
        generate_subscripts initcap isempty isfinite json_agg json_array_elements json_array_elements_text
        json_array_length json_build_array json_build_object json_each json_each_text json_extract_path
        json_extract_path_text json_object json_object_agg json_object_keys json_populate_record json_to_record
        json_typeof jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
        jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_object_agg
        jsonb_object_keys jsonb_path_exists jsonb_path_query jsonb_path_query_array jsonb_pretty jsonb_set
        jsonb_strip_nulls jsonb_typeof justify_days justify_hours justify_interval lcm lower_inc make_date
        make_interval make_time make_timestamp make_timestamptz md5 min_scale mode normalize now num_nonnulls
        num_nulls numnode percentile_cont percentile_disc phraseto_tsquery plainto_tsquery position quote_ident
        quote_literal quote_nullable random range_merge regexp_count regexp_instr regexp_like regexp_match
        regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr regr_avgx regr_avgy
        regr_count regr_intercept regr_r2 regr_slope row row_to_json scale setweight sha224 sha256 sha384 sha512
        similarity split_part starts_with statement_timestamp stddev stddev_pop stddev_samp string_agg
        string_to_array string_to_table strip strpos timezone to_ascii to_char to_date to_hex to_json to_jsonb
        to_number to_timestamp to_tsquery to_tsvector transaction_timestamp translate trim_scale ts_headline ts_rank
        ts_rank_cd unnest upper_inc var_pop var_samp variance websearch_to_tsquery width_bucket
    """),
    "mysql": _words("""
        adddate addtime any_value ascii bin bit_and bit_count bit_or bit_xor conv convert_tz crc32 curdate curtime
        date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear elt export_set field
        find_in_set format from_base64 from_days from_unixtime group_concat hex hour if insert interval json_array
        json_arrayagg json_contains json_contains_path json_depth json_extract json_keys json_length json_object
        json_objectagg json_overlaps json_pretty json_quote json_search json_type json_unquote json_valid json_value
        last_day lcase locate make_set makedate maketime md5 microsecond mid minute month monthname now oct ord
        period_add period_diff position quarter quote rand regexp_instr regexp_like regexp_replace regexp_substr
        sec_to_time second sha sha1 sha2 soundex std stddev stddev_pop stddev_samp str_to_date strcmp subdate
        substring_index subtime sysdate time time_format time_to_sec timediff timestamp timestampadd timestampdiff
        to_base64 to_days to_seconds truncate ucase unhex unix_timestamp utc_date utc_time utc_timestamp uuid
        var_pop var_samp variance week weekday weekofyear weight_string year yearweek
    """),
}

LENGTHS = {"Repeat": "times", "Pad": "expression", "Space": "this"}
"""Functions that produce text of any length → the argument with the length, which must be a literal number within the
limit."""
