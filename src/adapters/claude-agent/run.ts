/**
 * One run of the Claude Agent SDK: the server with our tools, and the hooks that the SDK calls before and after them.
 */
import { quote } from '../../base/nearest.ts';
import type { ToolCallInput } from '../../runtime/host/tool-call-input.ts';
import type { Turn } from '../../runtime/turn/turn.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
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
import type { ClaudeAgentCall, ClaudeAgentHookInput, ClaudeAgentTool } from './tool.ts';
import { toolUseIdKey } from './tool.ts';
import { toServedTool } from './served-tool.ts';

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
