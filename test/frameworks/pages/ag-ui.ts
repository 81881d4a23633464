/** The programs of docs/adapters/ag-ui.md, with the context that the page leaves out. Type-checked, never run. */
import type { BaseEvent } from '@ag-ui/core';
import { RunAgentInputSchema } from '@ag-ui/core/schemas'; // '@ag-ui/core' before version 1
import { EventEncoder } from '@ag-ui/encoder';
import type { Runtime } from 'quittance';
import { createAgUi } from '@quittance/ag-ui';

type User = { readonly name: string };
type Request = { readonly body: unknown; readonly user: User };
type Response = { write(text: string): void; end(): void };
declare const app: {
  post(path: string, handle: (request: Request, response: Response) => Promise<void>): void;
};
declare const governed: { readonly runtime: Runtime };
declare function sessionOf(user: User, threadId: string): string;
declare function runAgent(sessionId: string, input: unknown): Promise<void>;

const ui = createAgUi(governed); // or createAgUi({ runtime })
app.post('/agent', async (request, response) => {
  const input = RunAgentInputSchema.parse(request.body);
  const encoder = new EventEncoder();
  const sessionId = sessionOf(request.user, input.threadId);
  const run = await ui.openRun<BaseEvent>({
    sessionId,
    threadId: input.threadId,
    runId: input.runId,
    messages: input.messages,
    write: (event) => response.write(encoder.encode(event)),
  });
  await ui.takeResume(input.resume, { by: request.user.name, sessionId });
  await runAgent(sessionId, input);
  await run.finish();
  response.end();
});
