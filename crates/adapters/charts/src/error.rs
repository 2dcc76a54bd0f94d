//! Why a chart could not be had.

/// Why a chart could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartsError {
    /// The address is none we can use.
    #[error("`{url}` is no address of charts: {why}")]
    Address {
        /// The address.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The server did not answer, or hung up half way.
    #[error("could not reach `{url}` ({stage}): {why}")]
    Unreachable {
        /// What we asked for.
        url: String,
        /// How far we came: `dns`, `tcp`, `proxy`, `tls` or `http`.
        stage: &'static str,
        /// What went wrong.
        why: String,
    },
    /// The server answered and said no to who we are.
    #[error("`{url}` refused our credentials: {status}")]
    Refused {
        /// What we asked for.
        url: String,
        /// What the server said.
        status: u16,
    },
    /// The server answered with something else than the thing.
    #[error("`{url}` answered {status}")]
    Status {
        /// What we asked for.
        url: String,
        /// What the server said.
        status: u16,
    },
    /// There is no such chart.
    #[error("chart \"{chart}\" not found in {repository} repository")]
    NoChart {
        /// The chart.
        chart: String,
        /// The repository.
        repository: String,
        /// Charts that are called almost the same.
        nearest: Vec<String>,
    },
    /// There is the chart, but no version of it in the range.
    #[error("chart \"{chart}\" version \"{range}\" not found in {repository} repository")]
    NoVersion {
        /// The chart.
        chart: String,
        /// The version or range wanted.
        range: String,
        /// The repository.
        repository: String,
        /// The highest versions there are.
        known: Vec<String>,
    },
    /// The bytes are not those that were promised.
    #[error("`{url}` has the digest {found}, not {wanted}")]
    Digest {
        /// What was fetched.
        url: String,
        /// What was promised.
        wanted: String,
        /// What came.
        found: String,
    },
    /// The answer cannot be understood.
    #[error("`{url}` answered something that cannot be read: {why}")]
    Malformed {
        /// What we asked for.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// The answer is larger than we take.
    #[error("`{url}` is larger than {max} bytes")]
    TooLarge {
        /// What we asked for.
        url: String,
        /// The limit.
        max: u64,
    },
    /// `Chart.lock` does not belong to `Chart.yaml`.
    #[error(
        "the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). Please update the dependencies"
    )]
    LockOutOfSync,
    /// A repository named by an alias that nobody registered.
    #[error("no repository definition for {names}")]
    NoRepository {
        /// The names.
        names: String,
    },
}

impl ChartsError {
    /// Whether trying again later can help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429,
            _ => false,
        }
    }
}
