/* The version of the build, which follows the git tag (cmake/version.cmake). */
#ifndef SR_BASE_VERSION_H
#define SR_BASE_VERSION_H

/* "1.2.3", or "1.2.3-5-gabcdef0" five commits after that tag. */
extern const char sr_version_text[];

#endif
