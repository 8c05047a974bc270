# SR_VERSION follows the git tag: v1.2.3 is 1.2.3, five commits later it is 1.2.3-5-gabcdef0. Without a tag, or outside
# of git, it is SR_VERSION_DEFAULT. SR_VERSION_NUMBER is its first three numbers, for packages and the library's name.
set(SR_VERSION ${SR_VERSION_DEFAULT})
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${CMAKE_CURRENT_LIST_DIR}/../.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --tags --match "v[0-9]*.[0-9]*.[0-9]*"
                  WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR} OUTPUT_VARIABLE described ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(described MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+.*)$")
    set(SR_VERSION ${CMAKE_MATCH_1})
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --git-path logs/HEAD WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/..
                    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${head}) # a commit moves the version
  endif()
endif()
string(REGEX MATCH "^[0-9]+\\.[0-9]+\\.[0-9]+" SR_VERSION_NUMBER ${SR_VERSION})
