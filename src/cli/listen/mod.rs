//! `--listen`: live figures of a run over HTTP. `/metrics` is OpenMetrics text for Prometheus, `/` a page
//! that plots them, `/events` the event stream of that page. It consumes the run's events; transactions never wait for
//! it, and it does not wait for slow readers, which lose events.

mod live;
mod server;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use crate::engine::Error;
use crate::result::Event;
use live::Live;

/// Serves a run's events.
pub(super) struct Listener {
    live: Arc<Live>,
}

impl Listener {
    /// Listens at an address. `run` is the run's name in the labels of its metrics.
    ///
    /// # Errors
    /// If the address cannot be listened at.
    pub(super) fn start(address: SocketAddr, run: &str) -> Result<Listener, Error> {
        let live = Arc::new(Live::new(run));
        let cannot =
            |error| Error::Usage(format!("cannot listen at {address}: {error}; give --listen another address or port"));
        let address = server::start(address, Arc::clone(&live)).map_err(cannot)?;
        tell!("listen: http://{address}/ and http://{address}/metrics");
        Ok(Listener { live })
    }

    /// Adds an event.
    pub(super) fn event(&self, event: &Event) {
        self.live.event(event);
    }
}

/// Parses an address, or a port of the loopback address: a run is only visible to other machines by an explicit
/// address.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse()
        .map_err(|_| "give a port, such as 9464, or an address with its port, such as 127.0.0.1:9464".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_the_loopbacks() {
        assert_eq!(parse_address("9464"), Ok("127.0.0.1:9464".parse().unwrap()));
        assert_eq!(parse_address(":9464"), Ok("127.0.0.1:9464".parse().unwrap()));
        assert_eq!(parse_address("[::1]:1"), Ok("[::1]:1".parse().unwrap()));
        assert_eq!(parse_address("0.0.0.0:9"), Ok("0.0.0.0:9".parse().unwrap()));
        assert!(parse_address("localhost").unwrap_err().contains("9464"));
    }
}
