# SPDX-License-Identifier: Apache-2.0
"""What a Python text may name: the tables of `python.py`.

Everything that is not listed is `unknown`. A name is listed when no value that a listed name can make does anything but
compute, read and print, whatever arguments it is given: `python.py` says why that is enough. Those for which it depends
on the arguments are CHECKED. Source: the documentation of the standard library, and runs of CPython 3.11 under an audit
hook (`tests/analysis/test_python.py`).
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.replace("\n", " ").split(" ")) - {""}


BUILTINS = _names("""
    abs all any ascii bin bool bytearray bytes callable chr compile complex dict divmod
    enumerate exit filter float format frozenset hash hex id int isinstance issubclass iter len list map max
    memoryview min next object oct ord pow print quit range repr reversed round set slice sorted
    str sum tuple zip Ellipsis NotImplemented __debug__ __doc__ __file__ __name__
    ArithmeticError AssertionError AttributeError BaseException BlockingIOError BrokenPipeError BufferError
    BytesWarning ConnectionError DeprecationWarning EOFError EnvironmentError Exception FileExistsError
    FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning
    IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError
    MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplementedError OSError OverflowError
    PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError
    ResourceWarning RuntimeError RuntimeWarning StopIteration SyntaxError SyntaxWarning SystemError
    SystemExit TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError
    UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError
    """)
"""Builtins that may be called with anything, and handed on. `input` is none: Python 2 evaluates what it reads."""

MODULES = {
    name: _names(names)
    for name, names in {
        "__future__": "absolute_import annotations division generator_stop print_function unicode_literals",
        "ast": """
            AST dump fix_missing_locations get_docstring get_source_segment
            increment_lineno iter_child_nodes literal_eval parse unparse walk AnnAssign Assert
            Assign Bytes Ellipsis NameConstant AsyncFunctionDef Attribute AugAssign BinOp BoolOp Call
            ClassDef Compare Constant Dict ExceptHandler Expr For FunctionDef If Import ImportFrom
            JoinedStr Lambda List ListComp Load Module Name Num Raise Return Set Starred Store Str
            Subscript Try Tuple UnaryOp While With Yield
        """,
        "base64": """
            a85decode a85encode b16decode b16encode b32decode b32encode b64decode b64encode b85decode
            b85encode standard_b64decode standard_b64encode urlsafe_b64decode urlsafe_b64encode
        """,
        "binascii": "a2b_base64 b2a_base64 crc32 hexlify unhexlify",
        "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
        "bz2": "compress decompress",
        "calendar": "calendar day_abbr day_name isleap leapdays month month_abbr month_name monthrange timegm weekday",
        "cmath": "exp inf isclose isfinite isinf isnan log nan phase pi polar rect sqrt",
        "codecs": "BOM_UTF16_BE BOM_UTF16_LE BOM_UTF8",
        "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque",
        "collections.abc": "Callable Generator Hashable Iterable Iterator Mapping Sequence Set Sized",
        "colorsys": "hls_to_rgb hsv_to_rgb rgb_to_hls rgb_to_hsv",
        "configparser": "ConfigParser Error RawConfigParser",
        "contextlib": "closing nullcontext suppress",
        "copy": "",
        "csv": """
            DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC Sniffer excel
            excel_tab field_size_limit reader writer
        """,
        "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
        "decimal": "Context Decimal InvalidOperation ROUND_HALF_EVEN ROUND_HALF_UP getcontext localcontext",
        "difflib": "Differ HtmlDiff SequenceMatcher context_diff get_close_matches ndiff unified_diff",
        "dis": "dis",
        "errno": "EACCES EEXIST ENOENT EPERM errorcode",
        "filecmp": "cmp cmpfiles",
        "fnmatch": "filter fnmatch fnmatchcase translate",
        "fractions": "Fraction",
        "functools": "cmp_to_key partial reduce",
        "getpass": "getuser",
        "glob": "escape glob iglob",
        "gzip": "compress decompress",
        "hashlib": """
            algorithms_available algorithms_guaranteed blake2b blake2s file_digest md5 new pbkdf2_hmac
            scrypt sha1 sha224 sha256 sha384 sha3_256 sha3_512 sha512
        """,
        "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
        "hmac": "compare_digest digest new",
        "html": "escape unescape",
        "html.entities": "codepoint2name entitydefs html5 name2codepoint",
        "importlib.metadata": "PackageNotFoundError distribution metadata requires version",
        "inspect": """
            Parameter Signature cleandoc getcomments getdoc getfile getsource getsourcefile getsourcelines
            isabstract isbuiltin isclass isfunction isgenerator ismethod ismodule
        """,
        "io": "BufferedReader BytesIO SEEK_CUR SEEK_END SEEK_SET StringIO TextIOWrapper UnsupportedOperation",
        "itertools": """
            accumulate batched chain combinations combinations_with_replacement compress count cycle
            dropwhile filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee
            zip_longest
        """,
        "json": "JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads",
        "keyword": "iskeyword issoftkeyword kwlist softkwlist",
        "linecache": "getline getlines",
        "lzma": "compress decompress",
        "math": """
            acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc
            exp exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf
            isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians
            remainder sin sinh sqrt tan tanh tau trunc ulp
        """,
        "mimetypes": "guess_extension guess_type",
        "numbers": "Complex Integral Number Rational Real",
        "operator": """
            add and_ concat contains countOf eq floordiv ge gt index indexOf itemgetter le lt mod mul ne neg
            not_ or_ pos pow sub truediv truth xor
        """,
        "os": """
            F_OK R_OK W_OK X_OK access altsep cpu_count curdir devnull extsep fsdecode fsencode fspath
            get_terminal_size getcwd getcwdb getegid getenv geteuid getgid getgroups getloadavg getlogin
            getpid getppid getuid linesep listdir lstat name pardir pathsep readlink scandir
            sched_getaffinity sep stat stat_result sysconf times uname urandom walk error strerror
        """,
        "os.path": """
            abspath altsep basename commonpath commonprefix curdir dirname exists expanduser expandvars
            extsep getatime getctime getmtime getsize isabs isdir isfile islink ismount join lexists
            normcase normpath pardir realpath relpath samefile sep split splitdrive splitext
        """,
        "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath",
        "platform": "machine node python_implementation python_version python_version_tuple release system",
        "pprint": "PrettyPrinter pformat pp pprint",
        "random": """
            Random choice choices gauss getrandbits randbytes randint random randrange sample seed shuffle
            uniform
        """,
        "re": """
            A ASCII DOTALL I IGNORECASE M MULTILINE Match Pattern S U UNICODE VERBOSE X compile error escape
            findall finditer fullmatch match purge search split sub subn
        """,
        "secrets": "choice randbelow token_bytes token_hex token_urlsafe",
        "shlex": "join quote shlex split",
        "shutil": "disk_usage get_terminal_size which",
        "socket": "gethostname",
        "stat": "S_IMODE S_ISDIR S_ISLNK S_ISREG S_IXUSR filemode",
        "statistics": """
            StatisticsError correlation fmean geometric_mean harmonic_mean mean median median_high
            median_low mode multimode pstdev pvariance quantiles stdev variance
        """,
        "string": """
            Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits
            printable punctuation whitespace
        """,
        "struct": "Struct calcsize error iter_unpack pack unpack unpack_from",
        "sys": """
            api_version argv base_prefix builtin_module_names byteorder copyright exc_info exec_prefix
            executable exit flags float_info getdefaultencoding getfilesystemencoding getrecursionlimit
            getrefcount getsizeof hash_info hexversion implementation int_info intern maxsize maxunicode
            platform prefix set_int_max_str_digits setrecursionlimit stderr stdin stdlib_module_names stdout
            thread_info version version_info
        """,
        "sysconfig": "get_config_var get_path get_paths get_platform get_python_version",
        "tarfile": "ReadError TarError is_tarfile",
        "textwrap": "TextWrapper dedent fill indent shorten wrap",
        "time": """
            asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter perf_counter_ns
            process_time sleep strftime strptime time time_ns timezone tzname
        """,
        "token": "COMMENT ENCODING ENDMARKER NAME NEWLINE NL NUMBER OP STRING tok_name",
        "tokenize": """
            COMMENT ENCODING ENDMARKER NAME NEWLINE NL NUMBER OP STRING TokenError TokenInfo generate_tokens
            tok_name tokenize untokenize
        """,
        "tomllib": "TOMLDecodeError load loads",
        "traceback": "format_exc format_exception format_exception_only print_exc print_exception",
        "typing": """
            Any Callable ClassVar Dict Final FrozenSet Generator Generic Iterable Iterator List Literal
            Mapping Optional Sequence Set TYPE_CHECKING Tuple Type TypeVar Union cast
        """,
        "unicodedata": """
            bidirectional category combining decimal decomposition digit east_asian_width lookup mirrored
            name normalize numeric unidata_version
        """,
        "urllib.error": "HTTPError URLError",
        "urllib.parse": """
            ParseResult SplitResult parse_qs parse_qsl quote quote_plus unquote unquote_plus urldefrag
            urlencode urljoin urlparse urlsplit urlunparse urlunsplit
        """,
        "urllib.request": "",
        "uuid": "NAMESPACE_DNS NAMESPACE_URL UUID uuid3 uuid4 uuid5",
        "warnings": "catch_warnings filterwarnings simplefilter warn",
        "xml.etree.ElementTree": "Element ElementTree ParseError SubElement dump fromstring iterparse parse tostring",
        "zipfile": "BadZipFile is_zipfile",
        "zlib": "adler32 compress compressobj crc32 decompress decompressobj error",
    }.items()
}
"""The modules that may be imported, with what may be taken out of them and handed on."""

PACKAGES = frozenset(
    {"collections", "html", "importlib", "importlib.util", "os", "urllib", "xml", "xml.etree"}
)
"""Packages, and modules of which only CHECKED functions may be taken."""

CHECKED = frozenset(
    {
        *("open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open", "tokenize.open"),
        *("zipfile.ZipFile", "tarfile.open", "urllib.request.urlopen", "importlib.util.find_spec"),
        *(
            "codecs.encode",
            "codecs.decode",
            "copy.copy",
            "copy.deepcopy",
            "inspect.signature",
            "getattr",
            "hasattr",
            "type",
            "dir",
        ),
    }
)
"""Functions that may only be called on the spot, with arguments that the text shows."""

NAMED_AT_RUN_TIME = frozenset({"ast"})
"""Modules with which an object gets attributes of any name, so of one that tells `copy` how it is to be copied."""

SEALED = frozenset({"os.environ", "sys.modules", "sys.path"})
"""What could change which modules are imported or what a library writes (`SSLKEYLOGFILE`), or hand out any module: only
looked at where it stands."""

ASKED = frozenset({"copy", "get", "items", "keys", "values"})
"""What `os.environ` may be asked for."""

LOOKERS = frozenset(
    {"bool", "dir", "hasattr", "isinstance", "len", "list", "print", "repr", "set", "sorted", "str", "tuple"}
)
"""Builtins that hand out nothing but texts and numbers of a sealed value, or copies of a list of texts."""

CODECS = _names("""
    ascii cp1252 cp437 iso-8859-1 iso8859-1 latin-1 latin1 latin_1 raw_unicode_escape unicode-escape
    unicode_escape us-ascii utf-16 utf-16-be utf-16-le utf-32 utf-8 utf-8-sig utf8 utf_8
    """)
"""Encodings that import nothing further. Another one is a module, which imports others."""

MODES = frozenset({"r", "rb", "rt", "br", "tr", "r:*", "r:gz", "r:bz2", "r:xz", "r|*", "r|gz", "r:"})
"""Modes in which nothing is written."""

ATTRIBUTES = _names("""
    CRC KEYWORD_ONLY POSITIONAL_ONLY POSITIONAL_OR_KEYWORD VAR_KEYWORD VAR_POSITIONAL VERSION _asdict
    _fields _replace absolute add add_note adjusted annotation append appendleft arg args argtypes
    as_integer_ratio as_posix as_tuple as_uri asname astimezone attr attrib bases bind bind_partial
    bit_count bit_length block_size body buffer bytes bytes_le bytes_warning c_contiguous cache_clear
    cache_info canonical capitalize casefold cases cast cause center characters_written clear clock_seq
    clock_seq_hi_variant clock_seq_low close closed cls code col_offset columns combine comment comparators
    compare compress_size compress_type conjugate context_expr contiguous conversion count create_system
    create_version ctime ctx cwd date date_time day days debug decorator_list default default_factory
    defaults delimiter denominator dev_mode dialect difference difference_update dig digest digest_size
    discard dont_write_bytecode drive dst elements elt elts empty encoding end end_col_offset end_lineno
    end_offset endpos endswith entry_points epsilon errno errors exc exists exp expand expandtabs expanduser
    extend extendleft external_attr extra extract_version extractfile fieldnames fields file_size filename
    filename2 fileno fill finalbody find find_longest_match findall finditer findtext flag_bits flags flush
    fold format format_map format_spec fragment from_bytes from_decimal from_float fromhex fromisocalendar
    fromisoformat fromkeys fromordinal fromtimestamp fromutc fullmatch func generators get
    get_grouped_opcodes get_identifiers get_matching_blocks get_opcodes getboolean getbuffer getcode
    getfloat getheader getheaders getinfo getint getmember getmembers getnames getroot geturl getvalue gid
    glob group groupdict groupindex groups guard has_option has_section hash_randomization header_offset
    headers hex hexdigest home hostname hour id ifs ignore_environment imag index indices infolist inode
    insert int int_max_str_digits interactive internal_attr intersection intersection_update is_absolute
    is_async is_dir is_file is_finite is_infinite is_integer is_mount is_nan is_normal is_relative_to
    is_safe is_symlink is_valid is_zero isalnum isalpha isascii isatty isdecimal isdigit isdir isdisjoint
    isfile isidentifier islnk islower isnumeric isocalendar isoformat isolated isoweekday isprintable
    isspace issubset issuperset issym istitle isupper items itemsize iter iter_unpack iterdir iterfind
    itertext join joinpath key keys keywords kind kw_defaults kwarg kwd_attrs kwd_patterns kwonlyargs
    lastgroup lastindex left level limit_denominator line_buffering line_num lineno lines linkname ljust ln
    log10 lower lstat lstrip machine major makeelement maketrans mant_dig maps match max max_10_exp max_exp
    max_mag maxlen metadata micro microsecond microseconds min min_10_exp min_exp min_mag minor minute mode
    module month most_common move_to_end msg mtime n n_fields n_sequence_fields n_unnamed_fields name
    namelist names nbytes ndim netloc new_child newlines no_site no_user_site node nodename normalize now
    number_class numerator offset op operand ops optimize optional_vars options orelse orig_filename origin
    owner pack pack_into parameters params parent parents parse partition parts password path pattern
    patterns peek pop popitem popleft port pos posonlyargs print_file_and_line printdir quantize query
    quick_ratio quiet radix ratio re read read1 read_binary read_bytes read_dict read_file read_string
    read_text readable readline readlines readlink readonly real real_quick_ratio reason reconfigure regs
    relative_to release releaselevel remove removeprefix removesuffix requires reserved resolution resolve
    rest return_annotation returns reverse rfind rglob right rindex rjust root rotate rounds rpartition
    rsplit rstrip s safe_path safe_substitute samefile scanner scheme search second seconds sections seek
    seekable send serial set set_seq1 set_seq2 set_seqs setdefault shape shift simple size slice sort span
    split splitlines sqrt st_atime st_atime_ns st_blksize st_blocks st_ctime st_ctime_ns st_dev st_gid
    st_ino st_mode st_mtime st_mtime_ns st_nlink st_rdev st_size st_uid start startswith stat status stem
    step stop strerror strftime strides string strip strptime sub subject submodule_search_locations subn
    suboffsets substitute subtract suffix suffixes swapcase symmetric_difference symmetric_difference_update
    sysname tag tail target targets tell test testzip text throw time time_hi_version time_low time_mid
    timestamp timetuple timetz title tm_gmtoff tm_hour tm_isdst tm_mday tm_min tm_mon tm_sec tm_wday tm_yday
    tm_year tm_zone to_bytes to_eng_string to_integral to_integral_exact to_integral_value tobytes today
    tolist toordinal toreadonly total total_seconds translate type type_comment type_ignores tzinfo tzname
    uid union unpack unpack_from update upper urn username utc utcfromtimestamp utcnow utcoffset
    utctimetuple utf8_mode value values vararg variant verbose version warn_default_encoding weekday
    with_name with_stem with_suffix with_traceback wrap writable write_through writeheader writelines
    writerow writerows year zfill
    """)
"""Attributes that may be asked of any value: on each type that has one of this name it computes, reads or prints.

