/** The types of the adapter against those of the real package. */
import type { BaseEvent, ResumeEntry, RunAgentInput } from '@ag-ui/core';
import type { Runtime } from 'quittance';
import type { AgUiRun, AgUiTaken } from '@quittance/ag-ui';
import { createAgUi } from '@quittance/ag-ui';

declare const runtime: Runtime;
declare const input: RunAgentInput;
declare const write: (event: BaseEvent) => void;
const ui = createAgUi({ runtime });
const { threadId, runId, messages } = input;
const run = await ui.openRun<BaseEvent>({ sessionId: 's', threadId, runId, messages, write });
run satisfies AgUiRun;
declare const resume: ResumeEntry[] | undefined;
const taken = await ui.takeResume(resume, { by: 'ada', sessionId: 's' });
taken satisfies readonly AgUiTaken[];
for (const { status } of taken)
  status satisfies 'approved' | 'edited' | 'denied' | 'unknown' | 'changed' | 'unclear' | 'refused';
await ui.takeResume(input.resume, { by: 'ada', sessionId: 's' });
// @ts-expect-error: the host says who answers
await ui.takeResume(resume, { sessionId: 's' });
// @ts-expect-error: a run belongs to a session
await ui.openRun<BaseEvent>({ threadId, runId, write });
