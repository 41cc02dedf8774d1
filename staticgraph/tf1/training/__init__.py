"""Sessions with hooks, threads and queues for training: `MonitoredSession`, `Supervisor`."""
