//! Facts: no hook has authority over what has happened or cannot be changed.

use lineside_core::json::Value;

use crate::declare::points;

points! {
    /// A task was put on the list.
    OnTaskCreated = "on_task_created", On {
        needs {
            /// The task.
            task_id: String;
        }
        may {
            /// What it is.
            description: String;
            /// What came of it.
            result: Value;
        }
    }

    /// A task on the list is done.
    OnTaskCompleted = "on_task_completed", On {
        needs {
            /// The task.
            task_id: String;
        }
        may {
            /// What it was.
            description: String;
            /// What came of it.
            result: Value;
        }
    }

    /// The agent failed to stop properly.
    OnStopFailure = "on_stop_failure", On {
        needs {}
        may {
            /// How.
            error: String;
        }
    }

    /// The user interrupted the agent.
    OnInterrupt = "on_interrupt", On {
        needs {}
        may {
            /// What was going on.
            error: String;
        }
    }

    /// The agent has nothing to do.
    OnIdle = "on_idle", On {
        needs {}
        may {}
    }

    /// The agent waits for a confirmation.
    OnWaitConfirm = "on_wait_confirm", On {
        needs {}
        may {
            /// The tool that needs it.
            tool_name: String;
            /// What the tool is called with.
            tool_input: Value;
            /// The message for the user.
            message: String;
        }
    }

    /// The agent waits for an answer.
    OnWaitQuestion = "on_wait_question", On {
        needs {
            /// The question.
            question: String;
        }
        may {
            /// The answers to choose from.
            options: Vec<Value>;
        }
    }

    /// The user receives a notification.
    OnNotification = "on_notification", On {
        needs {
            /// What.
            message: String;
        }
        may {
            /// How serious it is, in the host's word.
            level: String;
        }
    }

    /// Something went wrong with the agent.
    OnError = "on_error", On {
        needs {
            /// What.
            error: String;
        }
        may {
            /// The host's word for this kind of failure.
            error_kind: String;
        }
    }

    /// A configuration changed.
    OnConfigChange = "on_config_change", On {
        needs {}
        may {
            /// The file.
            path: String;
            /// The keys.
            keys: Vec<String>;
        }
    }

    /// A service of the host started.
    OnServiceStart = "on_service_start", On {
        needs {}
        may {
            /// Why.
            reason: String;
            /// Where it listens.
            port: u16;
        }
    }

    /// A service of the host stopped.
    OnServiceStop = "on_service_stop", On {
        needs {}
        may {
            /// Why.
            reason: String;
            /// Where it listened.
            port: u16;
        }
    }
}
