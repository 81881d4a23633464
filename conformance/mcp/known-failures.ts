/** Scenarios that cannot pass if the server speaks only the other era of the protocol, with the reason. */
import type { Revision } from './run-suite.ts';

type KnownFailures = Readonly<Record<Revision, Readonly<Record<string, string>>>>;

const noTasks = 'A server of 2025-11-25 does not have the tasks extension, so it creates no task.';

/** A client of 2026-07-28 in front of a server of 2025-11-25. */
export const legacyOnly: KnownFailures = {
  '2025-11-25': {},
  '2026-07-28': {
    'input-required-result-capability-check':
      'The fixture asks for sampling by its result. On 2025-11-25 it has no such result, and completes.',
    'tasks-capability-negotiation': noTasks,
    'tasks-dispatch-and-envelope': noTasks,
    'tasks-lifecycle': noTasks,
    'tasks-mrtr-composition': noTasks,
    'tasks-mrtr-input': noTasks,
    'tasks-request-headers': noTasks,
    'tasks-request-state-removal': noTasks,
    'tasks-required-task-error': noTasks,
    'tasks-wire-fields': noTasks,
  },
};

const noPush =
  'The fixture pushes a request to the client. The SDK refuses that on 2026-07-28, where a server asks by its result.';

/** A client of 2025-11-25 in front of a server of 2026-07-28. */
export const modernOnly: KnownFailures = {
  '2025-11-25': {
    'elicitation-sep1034-defaults': noPush,
    'elicitation-sep1330-enums': noPush,
    'tools-call-elicitation': noPush,
    'tools-call-sampling': noPush,
  },
  '2026-07-28': {},
};
