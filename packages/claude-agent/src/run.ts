/**
 * One run of the Claude Agent SDK: the server with our tools, and the hooks that the SDK calls before and after them.
 */
import { quote } from 'quittance/internal/base/nearest';
import type { ToolCallInput } from 'quittance/internal/runtime/call-options';
import type { Turn, BoundTool } from 'quittance/internal/runtime/turn';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { ownValue, isJsonObject, parseJson } from 'quittance/internal/base/json';
import type { Answer } from '@quittance/adapter-kit/internal/answer/answer';
import { notMade } from '@quittance/adapter-kit/internal/answer/fault-messages';
import { earlierIn, withSessionCallId, earlierUses } from '@quittance/adapter-kit/internal/run/conversation';
import type { CallGiven, Driver, Run } from '@quittance/adapter-kit/internal/run/driver';
import type { ClaudeAgentHooks } from './hooks.ts';
import { createHooks } from './hooks.ts';
import type { ProgramTools } from './program-tools.ts';
import type { ClaudeAgentResult } from './result.ts';
import { toResult } from './result.ts';
import type { ClaudeAgentServer, ServedCall } from './server.ts';
import { createServer } from './server.ts';
import type { ClaudeAgentCall, ClaudeAgentHookInput, ClaudeAgentTool } from './tool.ts';
import { toolUseIdKey } from './tool.ts';
import { isTool } from 'quittance/internal/tool/define-tool';
import { shownSchema } from './shape.ts';
import { readFile } from 'node:fs/promises';
import type { ConversationStep } from '@quittance/adapter-kit/internal/run/conversation';

/** A call that awaits approval. */
export type ClaudeAgentHeld = {
  readonly sessionId: string;
  readonly toolUseId: string;
  readonly toolName: string;
  readonly confirmationId: string;
  /** The reason, in words. */
  readonly waitsFor: string;
  /**
   * `deferred`: the query ends, and is resumed with the answer. `in place`: this one keeps the query open until it is
   * decided, by `runtime.confirmations.decide` or `quittance approve`. The SDK can keep one deferred call of a message only, and runs
   * deferred tools of its own without asking again.
   */
  readonly waits: 'deferred' | 'in place';
};

/** The answer of a person to a deferred call. */
export type ClaudeAgentApproval = {
  /** `deferred_tool_use.id` of the result. */
  readonly toolUseId: string;
  readonly approved: boolean;
  readonly reason?: string;
};

/** A server, for `mcpServers` of a query. */
export type ClaudeAgentServerConfig = {
  type: 'sdk';
  name: string;
  /** The SDK's type here is a class with private members, which only its package can declare. */
  instance: never;
};

/** One run: the values for a query. */
export type ClaudeAgentRun = {
  readonly turn: Turn;
  /** For the options of a query. */
  readonly options: {
    readonly mcpServers: Record<string, ClaudeAgentServerConfig>;
    /** Stop the run if a call needs approval and there is an approver; deny tools that are not governed. */
    readonly hooks: ClaudeAgentHooks;
  };
  /** The calls of this run that await approval now. */
  readonly held: () => Promise<readonly ClaudeAgentHeld[]>;
  /** Processes the answers of people to deferred calls, before the query that resumes the session. */
  readonly takeApprovals: (approvals: readonly ClaudeAgentApproval[]) => Promise<void>;
};

/** State shared by all runs. */
type Place = {
  readonly driver: Driver<ClaudeAgentCall>;
  readonly own: ReadonlyMap<string, ClaudeAgentTool | AnyTool>;
  readonly server: string;
  readonly ungoverned: readonly string[];
  readonly program: ProgramTools;
  readonly programTools: ReadonlySet<string>;
  readonly onHeld: ((held: ClaudeAgentHeld) => void) | undefined;
};

