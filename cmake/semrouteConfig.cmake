# find_package(semroute): the target semroute::semroute is the shared library with its header. For the static archive
# use pkg-config --static, which names what it needs.
include(${CMAKE_CURRENT_LIST_DIR}/semrouteTargets.cmake)
