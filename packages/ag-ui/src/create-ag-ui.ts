/**
 * AG-UI, the protocol between agents and their user interfaces (CopilotKit, assistant-ui). It sends the calls of a
 * session as events and held calls as interrupts, and receives the answers of people.
 *
 * It works on any runtime, whichever adapter made it. A client's message alone never decides: a decision carries the
 * name of the person that the host identified.
 */
import { checkObject } from 'quittance/internal/base/check-keys';
import { isQuittanceError, QuittanceError } from 'quittance/internal/base/error';
import { isJsonObject, ownValue } from 'quittance/internal/base/json';
import type { DirectIdentity } from 'quittance/internal/call/event';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { OnTrouble } from 'quittance/internal/runtime/telemetry';
import { describeThrown } from 'quittance/internal/tool/describe-thrown';
import { describeValue } from 'quittance/internal/tool/describe-value';
import type { AgUiEvent } from './event.ts';
import type { AgUiAnswer, AgUiInterrupt } from './interrupt.ts';
import { interruptId, readAgUiAnswer, toInterrupt } from './interrupt.ts';
import { reportVersions } from '@quittance/adapter-kit/internal/adopt/tested-versions';
import { randomUUID } from 'node:crypto';

/** The person who answers, as identified by the host. */
export type AgUiPerson = {
  /** Name recorded with each decision. Never take it from the request itself. */
  readonly by: string;
  /** How the host identified the person. Default: the name counts as self-asserted. */
  readonly identity?: DirectIdentity;
  /** The session of the thread. Answers to confirmations of other sessions are ignored. */
  readonly sessionId: string;
};

/** The result of one answer. */
export type AgUiTaken = {
  readonly interruptId: string;
  /**
   * `unknown`: no such confirmation is open in this session. `changed`: the confirmation has changed since.
   * `unclear`: the answer is neither yes nor no. `refused`: this person may not decide it, or the edit is invalid.
   */
  readonly status: 'approved' | 'edited' | 'denied' | 'unknown' | 'changed' | 'unclear' | 'refused';
  /** Why no decision was recorded. */
  readonly problem?: string;
};

export type AgUiRunOptions<Event> = {
  readonly sessionId: string;
  readonly threadId: string;
  readonly runId: string;
  /** Sends an event to the client, e.g. with `EventEncoder` of `@ag-ui/encoder`. */
  readonly write: (event: Event) => void;
  /**
   * `messages` of `RunAgentInput`. A client may show another result of a governed call than the recorded one, such as
   * the answer of the person. With them, the run begins with the recorded results, and shows no result twice.
   */
  readonly messages?: readonly unknown[];
  /** The assistant message of the calls, if your agent has one. */
  readonly parentMessageId?: () => string | undefined;
};

/** One run of an agent, as the client sees it. */
export type AgUiRun = {
  /**
   * Resolves when every call stored so far is written. Await it before you write text of the model that follows tool
   * calls: otherwise a client may show the text before the calls.
   */
  caughtUp(): Promise<void>;
  /**
   * Writes the remaining events and `RUN_FINISHED`: with an interrupt for each call of the session that awaits
   * approval, else as a success. Returns these interrupts.
   */
  finish(): Promise<readonly AgUiInterrupt[]>;
  /** Writes the remaining events and `RUN_ERROR`. */
  fail(message: string, code?: string): Promise<void>;
};

export type AgUi = {
  /**
   * Starts a run: writes `RUN_STARTED`, then every call of the session and its answer. Open it before you process
   * answers and before the agent continues.
   */
  openRun<Event = AgUiEvent>(options: AgUiRunOptions<Event>): Promise<AgUiRun>;
  /** The calls of a session that await approval, oldest first. For agents that write their own events. */
  interrupts(sessionId: string): Promise<readonly AgUiInterrupt[]>;
  /** Processes `resume` of `RunAgentInput`: the answers to interrupts, as decisions of the given person. */
  takeResume(resume: unknown, person: AgUiPerson): Promise<readonly AgUiTaken[]>;
};

