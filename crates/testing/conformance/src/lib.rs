//! Same request as a real API server, same answer.
