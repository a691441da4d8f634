//! Private servers that Graymark starts, configures, restarts and stops.

pub mod affinity;
pub mod cpu;
pub mod files;
pub mod io;
<<<<<<< HEAD
pub mod memory;
=======
pub mod mariadb;
>>>>>>> main
pub mod postgres;
pub mod size;
