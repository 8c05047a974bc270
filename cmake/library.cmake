# libsemroute: the layers up to the router as one shared library, which exports only what semroute.h declares,
# and as one static archive; installed with the header and a pkg-config file.
include(GNUInstallDirs)

set(SR_LIBRARY_LAYERS base observe text json model kernel infer config probe signal decide dialect pool router)
foreach(kind SHARED STATIC)
  string(TOLOWER semroute_${kind} target)
  add_library(${target} ${kind})
  foreach(layer ${SR_LIBRARY_LAYERS})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:sr_${layer}>)
  endforeach()
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME semroute LINKER_LANGUAGE CXX
                        ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  target_link_libraries(${target} PRIVATE OpenSSL::Crypto PkgConfig::XXHASH PkgConfig::UTF8PROC
                        PkgConfig::JANSSON PkgConfig::YAML PkgConfig::PCRE2 PkgConfig::PSL cld2 Threads::Threads m)
endforeach()
set_target_properties(semroute_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

configure_file(${PROJECT_SOURCE_DIR}/cmake/semroute.pc.in ${PROJECT_BINARY_DIR}/semroute.pc @ONLY)
install(TARGETS semroute_shared semroute_static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/semroute/semroute.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/semroute)
install(FILES ${PROJECT_BINARY_DIR}/semroute.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(TARGETS semroute RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Where an installed program looks for models; what is not there is left out.
install(DIRECTORY models/all-MiniLM-L6-v2 models/neural DESTINATION ${CMAKE_INSTALL_DATADIR}/semroute/models
        OPTIONAL PATTERN ".checked" EXCLUDE)

# The example is built as a user would build it: with the installed header alone, against the shared library.
if(TARGET tests_with_threads)
  add_executable(example_embed examples/embed.c)
  target_link_libraries(example_embed PRIVATE semroute_shared)
  add_test(NAME example_embed COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/check_example.py
           $<TARGET_FILE:example_embed> $<TARGET_FILE:semroute_shared> ${PROJECT_SOURCE_DIR}/include/semroute/semroute.h)
endif()
