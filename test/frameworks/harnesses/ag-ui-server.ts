/**
 * An agent behind AG-UI on a local port: a plain loop over a scripted model, which stores its own
 * conversation.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BaseEvent, RunAgentInput } from '@ag-ui/core';
import { EventEncoder } from '@ag-ui/encoder';
import { outcomeIsError, outcomeToContentParts, sessionCallId } from 'quittance';
import type { Runtime } from 'quittance';
import type { AgUiTaken } from '@quittance/ag-ui';
import { createAgUi } from '@quittance/ag-ui';
import type { Round, Script, ScriptedCall, Told } from '../suite/harness.ts';
import { createPlayer } from '../suite/harness.ts';

/** The server's data about a thread: the model's calls, and their results. */
export type AgUiThread = { rounds: ScriptedCall[][]; told: Told[] };

export type AgUiServer = {
  readonly url: string;
  /** All events, as they were sent. */
  readonly sent: readonly BaseEvent[];
  /** The results of the answers that clients sent. */
  readonly taken: readonly AgUiTaken[];
  /** Errors of requests that failed before a run could report them. */
  readonly failed: readonly unknown[];
  close(): Promise<void>;
};

export type AgUiServing = {
  readonly runtime: Runtime;
  readonly script: Script;
  readonly sessionId: string;
  readonly thread: AgUiThread;
  /**
   * The person who sends the requests, as the server knows them. Without one, held calls are awaited in the
   * run.
   */
  readonly person: string | undefined;
  readonly signal?: AbortSignal;
  readonly turn?: { readonly parentSessionId?: string };
  /** A free port if none is given. */
  readonly port?: number;
};

export async function serveAgUi(serving: AgUiServing): Promise<AgUiServer> {
  const { runtime, sessionId, thread, person, signal } = serving;
  const player = createPlayer(serving.script);
  const ui = createAgUi({ runtime });
  const sent: BaseEvent[] = [];
  const taken: AgUiTaken[] = [];
  const failed: unknown[] = [];

  /** Makes the calls of the last round. Returns true if all have ended. */
  const answerRound = async (turn: ReturnType<Runtime['turn']>): Promise<boolean> => {
    const round = thread.rounds.at(-1) ?? [];
    const earlier = thread.rounds.slice(0, -1);
    const made = round.map((call) => {
      const uses = earlier.filter((before) => before.some(({ id }) => id === call.id)).length;
      return { ...call, id: sessionCallId(call.id, uses) };
    });
    const given = signal === undefined ? {} : { signal };
    const outcomes =
      person === undefined
        ? await turn.callAll(made, given)
        : await Promise.all(made.map((call) => turn.call(call, { ...given, ifHeld: 'return' })));
    signal?.throwIfAborted();
    const ended = outcomes.filter((outcome) => outcome.type !== 'pending');
    if (ended.length < outcomes.length) return false;
    for (const [index, outcome] of ended.entries())
      thread.told.push({
        callId: round[index]?.id ?? '',
        texts: outcomeToContentParts(outcome).flatMap((part) => (part.type === 'text' ? [part.text] : [])),
        isError: outcomeIsError(outcome),
      });
    return true;
  };

  const runAgent = async (input: RunAgentInput, write: (event: BaseEvent) => void): Promise<void> => {
    const { threadId, runId, messages } = input;
    const run = await ui.openRun<BaseEvent>({ sessionId, threadId, runId, messages, write });
    try {
      if (person !== undefined) taken.push(...(await ui.takeResume(input.resume, { by: person, sessionId })));
      const turn = runtime.turn({ sessionId, ...serving.turn });
      let isOpen = thread.rounds.length > 0 && input.resume !== undefined;
      for (;;) {
        if (isOpen && !(await answerRound(turn))) break;
        const round: Round = await player.next(thread.told);
        if ('text' in round) {
          await run.caughtUp();
          const messageId = `${runId}.text`;
          write({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' } as never);
          write({ type: 'TEXT_MESSAGE_CONTENT', messageId, delta: round.text } as never);
          write({ type: 'TEXT_MESSAGE_END', messageId } as never);
          break;
        }
        thread.rounds.push([...round.calls]);
        isOpen = true;
      }
      await run.finish();
    } catch (error) {
      await run.fail(error instanceof Error ? error.message : String(error));
    }
  };

  const server = createServer((request, response) => {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const encoder = new EventEncoder();
      response.writeHead(200, { 'content-type': encoder.getContentType() });
      await runAgent(JSON.parse(body) as RunAgentInput, (event) => {
        sent.push(event);
        response.write(encoder.encode(event));
      });
      response.end();
    })().catch((error: unknown) => {
      failed.push(error);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(serving.port ?? 0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent,
    taken,
    failed,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