Collected with `dir()` from the types that the listed modules give, without what writes to a file, hands out frames,
code or loaders, or runs something.
"""

DUNDERS = frozenset({"__doc__", "__len__", "__module__", "__name__", "__qualname__", "__version__"})
"""Attributes with two underscores that may be asked of any value."""

LATENT = _names("""
    aiter anext apply breakpoint buffer copyright credits delattr eval exec execfile file globals help input
    license locals raw_input reload setattr vars
    """)
"""Builtins (some of Python 2) that come to light where the text has not bound the name yet."""

OPEN_TYPES = frozenset({"collections", "typing"})
"""Modules with types of which a method that has the name of a text's may give anything."""

MUTE = frozenset({"enumerate", "len", "print", "reversed", "set", "sorted"})
"""Builtins that put nothing into a list that they are given."""

BOUND = frozenset({"__all__", "__author__", "__doc__", "__version__"})
"""Names with two underscores that the text may assign."""

WRITES_WITH = {
    "copy": frozenset({"importlib.metadata", "pathlib"}),
    "replace": frozenset({"importlib.metadata", "pathlib"}),
    "write": frozenset({"xml.etree.ElementTree", "zipfile"}),
    "add": frozenset({"tarfile"}),
    "open": frozenset[str](),
}
"""Attributes that write on a type of these modules, and on no type of any other. A text that names none of the modules
has no such value."""

TEXT_METHODS = _names("""
    capitalize casefold center expandtabs format hexdigest isoformat join ljust lower lstrip read read_text
    readline removeprefix removesuffix rjust rstrip strftime strip swapcase title translate upper zfill
    decode encode
    """)
"""Methods that give a text (or bytes), whatever type of the listed modules they belong to."""

LIST_METHODS = frozenset({"readlines", "rsplit", "split", "splitlines"})
"""Methods that give a list of texts."""
