//! A scripted kubelet: what becomes of a Pod on a node, by rule, by annotation or by its own script.
