//! Jobs and CronJobs.

mod cron_job;
mod indexes;
mod job;
mod job_status;
mod policies;
mod schedule;

pub(crate) use cron_job::CRON_JOB;
pub(crate) use job::JOB;
