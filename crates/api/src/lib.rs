//! Kubernetes objects as Plimsoll reads them.