/** Connects a runtime with the user interfaces of AG-UI. */
export function createAgUi(options: { readonly runtime: Runtime; readonly onTrouble?: OnTrouble }): AgUi {
  checkObject('createAgUi', options);
  const { runtime, onTrouble } = options;
  reportVersions('@quittance/ag-ui', onTrouble, import.meta.url);
  const questionsOf = async (sessionId: string): Promise<readonly ConfirmationView[]> => {
    const found: ConfirmationView[] = [];
    let cursor: string | undefined;
    do {
      const page = await runtime.confirmations.list({ status: 'pending', sessionId, cursor });
      found.push(...page.rows);
      cursor = page.next;
    } while (cursor !== undefined);
    return found.toSorted((one, other) => one.createdAt - other.createdAt);
  };
  const interrupts = async (sessionId: string): Promise<readonly AgUiInterrupt[]> =>
    (await questionsOf(sessionId)).map(toInterrupt);
  return {
    interrupts,
    async openRun({ sessionId, threadId, runId, write, messages = [], parentMessageId }) {
      // The events match the protocol; the type comes from the host's own package.
      const send = write as (event: AgUiEvent) => void;
      const shown = await readShownResults(runtime, sessionId, messages);
      send({ type: 'RUN_STARTED', threadId, runId });
      const { answered, corrected } = shown;
      if (corrected !== undefined) send({ type: 'MESSAGES_SNAPSHOT', messages: corrected });
      const calls = await followCalls(runtime, sessionId, send, { answered, parentMessageId });
      return {
        caughtUp: () => calls.caughtUp(),
        async finish() {
          await calls.end();
          const open = await interrupts(sessionId);
          const outcome =
            open.length === 0
              ? ({ type: 'success' } as const)
              : ({ type: 'interrupt', interrupts: open } as const);
          send({ type: 'RUN_FINISHED', threadId, runId, outcome });
          return open;
        },
        async fail(message, code) {
          await calls.end();
          send({ type: 'RUN_ERROR', message, ...(code !== undefined && { code }) });
        },
      };
    },
    async takeResume(resume, person) {
      checkPerson(person);
      if (resume === undefined || resume === null) return [];
      if (!Array.isArray(resume)) throw refuseResume(resume);
      const open = await questionsOf(person.sessionId);
      const taken: AgUiTaken[] = [];
      for (const entry of resume as readonly unknown[]) taken.push(await take(runtime, open, entry, person));
      return taken;
    },
  };
}

async function take(
  runtime: Runtime,
  open: readonly ConfirmationView[],
  entry: unknown,
  person: AgUiPerson,
): Promise<AgUiTaken> {
  const named = isJsonObject(entry) ? ownValue(entry, 'interruptId') : undefined;
  if (!isJsonObject(entry) || typeof named !== 'string') throw refuseResume(entry);
  const answered = { interruptId: named };
  const question = open.find((one) => interruptId(one) === named);
  if (question === undefined) {
    const isChanged = open.some(({ confirmationId }) => named.startsWith(`${confirmationId}.`));
    return isChanged
      ? { ...answered, status: 'changed', problem: 'The confirmation has changed since.' }
      : { ...answered, status: 'unknown', problem: 'No such confirmation is open in this session.' };
  }
  const answer = readAgUiAnswer(entry);
  if (answer === undefined)
    return { ...answered, status: 'unclear', problem: 'The answer is neither yes nor no.' };
  try {
    await runtime.confirmations.decide(question.confirmationId, toDecision(answer, question, person));
    return { ...answered, status: statuses[answer.decision] };
  } catch (error) {
    const status = isQuittanceError(error) ? undecided(error.code, answer) : undefined;
    if (status === undefined) throw error;
    return { ...answered, status, problem: describeThrown(error) };
  }
}

/** Maps the error of a decision to the result of the answer; undefined if it is a mistake of the host. */
function undecided(code: string, { decision }: AgUiAnswer): AgUiTaken['status'] | undefined {
  if (code === 'confirmation.decided' || code === 'confirmation.expired') return 'unknown';
  if (code === 'confirmation.forbidden') return 'refused';
  // Invalid edited arguments and a changed confirmation have the same error code.
  if (code === 'confirmation.mismatch') return decision === 'edit' ? 'refused' : 'changed';
  return undefined;
}

const statuses = { approve: 'approved', edit: 'edited', deny: 'denied' } as const;

function toDecision(
  answer: AgUiAnswer,
  { inputDigest, preview }: ConfirmationView,
  { by, identity }: AgUiPerson,
): Parameters<Runtime['confirmations']['decide']>[1] {
  const seen = {
    by,
    ...(identity !== undefined && { identity }),
    inputDigest,
    ...(preview !== undefined && { revision: preview.revision }),
  };
  switch (answer.decision) {
    case 'approve':
      return { ...seen, decision: 'approve' };
    case 'edit':
      return { ...seen, decision: 'edit', arguments: answer.arguments };
    case 'deny':
      return { ...seen, decision: 'deny', ...(answer.reason !== undefined && { reason: answer.reason }) };
  }
}

function checkPerson({ by, sessionId }: AgUiPerson): void {
  const isNamed = typeof by === 'string' && by.trim() !== '';
  if (isNamed && typeof sessionId === 'string' && sessionId !== '') return;
  throw new QuittanceError(
    'config.invalid',
    'takeResume needs the person who answers, as your server identified them, and the session: ' +
      'takeResume(input.resume, { by: user.name, sessionId }). A client cannot name the person who ' +
      'decides.',
  );
}

