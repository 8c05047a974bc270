# libsemroute: the layers up to the router as one shared library, which exports only what semroute.h declares,
# and as one static archive; installed with the header, a pkg-config file and a CMake package, beside the program with
# its manual pages, completions and models.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SR_LIBRARY_LAYERS base observe text json model kernel infer config probe signal decide dialect translate pool cache limit select
    history trace router)
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
  target_link_libraries(${target} PRIVATE OpenSSL::Crypto PkgConfig::XXHASH PkgConfig::UTF8PROC PkgConfig::ZLIB
                        PkgConfig::JANSSON PkgConfig::YAML PkgConfig::PCRE2 PkgConfig::PSL cld2 Threads::Threads m)
endforeach()
# What a soname promises: docs/abi.md.
set(soname ${PROJECT_VERSION_MAJOR})
set(compatible SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(soname 0.${PROJECT_VERSION_MINOR})
  set(compatible SameMinorVersion)
endif()
set_target_properties(semroute_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${soname})

# Relative, so that `cmake --install --prefix` and DESTDIR may put it anywhere.
file(RELATIVE_PATH SR_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/semroute.pc.in ${PROJECT_BINARY_DIR}/semroute.pc @ONLY)
set_target_properties(semroute_shared PROPERTIES EXPORT_NAME semroute)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/semroute)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/semrouteConfigVersion.cmake COMPATIBILITY ${compatible})
install(TARGETS semroute_shared EXPORT semroute LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS semroute_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT semroute FILE semrouteTargets.cmake NAMESPACE semroute:: DESTINATION ${package})
install(FILES cmake/semrouteConfig.cmake ${PROJECT_BINARY_DIR}/semrouteConfigVersion.cmake DESTINATION ${package})
install(FILES include/semroute/semroute.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/semroute)
install(FILES ${PROJECT_BINARY_DIR}/semroute.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(TARGETS semroute RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR} COMPONENT program)
# Where an installed program looks for models; what is not there is left out.
install(DIRECTORY models/all-MiniLM-L6-v2 models/neural models/multilingual-e5-small models/neural-multilingual
        DESTINATION ${CMAKE_INSTALL_DATADIR}/semroute/models
        COMPONENT models OPTIONAL PATTERN ".checked" EXCLUDE)

# The example is built as a user would build it: against an installed prefix, found by pkg-config and by CMake.
if(TARGET tests_with_threads)
  add_test(NAME install COMMAND ${PYTHON3} ${PROJECT_SOURCE_DIR}/tests/check_install.py ${PROJECT_SOURCE_DIR}
           ${PROJECT_BINARY_DIR} ${CMAKE_C_COMPILER} "${SR_SANITIZE}")
endif()
