/* The version, compiled here alone: a new commit recompiles one file. */
#include "base/version.h"

const char sr_version_text[] = SR_VERSION;
