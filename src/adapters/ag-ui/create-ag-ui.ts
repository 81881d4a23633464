/**
 * AG-UI, the protocol between agents and their user interfaces (CopilotKit, assistant-ui). It sends the calls of a
 * session as events and held calls as interrupts, and receives the answers of people.
 *
 * It works on any runtime, whichever adapter made it. A client's message alone never decides: a decision carries the
 * name of the person that the host identified.
 */
import { checkObject } from '../../base/check-keys.ts';
import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import { isJsonObject } from '../../base/json.ts';
import type { DirectIdentity } from '../../call/event.ts';
import type { ConfirmationView } from '../../runtime/host/confirmation-view.ts';
import type { Runtime } from '../../runtime/create-runtime.ts';
import type { OnTrouble } from '../../runtime/host/runtime-trouble.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import { describeValue } from '../../tool/describe-value.ts';
import { ownValue } from '../../tool/own-value.ts';
import type { AgUiEvent } from './event.ts';
import type { AgUiAnswer, AgUiInterrupt } from './interrupt.ts';
import { interruptId, readAgUiAnswer, toInterrupt } from './interrupt.ts';
import { followCalls } from './follow-calls.ts';
import { readShownResults } from './shown-results.ts';
import { reportVersions } from '../adopt/tested-versions.ts';

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
  reportVersions('quittance/ag-ui', onTrouble);
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