export function toRun(place: Place, run: Run<ClaudeAgentCall>): ClaudeAgentRun {
  const { driver, server } = place;
  const seen = new SeenCalls();
  const held = new Map<string, ClaudeAgentHeld>();
  const instance = serveTools(place, run, seen);
  const mcpServers = Object.fromEntries([
    // A call must not be reported before it has ended, so it must not move to the background.
    [
      server,
      { type: 'sdk' as const, name: server, instance: instance as never, disableAutoBackground: true },
    ],
  ]);
  return {
    turn: run.turn,
    options: { mcpServers, hooks: hookCalls(place, run, seen, held) },
    async held() {
      const { rows } = await driver.runtime.confirmations.list({
        status: 'pending',
        sessionId: run.sessionId,
      });
      return rows.flatMap(({ confirmationId }) => held.get(confirmationId) ?? []);
    },
    async takeApprovals(approvals) {
      for (const { toolUseId, approved: isApproved, reason } of approvals) {
        const callId = await findHeld(driver, run, toolUseId);
        if (isApproved === true) seen.approved.add(callId);
        else await run.deny(callId, reason, { native: { toolUseId } });
      }
    },
  };
}

/** The server on which the SDK lists and calls our tools. */
function serveTools(
  { driver, own, server, programTools }: Place,
  run: Run<ClaudeAgentCall>,
  seen: SeenCalls,
): ClaudeAgentServer {
  const offered = run.turn
    .tools()
    .filter(({ name }) => !programTools.has(name))
    .map((tool) => toServedTool(driver, tool, own.get(tool.name)));
  return createServer({
    name: server,
    onConnect: () => seen.connected(),
    onClient: (version) => seen.setClient(version),
    list: () => offered,
    call: (request) =>
      driver.faults.guard(request.name, async () => {
        const toolUseId = readToolUseId(request);
        const { hook, earlier } = seen.take(toolUseId);
        const made = withSessionCallId(toRequest(toolUseId, request.name, request.arguments), earlier);
        const result = await answer(run, request, made, { toolUseId, hook }, seen.approved.has(made.id));
        seen.answered(toolUseId);
        return result;
      }),
  });
}

/** The hooks for the options of a query. */
function hookCalls(
  { driver, server, ungoverned, program, programTools, onHeld }: Place,
  run: Run<ClaudeAgentCall>,
  seen: SeenCalls,
  held: Map<string, ClaudeAgentHeld>,
): ClaudeAgentHooks {
  return createHooks({
    server,
    ungoverned,
    programTools,
    faults: driver.faults,
    async ask(toolUseId, name, hook) {
      const earlier = await seen.note(toolUseId, hook);
      // A program tool waits in place in every version, and the host is notified.
      if (!run.suspends || (!seen.resumesDeferred && !programTools.has(name))) return undefined;
      const request = withSessionCallId(toRequest(toolUseId, name, hook.tool_input), earlier);
      if (seen.approved.has(request.id)) return undefined;
      return run.ask(request, { native: { toolUseId, hook } });
    },
    mayDefer(toolUseId, toolName, { confirmationId = '', waitsFor = 'This call needs approval.' }, isOurs) {
      const isDeferred = isOurs && seen.defers(toolUseId);
      const { sessionId } = run;
      const waits = isDeferred ? 'deferred' : 'in place';
      const waiting: ClaudeAgentHeld = { sessionId, toolUseId, toolName, confirmationId, waitsFor, waits };
      held.set(confirmationId, waiting);
      onHeld?.(waiting);
      return isDeferred;
    },
    begin(toolUseId, name, hook) {
      const { earlier } = seen.take(toolUseId);
      const native: ClaudeAgentCall = { toolUseId, hook };
      const request = withSessionCallId(toRequest(toolUseId, name, hook.tool_input), earlier);
      return program.begin(native, () => makeOrWait(run, request, { native }, seen.approved.has(request.id)));
    },
    async report(toolUseId, said) {
      const reported = await program.report(toolUseId, said);
      if (reported !== undefined) seen.answered(toolUseId);
      return reported;
    },
  });
}

async function answer(
  run: Run<ClaudeAgentCall>,
  { meta, requestId, signal, notify }: ServedCall,
  request: ToolCallInput,
  { toolUseId, hook }: { readonly toolUseId: string; readonly hook: ClaudeAgentHookInput | undefined },
  isApproved: boolean,
): Promise<ClaudeAgentResult> {
  const extra = { signal, requestId, _meta: meta, sendNotification: notify };
  const native = { toolUseId, extra, ...(hook !== undefined && { hook }) };
  return toResult(await makeOrWait(run, request, { native, signal }, isApproved));
}

