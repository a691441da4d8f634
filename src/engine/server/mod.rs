//! Private servers that Graymark starts, configures and stops.
