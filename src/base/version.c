/* The version. Only this file depends on it, so a new commit recompiles one file. */
#include "base/version.h"

const char sr_version_text[] = SR_VERSION;