async function makeOrWait(
  run: Run<ClaudeAgentCall>,
  request: ToolCallInput,
  given: CallGiven<ClaudeAgentCall>,
  isApproved: boolean,
): Promise<Answer> {
  const made = await (isApproved ? run.callApproved(request, given) : run.call(request, given));
  // An invalid approval leaves the confirmation open, so the call waits as it would without it.
  return made.type === 'pending' ? run.call(request, given) : made;
}

/** The newest call with this id that awaits approval: a query defers at most one call. */
async function findHeld(
  { runtime }: Driver<ClaudeAgentCall>,
  { sessionId }: Run<ClaudeAgentCall>,
  toolUseId: string,
): Promise<string> {
  let cursor: string | undefined;
  do {
    const page = await runtime.confirmations.list({ status: 'pending', sessionId, cursor });
    const held = page.rows.find(({ callId }) => earlierIn(callId, toolUseId) !== undefined);
    if (held !== undefined) return held.callId;
    cursor = page.next;
  } while (cursor !== undefined);
  return toolUseId;
}

const toRequest = (id: string, name: string, args: unknown): ToolCallInput => ({
  id,
  name,
  // The runtime denies arguments that are not an object, with a message.
  arguments: args as ToolCallInput['arguments'],
});

function readToolUseId({ name, meta }: ServedCall): string {
  const toolUseId = ownValue(meta, toolUseIdKey);
  if (typeof toolUseId === 'string' && toolUseId !== '') return toolUseId;
  throw notMade(
    `The tool ${quote(name)} was called without the id of the call.`,
    `The tool ${quote(name)} was called without the id of the call. Pass the server to query() of the SDK, which ` +
      `sends it as _meta[${JSON.stringify(toolUseIdKey)}].`,
    { tool: name },
  );
}

/**
 * Can this version of the SDK resume a deferred call? Earlier versions stopped the run and lost the call on resume;
 * the earliest let the call run. In these versions, calls wait for approval in place.
 *
 * In its first message to a server the SDK sends its own version, or that of its program.
 */
export function resumesDeferred(version: string): boolean {
  const [, ...parts] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  const found = parts.map(Number);
  if (found.length === 0) return false;
  const first = found[0] === 0 ? firstSdk : firstProgram;
  for (const [index, part] of first.entries()) if (found[index] !== part) return (found[index] ?? 0) > part;
  return true;
}

const firstSdk = [0, 3, 325] as const;
const firstProgram = [2, 1, 325] as const;

type Seen = {
  readonly hook: ClaudeAgentHookInput | undefined;
  /** Number of earlier calls of the conversation with this id. */
  readonly earlier: number;
};

const mostSeen = 1_000;

/** Facts about the calls of one run, shared by its hooks and its server. The SDK calls a hook first, then the tool. */
class SeenCalls {
  /** Our ids of approved calls, because provider ids may be reused. */
  readonly approved: Set<string> = new Set<string>();
  readonly #hooked = new Map<string, Seen>();
  #places = new TranscriptCalls();
  #resumes = false;
  #deferred: string | undefined;

  /** Can the connected program resume a query at a deferred call? */
  get resumesDeferred(): boolean {
    return this.#resumes;
  }

  connected(): void {
    this.#deferred = undefined;
    this.#places = new TranscriptCalls();
  }

  setClient(version: string): void {
    this.#resumes = resumesDeferred(version);
  }

