//! The controllers that bring workloads to life: one file per kind, pure steps over observed objects.
