//! Every version of every object, and watches over them.
