/** In-process tools of the Claude Agent SDK under Quittance. */
import { checkObject } from 'quittance/internal/base/check-keys';
import { QuittanceError } from 'quittance/internal/base/error';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import type { TurnOptions } from 'quittance/internal/runtime/call-options';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { ToolOverrides } from 'quittance/internal/tool/govern';
import { ownValue } from 'quittance/internal/base/json';
import type { AdapterOptions } from '@quittance/adapter-kit/internal/adopt/adapter-options';
import { programTimeoutMs, ProgramTools } from './program-tools.ts';
import type { ClaudeAgentHeld, ClaudeAgentRun } from './run.ts';
import { toRun } from './run.ts';
import type { ClaudeAgentServer } from './server.ts';
import type { ClaudeAgentCall, ClaudeAgentTool } from './tool.ts';
import { readAnnotations, readClaudeAgentTool, toolUseIdKey } from './tool.ts';
import { createDriver } from '@quittance/adapter-kit/internal/run/driver';
import { reportVersions } from '@quittance/adapter-kit/internal/adopt/tested-versions';
import type { SendProbe } from '@quittance/adapter-kit/internal/run/self-test';
import { probe, selfTest } from '@quittance/adapter-kit/internal/run/self-test';
import { refuseNoList } from '@quittance/adapter-kit/internal/adopt/refuse-foreign';

/** Options of `governTools`. */
export type ClaudeAgentOptions = AdapterOptions<ClaudeAgentCall> & {
  /** Name of the server: the model sees its tools as `mcp__<server>__<tool>`. */
  readonly server: string;
  /**
   * SDK tools that may run ungoverned: built-in ones by name, those of another server by `mcp__<server>`. The hook
   * denies all others.
   */
  readonly ungoverned?: readonly string[];
  /**
   * Tools that the program runs, such as `Bash` and `Write`, by their exact names: the hooks have their calls judged,
   * held and recorded like any other. Needs `hooks` of the run in the options of the query.
   */
  readonly programTools?: readonly string[];
  /**
   * Called for every call that awaits approval while an approver is set: the one that ends the query, and the others.
   */
  readonly onHeld?: (held: ClaudeAgentHeld) => void;
};

export type GovernedTools = {
  readonly runtime: Runtime;
  /**
   * Opens a run: a turn of the session. Open one for each `query`. `approver` names the person who makes this request
   * and answers its approvals.
   */
  readonly run: (options: TurnOptions & { readonly approver?: string }) => ClaudeAgentRun;
};

/** Puts in-process tools of the SDK under Quittance. Refuses to start if a call that policy blocks could run. */
export async function governTools(
  tools: readonly (ClaudeAgentTool | AnyTool)[],
  options: ClaudeAgentOptions,
): Promise<GovernedTools> {
  checkObject('@quittance/claude-agent: governTools', options);
  reportVersions('@quittance/claude-agent', options.onTrouble, import.meta.url);
  refuseNoList('@quittance/claude-agent', tools);
  await selfTest('@quittance/claude-agent', sendProbe(wrap));
  return wrap(tools, options);
}

type Wrap = (tools: readonly ClaudeAgentTool[], options: ClaudeAgentOptions) => Pick<GovernedTools, 'run'>;

/** Sends the probe to a server made by `wrapTools`, as the SDK would. */
export const sendProbe =
  (wrapTools: Wrap): SendProbe =>
  async (probeOptions, body) => {
    const tool = { name: probe.name, description: '', inputSchema: {}, handler: async () => body() };
    const { run } = wrapTools([tool], { ...probeOptions, server: 'probe' });
    const { mcpServers } = run({ sessionId: probe.sessionId }).options;
    const { instance } = mcpServers['probe'] as unknown as { readonly instance: ClaudeAgentServer }; // the type used here
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
    throw new QuittanceError('config.invalid', 'governTools expects a list of tools of the SDK.');
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

const ownOverrides = (
  overrides: Readonly<Record<string, ToolOverrides>>,
  name: string,
): ToolOverrides | undefined => ownValue(overrides, name) as ToolOverrides | undefined; // a value of this record

function checkServerName(server: unknown): void {
  if (typeof server === 'string' && /^[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*$/.test(server)) return;
  throw new QuittanceError(
    'config.invalid',
    "The server needs a name of letters, digits, - and single _, such as governTools(tools, { server: 'shop' }): " +
      'the model sees its tools as mcp__shop__<tool>.',
  );
}
