/** In-process tools of the Claude Agent SDK under Quittance. */
import { QuittanceError } from '../base/error.ts';
import type { Runtime } from '../runtime/create-runtime.ts';
import type { ToolCallInput } from '../runtime/host/tool-call-input.ts';
import type { BoundTool, Turn } from '../runtime/turn/turn.ts';
import type { TurnOptions } from '../runtime/host/turn-options.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { isTool } from '../tool/define-tool.ts';
import type { ToolOverrides } from '../tool/govern.ts';
import { quote } from '../base/nearest.ts';
import { ownValue } from '../tool/own-value.ts';
import type { AdapterOptions } from './adapter-options.ts';
import type { Answer } from './answer.ts';
import type { ClaudeAgentHooks } from './claude-agent-hooks.ts';
import { createHooks } from './claude-agent-hooks.ts';
import { programTimeoutMs, ProgramTools } from './claude-agent-program-tools.ts';
import type { ClaudeAgentResult } from './claude-agent-result.ts';
import { toResult } from './claude-agent-result.ts';
import type { ClaudeAgentServer, ServedCall } from './claude-agent-server.ts';
import { createServer } from './claude-agent-server.ts';
import { shownSchema } from './claude-agent-shape.ts';
import type { ClaudeAgentCall, ClaudeAgentHookInput, ClaudeAgentTool } from './claude-agent-tool.ts';
import { readAnnotations, readClaudeAgentTool, toolUseIdKey } from './claude-agent-tool.ts';
import { TranscriptPlaces } from './claude-agent-transcript.ts';
import { resumesDeferred } from './claude-agent-version.ts';
import { earlierIn, placeCall } from './conversation.ts';
import type { CallGiven, Driver, Run } from './driver.ts';
import { createDriver } from './driver.ts';
import { reportVersions } from './framework-version.ts';
import type { SendProbe } from './self-test.ts';
import { probe, selfTest } from './self-test.ts';
import { notMade } from './fault-for-model.ts';
import { refuseNoList } from './tools-given.ts';

/** What `governTools` takes beside the tools. */
export type ClaudeAgentOptions = AdapterOptions<ClaudeAgentCall> & {
  /** The name of the server: the model sees its tools as `mcp__<server>__<tool>`. */
  readonly server: string;
  /**
   * Tools of the SDK that may run although nothing here runs them: built-in ones by name, those of another server by
   * `mcp__<server>`. The hook denies every other.
   */
  readonly ungoverned?: readonly string[];
  /**
   * Tools that the program runs, such as `Bash` and `Write`, by their exact names: the hooks have their calls judged,
   * held and recorded like any other. Needs `hooks` of the run in the options of the query.
   */
  readonly programTools?: readonly string[];
  /** Told of every call that waits for a person while an approver is set: the one that ends the query, and the others. */
  readonly onHeld?: (held: ClaudeAgentHeld) => void;
};

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
   * decided, by `runtime.decide` or `quittance approve`. The SDK can keep one deferred call of a message only, and runs
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

export type GovernedTools = {
  readonly runtime: Runtime;
  /**
   * Opens a run: a turn of the session. One for each `query`. `approver` is who makes this request, and so who answers
   * in the approvals that come with it.
   */
  readonly run: (options: TurnOptions & { readonly approver?: string }) => ClaudeAgentRun;
};

/** Puts in-process tools of the SDK under Quittance. Refuses to start where a call that policy blocks could run. */
export async function governTools(
  tools: readonly (ClaudeAgentTool | AnyTool)[],
  options: ClaudeAgentOptions,
): Promise<GovernedTools> {
  reportVersions('quittance/claude-agent', options.onTrouble);
  refuseNoList('quittance/claude-agent', tools);
  await selfTest('quittance/claude-agent', sendProbe(wrap));
  return wrap(tools, options);
}

type Wrap = (tools: readonly ClaudeAgentTool[], options: ClaudeAgentOptions) => Pick<GovernedTools, 'run'>;

