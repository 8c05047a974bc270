# Third-party libraries, all from Debian 12; docs/dependencies.md says what each is for.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL 3 REQUIRED)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

# No pkg-config files in Debian for these two.
find_library(CLD2_LIBRARY cld2 REQUIRED)
find_library(HTTP_PARSER_LIBRARY http_parser REQUIRED)
add_library(cld2 INTERFACE)
target_link_libraries(cld2 INTERFACE ${CLD2_LIBRARY})
add_library(http_parser INTERFACE)
target_link_libraries(http_parser INTERFACE ${HTTP_PARSER_LIBRARY})
