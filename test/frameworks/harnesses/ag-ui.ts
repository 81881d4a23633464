/** A client of AG-UI (`HttpAgent`) and an agent behind the protocol, on a local port. */
import { HttpAgent } from '@ag-ui/client';
import type { Interrupt, Message, ResumeEntry } from '@ag-ui/core';
import { createRuntime, govern } from 'quittance';
import type { Harness, Ran, RunOptions, Script, StageOptions } from '../suite/harness.ts';
import type { AgUiThread } from './ag-ui-server.ts';
import { serveAgUi } from './ag-ui-server.ts';
import { plainTools } from './plain-tools.ts';

const harness: Harness = {
  name: 'AG-UI',
  module: import.meta.url,
  streams: false,
  suspends: true,
  answersQuestions: true,
  async start(tools, { overrides = {}, turn, approver, ...options }) {
    const asking = tools.flatMap(({ name, needsApproval }) => (needsApproval === true ? [name] : []));
    const modes: NonNullable<StageOptions['overrides']> = Object.fromEntries(
      asking.map((name) => [name, { mode: 'destructive' }]),
    );
    const runtime = createRuntime({
      ...options,
      tools: govern(plainTools(tools), { ...modes, ...overrides }),
    });
    const go = async (
      script: Script,
      { sessionId, signal }: RunOptions,
      kept: Kept = { thread: { rounds: [], told: [] }, messages: [], asked: [] },
      resume?: ResumeEntry[],
    ): Promise<Ran> => {
      const { thread } = kept;
      const server = await serveAgUi({
        runtime,
        script,
        sessionId,
        thread,
        person: approver,
        ...(signal !== undefined && { signal }),
        ...(turn !== undefined && { turn }),
      });
      try {
        const initialMessages = kept.messages.length > 0 ? kept.messages : [hello];
        const agent = new HttpAgent({ url: server.url, threadId: sessionId, initialMessages });
        let asked: Interrupt[] = [];
        let failed: string | undefined;
        await agent.runAgent(resume === undefined ? {} : { resume }, {
          onRunFinishedEvent: ({ event }) => {
            if (event.outcome?.type === 'interrupt') asked = event.outcome.interrupts;
          },
          onRunErrorEvent: ({ event }) => {
            failed = event.message;
          },
        });
        signal?.throwIfAborted();
        if (failed !== undefined) throw new Error(failed);
        checkShown(agent.messages, thread);
        if (asked.length > 0)
          return {
            text: undefined,
            told: thread.told,
            suspended: JSON.stringify({ thread, messages: agent.messages, asked } satisfies Kept),
          };
        const last = agent.messages.findLast(({ role }) => role === 'assistant');
        return { text: typeof last?.content === 'string' ? last.content : undefined, told: thread.told };
      } catch (error) {
        throw server.failed[0] ?? error;
      } finally {
        await server.close();
      }
    };
    return {
      runtime,
      run: (script, runOptions) => go(script, runOptions),
      resume: (suspended, { approved, reason }, script, runOptions) => {
        const kept = JSON.parse(suspended) as Kept;
        const payload = { approved, ...(reason !== undefined && { reason }) };
        const resume = kept.asked.map(({ id }) => ({
          interruptId: id,
          status: 'resolved' as const,
          payload,
        }));
        return go(script, runOptions, kept, resume);
      },
    };
  },
};
export default harness;

type Kept = {
  readonly thread: AgUiThread;
  readonly messages: Message[];
  readonly asked: Interrupt[];
};

const hello: Message = { id: 'm1', role: 'user', content: 'Go.' };

/** The client shows the content for the model. If a message uses an id twice, the id is one call there. */
function checkShown(messages: readonly Message[], { told }: AgUiThread): void {
  const shown = messages.flatMap((message) => (message.role === 'tool' ? [message] : []));
  for (const callId of new Set(told.map((one) => one.callId))) {
    const texts = told.flatMap((one) => (one.callId === callId ? one.texts.slice(0, 1) : []));
    const answers = shown.filter(({ toolCallId }) => toolCallId.replace(/~\d+$/, '') === callId);
    if (!answers.some(({ content }) => texts.some((text) => text === content)))
      throw new Error(`The client was not shown what the model was told of ${callId}: ${texts.join()}`);
  }
}