/** Sends the probe to a server made of what `wrapTools` gives, as the SDK would. */
export const sendProbe =
  (wrapTools: Wrap): SendProbe =>
  async (probeOptions, body) => {
    const tool = { name: probe.name, description: '', inputSchema: {}, handler: async () => body() };
    const { run } = wrapTools([tool], { ...probeOptions, server: 'probe' });
    const { mcpServers } = run({ sessionId: probe.sessionId }).options;
    const { instance } = mcpServers['probe'] as unknown as { readonly instance: ClaudeAgentServer }; // what it is to us
    const answered = Promise.withResolvers<unknown>();
    const transport: Parameters<ClaudeAgentServer['connect']>[0] = {
      start: async () => undefined,
      send: async (message) => answered.resolve(message),
      close: async () => undefined,
    };
    await instance.connect(transport);
    const params = { name: probe.name, arguments: {}, _meta: { [toolUseIdKey]: probe.callId } };
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    if (transport.onmessage === undefined) throw new TypeError('The server does not listen.');
    transport.onmessage(request as never); // as the SDK writes it
    await answered.promise;
  };

function wrap(
  given: readonly (ClaudeAgentTool | AnyTool)[],
  { server, ungoverned = [], programTools = [], onHeld, overrides = {}, ...options }: ClaudeAgentOptions,
): GovernedTools {
  checkServerName(server);
  if (!Array.isArray(given))
    throw new QuittanceError('config.invalid', 'governTools takes a list of tools of the SDK.');
  const tools = given.map(readClaudeAgentTool);
  const declared = given.flatMap((tool): [string, ToolOverrides][] => {
    const said = readAnnotations(tool);
    return said === undefined ? [] : [[tool.name, { ...said, ...ownOverrides(overrides, tool.name) }]];
  });
  const program = new ProgramTools();
  const bounded = programTools.map((name): [string, ToolOverrides] => [
    name,
    { timeoutMs: programTimeoutMs, ...ownOverrides(overrides, name) },
  ]);
  const driver = createDriver([...tools, ...programTools.map((name) => program.adopt(name))], {
    ...options,
    overrides: { ...overrides, ...Object.fromEntries([...declared, ...bounded]) },
  });
  const own = new Map(given.map((tool) => [tool.name, tool]));
  const place = { driver, own, server, ungoverned, program, programTools: new Set(programTools), onHeld };
  return {
    runtime: driver.runtime,
    run: ({ approver, ...turnOptions }) => toRun(place, driver.open(turnOptions, approver)),
  };
}

/** What all runs share. */
type Place = {
  readonly driver: Driver<ClaudeAgentCall>;
  readonly own: ReadonlyMap<string, ClaudeAgentTool | AnyTool>;
  readonly server: string;
  readonly ungoverned: readonly string[];
  readonly program: ProgramTools;
  readonly programTools: ReadonlySet<string>;
  readonly onHeld: ClaudeAgentOptions['onHeld'];
};

const mostHooked = 1_000;