  /** Stores the input of a hook for a call. Returns how many earlier calls had its id. */
  async note(toolUseId: string, hook: ClaudeAgentHookInput): Promise<number> {
    const [oldest] = this.#hooked.keys();
    // The SDK never calls a tool that it denies later, so such entries must be limited.
    if (this.#hooked.size >= mostSeen && oldest !== undefined) this.#hooked.delete(oldest);
    const earlier = await this.#places.earlier(toolUseId, hook.transcript_path);
    this.#hooked.set(toolUseId, { hook, earlier });
    return earlier;
  }

  /** Removes and returns the stored input for a call that starts now. */
  take(toolUseId: string): Seen {
    const seen = this.#hooked.get(toolUseId) ?? { hook: undefined, earlier: 0 };
    this.#hooked.delete(toolUseId);
    if (this.#deferred === toolUseId) this.#deferred = undefined;
    return seen;
  }

  /** Is this the deferred call of its message? The first that asks is. */
  defers(toolUseId: string): boolean {
    this.#deferred ??= toolUseId;
    return this.#deferred === toolUseId;
  }

  answered(toolUseId: string): void {
    this.#places.answered(toolUseId);
  }
}

/** The tool for the model, with its schema. Only the runtime checks arguments against it. */
function toServedTool(
  driver: Driver<ClaudeAgentCall>,
  { name, description, schema }: BoundTool,
  given: ClaudeAgentTool | AnyTool | undefined,
): object {
  const own = given === undefined || isTool(given) ? undefined : given;
  const isRead = driver.tools.some((tool) => tool.name === name && tool.surelyReads);
  return {
    name,
    description,
    inputSchema: shownSchema({ ...schema, type: 'object' }),
    // Calls of declared read tools may run in parallel.
    annotations: { ...(isRead && { readOnlyHint: true }), ...own?.annotations },
    _meta: { 'anthropic/alwaysLoad': true, ...own?._meta },
  };
}

/** The call ids in the conversation file of the Claude Agent SDK's program. */

/**
 * Which use of its id a call is, in one connection. The program does not name the message of a call, and makes the
 * calls of one message one after the other. A call whose id was already answered is therefore a later use only if the
 * transcript says so. Otherwise it counts as the same message, so that nothing runs twice.
 */
class TranscriptCalls {
  readonly #answered = new Map<string, number>();
  #before: Promise<readonly ConversationStep[]> | undefined;

  async earlier(id: string, path: string | undefined): Promise<number> {
    const before = await (this.#before ??= readTranscript(path));
    const answered = this.#answered.get(id) ?? 0;
    if (answered === 0 || path === undefined) return earlierUses(before, id);
    const due = answersTo(before, id) + answered;
    // The program writes with some delay. This waits only if an id is reused.
    for (let look = 0; look < mostLooks; look++) {
      const now = await readTranscript(path);
      if (answersTo(now, id) >= due) return earlierUses(now, id);
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
    return earlierUses(before, id);
  }

  answered(id: string): void {
    this.#answered.set(id, (this.#answered.get(id) ?? 0) + 1);
  }
}

const mostLooks = 250;
const lookEveryMs = 20;

const answersTo = (conversation: readonly ConversationStep[], id: string): number =>
  conversation.filter((said) => said.type === 'answer' && said.id === id).length;

/** Empty if there is no such file. */
async function readTranscript(path: string | undefined): Promise<readonly ConversationStep[]> {
  if (path === undefined || path === '') return [];
  try {
    return readLines((await readFile(path, 'utf8')).split('\n'));
  } catch {
    return [];
  }
}

/**
 * The program writes each block of a message on its own line, under the id of the message; results may be between
 * them.
 */
function readLines(lines: readonly string[]): readonly ConversationStep[] {
  const conversation: ConversationStep[] = [];
  let message: { readonly id: unknown; readonly ids: string[] } | undefined;
  for (const line of lines) {
    const parsed = line.trim() === '' ? undefined : parseJson(line);
    const entry = parsed?.ok === true && isJsonObject(parsed.value) ? parsed.value : undefined;
    const said = entry !== undefined && isJsonObject(entry['message']) ? entry['message'] : undefined;
    if (said === undefined || entry?.['isSidechain'] === true) continue;
    const blocks = (Array.isArray(said['content']) ? said['content'] : []).filter(isJsonObject);
    if (said['role'] === 'assistant') {
      const ids = blocks.flatMap(({ type, id }) =>
        type === 'tool_use' && typeof id === 'string' ? [id] : [],
      );
      if (ids.length === 0) continue;
      if (message === undefined || message.id !== said['id']) {
        message = { id: said['id'], ids: [] };
        conversation.push({ type: 'calls', ids: message.ids });
      }
      message.ids.push(...ids);
      continue;
    }
    const answers = blocks.flatMap(({ type, tool_use_id: id }) =>
      type === 'tool_result' && typeof id === 'string' ? [id] : [],
    );
    if (answers.length === 0) {
      message = undefined;
      conversation.push({ type: 'other' });
    }
    for (const id of answers) conversation.push({ type: 'answer', id });
  }
  return conversation;
}
