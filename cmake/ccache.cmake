# Compiles through ccache where it is installed and no other launcher is set. CCACHE_NOHASHDIR and CCACHE_BASEDIR
# (tools/build.sh) let checkouts in different folders share objects.
find_program(CCACHE ccache)
foreach(language C CXX)
  if(CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${CCACHE})
  endif()
endforeach()
