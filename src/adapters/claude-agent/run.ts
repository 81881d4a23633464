/** One run of the Claude Agent SDK: the server with our tools, and the hooks that the SDK calls before and after them. */
import { quote } from '../../base/nearest.ts';
import type { ToolCallInput } from '../../runtime/host/tool-call-input.ts';
import type { BoundTool, Turn } from '../../runtime/turn/turn.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { isTool } from '../../tool/define-tool.ts';
import { ownValue } from '../../tool/own-value.ts';
import type { Answer } from '../answer/answer.ts';
import { notMade } from '../answer/fault-messages.ts';
import { earlierIn, withSessionCallId } from '../run/conversation.ts';
import type { CallGiven, Driver, Run } from '../run/driver.ts';
import type { ClaudeAgentHooks } from './hooks.ts';
import { createHooks } from './hooks.ts';
import type { ProgramTools } from './program-tools.ts';
import type { ClaudeAgentResult } from './result.ts';
import { toResult } from './result.ts';
import { SeenCalls } from './seen-calls.ts';
import type { ClaudeAgentServer, ServedCall } from './server.ts';
import { createServer } from './server.ts';
import { shownSchema } from './shape.ts';
import type { ClaudeAgentCall, ClaudeAgentHookInput, ClaudeAgentTool } from './tool.ts';
import { toolUseIdKey } from './tool.ts';

/** A call that waits for a person. */
export type ClaudeAgentHeld = {
  readonly sessionId: string;
  readonly toolUseId: string;
  readonly toolName: string;
  readonly confirmationId: string;
  /** What it waits for, in words. */
  readonly waitsFor: string;
  /**
   * `deferred`: the query ends, and is resumed with the answer. `in place`: this one keeps the query open until it is
   * decided, by `runtime.confirmations.decide` or `quittance approve`. The SDK can keep one deferred call of a message only, and runs
   * deferred tools of its own without asking again.
   */
  readonly waits: 'deferred' | 'in place';
};

/** The answer of a person to a call that was deferred. */
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
  /** A class with private parts that only its package can declare stands here in the types of the SDK. */
  instance: never;
};

/** One run: what a query takes. */
export type ClaudeAgentRun = {
  readonly turn: Turn;
  /** For the options of a query. */
  readonly options: {
    readonly mcpServers: Record<string, ClaudeAgentServerConfig>;
    /** Stop the run where a person has to be asked, if there is an approver, and deny tools that nothing here runs. */
    readonly hooks: ClaudeAgentHooks;
  };
  /** The calls of this run that wait for a person now. */
  readonly held: () => Promise<readonly ClaudeAgentHeld[]>;
  /** Takes the answers of people to deferred calls, before the query that resumes the session. */
  readonly takeApprovals: (approvals: readonly ClaudeAgentApproval[]) => Promise<void>;
};

/** What all runs share. */
export type Place = {
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
    // A call must not be told of before it has ended, so it must not be moved to the background either.
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

/** The server that the SDK asks for our tools and calls them on. */
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
      // A tool of the program waits in place in every version, and the host is told what it waits for.
      if (!run.suspends || (!seen.resumesDeferred && !programTools.has(name))) return undefined;
      const request = withSessionCallId(toRequest(toolUseId, name, hook.tool_input), earlier);
      if (seen.approved.has(request.id)) return undefined;
      return run.ask(request, { native: { toolUseId, hook } });
    },
    mayDefer(
      toolUseId,
      toolName,
      { confirmationId = '', waitsFor = 'A person has to approve this call.' },
      isOurs,
    ) {
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
  // An approval that counts for nothing leaves the question open: then it waits, as it would have without.
  return made.type === 'pending' ? run.call(request, given) : made;
}

/** The newest call with this id that waits for a person: a query defers one call at most. */
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
  // What is no object is denied by the runtime, which says so.
  arguments: args as ToolCallInput['arguments'],
});

/** The tool as the model is shown it: with its schema, which nothing before the runtime holds arguments against. */
function toServedTool(
  driver: Driver<ClaudeAgentCall>,
  { name, description, schema }: BoundTool,
  given: ClaudeAgentTool | AnyTool | undefined,
): object {
  const own = given === undefined || isTool(given) ? undefined : given;
  const isRead = driver.tools.some((tool) => tool.name === name && tool.mode === 'read');
  return {
    name,
    description,
    inputSchema: shownSchema({ ...schema, type: 'object' }),
    // Calls of tools that are said to read may be made side by side.
    annotations: { ...(isRead && { readOnlyHint: true }), ...own?.annotations },
    _meta: { 'anthropic/alwaysLoad': true, ...own?._meta },
  };
}

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