const refuseResume = (found: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    'takeResume expects `resume` of RunAgentInput: a list of { interruptId, status, payload }. Found ' +
      `${describeValue(found)}.`,
  );

/** Writes the calls of a session as AG-UI events once they are stored: a call, then its answer, each once per run. */

type FollowedCalls = {
  /** Resolves when everything stored so far is written. */
  caughtUp(): Promise<void>;
  end(): Promise<void>;
};

/**
 * Follows the session until it is ended; everything stored by then is written. If the host's `write` throws, writing
 * stops, and the end throws the same error.
 */
async function followCalls(
  runtime: Runtime,
  sessionId: string,
  write: (event: AgUiEvent) => void,
  {
    answered: shown,
    parentMessageId,
  }: {
    /** Calls whose results the client has. */
    readonly answered: ReadonlySet<string>;
    readonly parentMessageId: (() => string | undefined) | undefined;
  },
): Promise<FollowedCalls> {
  const answered = new Set(shown);
  let failed: { readonly error: unknown } | undefined;
  const send = (event: AgUiEvent): void => {
    if (failed !== undefined) return;
    try {
      write(event);
    } catch (error) {
      failed = { error };
    }
  };
  const answer = (toolCallId: string, content: string): void => {
    if (answered.has(toolCallId)) return;
    answered.add(toolCallId);
    const messageId = `${toolCallId}.result`;
    send({ type: 'TOOL_CALL_RESULT', messageId, toolCallId, role: 'tool', content });
  };
  const following = runtime.events.on(
    {
      // The client chooses the run id and may reuse it.
      name: `ag-ui.${randomUUID()}`,
      on: ['tool.requested', 'tool.recalled', 'tool.responded'],
      where: { sessionId },
      ephemeral: true,
    },
    async (event) => {
      const { callId } = event;
      switch (event.type) {
        case 'tool.requested': {
          const parent = parentMessageId?.();
          send({
            type: 'TOOL_CALL_START',
            toolCallId: callId,
            toolCallName: event.toolName,
            ...(parent !== undefined && { parentMessageId: parent }),
          });
          send({ type: 'TOOL_CALL_ARGS', toolCallId: callId, delta: JSON.stringify(event.requestedInput) });
          send({ type: 'TOOL_CALL_END', toolCallId: callId });
          return;
        }
        case 'tool.recalled': {
          // An earlier run showed the call. Its answer may have arrived while no run was open.
          const [call] = await runtime.calls.list({ sessionId, callId });
          if (call?.settled !== undefined) answer(callId, call.settled.content);
          return;
        }
        case 'tool.responded':
          if (event.final) answer(callId, event.content);
      }
    },
  );
  // From here on, every later event is received.
  await following.caughtUp();
  return {
    async caughtUp() {
      await following.caughtUp();
    },
    async end() {
      await following.caughtUp();
      await following.off();
      if (failed !== undefined) throw failed.error;
    },
  };
}

/**
 * The results of calls that a client already shows. CopilotKit shows the answer of a person as the result of the call
 * that waited. A tool of the page with the name of a governed tool adds a result of its own. The recorded result
 * replaces both. If the call has no result yet, they are removed.
 */

type ShownResults = {
  /** Calls whose recorded result the client has. */
  readonly answered: ReadonlySet<string>;
  /** The messages with recorded results only. Undefined if the client's own are right. */
  readonly corrected: readonly unknown[] | undefined;
};

async function readShownResults(
  runtime: Runtime,
  sessionId: string,
  messages: unknown,
): Promise<ShownResults> {
  if (!Array.isArray(messages))
    throw new QuittanceError(
      'config.invalid',
      `openRun takes \`messages\` of RunAgentInput, a list. Found ${describeValue(messages)}.`,
    );
  const answered = new Set<string>();
  const corrected: unknown[] = [];
  let isRight = true;
  for (const message of messages as readonly unknown[]) {
    const callId = resultOf(message);
    const call = callId === undefined ? undefined : (await runtime.calls.list({ sessionId, callId }))[0];
    if (callId === undefined || call === undefined) {
      corrected.push(message); // not about a call of this session
      continue;
    }
    const recorded = call.settled?.content;
    if (recorded === undefined || answered.has(callId)) {
      isRight = false;
      continue;
    }
    answered.add(callId);
    const isRecorded = isJsonObject(message) && ownValue(message, 'content') === recorded;
    isRight &&= isRecorded;
    corrected.push(isRecorded ? message : { ...(message as object), content: recorded });
  }
  return { answered, corrected: isRight ? undefined : corrected };
}

/** The call that a message is the result of; undefined for any other message. */
function resultOf(message: unknown): string | undefined {
  if (!isJsonObject(message) || ownValue(message, 'role') !== 'tool') return undefined;
  const callId = ownValue(message, 'toolCallId');
  return typeof callId === 'string' ? callId : undefined;
}