function toRun(
  { driver, own, server, ungoverned, program, programTools, onHeld }: Place,
  run: Run<ClaudeAgentCall>,
): ClaudeAgentRun {
  const offered = run.turn
    .tools()
    .filter(({ name }) => !programTools.has(name))
    .map((tool) => toServedTool(driver, tool, own.get(tool.name)));
  const held = new Map<string, ClaudeAgentHeld>();
  /** Our ids of calls that people approved: provider ids may be used again. */
  const approved = new Set<string>();
  const hooked = new Map<string, { readonly hook: ClaudeAgentHookInput; readonly earlier: number }>();
  let places = new TranscriptPlaces();
  let resumes = false;
  let deferred: string | undefined;

  const instance = createServer({
    name: server,
    onConnect() {
      deferred = undefined;
      places = new TranscriptPlaces();
    },
    onClient: (version) => (resumes = resumesDeferred(version)),
    list: () => offered,
    call: (request) =>
      driver.faults.guard(request.name, async () => {
        const toolUseId = readToolUseId(request);
        const { hook, earlier = 0 } = hooked.get(toolUseId) ?? {};
        hooked.delete(toolUseId);
        if (deferred === toolUseId) deferred = undefined;
        const made = placeCall(toRequest(toolUseId, request.name, request.arguments), earlier);
        const result = await answer(run, request, made, { toolUseId, hook }, approved.has(made.id));
        places.answered(toolUseId);
        return result;
      }),
  });

  const mcpServers = Object.fromEntries([
    // A call must not be told of before it has ended, so it must not be moved to the background either.
    [
      server,
      { type: 'sdk' as const, name: server, instance: instance as never, disableAutoBackground: true },
    ],
  ]);
  const hooks = createHooks({
    server,
    ungoverned,
    programTools,
    faults: driver.faults,
    async ask(toolUseId, name, hook) {
      const [oldest] = hooked.keys();
      // What the SDK denies after this is never called: that must not pile up.
      if (hooked.size >= mostHooked && oldest !== undefined) hooked.delete(oldest);
      const earlier = await places.earlier(toolUseId, hook.transcript_path);
      hooked.set(toolUseId, { hook, earlier });
      // A tool of the program waits in place in every version, and the host is told what it waits for.
      if (!run.suspends || (!resumes && !programTools.has(name))) return undefined;
      const request = placeCall(toRequest(toolUseId, name, hook.tool_input), earlier);
      if (approved.has(request.id)) return undefined;
      return run.ask(request, { native: { toolUseId, hook } });
    },
    mayDefer(
      toolUseId,
      toolName,
      { confirmationId = '', waitsFor = 'A person has to approve this call.' },
      isOurs,
    ) {
      const isDeferred = isOurs && (deferred ??= toolUseId) === toolUseId;
      const { sessionId } = run;
      const waits = isDeferred ? 'deferred' : 'in place';
      const waiting: ClaudeAgentHeld = { sessionId, toolUseId, toolName, confirmationId, waitsFor, waits };
      held.set(confirmationId, waiting);
      onHeld?.(waiting);
      return isDeferred;
    },
    begin(toolUseId, name, hook) {
      const { earlier = 0 } = hooked.get(toolUseId) ?? {};
      hooked.delete(toolUseId);
      if (deferred === toolUseId) deferred = undefined;
      const native: ClaudeAgentCall = { toolUseId, hook };
      const request = placeCall(toRequest(toolUseId, name, hook.tool_input), earlier);
      return program.begin(native, () => makeOrWait(run, request, { native }, approved.has(request.id)));
    },
    async report(toolUseId, said) {
      const answer = await program.report(toolUseId, said);
      if (answer !== undefined) places.answered(toolUseId);
      return answer;
    },
  });

  return {
    turn: run.turn,
    options: { mcpServers, hooks },
    async held() {
      const { rows } = await driver.runtime.confirmations({ status: 'pending', sessionId: run.sessionId });
      return rows.flatMap(({ confirmationId }) => held.get(confirmationId) ?? []);
    },
    async takeApprovals(approvals) {
      for (const { toolUseId, approved: isApproved, reason } of approvals) {
        const callId = await findHeld(driver, run, toolUseId);
        if (isApproved === true) approved.add(callId);
        else await run.deny(callId, reason, { native: { toolUseId } });
      }
    },
  };
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
    const page = await runtime.confirmations({ status: 'pending', sessionId, cursor });
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

const ownOverrides = (
  overrides: Readonly<Record<string, ToolOverrides>>,
  name: string,
): ToolOverrides | undefined => ownValue(overrides, name) as ToolOverrides | undefined; // a value of this record

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

function checkServerName(server: unknown): void {
  if (typeof server === 'string' && /^[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*$/.test(server)) return;
  throw new QuittanceError(
    'config.invalid',
    "The server needs a name of letters, digits, - and single _, such as governTools(tools, { server: 'shop' }): " +
      'the model sees its tools as mcp__shop__<tool>.',
  );
}
